/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions give blocks back when the work before them is done; the main
 * thread hands them out again on other streams.
 */
#include "blocks.h"

enum { N = 1024, ROUNDS = 10 };

static struct blocks pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came_back = PTHREAD_COND_INITIALIZER;
static int out;

static void give_back(void *block)
{
	pthread_mutex_lock(&lock);
	blocks_free(&pool, (CUdeviceptr)(uintptr_t)block);
	out--;
	pthread_cond_signal(&came_back);
	pthread_mutex_unlock(&lock);
}

int main(void)
{
	prog_start();
	CUstream s[2] = {stream_nb("a"), stream_nb("b")};

	blocks_open(&pool, "two blocks", 8 * N);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		CUstream own = s[i & 1];
		CUdeviceptr p;

		pthread_mutex_lock(&lock);
		while (out == 2)
			pthread_cond_wait(&came_back, &lock);
		p = blocks_alloc(&pool, 4 * N, own);
		out++;
		pthread_mutex_unlock(&lock);
		FILL(own, p, i, N, 20000);
		CU(cuMemsetD32Async(p, i, N, own));
		CU(cuLaunchHostFunc(own, give_back, (void *)(uintptr_t)p));
	}
	CU(cuCtxSynchronize());

	blocks_close(&pool);
	prog_end();
	return 0;
}
