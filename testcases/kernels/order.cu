// SPDX-License-Identifier: Apache-2.0
// variants: 90 75
// Acquire and release at several scopes, written as PTX.

extern "C" __global__ void release_flag(int *flag, int *data)
{
	data[threadIdx.x] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x == 0)
		asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
}

extern "C" __global__ void acquire_flag(const int *flag, int *out, const int *data)
{
	int v;

	asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
	out[threadIdx.x] = v ? data[threadIdx.x] : -1;
}

extern "C" __global__ void block_flag(int *flag, int *out)
{
	int v;

	if (threadIdx.x == 0)
		asm volatile("st.release.cta.global.s32 [%0], %1;" ::"l"(flag + blockIdx.x), "r"(1)
			     : "memory");
	__syncthreads();
	asm volatile("ld.acquire.cta.global.s32 %0, [%1];"
		     : "=r"(v)
		     : "l"(flag + blockIdx.x)
		     : "memory");
	out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
