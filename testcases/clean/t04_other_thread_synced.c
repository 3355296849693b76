/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread waits for the stream and tells another through a lock; that one goes on
 * without any call that orders.
 * SOURCE: trap T04
 */
#include "prog.h"

enum { N = 2048 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static bool done;
static CUdeviceptr d;
static CUevent e;

static void *producer(void *arg)
{
	CUstream s = arg;

	CU(cuCtxSetCurrent(prog_context));
	WRITES(s, d, 4 * N);
	FILL(s, d, 2, N, SLOW);
	CU(cuEventRecord(e, s));
	CU(cuEventSynchronize(e));
	pthread_mutex_lock(&lock);
	done = true;
	pthread_cond_signal(&turn);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("producer"), b = stream_nb("consumer");
	uint32_t *h = pinned_u32("h", N);
	pthread_t thread;

	d = device_u32("d", N);
	e = event();
	set_now(d, 1, N);
	MUST(!pthread_create(&thread, NULL, producer, a));
	pthread_mutex_lock(&lock);
	while (!done)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	CU(cuStreamSynchronize(b));
	krtsan_host_read(h, 4 * N);
	check_u32("h[0]", h[0], 2);
	MUST(!pthread_join(thread, NULL));

	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
