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

#define LIB_FN(table, lib, name)                                                                   \
	(table).name = (__typeof__((table).name))lib_fn(lib, table##_names.name)

/* ---- cuBLAS ---- */

typedef void *blas_handle;

static struct {
	int (*create)(blas_handle *);
	int (*destroy)(blas_handle);
	int (*stream)(blas_handle, CUstream);
	int (*workspace)(blas_handle, CUdeviceptr, size_t);
	int (*scalars)(blas_handle, int on_device);
	int (*sgemm)(blas_handle, int ta, int tb, int m, int n, int k, const float *alpha,
		     CUdeviceptr a, int lda, CUdeviceptr b, int ldb, const float *beta,
		     CUdeviceptr c, int ldc);
	int (*strided)(blas_handle, int ta, int tb, int m, int n, int k, const float *alpha,
		       CUdeviceptr a, int lda, long long sa, CUdeviceptr b, int ldb, long long sb,
		       const float *beta, CUdeviceptr c, int ldc, long long sc, int batch);
	int (*batched)(blas_handle, int ta, int tb, int m, int n, int k, const float *alpha,
		       CUdeviceptr a, int lda, CUdeviceptr b, int ldb, const float *beta,
		       CUdeviceptr c, int ldc, int batch);
	int (*saxpy)(blas_handle, int n, const float *alpha, CUdeviceptr x, int incx, CUdeviceptr y,
		     int incy);
} blas;

static inline void blas_open(void)
{
	static const struct {
		const char *create, *destroy, *stream, *workspace, *scalars, *sgemm, *strided,
			*batched, *saxpy;
	} blas_names = {
		"cublasCreate_v2",	     "cublasDestroy_v2",	"cublasSetStream_v2",
		"cublasSetWorkspace_v2",     "cublasSetPointerMode_v2", "cublasSgemm_v2",
		"cublasSgemmStridedBatched", "cublasSgemmBatched",	"cublasSaxpy_v2"};
	void *lib = lib_open("libcublas.so.13");

	LIB_FN(blas, lib, create);
	LIB_FN(blas, lib, destroy);
	LIB_FN(blas, lib, stream);
	LIB_FN(blas, lib, workspace);
	LIB_FN(blas, lib, scalars);
	LIB_FN(blas, lib, sgemm);
	LIB_FN(blas, lib, strided);
	LIB_FN(blas, lib, batched);
	LIB_FN(blas, lib, saxpy);
}

/* A handle of its own for the stream; the first product loads code, which may wait for the device.
 */
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
	LIB(blas.sgemm(h, 0, 0, 64, 64, 64, &one, warm, 64, warm + 4 * 64 * 64, 64, &zero,
		       warm + 8 * 64 * 64, 64));
	CU(cuCtxSynchronize());
	return h;
}

/* c = a b + beta c, n rows and columns each. */
#define GEMM(h, n, a, b, beta, c)                                                                  \
	do {                                                                                       \
		const float one_ = 1, beta_ = (beta);                                              \
		LIB(blas.sgemm(h, 0, 0, n, n, n, &one_, a, n, b, n, &beta_, c, n));                \
	} while (0)

/* ---- cublasLt ---- */

static struct {
	int (*create)(void **);
	int (*destroy)(void *);
	int (*layout)(void **, int type, uint64_t rows, uint64_t cols, int64_t ld);
	int (*layout_set)(void *, int attr, const void *, size_t);
	int (*desc)(void **, int compute, int scale);
	int (*desc_set)(void *, int attr, const void *, size_t);
	int (*matmul)(void *handle, void *desc, const void *alpha, CUdeviceptr a, void *la,
		      CUdeviceptr b, void *lb, const void *beta, CUdeviceptr c, void *lc,
		      CUdeviceptr d, void *ld, const void *algo, CUdeviceptr workspace,
		      size_t bytes, CUstream stream);
} lt;

enum { LT_EPILOGUE = 7, LT_BIAS = 8, LT_EPILOGUE_BIAS = 4 };

static inline void *lt_open(void)
{
	static const struct {
		const char *create, *destroy, *layout, *layout_set, *desc, *desc_set, *matmul;
	} lt_names = {"cublasLtCreate",
		      "cublasLtDestroy",
		      "cublasLtMatrixLayoutCreate",
		      "cublasLtMatrixLayoutSetAttribute",
		      "cublasLtMatmulDescCreate",
		      "cublasLtMatmulDescSetAttribute",
		      "cublasLtMatmul"};
	void *lib = lib_open("libcublasLt.so.13"), *h;

	LIB_FN(lt, lib, create);
	LIB_FN(lt, lib, destroy);
	LIB_FN(lt, lib, layout);
	LIB_FN(lt, lib, layout_set);
	LIB_FN(lt, lib, desc);
	LIB_FN(lt, lib, desc_set);
	LIB_FN(lt, lib, matmul);
	LIB(lt.create(&h));
	return h;
}

/* n rows and columns, by column. */
static inline void *lt_square(int n)
{
	void *l;

	LIB(lt.layout(&l, 0, (uint64_t)n, (uint64_t)n, n));
	return l;
}

/* Of float; bias 0: none. */
static inline void *lt_desc(CUdeviceptr bias)
{
	uint32_t epilogue = LT_EPILOGUE_BIAS;
	void *d;

	LIB(lt.desc(&d, 68, 0));
	if (bias) {
		LIB(lt.desc_set(d, LT_EPILOGUE, &epilogue, sizeof(epilogue)));
		LIB(lt.desc_set(d, LT_BIAS, &bias, sizeof(bias)));
	}
	return d;
}

/* ---- NCCL ---- */

typedef void *nccl_comm;

static struct {
	int (*init)(nccl_comm *, int n, const int *devices);
	int (*destroy)(nccl_comm);
	int (*start)(void);
	int (*end)(void);
	int (*allreduce)(CUdeviceptr send, CUdeviceptr recv, size_t count, int type, int op,
			 nccl_comm, CUstream);
	int (*allgather)(CUdeviceptr send, CUdeviceptr recv, size_t count, int type, nccl_comm,
			 CUstream);
} nccl;

enum { NCCL_FLOAT = 7, NCCL_SUM = 0 };

/* Communicators of devices 0 to n - 1. */
static inline void nccl_open(nccl_comm *comms, int n)
{
	static const struct {
		const char *init, *destroy, *start, *end, *allreduce, *allgather;
	} nccl_names = {"ncclCommInitAll", "ncclCommDestroy", "ncclGroupStart",
			"ncclGroupEnd",	   "ncclAllReduce",   "ncclAllGather"};
	void *lib = lib_open("libnccl.so.2");

	LIB_FN(nccl, lib, init);
	LIB_FN(nccl, lib, destroy);
	LIB_FN(nccl, lib, start);
	LIB_FN(nccl, lib, end);
	LIB_FN(nccl, lib, allreduce);
	LIB_FN(nccl, lib, allgather);
	LIB(nccl.init(comms, n, NULL));
}

/* ---- cuFFT ---- */

static struct {
	int (*plan)(int *plan, int nx, int type, int batch);
	int (*many)(int *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
		    int ostride, int odist, int type, int batch);
	int (*stream)(int plan, CUstream);
	int (*c2c)(int plan, CUdeviceptr in, CUdeviceptr out, int direction);
	int (*destroy)(int plan);
} fft;

enum { FFT_C2C = 0x29, FFT_FORWARD = -1, FFT_INVERSE = 1 };

static inline void fft_open(void)
{
	static const struct {
		const char *plan, *many, *stream, *c2c, *destroy;
	} fft_names = {"cufftPlan1d", "cufftPlanMany", "cufftSetStream", "cufftExecC2C",
		       "cufftDestroy"};
	void *lib = lib_open("libcufft.so.12");

	LIB_FN(fft, lib, plan);
	LIB_FN(fft, lib, many);
	LIB_FN(fft, lib, stream);
	LIB_FN(fft, lib, c2c);
	LIB_FN(fft, lib, destroy);
}

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
