/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy on a side stream outlives its source tensor: the block goes back to the
 * pool and to a new owner on the main stream, while the copy still reads it.
 * SOURCE: scenarios S01
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "pool "
 * MENTIONS: KRT-REUSE-RACE "cuMemcpyDtoHAsync"
 * MENTIONS: KRT-REUSE-RACE "block free"
 * MENTIONS: KRT-REUSE-RACE "kernel fill"
 * MENTIONS: KRT-REUSE-RACE "krtsan_block_use"
 * EXPECT-FIXED: none
 * SIM-WRONG: the copy holds the new owner's bytes
 */
#include "blocks.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream main_stream = stream_nb("main"), copier = stream_nb("copier");
	CUevent ready = event(), done = event();
	uint32_t *h = pinned_u32("h", N);
	struct blocks pool;
	CUdeviceptr p, q;

	blocks_open(&pool, "tensors", 1 << 20);
	p = blocks_alloc(&pool, 4 * N, main_stream);
	FILL(main_stream, p, 7, N, 0);
	CU(cuEventRecord(ready, main_stream));
	CU(cuStreamWaitEvent(copier, ready, 0));
	SPIN(copier, SLOW);
	CU(cuMemcpyDtoHAsync(h, p, 4 * N, copier));
#ifdef FIXED
	krtsan_block_use((void *)(uintptr_t)p, copier);
	CU(cuEventRecord(done, copier));
	CU(cuEventSynchronize(done));
#endif
	blocks_free(&pool, p);
	q = blocks_alloc(&pool, 4 * N, main_stream);
	FILL(main_stream, q, 99, N, 0);
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 7);

	blocks_close(&pool);
	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(ready));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
