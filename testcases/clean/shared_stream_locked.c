/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads share one stream under a lock: stream order is order.
 */
#include "prog.h"

enum { N = 1024, THREADS = 3, ROUNDS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUdeviceptr d;

static void *work(void *arg)
{
	CUstream s = arg;

	CU(cuCtxSetCurrent(prog_context));
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		UPDATES(s, d, 4 * N);
		INC(s, d, 1, N, 1000);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	prog_start();
	pthread_t thread[THREADS];
	CUstream s = stream_nb("shared");

	d = device_u32("d", N);
	set_now(d, 0, N);
	for (int i = 0; i < THREADS; i++)
		MUST(!pthread_create(&thread[i], NULL, work, s));
	for (int i = 0; i < THREADS; i++)
		MUST(!pthread_join(thread[i], NULL));
	check_u32("d[0]", get_u32(d, 0), THREADS * ROUNDS);

	prog_end();
	return 0;
}
