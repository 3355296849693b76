/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool is torn down and built anew over its segment while an owner of the old one
 * has work in flight.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "pool destroy"
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
	CUdeviceptr segment, p, q;
	struct blocks pool;

	CU(cuMemAlloc(&segment, 1 << 20));
	blocks_over(&pool, "first", KRTSAN_POOL_DEVICE, segment, 1 << 20);
	p = blocks_alloc(&pool, 4 * N, a);
	CU(cuMemsetD32Async(p, 7, N, a));
	CU(cuStreamSynchronize(a));
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, p, 4 * N, a));
#ifdef FIXED
	CU(cuStreamSynchronize(a));
#endif
	blocks_leave(&pool);
	blocks_over(&pool, "second", KRTSAN_POOL_DEVICE, segment, 1 << 20);
	q = blocks_alloc(&pool, 4 * N, b);
	CU(cuMemsetD32Async(q, 99, N, b));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 7);

	blocks_close(&pool);
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
