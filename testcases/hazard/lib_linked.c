/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product is made by a library that is linked with cuBLAS and was opened in a
 * scope of its own, as a framework's extension is.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * MENTIONS: KRT-RACE-RAW "in cublasSgemm_v2"
 * EXPECT-FIXED: none
 * MAY-SKIP: needs cuBLAS
 */
#include "libs.h"

enum { N = 64 };

static void *caller(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);

	MUST(n > 0);
	path[n] = 0;
	for (int up = 0; up < 2; up++)
		*strrchr(path, '/') = 0;
	return lib_open(strcat(path, "/libs/caller.so"));
}

int main(void)
{
	int (*multiply)(void *, int, CUdeviceptr, CUdeviceptr, CUdeviceptr);
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
	multiply = (int (*)(void *, int, CUdeviceptr, CUdeviceptr, CUdeviceptr))lib_fn(caller(),
										       "multiply");
	h = blas_on(work);
	set_now(a, bits_of(1), N * N);
	set_now(b, bits_of(2), N * N);
	set_now(c, 0, N * N);

	SPIN(work, SLOW);
	LIB(multiply(h, N, a, b, c));
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
