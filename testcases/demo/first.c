/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of the README's first steps: it doubles numbers on one stream that
 * it uploads on another, and forgets that the second has to wait for the first.
 */
#if __has_include(<cuda.h>)
#include <cuda.h>
#else
#include "cuabi.h"
#endif

#include <stdio.h>
#include <stdlib.h>

#define N 4096

/* twice: x[i] *= 2 */
static const char kernels[] = ".version 7.0\n"
			      ".target sm_50\n"
			      ".address_size 64\n"
			      ".visible .entry twice(.param .u64 x)\n"
			      "{\n"
			      "	.reg .b32 %r<6>;\n"
			      "	.reg .b64 %rd<4>;\n"
			      "	ld.param.u64 %rd1, [x];\n"
			      "	mov.u32 %r1, %ctaid.x;\n"
			      "	mov.u32 %r2, %ntid.x;\n"
			      "	mov.u32 %r3, %tid.x;\n"
			      "	mad.lo.s32 %r4, %r1, %r2, %r3;\n"
			      "	mul.wide.u32 %rd2, %r4, 4;\n"
			      "	add.s64 %rd3, %rd1, %rd2;\n"
			      "	ld.global.u32 %r5, [%rd3];\n"
			      "	add.s32 %r5, %r5, %r5;\n"
			      "	st.global.u32 [%rd3], %r5;\n"
			      "	ret;\n"
			      "}\n";

static void check(CUresult r, const char *what)
{
	if (r != CUDA_SUCCESS) {
		fprintf(stderr, "%s: error %d\n", what, (int)r);
		exit(1);
	}
}
#define CHECK(call) check(call, #call)

static void upload(CUdeviceptr x, const unsigned *numbers, CUstream stream)
{
	CHECK(cuMemcpyHtoDAsync(x, numbers, N * sizeof(*numbers), stream));
}

static void twice(CUfunction kernel, CUdeviceptr x, CUstream stream)
{
	void *parameters[] = {&x};

	CHECK(cuLaunchKernel(kernel, N / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUstream uploads, compute;
	CUevent uploaded;
	CUdeviceptr x;
	unsigned *numbers;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, kernels));
	CHECK(cuModuleGetFunction(&kernel, module, "twice"));
	CHECK(cuStreamCreate(&uploads, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
	CHECK(cuEventCreate(&uploaded, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&x, N * sizeof(*numbers)));
	CHECK(cuMemHostAlloc((void **)&numbers, N * sizeof(*numbers), 0));
	for (unsigned i = 0; i < N; i++)
		numbers[i] = i;

	upload(x, numbers, uploads);
	twice(kernel, x, compute);
	CHECK(cuMemcpyDtoHAsync(numbers, x, N * sizeof(*numbers), compute));
	CHECK(cuStreamSynchronize(compute));
	printf("twice 21 is %u\n", numbers[21]);
	return 0;
}
