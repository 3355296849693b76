/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a library that is wrapped (ANSWER: what it returns), or one linked
 * with such a copy, which calls it (CALLER; PROGRAM: as a program), or another
 * tool that wraps it too (TOOL), adding to its answer.
 */
#ifdef TOOL
#include <dlfcn.h>

typedef int gemm(long h, int ta, int tb, int m, int n, int k, const float *alpha, long a, int lda,
		 long b, int ldb, const float *beta, long c, int ldc);
gemm cublasSgemm_v2;

int cublasSgemm_v2(long h, int ta, int tb, int m, int n, int k, const float *alpha, long a, int lda,
		   long b, int ldb, const float *beta, long c, int ldc)
{
	gemm *next = (gemm *)dlsym(RTLD_NEXT, "cublasSgemm_v2");

	return next ? 100 + next(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) : -2;
}
#elif defined(CALLER) || defined(PROGRAM)
int cublasSgemm_v2(void *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a,
		   int lda, const float *b, int ldb, const float *beta, float *c, int ldc);
int ncclGroupStart(void);
int call(void);

int call(void)
{
	static const float one = 1;
	int r = cublasSgemm_v2((void *)1, 2, 3, 4, 5, 6, &one, (void *)8, 9, (void *)10, 11, &one,
			       (void *)13, 14);

	return r; /* not in tail position */
}
#ifdef PROGRAM
#include <stdio.h>
#include <stdlib.h>

/* The answer that is wanted, whose name. */
int main(int argc, char **argv)
{
	int ok = argc == 3 && call() == atoi(argv[1]) && call() == atoi(argv[1]);

	printf("%s libraries: %s\n", ok ? "ok" : "not ok", argv[2]);
	return !ok;
}
#endif
#else
#include <errno.h>

int cublasSgemm_v2(long h, int ta, int tb, int m, int n, int k, const float *alpha, long a, int lda,
		   long b, int ldb, const float *beta, long c, int ldc);
int cublasGetPointerMode_v2(void *h, int *mode);

int cublasSgemm_v2(long h, int ta, int tb, int m, int n, int k, const float *alpha, long a, int lda,
		   long b, int ldb, const float *beta, long c, int ldc)
{
	/* every argument came through */
	if (h != 1 || ta != 2 || tb != 3 || m != 4 || n != 5 || k != 6 || *alpha != 1 || a != 8 ||
	    lda != 9 || b != 10 || ldb != 11 || *beta != 1 || c != 13 || ldc != 14)
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
