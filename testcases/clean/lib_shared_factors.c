/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four streams multiply with the same weights at once, each into its own result,
 * and add to it by a factor of their own.
 * EXPECT: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64, STREAMS = 4 };

int main(void)
{
	CUdeviceptr weights, x[STREAMS], y[STREAMS];
	CUstream s[STREAMS];
	blas_handle h[STREAMS];

	prog_start();
	weights = device_u32("weights", N * N);
	for (int i = 0; i < STREAMS; i++) {
		s[i] = stream_nb("worker");
		h[i] = blas_on(s[i]);
		x[i] = device_u32("x", N * N);
		y[i] = device_u32("y", N * N);
		set_now(x[i], bits_of(1), N * N);
		set_now(y[i], bits_of(3), N * N);
	}
	set_now(weights, bits_of(2), N * N);

	for (int i = 0; i < STREAMS; i++) {
		const float half = 0.5f;

		GEMM(h[i], N, weights, x[i], 1, y[i]);
		LIB(blas.saxpy(h[i], N * N, &half, weights, 1, y[i], 1));
	}
	for (int i = 0; i < STREAMS; i++)
		CU(cuStreamSynchronize(s[i]));
	check_f32("y", get_f32(y[3], 5), 2 * N + 4);
	for (int i = 0; i < STREAMS; i++)
		LIB(blas.destroy(h[i]));
	prog_end();
	return 0;
}
