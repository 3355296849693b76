// SPDX-License-Identifier: Apache-2.0
/*
 * A runtime-API program with a planted cross-stream race, as nvcc users write
 * it.  `race` has the race, `race fixed` the missing edge added; a second
 * argument picks the pair:
 *   copy     a pinned upload on one stream, a set of the same bytes on another
 *   kernel   a set on one stream, a kernel that reads the buffer on another
 *   free     stream-ordered free on one stream while a copy on another reads
 * Prints the value the program computed; exits 0 unless CUDA fails.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call)                                                                         \
	do {                                                                                \
		cudaError_t e_ = (call);                                                    \
		if (e_ != cudaSuccess) {                                                    \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,       \
				cudaGetErrorString(e_));                                    \
			exit(2);                                                            \
		}                                                                           \
	} while (0)

__global__ void spin(long long cycles)
{
	long long begin = clock64();
	while (clock64() - begin < cycles)
		;
}

__global__ void sum(const unsigned char *p, size_t n, unsigned long long *out)
{
	unsigned long long s = 0;
	for (size_t i = threadIdx.x; i < n; i += blockDim.x)
		s += p[i];
	atomicAdd(out, s);
}

int main(int argc, char **argv)
{
	const bool fixed = argc > 1 && !strcmp(argv[1], "fixed");
	const char *what = argc > 2 ? argv[2] : "copy";
	const size_t n = 1 << 20;
	unsigned char *host, *dev;
	unsigned long long *out, result = 0;
	cudaStream_t a, b;
	cudaEvent_t done;

	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	CHECK(cudaMallocHost(&host, n));
	CHECK(cudaMalloc(&out, sizeof *out));
	memset(host, 1, n);
	if (!strcmp(what, "free"))
		CHECK(cudaMallocAsync(&dev, n, a));
	else
		CHECK(cudaMalloc(&dev, n));
	CHECK(cudaMemsetAsync(dev, 0, n, a));
	CHECK(cudaMemsetAsync(out, 0, sizeof *out, a));
	sum<<<1, 256, 0, a>>>(dev, 0, out); /* loaded now: the first launch may wait for the device */
	spin<<<1, 1, 0, a>>>(1);
	CHECK(cudaStreamSynchronize(a));

	spin<<<1, 1, 0, a>>>(200000000);
	if (!strcmp(what, "copy")) {
		CHECK(cudaMemcpyAsync(dev, host, n, cudaMemcpyHostToDevice, a));
		CHECK(cudaEventRecord(done, a));
		if (fixed)
			CHECK(cudaStreamWaitEvent(b, done, 0));
		CHECK(cudaMemsetAsync(dev, 7, n, b));
	} else if (!strcmp(what, "kernel")) {
		CHECK(cudaMemsetAsync(dev, 7, n, a));
		CHECK(cudaEventRecord(done, a));
		if (fixed)
			CHECK(cudaStreamWaitEvent(b, done, 0));
		sum<<<1, 256, 0, b>>>(dev, n, out);
		CHECK(cudaGetLastError());
	} else {
		CHECK(cudaMemcpyAsync(host, dev, n, cudaMemcpyDeviceToHost, a));
		CHECK(cudaEventRecord(done, a));
		if (fixed)
			CHECK(cudaStreamWaitEvent(b, done, 0));
		CHECK(cudaFreeAsync(dev, b));
	}
	CHECK(cudaStreamSynchronize(a));
	CHECK(cudaStreamSynchronize(b));
	if (!strcmp(what, "kernel")) {
		CHECK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
		printf("%s %s: sum %llu (right: %llu)\n", fixed ? "fixed" : "race", what, result,
		       7ull * n);
	} else if (!strcmp(what, "copy")) {
		unsigned char last;
		CHECK(cudaMemcpy(&last, dev + n - 1, 1, cudaMemcpyDeviceToHost));
		printf("%s %s: last byte %d (right: 7)\n", fixed ? "fixed" : "race", what, last);
	} else {
		printf("%s %s: done\n", fixed ? "fixed" : "race", what);
	}
	if (strcmp(what, "free"))
		CHECK(cudaFree(dev));
	CHECK(cudaFree(out));
	CHECK(cudaFreeHost(host));
	CHECK(cudaEventDestroy(done));
	CHECK(cudaStreamDestroy(a));
	CHECK(cudaStreamDestroy(b));
	return 0;
}
