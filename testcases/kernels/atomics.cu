// SPDX-License-Identifier: Apache-2.0
// variants: 90 75
// Atomics, and kernels that order themselves through memory.

extern "C" __global__ void histogram_global(unsigned *bins, const unsigned char *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&bins[in[i]], 1u);
}

extern "C" __global__ void histogram_shared(unsigned *bins, const unsigned char *in, int n)
{
	__shared__ unsigned local[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[in[i]], 1u);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&bins[i], local[i]);
}

// Keeps what is positive; where it lands is known to the counter alone.
extern "C" __global__ void compact(int *out, int *counter, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && in[i] > 0)
		out[atomicAdd(counter, 1)] = in[i];
}

extern "C" __global__ void atomic_max_min(int *hi, int *lo, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	atomicMax(hi, in[i]);
	atomicMin(lo, in[i]);
}

// Reads the old value plainly before it tries.
extern "C" __global__ void cas_multiply(double *cell, const double *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	unsigned long long *p = (unsigned long long *)cell, old = *p, seen;
	do {
		seen = old;
		old = atomicCAS(p, seen, __double_as_longlong(__longlong_as_double(seen) * in[i]));
	} while (seen != old);
}

extern "C" __global__ void atomic_exchange(int *slots, int *got, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		got[i] = atomicExch(&slots[i], i);
}

extern "C" __global__ void scatter_add(float *out, const int *index, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&out[index[i]], in[i]);
}

extern "C" __global__ void spin_lock(int *lock, int *data)
{
	if (threadIdx.x != 0)
		return;
	while (atomicCAS(lock, 0, 1) != 0)
		;
	__threadfence();
	data[0]++;
	__threadfence();
	atomicExch(lock, 0);
}

// The last block adds up what all of them left.
extern "C" __global__ void last_block_sum(float *partial, unsigned *ticket, float *out,
					  const float *in, int n)
{
	__shared__ bool last;
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = i < n ? in[i] : 0;

	for (int o = 16; o > 0; o >>= 1)
		v += __shfl_down_sync(~0u, v, o);
	if (threadIdx.x == 0) {
		partial[blockIdx.x] = v;
		__threadfence();
		last = atomicAdd(ticket, 1u) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		float s = 0;

		for (int b = 0; b < gridDim.x; b++)
			s += ((volatile float *)partial)[b];
		*out = s;
	}
}

// Block 0 produces, the others wait for its flag.
extern "C" __global__ void wait_flag(int *flag, int *data, int *out)
{
	if (blockIdx.x == 0) {
		data[threadIdx.x] = threadIdx.x;
		__threadfence();
		__syncthreads();
		if (threadIdx.x == 0)
			*(volatile int *)flag = 1;
		return;
	}
	while (*(volatile int *)flag == 0)
		;
	__threadfence();
	out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] = data[threadIdx.x];
}
