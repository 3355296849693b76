/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix product is fetched on another stream that does not wait for it.  The
 * kernels are cuBLAS' own: what they write is known from the call.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64 };

int main(void)
{
	CUdeviceptr a, b, c;
	CUstream work, side;
	blas_handle h;
	CUevent done;
	uint32_t *out;

	prog_start();
	a = device_u32("a", N * N);
	b = device_u32("b", N * N);
	c = device_u32("c", N * N);
	out = pinned_u32("out", N * N);
	work = stream_nb("work");
	side = stream_nb("side");
	done = event();
	h = blas_on(work);
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);
	set_now(c, 0, N * N);

	SPIN(work, SLOW);
	GEMM(h, N, a, b, 0, c);
	CU(cuEventRecord(done, work));
#ifdef FIXED
	CU(cuStreamWaitEvent(side, done, 0));
#endif
	CU(cuMemcpyDtoHAsync(out, c, 4 * N * N, side));
	CU(cuStreamSynchronize(side));
	check_u32("product", out[5], bits_of(2 * N));
	CU(cuStreamSynchronize(work));
	LIB(blas.destroy(h));
	prog_end();
	return 0;
}
