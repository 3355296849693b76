// SPDX-License-Identifier: Apache-2.0
//
// A few calls of cuBLAS (-DBLAS) or cuFFT, for coverage.sh.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#ifdef BLAS
#include <cublas_v2.h>
#else
#include <cufft.h>
#endif

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int e_ = (int)(call);                                                              \
		if (e_) {                                                                          \
			fprintf(stderr, "%s:%d: %s: %d\n", __FILE__, __LINE__, #call, e_);         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

int main()
{
	const int n = 512;
	cudaStream_t s;
	float *a, *b, *c;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMalloc(&a, n * n * 8));
	CHECK(cudaMalloc(&b, n * n * 8));
	CHECK(cudaMalloc(&c, n * n * 8));
	CHECK(cudaMemset(a, 0, n * n * 8));
	CHECK(cudaMemset(b, 0, n * n * 8));
#ifdef BLAS
	cublasHandle_t h;
	float one = 1, zero = 0, dot;

	CHECK(cublasCreate(&h));
	CHECK(cublasSetStream(h, s));
	for (int i = 0; i < 4; i++) {
		CHECK(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, n, b, n, &zero, c, n));
		CHECK(cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, a, 64,
						4096, b, 64, 4096, &zero, c, 64, 4096, 16));
		CHECK(cublasSaxpy(h, n, &one, a, 1, b, 1));
		CHECK(cublasSdot(h, n, a, 1, b, 1, &dot));
		CHECK(cublasSgemv(h, CUBLAS_OP_N, n, n, &one, a, n, b, 1, &zero, c, 1));
	}
	CHECK(cublasSetVector(n, 4, malloc(n * 4), 1, a, 1));
	CHECK(cublasDestroy(h));
#else
	cufftHandle p;

	for (int i = 0; i < 2; i++) {
		CHECK(cufftPlan2d(&p, n, n, CUFFT_C2C));
		CHECK(cufftSetStream(p, s));
		CHECK(cufftExecC2C(p, (cufftComplex *)a, (cufftComplex *)b, CUFFT_FORWARD));
		CHECK(cufftExecC2C(p, (cufftComplex *)b, (cufftComplex *)c, CUFFT_INVERSE));
		CHECK(cufftDestroy(p));
		CHECK(cufftPlan1d(&p, 1000003, CUFFT_R2C, 1)); /* a prime: several kernels */
		CHECK(cufftDestroy(p));
	}
#endif
	CHECK(cudaStreamSynchronize(s));
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaFree(c));
	CHECK(cudaStreamDestroy(s));
	puts("done");
	return 0;
}
