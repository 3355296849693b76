/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked with cuBLAS and multiplies matrices for its callers. */
#include <stddef.h>

int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc);
int multiply(void *handle, int n, const float *a, const float *b, float *c);

/* c = a b, n rows and columns each. */
int multiply(void *handle, int n, const float *a, const float *b, float *c)
{
	static const float one = 1, zero = 0;
	int r = cublasSgemm_v2(handle, 0, 0, n, n, n, &one, a, n, b, n, &zero, c, n);

	return r; /* not in tail position: the call returns here */
}
