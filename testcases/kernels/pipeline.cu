// SPDX-License-Identifier: Apache-2.0
// variants: 90 80
// Asynchronous copies into shared memory (cp.async), alone and as a pipeline.
#include <cuda_pipeline.h>

extern "C" __global__ void async_copy(float *out, const float *in)
{
	extern __shared__ float s[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	__pipeline_memcpy_async(&s[threadIdx.x], &in[i], sizeof(float));
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	out[i] = s[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void async_copy16(float4 *out, const float4 *in, int n)
{
	__shared__ float4 s[64];
	int i = blockIdx.x * 64 + threadIdx.x;

	if (i < n)
		__pipeline_memcpy_async(&s[threadIdx.x], &in[i], sizeof(float4));
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	if (i < n)
		out[i] = s[threadIdx.x];
}

// Two stages: the next tile is on its way while this one is added up.
extern "C" __global__ void two_stages(float *out, const float *in, int tiles)
{
	__shared__ float s[2][32];
	float sum = 0;

	if (tiles > 0)
		__pipeline_memcpy_async(&s[0][threadIdx.x], &in[threadIdx.x], sizeof(float));
	__pipeline_commit();
	for (int t = 0; t < tiles; t++) {
		if (t + 1 < tiles)
			__pipeline_memcpy_async(&s[(t + 1) & 1][threadIdx.x],
						&in[(t + 1) * 32 + threadIdx.x], sizeof(float));
		__pipeline_commit();
		__pipeline_wait_prior(1);
		__syncthreads();
		sum += s[t & 1][31 - threadIdx.x];
		__syncthreads();
	}
	out[threadIdx.x] = sum;
}
