/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A constant is replaced for the next round while a kernel of this round reads it:
 * cudaMemcpyToSymbolAsync on another stream.  The address is asked for after the
 * kernel was launched, and not the size: so does cudart.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * MENTIONS: KRT-RACE-WAR "+0x0..+0x4 of variable "
 * EXPECT-FIXED: none
 * SIM-WRONG: the kernel reads the new value
 */
#include "variable.h"

int main(void)
{
	struct variable_kernels k;

	prog_start();
	variable_load(&k);
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr out = device_u32("out", 1), scale;
	uint32_t *h = pinned_u32("h", 1);
	CUevent e = event();

	h[0] = 7;
	VARIABLE_P(k.scaled, a, out, SLOW);
	CU(cuModuleGetGlobal(&scale, NULL, k.module, "scale"));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemcpyHtoDAsync(scale, h, 4, b));
	check_u32("out", get_u32(out, 0), 3);
	CU(cuEventDestroy(e));
	CU(cuMemFree(out));
	CU(cuMemFreeHost(h));
	CU(cuModuleUnload(k.module));

	prog_end();
	return 0;
}
