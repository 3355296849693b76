/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step allocates, computes, waits and frees: the wait is there for the free.
 * Fixed: from the stream-ordered pool, which needs no wait.
 * EXPECT: KRT-PERF-ALLOC-HOT note certain both count=1
 * FINDINGS: 1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 64, STEPS = 30 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr sum = device_u32("sum", N);

	set_now(sum, 0, N);
	for (int i = 0; i < STEPS; i++) {
		CUdeviceptr work;

#ifdef FIXED
		CU(cuMemAllocAsync(&work, 4 * N, s));
#else
		CU(cuMemAlloc(&work, 4 * N));
#endif
		FILL(s, work, 1, N, 0);
		ADD(s, sum, work, N, 0);
#ifdef FIXED
		CU(cuMemFreeAsync(work, s));
#else
		CU(cuStreamSynchronize(s));
		CU(cuMemFree(work));
#endif
	}
	check_u32("sum[0]", get_u32(sum, 0), STEPS);

	prog_end();
	return 0;
}
