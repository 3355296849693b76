/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for libcublasLt.so.13: layouts, descriptors and cublasLtMatmul for
 * float by column, with the bias epilogue, strided batches, and the workspace
 * where there is one: the product goes there first.  Its kernels are handed
 * leftovers of the last call, of whatever stream, which they do not use.
 */
#include "fake.h"

enum { OK, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15, EXECUTION_FAILED = 13 };

struct layout {
	uint64_t v[9]; /* by attribute */
};
struct desc {
	uint64_t v[40];
};

EXPORT int cublasLtCreate(void **handle);
EXPORT int cublasLtDestroy(void *handle);
EXPORT int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows, uint64_t cols,
				      int64_t ld);
EXPORT int cublasLtMatrixLayoutDestroy(struct layout *l);
EXPORT int cublasLtMatrixLayoutSetAttribute(struct layout *l, int attr, const void *buf,
					    size_t bytes);
EXPORT int cublasLtMatrixLayoutGetAttribute(struct layout *l, int attr, void *buf, size_t bytes,
					    size_t *written);
EXPORT int cublasLtMatmulDescCreate(struct desc **out, int compute, int scale);
EXPORT int cublasLtMatmulDescDestroy(struct desc *d);
EXPORT int cublasLtMatmulDescSetAttribute(struct desc *d, int attr, const void *buf, size_t bytes);
EXPORT int cublasLtMatmulDescGetAttribute(struct desc *d, int attr, void *buf, size_t bytes,
					  size_t *written);
EXPORT int cublasLtMatmul(void *handle, struct desc *d, const void *alpha, uint64_t a,
			  struct layout *la, uint64_t b, struct layout *lb, const void *beta,
			  uint64_t c, struct layout *lc, uint64_t to, struct layout *ld,
			  const void *algo, uint64_t workspace, size_t workbytes, CUstream stream);

int cublasLtCreate(void **handle)
{
	*handle = malloc(8);
	return *handle ? OK : NOT_INITIALIZED;
}

int cublasLtDestroy(void *handle)
{
	free(handle);
	return OK;
}

int cublasLtMatrixLayoutCreate(struct layout **out, int type, uint64_t rows, uint64_t cols,
			       int64_t ld)
{
	struct layout *l = calloc(1, sizeof(*l));

	*out = l;
	if (!l)
		return NOT_INITIALIZED;
	*l = (struct layout){{(uint64_t)type, 0, rows, cols, (uint64_t)ld, 1}};
	return OK;
}

int cublasLtMatrixLayoutDestroy(struct layout *l)
{
	free(l);
	return OK;
}

static int set(uint64_t *v, int n, int attr, const void *buf, size_t bytes)
{
	if (attr < 0 || attr >= n || bytes > 8)
		return INVALID_VALUE;
	v[attr] = 0;
	memcpy(&v[attr], buf, bytes);
	return OK;
}

static int get(const uint64_t *v, int n, int attr, void *buf, size_t bytes, size_t *written)
{
	if (attr < 0 || attr >= n || bytes > 8)
		return INVALID_VALUE;
	memcpy(buf, &v[attr], bytes);
	if (written)
		*written = bytes;
	return OK;
}

int cublasLtMatrixLayoutSetAttribute(struct layout *l, int attr, const void *buf, size_t bytes)
{
	return set(l->v, 9, attr, buf, bytes);
}

int cublasLtMatrixLayoutGetAttribute(struct layout *l, int attr, void *buf, size_t bytes,
				     size_t *written)
{
	return get(l->v, 9, attr, buf, bytes, written);
}

int cublasLtMatmulDescCreate(struct desc **out, int compute, int scale)
{
	struct desc *d = calloc(1, sizeof(*d));

	*out = d;
	if (!d)
		return NOT_INITIALIZED;
	d->v[0] = (uint64_t)compute;
	d->v[1] = (uint64_t)scale;
	d->v[7] = 1;
	d->v[22] = d->v[26] = UINT32_MAX;
	return OK;
}

int cublasLtMatmulDescDestroy(struct desc *d)
{
	free(d);
	return OK;
}

int cublasLtMatmulDescSetAttribute(struct desc *d, int attr, const void *buf, size_t bytes)
{
	return set(d->v, 40, attr, buf, bytes);
}

int cublasLtMatmulDescGetAttribute(struct desc *d, int attr, void *buf, size_t bytes,
				   size_t *written)
{
	return get(d->v, 40, attr, buf, bytes, written);
}

int cublasLtMatmul(void *handle, struct desc *d, const void *alpha, uint64_t a, struct layout *la,
		   uint64_t b, struct layout *lb, const void *beta, uint64_t c, struct layout *lc,
		   uint64_t to, struct layout *ld, const void *algo, uint64_t workspace,
		   size_t workbytes, CUstream stream)
{
	bool ta = d->v[3] != 0, tb = d->v[4] != 0;
	struct gemm_args g = {.a = a,
			      .b = b,
			      .c = c,
			      .d = to,
			      .bias = d->v[7] & 4 ? d->v[8] : 0,
			      .m = (int64_t)ld->v[2],
			      .n = (int64_t)ld->v[3],
			      .k = (int64_t)(ta ? la->v[2] : la->v[3]),
			      .batch = (int64_t)ld->v[5],
			      .a_row = ta ? (int64_t)la->v[4] : 1,
			      .a_col = ta ? 1 : (int64_t)la->v[4],
			      .b_row = tb ? (int64_t)lb->v[4] : 1,
			      .b_col = tb ? 1 : (int64_t)lb->v[4],
			      .c_row = 1,
			      .c_col = lc ? (int64_t)lc->v[4] : 0,
			      .d_row = 1,
			      .d_col = (int64_t)ld->v[4],
			      .a_step = (int64_t)la->v[6],
			      .b_step = (int64_t)lb->v[6],
			      .c_step = lc ? (int64_t)lc->v[6] : 0,
			      .d_step = (int64_t)ld->v[6]};
	struct tidy_args t = {
		.from = workspace, .to = to, .m = g.m, .n = g.n, .row = 1, .col = g.d_col};

	static __thread uint64_t left[4]; /* structs of the real ones hold words that nobody set */

	(void)algo;
	memcpy(g.left, left, sizeof(left));
	memcpy(left, (uint64_t[]){to, a, b, workspace}, sizeof(left));
	if (!handle || !d || la->v[0] || lb->v[0] || ld->v[0] || la->v[1] || lb->v[1] || ld->v[1])
		return NOT_SUPPORTED;
	if (d->v[2]) {
		g.alpha_at = (uintptr_t)alpha;
		g.beta_at = (uintptr_t)beta;
	} else {
		g.alpha = *(const float *)alpha;
		g.beta = *(const float *)beta;
	}
	if (!workspace || g.batch > 1 || workbytes < (size_t)(g.m * g.n) * sizeof(float))
		return fake_launch("lib_gemm", stream, &g) ? OK : EXECUTION_FAILED;
	g.d = workspace;
	g.d_col = g.m;
	return fake_launch("lib_gemm", stream, &g) && fake_launch("lib_tidy", stream, &t)
		       ? OK
		       : EXECUTION_FAILED;
}
