/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Even and odd matrices of one buffer are two strided batches, on two streams;
 * the next step's inputs replace the odd ones as soon as their batch is done.
 * EXPECT: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 16, STEP = 2 * N * N, BATCH = 8 };

int main(void)
{
	const float one = 1, zero = 0;
	CUdeviceptr a, c;
	CUstream s, t, u;
	blas_handle even, odd;
	CUevent done;
	uint32_t *next;

	prog_start();
	a = device_u32("a", STEP * BATCH);
	c = device_u32("c", STEP * BATCH);
	next = pinned_u32("next", N * N);
	s = stream_nb("even");
	t = stream_nb("odd");
	u = stream_nb("upload");
	done = event();
	even = blas_on(s);
	odd = blas_on(t);
	set_now(a, bits_of(1), STEP * BATCH);

	LIB(blas.strided(even, 0, 1, N, N, N, &one, a, N, STEP, a, N, STEP, &zero, c, N, STEP,
			 BATCH));
	LIB(blas.strided(odd, 1, 0, N, N, N, &one, a + 4 * N * N, N, STEP, a + 4 * N * N, N, STEP,
			 &zero, c + 4 * N * N, N, STEP, BATCH));
	CU(cuEventRecord(done, t));
	CU(cuStreamWaitEvent(u, done, 0));
	for (unsigned i = 0; i < BATCH; i++)
		CU(cuMemcpyHtoDAsync(a + 4 * (i * STEP + N * N), next, 4 * N * N, u));
	CU(cuStreamSynchronize(s));
	CU(cuStreamSynchronize(u));
	check_f32("even", get_f32(c, 5), N);
	check_f32("odd", get_f32(c, N * N + 5), N);
	LIB(blas.destroy(even));
	LIB(blas.destroy(odd));
	prog_end();
	return 0;
}
