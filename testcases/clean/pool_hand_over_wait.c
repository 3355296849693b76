/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool notes an event at each free, and the stream that gets the block next
 * waits for it: before the hand-over, or behind it and before the first use.
 */
#include "blocks.h"

enum { N = 1024, ROUNDS = 12 };

int main(void)
{
	prog_start();
	CUstream s[3] = {stream_nb("a"), stream_nb("b"), stream_nb("c")};
	CUevent freed = event();
	struct blocks pool;

	blocks_open(&pool, "tensors", 1 << 20);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUstream own = s[i % 3];
		CUdeviceptr p;

		if (i && i % 2)
			CU(cuStreamWaitEvent(own, freed, 0));
		p = blocks_alloc(&pool, 4 * N, own);
		if (i && !(i % 2))
			CU(cuStreamWaitEvent(own, freed, 0));
		FILL(own, p, i, N, 2000);
		CU(cuMemsetD32Async(p, i, N, own));
		INC(own, p, 1, N, 2000);
		CU(cuEventRecord(freed, own));
		blocks_free(&pool, p);
	}
	CU(cuCtxSynchronize());
	check_u32("last", get_u32(pool.base, 0), ROUNDS); /* nobody else has it */

	blocks_close(&pool);
	CU(cuEventDestroy(freed));
	prog_end();
	return 0;
}
