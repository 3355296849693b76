/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_stream as caching allocators do it: an event for each block and stream
 * that used it, recorded at the free; the block goes back on the free list when
 * a query has found them all complete.
 * SOURCE: trap T05
 */
#include "blocks.h"

enum { N = 1024, ROUNDS = 14, PENDING = 4 };

static struct blocks pool;
static struct {
	CUdeviceptr p;
	CUevent used[2];
} pending[PENDING];
static unsigned first, count;

static bool done(CUevent e)
{
	CUresult r = cuEventQuery(e);

	if (r != CUDA_ERROR_NOT_READY)
		CU(r);
	return r == CUDA_SUCCESS;
}

static void reap(bool all)
{
	while (count && (all || count == PENDING)) {
		while (!done(pending[first].used[0]) || !done(pending[first].used[1]))
			;
		blocks_free(&pool, pending[first].p);
		first = (first + 1) % PENDING;
		count--;
	}
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr sum = device_u32("sum", N);
	CUevent ready = event();

	CU(cuMemsetD32Async(sum, 0, N, b));
	for (int i = 0; i < PENDING; i++)
		pending[i].used[0] = event(), pending[i].used[1] = event();
	blocks_open(&pool, "tensors", 1 << 20);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUdeviceptr p;
		unsigned at;

		reap(false);
		p = blocks_alloc(&pool, 4 * N * (1 + i % 3), a);
		at = (first + count++) % PENDING;
		FILL(a, p, 1, N, 500);
		CU(cuEventRecord(ready, a));
		CU(cuStreamWaitEvent(b, ready, 0));
		krtsan_block_use((void *)(uintptr_t)p, b);
		ADD(b, sum, p, N, 2000);
		pending[at].p = p;
		CU(cuEventRecord(pending[at].used[0], a));
		CU(cuEventRecord(pending[at].used[1], b));
	}
	reap(true);
	check_u32("sum[0]", get_u32(sum, 0), ROUNDS);

	blocks_close(&pool);
	for (int i = 0; i < PENDING; i++) {
		CU(cuEventDestroy(pending[i].used[0]));
		CU(cuEventDestroy(pending[i].used[1]));
	}
	CU(cuEventDestroy(ready));
	prog_end();
	return 0;
}
