/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuBLAS, cublasLt, NCCL and cuFFT for the test programs: opened, not linked, so
 * that a program starts where there are none (and is skipped), with prototypes of
 * our own.  Matrices are of floats, by column.
 */
#ifndef LIBS_H
#define LIBS_H

#include "prog.h"

#include <dlfcn.h>

#define LIB(call)                                                                                  \
	do {                                                                                       \
		int lib_ = (call);                                                                 \
		if (lib_)                                                                          \
			prog_die(__FILE__, __LINE__, #call, lib_);                                 \
	} while (0)

static inline void *lib_open(const char *name)
{
	void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!h)
		prog_skip(dlerror());
	return h;
}

static inline void *lib_fn(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p)
		prog_skip(dlerror());
	return p;
}

#define LIB_FN(table, lib, name) (table).name = (__typeof__((table).name))lib_fn(lib, table##_names.name)

/* ---- cuBLAS ---- */

typedef void *blas_handle;

static struct {
	int (*create)(blas_handle *);
	int (*destroy)(blas_handle);
	int (*stream)(blas_handle, CUstream);
	int (*workspace)(blas_handle, CUdeviceptr, size_t);
	int (*sgemm)(blas_handle, int ta, int tb, int m, int n, int k, const float *alpha, CUdeviceptr a, int lda,
		     CUdeviceptr b, int ldb, const float *beta, CUdeviceptr c, int ldc);
	int (*strided)(blas_handle, int ta, int tb, int m, int n, int k, const float *alpha, CUdeviceptr a, int lda,
		       long long sa, CUdeviceptr b, int ldb, long long sb, const float *beta, CUdeviceptr c, int ldc,
		       long long sc, int batch);
	int (*batched)(blas_handle, int ta, int tb, int m, int n, int k, const float *alpha, CUdeviceptr a, int lda,
		       CUdeviceptr b, int ldb, const float *beta, CUdeviceptr c, int ldc, int batch);
	int (*saxpy)(blas_handle, int n, const float *alpha, CUdeviceptr x, int incx, CUdeviceptr y, int incy);
} blas;

static inline void blas_open(void)
{
	static const struct {
		const char *create, *destroy, *stream, *workspace, *sgemm, *strided, *batched, *saxpy;
	} blas_names = {"cublasCreate_v2",	   "cublasDestroy_v2", "cublasSetStream_v2",
			"cublasSetWorkspace_v2",   "cublasSgemm_v2",   "cublasSgemmStridedBatched",
			"cublasSgemmBatched", "cublasSaxpy_v2"};
	void *lib = lib_open("libcublas.so.13");

	LIB_FN(blas, lib, create);
	LIB_FN(blas, lib, destroy);
	LIB_FN(blas, lib, stream);
	LIB_FN(blas, lib, workspace);
	LIB_FN(blas, lib, sgemm);
	LIB_FN(blas, lib, strided);
	LIB_FN(blas, lib, batched);
	LIB_FN(blas, lib, saxpy);
}

/* A handle of its own for the stream; the first product loads code, which may wait for the device. */
static inline blas_handle blas_on(CUstream stream)
{
	static CUdeviceptr warm;
	const float one = 1, zero = 0;
	blas_handle h;

	if (!blas.create)
		blas_open();
	LIB(blas.create(&h));
	LIB(blas.stream(h, stream));
	if (!warm) {
		warm = device_u32("warm-up", 3 * 64 * 64);
		set_now(warm, 0, 3 * 64 * 64);
	}
	LIB(blas.sgemm(h, 0, 0, 64, 64, 64, &one, warm, 64, warm + 4 * 64 * 64, 64, &zero, warm + 8 * 64 * 64, 64));
	CU(cuCtxSynchronize());
	return h;
}

/* c = a b + beta c, n rows and columns each. */
#define GEMM(h, n, a, b, beta, c)                                                                  \
	do {                                                                                       \
		const float one_ = 1, beta_ = (beta);                                              \
		LIB(blas.sgemm(h, 0, 0, n, n, n, &one_, a, n, b, n, &beta_, c, n));                \
	} while (0)

/* ---- floats ---- */

static inline uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static inline float get_f32(CUdeviceptr p, size_t index)
{
	uint32_t u = get_u32(p, index);
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static inline bool check_f32(const char *what, float got, float want)
{
	return check_u32(what, (uint32_t)(int32_t)got, (uint32_t)(int32_t)want);
}

#endif
