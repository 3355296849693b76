// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 90-O0
// Variables of the module.

__device__ int table[256];
__device__ int total;
__device__ float *hook;
__constant__ float coefficient[16] = {1, 2, 3, 4};

extern "C" __global__ void global_write(int v)
{
	table[threadIdx.x] = v;
}

extern "C" __global__ void global_read(int *out, int n)
{
	int i = threadIdx.x;

	if (i < n)
		out[i] = table[i];
}

extern "C" __global__ void global_count(const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&total, in[i]);
}

extern "C" __global__ void global_pointer_set(float *p)
{
	hook = p;
}

extern "C" __global__ void global_pointer_used(int n)
{
	if (hook && threadIdx.x < n)
		hook[threadIdx.x] = 3;
}

extern "C" __global__ void constants(float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = coefficient[i & 15];
}

// A variable of the function that lives as long as the module.
extern "C" __global__ void static_variable(int *out)
{
	static int calls;

	if (threadIdx.x == 0)
		out[blockIdx.x] = atomicAdd(&calls, 1);
}
