/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a module was seen to wait for the device; nothing promises that it does.
 * EXPECT: KRT-RACE-WAR warning certain documented count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	struct prog_kernels again;

	set_now(d, 2, N);
	NOTHING(a);
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, a));
#ifdef FIXED
	CU(cuStreamSynchronize(a));
#endif
	prog_load(&again);
	CU(cuMemsetD32Async(d, 3, N, b));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 2);
	CU(cuModuleUnload(again.module));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
