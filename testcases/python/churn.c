/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the driver again and again, for ever: what a daemon thread of Python's is
 * in, without the GIL, while the interpreter shuts down and takes its state away.
 */
#include "../../interposer/cuabi.h"

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
