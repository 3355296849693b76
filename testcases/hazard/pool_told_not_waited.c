/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool knows that another stream uses the block, and records its event before
 * that stream's work instead of at the free.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "the pool was told"
 * EXPECT-FIXED: none
 * SIM-WRONG: the consumer reads the new owner's bytes
 */
#include "blocks.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent ready = event(), used = event();
	CUdeviceptr out = device_u32("out", N), p, q;
	struct blocks pool;

	blocks_open(&pool, "tensors", 1 << 20);
	p = blocks_alloc(&pool, 4 * N, a);
	FILL(a, p, 7, N, 0);
	CU(cuEventRecord(ready, a));
	CU(cuStreamWaitEvent(b, ready, 0));
	krtsan_block_use((void *)(uintptr_t)p, b);
#ifndef FIXED
	CU(cuEventRecord(used, b));
#endif
	COPY(b, out, p, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(used, b));
#endif
	blocks_free(&pool, p);
	CU(cuEventSynchronize(used));
	q = blocks_alloc(&pool, 4 * N, a);
	FILL(a, q, 99, N, 0);
	check_u32("out[0]", get_u32(out, 0), 7);

	blocks_close(&pool);
	CU(cuEventDestroy(ready));
	CU(cuEventDestroy(used));
	prog_end();
	return 0;
}
