/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As kernels_file_long, with blocks of a pool: a range that the kernels file says is sure
 * ends with the block, so blocks side by side are no business of each other.
 * OPTIONS: kernels=testcases/harness/long.kernels
 * EXPECT: none
 */
#include "blocks.h"

enum { N = 1024 };

static struct blocks pool;

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr p, q;

	blocks_open(&pool, "tensors", 1 << 20);
	p = blocks_alloc(&pool, 4 * N, a);
	q = blocks_alloc(&pool, 4 * N, b);
	FILL(a, p, 1, N, 0);
	CU(cuMemsetD32Async(q, 2, N, b));
	CU(cuCtxSynchronize());
	check_u32("q[0]", get_u32(q, 0), 2);
	blocks_free(&pool, q);
	blocks_free(&pool, p);
	blocks_close(&pool);

	prog_end();
	return 0;
}
