/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Free blocks are kept apart by stream: each bin is used in the order of its own
 * stream, and nothing else orders them.
 */
#include "blocks.h"

enum { N = 1024, STREAMS = 3, ROUNDS = 10 };

int main(void)
{
	prog_start();
	CUstream s[STREAMS] = {stream_nb("a"), stream_nb("b"), stream_blocking("c")};
	struct blocks bin[STREAMS];
	CUdeviceptr segment;

	CU(cuMemAlloc(&segment, STREAMS << 18));
	for (int i = 0; i < STREAMS; i++)
		blocks_over(&bin[i], "bin", KRTSAN_POOL_DEVICE, segment + ((CUdeviceptr)i << 18),
			    1 << 18);
	for (uint32_t r = 0; r < ROUNDS; r++)
		for (uint32_t i = 0; i < STREAMS; i++) {
			CUdeviceptr p = blocks_alloc(&bin[i], 4 * N, s[i]),
				    q = blocks_alloc(&bin[i], 4 * N, s[i]);

			FILL(s[i], p, r, N, 1000);
			COPY(s[i], q, p, N, 1000);
			blocks_free(&bin[i], p);
			INC(s[i], q, i, N, 1000);
			blocks_free(&bin[i], q);
		}
	CU(cuCtxSynchronize());
	for (int i = 0; i < STREAMS; i++)
		blocks_leave(&bin[i]);
	CU(cuMemFree(segment));
	prog_end();
	return 0;
}
