/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libcublas.so.13: float alone.  Matrix products go through
 * cublasLtMatmul of the other library, as some of the real ones do.
 */
#include "fake.h"

enum {
	OK,
	NOT_INITIALIZED = 1,
	ALLOC_FAILED = 3,
	INVALID_VALUE = 7,
	NOT_SUPPORTED = 15,
	EXECUTION_FAILED = 13
};

struct handle {
	void *lt;
	CUstream stream;
	int mode;
	uint64_t workspace;
	size_t workbytes;
};

int cublasLtCreate(void **handle);
int cublasLtDestroy(void *handle);
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutDestroy(void *l);
int cublasLtMatrixLayoutSetAttribute(void *l, int attr, const void *buf, size_t bytes);
int cublasLtMatmulDescCreate(void **out, int compute, int scale);
int cublasLtMatmulDescDestroy(void *d);
int cublasLtMatmulDescSetAttribute(void *d, int attr, const void *buf, size_t bytes);
int cublasLtMatmul(void *handle, void *d, const void *alpha, const void *a, void *la, const void *b,
		   void *lb, const void *beta, const void *c, void *lc, void *to, void *ld,
		   const void *algo, void *workspace, size_t workbytes, CUstream stream);

EXPORT int cublasCreate_v2(struct handle **out);
EXPORT int cublasDestroy_v2(struct handle *h);
EXPORT int cublasSetStream_v2(struct handle *h, CUstream stream);
EXPORT int cublasSetWorkspace_v2(struct handle *h, uint64_t workspace, size_t bytes);
EXPORT int cublasSetPointerMode_v2(struct handle *h, int mode);
EXPORT int cublasGetPointerMode_v2(struct handle *h, int *mode);
EXPORT int cublasSgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha,
			  const float *a, int lda, const float *b, int ldb, const float *beta,
			  float *c, int ldc);
EXPORT int cublasSgemmStridedBatched(struct handle *h, int ta, int tb, int m, int n, int k,
				     const float *alpha, const float *a, int lda, long long sa,
				     const float *b, int ldb, long long sb, const float *beta,
				     float *c, int ldc, long long sc, int batch);
EXPORT int cublasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha,
			const void *a, int atype, int lda, const void *b, int btype, int ldb,
			const void *beta, void *c, int ctype, int ldc, int compute, int algo);
EXPORT int cublasSgemmBatched(struct handle *h, int ta, int tb, int m, int n, int k,
			      const float *alpha, uint64_t a, int lda, uint64_t b, int ldb,
			      const float *beta, uint64_t c, int ldc, int batch);
EXPORT int cublasSaxpy_v2(struct handle *h, int n, const float *alpha, uint64_t x, int incx,
			  uint64_t y, int incy);
EXPORT int cublasScopy_v2(struct handle *h, int n, uint64_t x, int incx, uint64_t y, int incy);

int cublasCreate_v2(struct handle **out)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h || cublasLtCreate(&h->lt)) {
		free(h);
		return NOT_INITIALIZED;
	}
	*out = h;
	return OK;
}

int cublasDestroy_v2(struct handle *h)
{
	cublasLtDestroy(h->lt);
	free(h);
	return OK;
}

int cublasSetStream_v2(struct handle *h, CUstream stream)
{
	h->stream = stream;
	h->workspace = 0;
	h->workbytes = 0;
	return OK;
}

int cublasSetWorkspace_v2(struct handle *h, uint64_t workspace, size_t bytes)
{
	h->workspace = workspace;
	h->workbytes = bytes;
	return OK;
}

int cublasSetPointerMode_v2(struct handle *h, int mode)
{
	h->mode = mode;
	return OK;
}

int cublasGetPointerMode_v2(struct handle *h, int *mode)
{
	if (!h)
		return NOT_INITIALIZED;
	*mode = h->mode;
	return OK;
}

int cublasSgemmStridedBatched(struct handle *h, int ta, int tb, int m, int n, int k,
			      const float *alpha, const float *a, int lda, long long sa,
			      const float *b, int ldb, long long sb, const float *beta, float *c,
			      int ldc, long long sc, int batch)
{
	void *d, *l[3];
	struct {
		int rows, cols, ld;
		long long step;
	} shape[] = {
		{ta ? k : m, ta ? m : k, lda, sa},
		{tb ? n : k, tb ? k : n, ldb, sb},
		{m, n, ldc, sc},
	};
	int r;

	if (!h)
		return NOT_INITIALIZED;
	if (m < 0 || n < 0 || k < 0 || batch < 0)
		return INVALID_VALUE;
	if (!m || !n || !batch)
		return OK;
	if (cublasLtMatmulDescCreate(&d, 68, 0))
		return ALLOC_FAILED;
	cublasLtMatmulDescSetAttribute(d, 2, &h->mode, 4);
	cublasLtMatmulDescSetAttribute(d, 3, &ta, 4);
	cublasLtMatmulDescSetAttribute(d, 4, &tb, 4);
	for (int i = 0; i < 3; i++) {
		if (cublasLtMatrixLayoutCreate(&l[i], 0, (uint64_t)shape[i].rows,
					       (uint64_t)shape[i].cols, shape[i].ld))
			return ALLOC_FAILED;
		cublasLtMatrixLayoutSetAttribute(l[i], 5, &batch, 4);
		cublasLtMatrixLayoutSetAttribute(l[i], 6, &shape[i].step, 8);
	}
	r = cublasLtMatmul(h->lt, d, alpha, a, l[0], b, l[1], beta, c, l[2], c, l[2], NULL,
			   (void *)(uintptr_t)h->workspace, h->workbytes, h->stream);
	for (int i = 0; i < 3; i++)
		cublasLtMatrixLayoutDestroy(l[i]);
	cublasLtMatmulDescDestroy(d);
	return r;
}

int cublasSgemm_v2(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc)
{
	return cublasSgemmStridedBatched(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c,
					 ldc, 0, 1);
}

int cublasGemmEx(struct handle *h, int ta, int tb, int m, int n, int k, const void *alpha,
		 const void *a, int atype, int lda, const void *b, int btype, int ldb,
		 const void *beta, void *c, int ctype, int ldc, int compute, int algo)
{
	(void)algo;
	if (atype || btype || ctype || compute != 68)
		return NOT_SUPPORTED;
	return cublasSgemmStridedBatched(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c,
					 ldc, 0, 1);
}

int cublasSgemmBatched(struct handle *h, int ta, int tb, int m, int n, int k, const float *alpha,
		       uint64_t a, int lda, uint64_t b, int ldb, const float *beta, uint64_t c,
		       int ldc, int batch)
{
	struct batched_args g = {.g = {.m = m,
				       .n = n,
				       .k = k,
				       .batch = batch,
				       .a_row = ta ? lda : 1,
				       .a_col = ta ? 1 : lda,
				       .b_row = tb ? ldb : 1,
				       .b_col = tb ? 1 : ldb,
				       .d_row = 1,
				       .d_col = ldc,
				       .alpha = *alpha,
				       .beta = *beta},
				 .a = a,
				 .b = b,
				 .d = c};

	if (h->mode)
		return NOT_SUPPORTED;
	return fake_launch("lib_gemm_batched", h->stream, &g) ? OK : EXECUTION_FAILED;
}

static int move(struct handle *h, int n, float alpha, uint64_t x, int incx, uint64_t y, int incy,
		int keep)
{
	struct vector_args v = {x, y, n, incx, incy, alpha, keep};

	if (n <= 0)
		return OK;
	return fake_launch("lib_vector", h->stream, &v) ? OK : EXECUTION_FAILED;
}

int cublasSaxpy_v2(struct handle *h, int n, const float *alpha, uint64_t x, int incx, uint64_t y,
		   int incy)
{
	return move(h, n, *alpha, x, incx, y, incy, 1);
}

int cublasScopy_v2(struct handle *h, int n, uint64_t x, int incx, uint64_t y, int incy)
{
	return move(h, n, 1, x, incx, y, incy, 0);
}
