/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two cooperative launches with one arrival counter.
 * EXPECT: KRT-COOP-SHARED error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

#define meet(stream, x, counter)                                                                   \
	do {                                                                                       \
		CUdeviceptr x_ = (x), c_ = (counter);                                              \
		uint32_t blocks_ = 2, n_ = n;                                                      \
		uint64_t cycles_ = 0;                                                              \
		void *args_[] = {&x_, &c_, &blocks_, &n_, &cycles_};                               \
                                                                                                   \
		UPDATES(stream, x, bytes);                                                         \
		ATOMICS(stream, counter, 4);                                                       \
		CU(cuLaunchCooperativeKernel(prog.meet, blocks_, 1, 1, 64, 1, 1, 0, stream,        \
					     args_));                                              \
	} while (0)

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x = device("x"), y = device("y"), counter = device("counter"), other = counter;

	/* example */
	meet(a, x, counter); /* cuLaunchCooperativeKernel: a grid-wide barrier on the counter */
#ifdef FIXED
	cuMemAlloc(&other, 4); /* a counter for each stream */
	cuMemsetD32Async(other, 0, 1, b);
#endif
	meet(b, y, other);
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
