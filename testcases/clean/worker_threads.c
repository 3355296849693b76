/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads, each with its own stream, buffers and results; they meet at the
 * end in one reduction.
 */
#include "prog.h"

enum { N = 1024, WORKERS = 4 };

struct worker {
	CUstream s;
	CUdeviceptr in, out;
	CUevent done;
	uint32_t id;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	CU(cuCtxSetCurrent(prog_context));
	w->in = device_u32("in", N);
	w->out = device_u32("out", N);
	for (uint32_t i = 0; i < 3; i++) {
		CU(cuMemsetD32Async(w->in, w->id + i, N, w->s));
		COPY(w->s, w->out, w->in, N, 5000);
	}
	CU(cuEventRecord(w->done, w->s));
	return NULL;
}

int main(void)
{
	prog_start();
	struct worker w[WORKERS];
	pthread_t thread[WORKERS];
	CUstream s = stream_nb("reduce");
	CUdeviceptr sum = device_u32("sum", N);

	set_now(sum, 0, N);
	for (uint32_t i = 0; i < WORKERS; i++) {
		w[i] = (struct worker){.s = stream_nb("worker"), .done = event(), .id = i};
		MUST(!pthread_create(&thread[i], NULL, work, &w[i]));
	}
	for (int i = 0; i < WORKERS; i++) {
		MUST(!pthread_join(thread[i], NULL));
		CU(cuStreamWaitEvent(s, w[i].done, 0));
		READS(s, w[i].out, 4 * N);
		UPDATES(s, sum, 4 * N);
		ADD(s, sum, w[i].out, N, 0);
	}
	check_u32("sum[0]", get_u32(sum, 0), 2 * WORKERS + WORKERS * (WORKERS - 1) / 2);
	for (int i = 0; i < WORKERS; i++) {
		CU(cuMemFree(w[i].in));
		CU(cuMemFree(w[i].out));
		CU(cuEventDestroy(w[i].done));
		CU(cuStreamDestroy(w[i].s));
	}

	prog_end();
	return 0;
}
