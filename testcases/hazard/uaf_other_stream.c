/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block is used on a stream that waited for the free.
 * EXPECT: KRT-UAF-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "pool.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event(), done = event();
	CUdeviceptr p;

	CU(cuMemAllocAsync(&p, 4 * N, a));
	CU(cuMemsetD32Async(p, 3, N, a));
#ifndef FIXED
	CU(cuMemFreeAsync(p, a));
#endif
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
	UPDATES(b, p, 4 * N);
	INC(b, p, 1, N, 0);
#ifdef FIXED
	CU(cuEventRecord(done, b));
	CU(cuStreamWaitEvent(a, done, 0));
	CU(cuMemFreeAsync(p, a));
#endif
	CU(cuCtxSynchronize());

	CU(cuEventDestroy(e));
	CU(cuEventDestroy(done));

	prog_end();
	return 0;
}
