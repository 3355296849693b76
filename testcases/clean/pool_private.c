/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two pools, one of them private to a stream's temporaries, side by side in one
 * segment; a scratch pool inside a block of the other.
 */
#include "blocks.h"

enum { N = 1024, ROUNDS = 8 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	struct blocks shared, private, scratch;
	CUdeviceptr segment, arena, out = device_u32("out", N);

	CU(cuMemAlloc(&segment, 2 << 18));
	CU(cuMemsetD8Async(segment, 0, 2 << 18, a));
	CU(cuStreamSynchronize(a));
	blocks_over(&shared, "shared", KRTSAN_POOL_DEVICE, segment, 1 << 18);
	blocks_over(&private, "private", KRTSAN_POOL_DEVICE, segment + (1 << 18), 1 << 18);
	arena = blocks_alloc(&shared, 1 << 16, a);
	blocks_over(&scratch, "scratch", KRTSAN_POOL_DEVICE, arena, 1 << 16);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUdeviceptr x = blocks_alloc(&scratch, 4 * N, a),
			    y = blocks_alloc(&scratch, 8 * N, a),
			    z = blocks_alloc(&private, 4 * N, b);

		FILL(a, x, i, N, 1000);
		FILL(b, z, i, N, 1000);
		COPY(a, y, x, N, 1000);
		INC(b, z, 1, N, 1000);
		COPY(a, out, y, N, 0);
		blocks_free(&scratch, y);
		blocks_free(&private, z);
		blocks_free(&scratch, x);
	}
	check_u32("out[0]", get_u32(out, 0), ROUNDS - 1);
	blocks_leave(&scratch);
	blocks_free(&shared, arena);
	blocks_leave(&private);
	blocks_leave(&shared);
	CU(cuMemFree(segment));
	prog_end();
	return 0;
}
