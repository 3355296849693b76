// SPDX-License-Identifier: Apache-2.0
// variants: 90
// Programmatic launch: waits for the kernel before, lets the next one start.

extern "C" __global__ void dependent(float *out, const float *in, const float *weights, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float w = i < n ? weights[i] : 0;

	cudaGridDependencySynchronize();
	if (i < n)
		out[i] = in[i] * w;
}

extern "C" __global__ void primary(float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	cudaTriggerProgrammaticLaunchCompletion();
	if (i < n)
		out[i] = i;
}
