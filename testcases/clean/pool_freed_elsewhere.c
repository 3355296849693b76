/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory is freed on the stream that used it last, and once after a
 * sync of the whole device, with cuMemFree.
 */
#include "prog.h"
#include "pool.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr p, q;

	CU(cuMemAllocAsync(&p, 4 * N, a));
	CU(cuMemAllocAsync(&q, 4 * N, a));
	FILL(a, p, 1, N, 5000);
	FILL(a, q, 1, N, 5000);
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
	FILL(b, p, 2, N, 5000);
	CU(cuMemFreeAsync(p, b));
	CU(cuCtxSynchronize());
	CU(cuMemFree(q));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
