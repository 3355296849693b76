/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuLaunchKernelEx of a kernel of which nothing was declared against a set.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t v = 2, n = N;
	uint64_t cycles = SLOW;
	void *args[] = {&d, &v, &n, &cycles};
	CUlaunchConfig config = {
		.gridDimX = 2,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 64,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = a,
	};

	set_now(d, 1, N);
	CU(cuLaunchKernelEx(&config, prog.fill, args, NULL));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(d, 3, N, b));
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
