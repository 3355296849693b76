/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers one past the end of a block, which is the first byte of the block behind it:
 * the kernel goes backwards from there, or has nothing to do.  The block behind is
 * another stream's, is given back and handed out again.
 * EXPECT: none
 */
#include "blocks.h"
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	shapes_load();
	struct blocks pool;
	CUstream a = stream_nb("a"), b = stream_nb("b");

	blocks_open(&pool, "pool", 16 * N);
	CUdeviceptr p = blocks_alloc(&pool, 4 * N, a), behind = blocks_alloc(&pool, 4 * N, b);

	MUST(behind == p + 4 * N);
	set_now(p, 0, 2 * N);
	BACK(a, behind, 3, N, SLOW);
	FILL(a, behind, 4, 0, 0); /* of no elements */
	FILL(b, behind, 5, N, 0);
	CU(cuMemsetD32Async(behind, 6, N, b));
	CU(cuStreamSynchronize(b));
	blocks_free(&pool, behind);
	behind = blocks_alloc(&pool, 4 * N, b);
	FILL(b, behind, 7, N, 0);
	check_u32("p[N - 1]", get_u32(p, N - 1), 3);
	check_u32("behind[0]", get_u32(behind, 0), 7);
	blocks_free(&pool, behind);
	blocks_free(&pool, p);
	blocks_close(&pool);

	prog_end();
	return 0;
}
