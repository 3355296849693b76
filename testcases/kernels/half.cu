// SPDX-License-Identifier: Apache-2.0
// variants: 90 75
// Half precision, bfloat16, quantisation.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_axpy(__half *y, const __half *x, __half a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = __hfma(a, x[i], y[i]);
}

extern "C" __global__ void half2_scale(__half2 *y, const __half2 *x, float a, int pairs)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += gridDim.x * blockDim.x)
		y[i] = __hmul2(x[i], __float2half2_rn(a));
}

extern "C" __global__ void to_bfloat(__nv_bfloat16 *y, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = __float2bfloat16(x[i]);
}

extern "C" __global__ void from_half(float *y, const __half *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = __half2float(x[i]);
}

extern "C" __global__ void quantise(signed char *q, float *scales, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (threadIdx.x == 0)
		scales[blockIdx.x] = 0.25f;
	if (i < n)
		q[i] = (signed char)__float2int_rn(x[i] * 4);
}
