/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the driver again and again, for ever: what a daemon thread of Python's is
 * in, without the GIL, while the interpreter shuts down and takes its state away.
 */
#define _GNU_SOURCE
#include "../../interposer/cuabi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

void churn(CUdeviceptr p, CUstream s);
void churn(CUdeviceptr p, CUstream s)
{
	for (;;) {
		cuMemsetD8Async(p, 0, 64, s);
		cuStreamSynchronize(s);
	}
}

/* Nanoseconds of a call, the best of many rounds: little else is in it. */
double cost(CUstream s);
double cost(CUstream s)
{
	double best = 1e9;

	for (int round = 0; round < 200; round++) {
		struct timespec a, b;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < 500; i++)
			cuStreamQuery(s);
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 500;
		best = ns < best ? ns : best;
	}
	return best;
}

struct foreign {
	CUcontext ctx;
	double ns;
};

/* As the threads of libraries: known to Python, without the GIL, and in none of its functions. */
static void *foreign(void *arg)
{
	struct foreign *f = arg;
	int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
	void *(*save)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
	void (*restore)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "PyEval_RestoreThread");
	void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
	int state = ensure();
	void *saved = save();
	CUstream s;

	if (!cuCtxSetCurrent(f->ctx) && !cuStreamCreate(&s, 1))
		f->ns = cost(s);
	restore(saved);
	release(state);
	return NULL;
}

double cost_foreign(CUcontext ctx);
double cost_foreign(CUcontext ctx)
{
	struct foreign f = {.ctx = ctx};
	pthread_t t;

	if (!pthread_create(&t, NULL, foreign, &f))
		pthread_join(t, NULL);
	return f.ns;
}
