/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads with a stream each pass a buffer back and forth; every hand-over
 * carries an event.
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static CUdeviceptr d;
static CUevent handed;
static int whose;

static void play(int me, CUstream s)
{
	CU(cuCtxSetCurrent(prog_context));
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		while (whose != me)
			pthread_cond_wait(&turn, &lock);
		CU(cuStreamWaitEvent(s, handed, 0));
		UPDATES(s, d, 4 * N);
		INC(s, d, 1, N, 3000);
		CU(cuEventRecord(handed, s));
		whose = !me;
		pthread_cond_signal(&turn);
		pthread_mutex_unlock(&lock);
	}
}

static void *other(void *arg)
{
	play(1, arg);
	return NULL;
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	pthread_t thread;

	d = device_u32("d", N);
	handed = event();
	set_now(d, 0, N);
	CU(cuEventRecord(handed, a));
	MUST(!pthread_create(&thread, NULL, other, b));
	play(0, a);
	MUST(!pthread_join(thread, NULL));
	check_u32("d[0]", get_u32(d, 0), 2 * ROUNDS);
	CU(cuEventDestroy(handed));

	prog_end();
	return 0;
}
