/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool takes segments from the driver and gives them back; the driver hands the
 * same addresses out again, to the pool and to others.
 */
#include "blocks.h"

enum { N = 4096, ROUNDS = 6, SEGMENTS = 3 };

int main(void)
{
	prog_start();
	CUstream s[2] = {stream_nb("a"), stream_nb("b")};
	struct blocks pool[SEGMENTS];
	CUdeviceptr p[SEGMENTS], other;

	for (uint32_t r = 0; r < ROUNDS; r++) {
		CUstream own = s[r & 1];

		for (int i = 0; i < SEGMENTS; i++) {
			blocks_open(&pool[i], "segment", 1 << 20);
			p[i] = blocks_alloc(&pool[i], 4 * N, own);
			FILL(own, p[i], r, N, 1000);
			CU(cuMemsetD32Async(p[i], r, N, own));
		}
		CU(cuStreamSynchronize(own));
		for (int i = 0; i < SEGMENTS; i++) {
			blocks_free(&pool[i], p[i]);
			blocks_close(&pool[i]);
		}
		CU(cuMemAlloc(&other, 1 << 20));
		CU(cuMemsetD32Async(other, r, N, s[~r & 1]));
		FILL(s[~r & 1], other, r, N, 1000);
		CU(cuStreamSynchronize(s[~r & 1]));
		CU(cuMemFree(other));
	}
	prog_end();
	return 0;
}
