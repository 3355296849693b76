/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of a batch are found through tables of addresses in device memory,
 * which the program had uploaded.  One of them is fetched too early.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * MENTIONS: KRT-RACE-RAW "second result"
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 16 };

static CUdeviceptr table(const char *name, CUdeviceptr p, CUdeviceptr q)
{
	CUdeviceptr t = device_u32(name, 4), words[] = {p, q};

	CU(cuMemcpyHtoD(t, words, sizeof(words)));
	return t;
}

int main(void)
{
	const float one = 1, zero = 0;
	CUdeviceptr in, c, d, ta, tb, tc;
	CUstream work, side;
	CUevent done;
	blas_handle h;
	uint32_t *out;

	prog_start();
	in = device_u32("factors", N * N);
	c = device_u32("first result", N * N);
	d = device_u32("second result", N * N);
	out = pinned_u32("out", N * N);
	work = stream_nb("work");
	side = stream_nb("side");
	done = event();
	h = blas_on(work);
	set_now(in, bits_of(1), N * N);
	set_now(c, 0, N * N);
	set_now(d, 0, N * N);
	ta = table("table of a", in, in);
	tb = table("table of b", in, in);
	tc = table("table of c", c, d);
	CU(cuCtxSynchronize());

	SPIN(work, SLOW);
	LIB(blas.batched(h, 0, 0, N, N, N, &one, ta, N, tb, N, &zero, tc, N, 2));
	CU(cuEventRecord(done, work));
#ifdef FIXED
	CU(cuStreamWaitEvent(side, done, 0));
#endif
	CU(cuMemcpyDtoHAsync(out, d, 4 * N * N, side));
	CU(cuStreamSynchronize(side));
	check_u32("product", out[5], bits_of(N));
	CU(cuStreamSynchronize(work));
	LIB(blas.destroy(h));
	prog_end();
	return 0;
}
