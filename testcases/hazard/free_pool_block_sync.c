/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuMemFree of a stream-ordered allocation waits for nothing, neither by the
 * documentation nor in practice.
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "pool.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream a = stream_nb("a");
	CUdeviceptr p;

	CU(cuMemAllocAsync(&p, 4 * N, a));
	FILL(a, p, 1, N, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(a));
#endif
	CU(cuMemFree(p));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
