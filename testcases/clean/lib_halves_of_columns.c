/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams write the upper and the lower half of every column of one matrix:
 * the leading dimension leaves a gap that belongs to the other.  A third reads
 * what lies beside both, between the columns.
 * EXPECT: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 32, LD = 2 * N + 8 };

int main(void)
{
	const float one = 1, zero = 0;
	CUdeviceptr a, b, c;
	CUstream s, t, u;
	blas_handle upper, lower;
	uint32_t *out;

	prog_start();
	a = device_u32("a", N * N);
	b = device_u32("b", N * N);
	c = device_u32("c", LD * N);
	out = pinned_u32("out", 8);
	s = stream_nb("upper half");
	t = stream_nb("lower half");
	u = stream_nb("beside");
	upper = blas_on(s);
	lower = blas_on(t);
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);
	set_now(c, bits_of(5), LD * N);

	LIB(blas.sgemm(upper, 0, 0, N, N, N, &one, a, N, b, N, &zero, c, LD));
	LIB(blas.sgemm(lower, 0, 0, N, N, N, &one, b, N, b, N, &zero, c + 4 * N, LD));
	CU(cuMemcpyDtoHAsync(out, c + 4 * (3 * LD + 2 * N), 4 * 8, u));
	CU(cuStreamSynchronize(u));
	check_u32("beside", out[7], bits_of(5));
	CU(cuStreamSynchronize(s));
	CU(cuStreamSynchronize(t));
	check_f32("upper", get_f32(c, 5 * LD + 1), 2 * N);
	check_f32("lower", get_f32(c, 5 * LD + N + 1), 4 * N);
	LIB(blas.destroy(upper));
	LIB(blas.destroy(lower));
	prog_end();
	return 0;
}
