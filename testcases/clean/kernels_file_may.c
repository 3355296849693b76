/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams scatter into one buffer (may write): which bytes, data decide, and the
 * program knows that they are others.  Touched in two ranges, they do not meet for sure.
 * OPTIONS: kernels=testcases/harness/may.kernels
 * EXPECT: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", 2 * N), in = device_u32("in", N);

	set_now(d, 1, 2 * N);
	set_now(in, 1, N);
	COPY(a, d, in, N / 2, 0);
	COPY(b, d + N / 2 * 4, in, N / 2, 0);
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
