/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One workspace that handles on two streams use in turns, each after the other's
 * event; and the library's own again, once the stream of a handle is set anew.
 * EXPECT: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64, ROUNDS = 4 };

int main(void)
{
	CUdeviceptr a, c[2], room;
	blas_handle h[2];
	CUevent done[2];
	CUstream s[2];

	prog_start();
	a = device_u32("a", N * N);
	room = device_u32("workspace", N * N);
	for (int i = 0; i < 2; i++) {
		c[i] = device_u32("c", N * N);
		s[i] = stream_nb("worker");
		h[i] = blas_on(s[i]);
		done[i] = event();
		LIB(blas.workspace(h[i], room, 4 * N * N));
	}
	set_now(a, bits_of(1), N * N);

	for (int r = 0; r < ROUNDS; r++) {
		int i = r % 2;

		if (r)
			CU(cuStreamWaitEvent(s[i], done[!i], 0));
		GEMM(h[i], N, a, a, 0, c[i]);
		CU(cuEventRecord(done[i], s[i]));
	}
	LIB(blas.stream(h[0], s[0]));
	GEMM(h[0], N, a, a, 0, c[0]);
	CU(cuStreamSynchronize(s[0]));
	CU(cuStreamSynchronize(s[1]));
	check_f32("c", get_f32(c[1], 5), N);
	LIB(blas.destroy(h[0]));
	LIB(blas.destroy(h[1]));
	prog_end();
	return 0;
}
