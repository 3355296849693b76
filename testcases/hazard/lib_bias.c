/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product with a bias, which the optimiser's stream updates too early.  beta is
 * zero, so that an upload over C's old values at the same time is fine; with one
 * (argument) it is not.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * MENTIONS: KRT-RACE-WAR "bias"
 * MENTIONS: KRT-RACE-WAR "in cublasLtMatmul"
 * EXPECT-FIXED: none
 * ARGS: beta
 * EXPECT: KRT-RACE-WAR error certain both count=2
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64 };

int main(int argc, char **argv)
{
	float alpha = 1, beta = argc > 1 && !strcmp(argv[1], "beta");
	CUdeviceptr a, b, c, d, bias;
	CUstream work, side;
	void *h, *l, *desc;
	CUevent used;
	uint32_t *next;

	prog_start();
	a = device_u32("a", N * N);
	b = device_u32("b", N * N);
	c = device_u32("c", N * N);
	d = device_u32("d", N * N);
	bias = device_u32("bias", N);
	next = pinned_u32("next", N * N);
	work = stream_nb("work");
	side = stream_nb("side");
	used = event();
	h = lt_open();
	l = lt_square(N);
	desc = lt_desc(bias);
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);
	set_now(c, bits_of(3), N * N);
	set_now(bias, bits_of(4), N);
	LIB(lt.matmul(h, desc, &alpha, a, l, b, l, &beta, c, l, d, l, NULL, 0, 0,
		      work)); /* loads code */
	CU(cuCtxSynchronize());

	SPIN(work, SLOW);
	LIB(lt.matmul(h, desc, &alpha, a, l, b, l, &beta, c, l, d, l, NULL, 0, 0, work));
	CU(cuEventRecord(used, work));
#ifdef FIXED
	CU(cuStreamWaitEvent(side, used, 0));
#endif
	CU(cuMemcpyHtoDAsync(bias, next, 4 * N, side));
	CU(cuMemcpyHtoDAsync(c, next, 4 * N * N, side));
	CU(cuStreamSynchronize(side));
	CU(cuStreamSynchronize(work));
	LIB(lt.destroy(h));
	prog_end();
	return 0;
}
