/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool overwrites what comes back, on the stream that used it, so that nobody
 * reads old data.
 */
#include "blocks.h"

enum { N = 1024, ROUNDS = 8 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr out = device_u32("out", N);
	struct blocks pool;

	blocks_open(&pool, "secrets", 1 << 16);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUdeviceptr p = blocks_alloc(&pool, 4 * N, s);

		FILL(s, p, i, N, 1000);
		COPY(s, out, p, N, 1000);
		blocks_free(&pool, p);
		CU(cuMemsetD32Async(p, 0xdead, N, s));
	}
	check_u32("out[0]", get_u32(out, 0), ROUNDS - 1);

	blocks_close(&pool);
	prog_end();
	return 0;
}
