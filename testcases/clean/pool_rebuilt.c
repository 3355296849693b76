/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool is destroyed with blocks out and built anew over the same segment after a
 * wait; then the segment is used without a pool.
 */
#include "blocks.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	uint32_t *h = pinned_u32("h", N);
	CUdeviceptr segment, p;
	struct blocks pool;

	CU(cuMemAlloc(&segment, 1 << 16));
	for (uint32_t i = 0; i < 4; i++) {
		CUstream s = i & 1 ? b : a;

		blocks_over(&pool, "pool", KRTSAN_POOL_DEVICE, segment, 1 << 16);
		p = blocks_alloc(&pool, 4 * N, s);
		FILL(s, p, i, N, 2000);
		CU(cuMemcpyDtoHAsync(h, p, 4 * N, s));
		if (i < 2)
			blocks_free(&pool, p);
		CU(cuStreamSynchronize(s));
		blocks_leave(&pool);
	}
	FILL(b, segment, 9, N, 0);
	CU(cuMemcpyDtoHAsync(h, segment, 4 * N, b));
	CU(cuStreamSynchronize(b));
	check_u32("h[0]", h[0], 9);

	CU(cuMemFree(segment));
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
