/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block is given back before the last copy from it is enqueued; then it gets a
 * new owner on another stream.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "had been given back (block free"
 * FINDINGS: 1
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
	struct blocks pool;
	CUdeviceptr p, q;

	blocks_open(&pool, "tensors", 1 << 20);
	p = blocks_alloc(&pool, 4 * N, a);
	CU(cuMemsetD32Async(p, 7, N, a));
	CU(cuStreamSynchronize(a));
#ifndef FIXED
	blocks_free(&pool, p);
#endif
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, p, 4 * N, a));
#ifdef FIXED
	CU(cuStreamSynchronize(a));
	blocks_free(&pool, p);
#endif
	q = blocks_alloc(&pool, 4 * N, b);
	CU(cuMemsetD32Async(q, 99, N, b));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 7);

	blocks_close(&pool);
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
