/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of pinned staging blocks: slices of a block are copied, the block comes
 * back when the event of its last copy has completed.
 */
#include "blocks.h"

enum { N = 1024, ROUNDS = 10, DEPTH = 3 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N), block[DEPTH];
	CUevent copied[DEPTH];
	struct blocks staging;

	blocks_open_host(&staging, "staging", DEPTH * 4 * N);
	for (int i = 0; i < DEPTH; i++)
		copied[i] = event();
	for (uint32_t r = 0; r < ROUNDS; r++) {
		uint32_t *h;
		int at = (int)(r % DEPTH);

		if (r >= DEPTH) {
			CU(cuEventSynchronize(copied[at]));
			blocks_free(&staging, block[at]);
		}
		block[at] = blocks_alloc(&staging, 4 * N, s);
		h = blocks_host(block[at]);
		krtsan_host_write(h, 4 * N);
		host_fill(h, r, N);
		for (int part = 0; part < 4; part++)
			CU(cuMemcpyHtoDAsync(d + N * (unsigned)part, h + N / 4 * part, N, s));
		INC(s, d, 1, N, 2000);
		CU(cuEventRecord(copied[at], s));
	}
	check_u32("d[0]", get_u32(d, 0), ROUNDS);

	blocks_close(&staging);
	for (int i = 0; i < DEPTH; i++)
		CU(cuEventDestroy(copied[i]));
	prog_end();
	return 0;
}
