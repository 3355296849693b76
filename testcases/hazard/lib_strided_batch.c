/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel clears, on another stream, what lies between the results of a strided
 * batch, and begins one matrix too early.  The fixed one clears the gap alone.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 32, STEP = 2 * N * N, BATCH = 4 };

int main(void)
{
	const float one = 1, zero = 0;
	CUdeviceptr a, b, c;
	CUstream work, side;
	blas_handle h;

	prog_start();
	a = device_u32("a", N * N * BATCH);
	b = device_u32("b", N * N * BATCH);
	c = device_u32("c", STEP * BATCH);
	work = stream_nb("work");
	side = stream_nb("side");
	h = blas_on(work);
	set_now(a, bits_of(1), N * N * BATCH);
	set_now(b, bits_of(2), N * N * BATCH);
	set_now(c, 0, STEP * BATCH);

	SPIN(work, SLOW);
	LIB(blas.strided(h, 0, 0, N, N, N, &one, a, N, N * N, b, N, N * N, &zero, c, N, STEP,
			 BATCH));
#ifdef FIXED
	CU(cuMemsetD32Async(c + 4 * (STEP + N * N), bits_of(9), STEP - N * N, side));
#else
	CU(cuMemsetD32Async(c + 4 * STEP, bits_of(9), STEP - N * N, side));
#endif
	CU(cuStreamSynchronize(side));
	CU(cuStreamSynchronize(work));
	check_f32("second product", get_f32(c, STEP + 5), 2 * N);
	LIB(blas.destroy(h));
	prog_end();
	return 0;
}
