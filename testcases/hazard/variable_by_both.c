/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One kernel is given the address of a variable, another one reaches it by name:
 * it is the same memory.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * MENTIONS: KRT-RACE-RAW "+0x0..+0x4 of variable "
 * EXPECT-FIXED: none
 * SIM-WRONG: the reader is first
 */
#include "variable.h"

int main(void)
{
	struct variable_kernels k;

	prog_start();
	variable_load(&k);
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr out = device_u32("out", 1), total = variable_address(&k, "total");
	CUevent e = event();

	VARIABLE_PV(k.through, a, total, 9, SLOW);
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	VARIABLE_P(k.look, b, out, 0);
	check_u32("out", get_u32(out, 0), 9);
	CU(cuEventDestroy(e));
	CU(cuMemFree(out));
	CU(cuModuleUnload(k.module));

	prog_end();
	return 0;
}
