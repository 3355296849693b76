/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grid-wide barrier that two streams share; what the kernel touches comes from a
 * kernels file.  In order the two may share it.
 * SOURCE: scenario S43
 * OPTIONS: kernels=testcases/harness/kernels.txt
 * EXPECT: KRT-COOP-SHARED error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 256, BLOCKS = 2 };

int main(void)
{
	prog_start();
	CUstream s[2] = {stream_nb("a"), stream_nb("b")};
	CUevent e = event();
	CUdeviceptr d[2] = {device_u32("x", N), device_u32("y", N)}, counter = device_u32("c", 1);

	set_now(counter, 0, 1);
	set_now(d[0], 1, N);
	set_now(d[1], 1, N);
	for (int i = 0; i < 2; i++) {
		/* the barrier is never set back: the second waits for twice as many arrivals */
		uint32_t blocks = BLOCKS, n = N;
		uint64_t cycles = 0;
		void *args[] = {&d[i], &counter, &blocks, &n, &cycles};

#ifdef FIXED
		blocks = BLOCKS * (uint32_t)(i + 1);
		if (i)
			CU(cuStreamWaitEvent(s[i], e, 0));
#endif
		CU(cuLaunchCooperativeKernel(prog.meet, BLOCKS, 1, 1, 64, 1, 1, 0, s[i], args));
		CU(cuEventRecord(e, s[i]));
	}
	CU(cuCtxSynchronize());
	check_u32("arrivals", get_u32(counter, 0), 2 * BLOCKS);
	check_u32("y[0]", get_u32(d[1], 0), 2);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
