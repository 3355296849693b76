/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads with streams of their own share a pool under a lock: a block that comes
 * back brings an event, and who gets it next waits for that event.
 */
#include "blocks.h"

enum { N = 1024, ROUNDS = 2, THREADS = 3 };

static struct blocks pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUevent freed[THREADS];
static bool recorded[THREADS];

static void *work(void *arg)
{
	unsigned id = (unsigned)(uintptr_t)arg;
	CUstream s;

	CU(cuCtxSetCurrent(prog_context));
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUdeviceptr p;

		pthread_mutex_lock(&lock);
		p = blocks_alloc(&pool, 4 * N, s);
		for (int t = 0; t < THREADS; t++)
			if (recorded[t] && t != (int)id)
				CU(cuStreamWaitEvent(s, freed[t], 0));
		FILL(s, p, i, N, 2000);
		CU(cuMemsetD32Async(p, i, N, s));
		INC(s, p, 1, N, 2000);
		CU(cuEventRecord(freed[id], s));
		recorded[id] = true;
		blocks_free(&pool, p);
		pthread_mutex_unlock(&lock);
	}
	CU(cuStreamSynchronize(s));
	CU(cuStreamDestroy(s));
	return NULL;
}

int main(void)
{
	prog_start();
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		freed[i] = event();
	blocks_open(&pool, "shared", 1 << 20);
	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(!pthread_create(&thread[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		MUST(!pthread_join(thread[i], NULL));

	blocks_close(&pool);
	for (int i = 0; i < THREADS; i++)
		CU(cuEventDestroy(freed[i]));
	prog_end();
	return 0;
}
