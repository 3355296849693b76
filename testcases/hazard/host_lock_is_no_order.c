/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads hand over a buffer under a lock.  The lock orders the calls, not the
 * device's work.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the consumer reads the old content
 */
#include "prog.h"

enum { N = 2048 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static bool ready;
static CUdeviceptr d;

static void *producer(void *arg)
{
	CUstream s = arg;

	CU(cuCtxSetCurrent(prog_context));
	SPIN(s, SLOW);
	CU(cuMemsetD32Async(d, 2, N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	pthread_mutex_lock(&lock);
	ready = true;
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
	set_now(d, 1, N);
	MUST(!pthread_create(&thread, NULL, producer, a));
	pthread_mutex_lock(&lock);
	while (!ready)
		pthread_cond_wait(&turn, &lock);
	pthread_mutex_unlock(&lock);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	MUST(!pthread_join(thread, NULL));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 2);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
