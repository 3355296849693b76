/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host cost of the calls that matter, for ratios within one run: empty kernel
 * launches, event record + wait, async sets, small pinned copies.  Driver API
 * only, so the same binary runs on a GPU and on the simulated driver.  Prints
 * "NAME nanoseconds-per-call", the minimum of several rounds.
 */
#include "cuabi.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(call)                                                                         \
	do {                                                                                \
		CUresult r_ = (call);                                                       \
		if (r_ != CUDA_SUCCESS) {                                                   \
			fprintf(stderr, "%s: %d\n", #call, (int)r_);                        \
			exit(2);                                                            \
		}                                                                           \
	} while (0)

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
			  ".visible .entry empty(.param .u64 p, .param .u32 n)\n{\n\tret;\n}\n";

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define BENCH(name, per, body)                                                              \
	do {                                                                                \
		double best = 1e30;                                                         \
		for (int round = 0; round < rounds; round++) {                              \
			CHECK(cuCtxSynchronize());                                          \
			double begin = now();                                               \
			for (int i = 0; i < calls; i++)                                     \
				body;                                                       \
			double t = (now() - begin) / calls / (per);                         \
			CHECK(cuCtxSynchronize());                                          \
			if (t < best)                                                       \
				best = t;                                                   \
		}                                                                           \
		printf("%s %.1f\n", name, best);                                            \
	} while (0)

int main(int argc, char **argv)
{
	const int calls = argc > 1 ? atoi(argv[1]) : 500;
	const int rounds = argc > 2 ? atoi(argv[2]) : 40;
	CUdevice dev;
	CUcontext ctx;
	CUmodule mod;
	CUfunction fn;
	CUstream a, b;
	CUevent e;
	CUdeviceptr p;
	void *h;
	unsigned n = 1;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoadData(&mod, ptx));
	CHECK(cuModuleGetFunction(&fn, mod, "empty"));
	CHECK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&p, 1 << 20));
	CHECK(cuMemHostAlloc(&h, 1 << 20, 0));
	void *args[] = { &p, &n };

	BENCH("launch", 1, CHECK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, a, args, NULL)));
	BENCH("record_wait", 1, {
		CHECK(cuEventRecord(e, a));
		CHECK(cuStreamWaitEvent(b, e, 0));
	});
	BENCH("set", 1, CHECK(cuMemsetD8Async(p, 0, 4096, a)));
	BENCH("copy", 1, CHECK(cuMemcpyHtoDAsync(p, h, 4096, a)));
	CHECK(cuMemFreeHost(h));
	CHECK(cuMemFree(p));
	CHECK(cuEventDestroy(e));
	CHECK(cuStreamDestroy(b));
	CHECK(cuStreamDestroy(a));
	CHECK(cuDevicePrimaryCtxRelease(dev));
	return 0;
}
