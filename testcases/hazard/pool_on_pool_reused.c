/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scratch pool lives in a block of a tensor pool.  Its blocks change hands
 * without a wait.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "scratch"
 * EXPECT-FIXED: none
 * SIM-WRONG: the copy holds the new owner's bytes
 */
#include "blocks.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	uint32_t *h = pinned_u32("h", N);
	struct blocks pool, scratch;
	CUdeviceptr arena, p, q;

	blocks_open(&pool, "tensors", 1 << 20);
	arena = blocks_alloc(&pool, 1 << 16, a);
	CU(cuMemsetD8Async(arena, 0, 1 << 16, a));
	CU(cuStreamSynchronize(a));
	blocks_over(&scratch, "scratch", KRTSAN_POOL_DEVICE, arena, 1 << 16);
	p = blocks_alloc(&scratch, 4 * N, a);
	CU(cuMemsetD32Async(p, 7, N, a));
	CU(cuStreamSynchronize(a));
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, p, 4 * N, a));
	blocks_free(&scratch, p);
	q = blocks_alloc(&scratch, 4 * N, b);
#ifdef FIXED
	CU(cuStreamSynchronize(a));
#endif
	FILL(b, q, 99, N, 0);
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 7);
	blocks_free(&scratch, q);
	blocks_leave(&scratch);
	blocks_free(&pool, arena);

	blocks_close(&pool);
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
