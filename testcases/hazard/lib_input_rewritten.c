/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next step's input is uploaded over a matrix that a product still reads.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * MENTIONS: KRT-RACE-WAR "lib_a"
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64 };

int main(void)
{
	CUdeviceptr a, b, c;
	CUstream work, upload;
	blas_handle h;
	CUevent used;
	uint32_t *next;

	prog_start();
	a = device_u32("lib_a", N * N);
	b = device_u32("b", N * N);
	c = device_u32("c", N * N);
	next = pinned_u32("next", N * N);
	host_fill(next, bits_of(7), N * N);
	work = stream_nb("work");
	upload = stream_nb("upload");
	used = event();
	h = blas_on(work);
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);
	set_now(c, 0, N * N);

	SPIN(work, SLOW);
	GEMM(h, N, a, b, 0, c);
	CU(cuEventRecord(used, work));
#ifdef FIXED
	CU(cuStreamWaitEvent(upload, used, 0));
#endif
	CU(cuMemcpyHtoDAsync(a, next, 4 * N * N, upload));
	CU(cuStreamSynchronize(work));
	check_f32("product", get_f32(c, 5), 2 * N);
	LIB(blas.destroy(h));
	prog_end();
	return 0;
}
