/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool keyed by stream handle, with the per-thread stream: the handle is the
 * same number in every thread, the stream is not.  Fixed: a bin for each thread.
 * SOURCE: scenarios S06
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "another stream in each thread"
 * EXPECT-FIXED: none
 * SIM-WRONG: the other thread's values
 */
#include "blocks.h"

enum { N = 2048 };

static struct blocks pool[2];
static uint32_t *h;

static struct blocks *bin(int thread)
{
#ifdef FIXED
	return &pool[thread];
#else
	(void)thread;
	return &pool[0];
#endif
}

static void *second(void *arg)
{
	CUdeviceptr q;

	(void)arg;
	CU(cuCtxSetCurrent(prog_context));
	q = blocks_alloc(bin(1), 4 * N, CU_STREAM_PER_THREAD);
	FILL(CU_STREAM_PER_THREAD, q, 2, N, 0);
	SPIN(CU_STREAM_PER_THREAD, 4 * SLOW);
	CU(cuMemcpyDtoHAsync(h, q, 4 * N, CU_STREAM_PER_THREAD));
	CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

int main(void)
{
	prog_start();
	pthread_t thread;
	CUdeviceptr p;

	h = pinned_u32("h", N);
	blocks_open(&pool[0], "by handle", 1 << 20);
	blocks_open(&pool[1], "second thread", 1 << 20);
	p = blocks_alloc(bin(0), 4 * N, CU_STREAM_PER_THREAD);
	FILL(CU_STREAM_PER_THREAD, p, 1, N, SLOW);
	blocks_free(bin(0), p);
	MUST(!pthread_create(&thread, NULL, second, NULL));
	MUST(!pthread_join(thread, NULL));
	check_u32("h[0]", h[0], 2);

	CU(cuCtxSynchronize());
	blocks_close(&pool[0]);
	blocks_close(&pool[1]);
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
