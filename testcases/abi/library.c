/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a library that is wrapped (ANSWER: what it returns), or one linked
 * with such a copy, which calls it (CALLER).
 */
#ifdef CALLER
int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
		   const float *b, int ldb, const float *beta, float *c, int ldc);
int ncclGroupStart(void);
int call(void);

int call(void)
{
	static const float one = 1;
	int r = cublasSgemm_v2((void *)1, 2, 3, 4, 5, 6, &one, (void *)8, 9, (void *)10, 11, &one, (void *)13, 14);

	return r; /* not in tail position */
}
#else
#include <errno.h>

int cublasSgemm_v2(long h, int ta, int tb, int m, int n, int k, const float *alpha, long a, int lda, long b, int ldb,
		   const float *beta, long c, int ldc);
int cublasGetPointerMode_v2(void *h, int *mode);

int cublasSgemm_v2(long h, int ta, int tb, int m, int n, int k, const float *alpha, long a, int lda, long b, int ldb,
		   const float *beta, long c, int ldc)
{
	/* every argument came through */
	if (h != 1 || ta != 2 || tb != 3 || m != 4 || n != 5 || k != 6 || *alpha != 1 || a != 8 || lda != 9 ||
	    b != 10 || ldb != 11 || *beta != 1 || c != 13 || ldc != 14)
		return -1;
	errno = ANSWER;
	return ANSWER;
}

int cublasGetPointerMode_v2(void *h, int *mode)
{
	(void)h;
	*mode = 0;
	return 0;
}
#endif
