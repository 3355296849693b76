/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads take turns at a buffer: whoever has the lock makes its stream wait for the
 * event of the one before.  The first thread happens to have all its turns before the
 * other comes, and waited for nobody but itself.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 64, TURNS = 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUdeviceptr x;
static CUevent done;

static void *worker(void *arg)
{
	CUstream s;

	(void)arg;
	CU(cuCtxSetCurrent(prog_context));
	s = stream_nb("worker");
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&lock);
		CU(cuStreamWaitEvent(s, done, 0));
		INC(s, x, 1, N, 0);
		CU(cuEventRecord(done, s));
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;

	prog_start();
	x = device_u32("x", N);
	done = event();
	set_now(x, 0, N);
	for (int i = 0; i < 2; i++) {
		MUST(!pthread_create(&t, NULL, worker, NULL));
		MUST(!pthread_join(t, NULL));
	}
	check_u32("x[0]", get_u32(x, 0), 2 * TURNS);

	prog_end();
	return 0;
}
