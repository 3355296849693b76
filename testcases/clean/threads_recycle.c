/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that allocate and free all the time: an address that one of them frees is
 * another's the next moment, before the first one's call has returned.  Each waits
 * for its own work only.
 *
 * OPTIONS: hot_min=100000
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1000, THREADS = 4, ROUNDS = 150 };

static void *work(void *arg)
{
	CUstream s = arg;
	CUdeviceptr a, b;

	CU(cuCtxSetCurrent(prog_context));
	for (int i = 0; i < ROUNDS; i++) {
		CU(cuMemAlloc(&a, 4 * N));
		CU(cuMemsetD32Async(a, (unsigned)i, N, s));
		CU(cuMemAllocAsync(&b, 4 * N, s));
		CU(cuMemcpyDtoDAsync(b, a, 4 * N, s));
		CU(cuStreamSynchronize(s));
		CU(cuMemFree(a));
		CU(cuMemsetD32Async(b, 0, N, s));
		CU(cuMemFreeAsync(b, s));
	}
	CU(cuStreamSynchronize(s));
	return NULL;
}

int main(void)
{
	prog_start();
	pthread_t thread[THREADS];
	CUstream s[THREADS];

	for (int i = 0; i < THREADS; i++) {
		s[i] = stream_nb("worker");
		MUST(!pthread_create(&thread[i], NULL, work, s[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		MUST(!pthread_join(thread[i], NULL));
		CU(cuStreamDestroy(s[i]));
	}

	prog_end();
	return 0;
}
