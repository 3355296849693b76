/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that each have a handle, a stream, a workspace and results of their own
 * and multiply at once with shared factors; threads come and go.
 * EXPECT: none
 * MAY-SKIP: needs cuBLAS
 * UNSTABLE: threads take turns as they like
 */
#include "libs.h"

enum { N = 64, THREADS = 4, ROUNDS = 8 };

static CUdeviceptr a, b;
static struct worker {
	blas_handle h;
	CUstream s;
	CUdeviceptr c, d;
} workers[THREADS];

static void *work(void *arg)
{
	struct worker *w = arg;

	CU(cuCtxSetCurrent(prog_context));
	for (int r = 0; r < ROUNDS; r++) {
		GEMM(w->h, N, a, b, 0, w->c);
		GEMM(w->h, N, w->c, b, 1, w->d);
	}
	CU(cuStreamSynchronize(w->s));
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	prog_start();
	a = device_u32("a", N * N);
	b = device_u32("b", N * N);
	for (int i = 0; i < THREADS; i++) {
		struct worker *w = &workers[i];

		w->s = stream_nb("worker");
		w->h = blas_on(w->s);
		w->c = device_u32("c", N * N);
		w->d = device_u32("d", N * N);
		LIB(blas.workspace(w->h, device_u32("workspace", N * N), 4 * N * N));
		set_now(w->d, 0, N * N);
	}
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(1), N * N);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < THREADS; i++)
			MUST(!pthread_create(&t[i], NULL, work, &workers[i]));
		for (int i = 0; i < THREADS; i++)
			MUST(!pthread_join(t[i], NULL));
	}
	check_f32("d", get_f32(workers[3].d, 5), 2 * ROUNDS * N * N);
	for (int i = 0; i < THREADS; i++)
		LIB(blas.destroy(workers[i].h));
	prog_end();
	return 0;
}
