/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool whose segments are stream-ordered memory: the driver gives the same
 * addresses out again, on another stream too, and orders that itself.
 * SOURCE: trap T07
 */
#include "blocks.h"
#include "pool.h"

enum { N = 1 << 14, ROUNDS = 6 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream s[2] = {stream_nb("a"), stream_nb("b")};
	struct blocks pool;

	for (uint32_t r = 0; r < ROUNDS; r++) {
		CUstream own = s[r & 1];
		CUdeviceptr segment, p, q;

		CU(cuMemAllocAsync(&segment, 8 * N, own));
		blocks_over(&pool, "pool", KRTSAN_POOL_DEVICE, segment, 8 * N);
		p = blocks_alloc(&pool, 4 * N, own);
		q = blocks_alloc(&pool, 4 * N, own);
		FILL(own, p, r, N, 1000);
		COPY(own, q, p, N, 1000);
		CU(cuMemsetD32Async(p, 1, N, own));
		blocks_free(&pool, p);
		blocks_free(&pool, q);
		blocks_leave(&pool);
		CU(cuMemFreeAsync(segment, own));
	}
	prog_end();
	return 0;
}
