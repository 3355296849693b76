/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of every second element: two streams add to the even and to the odd ones
 * of one buffer, from the even and the odd ones of another.
 * EXPECT: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 1024 };

int main(void)
{
	const float two = 2;
	blas_handle even, odd;
	CUdeviceptr x, y;
	CUstream s, t;

	prog_start();
	x = device_u32("x", 2 * N);
	y = device_u32("y", 2 * N);
	s = stream_nb("even");
	t = stream_nb("odd");
	even = blas_on(s);
	odd = blas_on(t);
	set_now(x, bits_of(1), 2 * N);
	set_now(y, bits_of(3), 2 * N);
	/* loads code */
	LIB(blas.saxpy(even, N, &two, x, 2, y, 2));
	CU(cuCtxSynchronize());

	LIB(blas.saxpy(even, N, &two, x, 2, y, 2));
	LIB(blas.saxpy(odd, N, &two, x + 4, 2, y + 4, 2));
	CU(cuStreamSynchronize(s));
	CU(cuStreamSynchronize(t));
	check_f32("even", get_f32(y, 10), 7);
	check_f32("odd", get_f32(y, 11), 5);
	LIB(blas.destroy(even));
	LIB(blas.destroy(odd));
	prog_end();
	return 0;
}
