/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks are split, merged and handed to two streams; a part that another stream
 * still works in is left alone, the bytes beside it are not.
 */
#include "blocks.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	struct blocks pool;
	CUdeviceptr p, q, r, whole;
	CUevent done = event();

	blocks_open(&pool, "tensors", 16 * N);
	for (uint32_t i = 0; i < 6; i++) {
		p = blocks_alloc(&pool, 4 * N, a);
		q = blocks_alloc(&pool, 4 * N, b);
		r = blocks_alloc(&pool, 8 * N, a);
		FILL(a, p, 1, N, 2000);
		FILL(b, q, 2, N, 2000);
		FILL(a, r, 3, 2 * N, 2000);
		blocks_free(&pool, p);
		blocks_free(&pool, r);
		/* q is still another stream's; what is around it is this stream's own */
		p = blocks_alloc(&pool, 2 * N, a);
		r = blocks_alloc(&pool, 6 * N, a);
		CU(cuMemsetD32Async(p, 4, N / 2, a));
		CU(cuMemsetD32Async(r, 5, 3 * N / 2, a));
		blocks_free(&pool, p);
		blocks_free(&pool, r);
		blocks_free(&pool, q);
		CU(cuEventRecord(done, b));
		CU(cuStreamWaitEvent(a, done, 0));
		whole = blocks_alloc(&pool, 16 * N, a);
		CU(cuMemsetD32Async(whole, 6, 4 * N, a));
		FILL(a, whole, 7, 4 * N, 2000);
		blocks_free(&pool, whole);
		CU(cuEventRecord(done, a));
		CU(cuStreamWaitEvent(b, done, 0));
	}
	CU(cuCtxSynchronize());

	blocks_close(&pool);
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
