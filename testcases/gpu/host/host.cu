/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host=guard on a program of the runtime API: cudaHostAlloc, cudaHostRegister,
 * cudaMallocManaged; a case by name, "fixed" waits first.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                                            \
	do {                                                                                \
		cudaError_t r_ = (call);                                                    \
		if (r_ != cudaSuccess) {                                                    \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(r_));         \
			exit(3);                                                            \
		}                                                                           \
	} while (0)

__global__ void slow(long long cycles)
{
	long long until = clock64() + cycles;

	while (clock64() < until)
		;
}

__global__ void fill(int *p, int n, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = v;
}

int main(int argc, char **argv)
{
	const int n = 1 << 16;
	const char *what = argc > 1 ? argv[1] : "";
	bool fixed = argc > 2;
	cudaStream_t s;
	int *d, *h = NULL;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMalloc(&d, n * sizeof *d));
	if (!strcmp(what, "pinned"))
		OK(cudaHostAlloc(&h, n * sizeof *h, cudaHostAllocDefault));
	else if (!strcmp(what, "managed"))
		OK(cudaMallocManaged(&h, n * sizeof *h));
	else if (!strcmp(what, "registered")) {
		h = (int *)aligned_alloc(4096, n * sizeof *h);
		OK(cudaHostRegister(h, n * sizeof *h, 0));
	}
	memset(h, 0, n * sizeof *h);
	OK(cudaDeviceSynchronize());
	slow<<<1, 1, 0, s>>>(200000000);
	if (!strcmp(what, "managed"))
		fill<<<n / 256, 256, 0, s>>>(h, n, 5);
	else
		OK(cudaMemcpyAsync(d, h, n * sizeof *h, cudaMemcpyHostToDevice, s));
	if (fixed)
		OK(cudaStreamSynchronize(s));
	h[7] = 9; /* HERE */
	OK(cudaDeviceSynchronize());
	printf("done\n");
	return 0;
}
