/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The factor of a product lies in device memory, and the next step's is uploaded
 * while the product may not have read it.  The old result may count, or not: what
 * beta is cannot be seen.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * MENTIONS: KRT-RACE-WAR "factors"
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64 };

int main(void)
{
	CUdeviceptr a, b, c, factors;
	CUstream work, side;
	blas_handle h;
	CUevent used;
	uint32_t *next;

	prog_start();
	a = device_u32("a", N * N);
	b = device_u32("b", N * N);
	c = device_u32("c", N * N);
	factors = device_u32("factors", 2);
	next = pinned_u32("next", 1);
	work = stream_nb("work");
	side = stream_nb("side");
	used = event();
	h = blas_on(work);
	LIB(blas.scalars(h, 1));
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);
	set_now(c, 0, N * N);
	set_now(factors, bits_of(1), 2);
	/* loads code */
	LIB(blas.sgemm(h, 0, 0, N, N, N, (const float *)(uintptr_t)factors, a, N, b, N,
		       (const float *)(uintptr_t)(factors + 4), c, N));
	CU(cuCtxSynchronize());

	SPIN(work, SLOW);
	LIB(blas.sgemm(h, 0, 0, N, N, N, (const float *)(uintptr_t)factors, a, N, b, N,
		       (const float *)(uintptr_t)(factors + 4), c, N));
	CU(cuEventRecord(used, work));
#ifdef FIXED
	CU(cuStreamWaitEvent(side, used, 0));
#endif
	CU(cuMemcpyHtoDAsync(factors, next, 4, side));
	CU(cuStreamSynchronize(side));
	CU(cuStreamSynchronize(work));
	check_f32("sum of both", get_f32(c, 5), 4 * N);
	LIB(blas.destroy(h));
	prog_end();
	return 0;
}
