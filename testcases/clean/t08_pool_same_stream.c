/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool hands the same block out again and again on one stream.
 * SOURCE: trap T08
 */
#include "blocks.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr sum = device_u32("sum", N);
	struct blocks pool;

	CU(cuMemsetD32Async(sum, 0, N, s));
	blocks_open(&pool, "temporaries", 1 << 20);
	for (uint32_t i = 0; i < 20; i++) {
		CUdeviceptr p = blocks_alloc(&pool, 4 * N, s);

		FILL(s, p, i, N, 500);
		ADD(s, sum, p, N, 500);
		blocks_free(&pool, p);
	}
	check_u32("sum[0]", get_u32(sum, 0), 190);

	blocks_close(&pool);
	prog_end();
	return 0;
}
