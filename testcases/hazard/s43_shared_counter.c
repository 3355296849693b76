/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams' cooperative kernels meet their grids at one counter: the arrivals of
 * the one are counted as the other's.
 * SOURCE: scenario S43
 * EXPECT: KRT-COOP-SHARED error certain both count=1
 * MENTIONS: KRT-COOP-SHARED "semaphore"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 256, BLOCKS = 4 };

#define MEET(stream, dst, counter, cycles)                                                         \
	do {                                                                                       \
		CUdeviceptr d_ = (dst), c_ = (counter);                                            \
		uint32_t b_ = BLOCKS, n_ = N;                                                      \
		uint64_t t_ = (cycles);                                                            \
		void *args_[] = {&d_, &c_, &b_, &n_, &t_};                                         \
		CU(cuLaunchCooperativeKernel(prog.meet, BLOCKS, 1, 1, 64, 1, 1, 0, stream,         \
					     args_));                                              \
	} while (0)

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N),
		    mine = device_u32("semaphore", 1), other = mine;

#ifdef FIXED
	/* a workspace for each stream */
	other = device_u32("semaphore of b", 1);
	set_now(other, 0, 1);
#endif
	set_now(x, 1, N);
	set_now(y, 1, N);
	set_now(mine, 0, 1);
	UPDATES(a, x, 4 * N);
	ATOMICS(a, mine, 4);
	MEET(a, x, mine, 20000);
	UPDATES(b, y, 4 * N);
	ATOMICS(b, other, 4);
	MEET(b, y, other, 0);
	check_u32("arrivals", get_u32(mine, 0), mine == other ? 2 * BLOCKS : BLOCKS);
	check_u32("x[0]", get_u32(x, 0), 2);
	check_u32("y[0]", get_u32(y, 0), 2);

	prog_end();
	return 0;
}
