/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuLaunchKernelEx, declared to write what another stream reads back.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the old content comes back
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N), v = 2, n = N;
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
	WRITES(a, d, 4 * N);
	CU(cuLaunchKernelEx(&config, prog.fill, args, NULL));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 2);

	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
