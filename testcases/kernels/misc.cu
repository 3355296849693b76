// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 90-lineinfo 90-O0
// The device runtime, local memory, dynamic shared memory, nothing at all.
#include <cassert>
#include <cstdio>

extern "C" __global__ void prints(const int *in)
{
	printf("%d of %s\n", in[threadIdx.x], "many");
}

extern "C" __global__ void device_heap(int *out)
{
	int *p = (int *)malloc(16);

	if (p) {
		p[1] = threadIdx.x;
		out[threadIdx.x] = p[1];
		free(p);
	}
}

extern "C" __global__ void asserts(int *out, int n)
{
	assert(n > 0);
	out[threadIdx.x] = n;
}

extern "C" __global__ void local_array(int *out, const int *in, int n)
{
	int v[8];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int k = 0; k < 8; k++)
		v[k] = i * k;
	if (i < n)
		out[i] = v[in[i] & 7];
}

extern "C" __global__ void dynamic_shared(int *out, const int *in)
{
	extern __shared__ int s[];

	s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void nothing(float *unused, int n)
{
}

extern "C" __global__ void one_thread(int *x)
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		x[0] = x[1] + x[2];
}

// Pointers themselves lie in shared memory for a while.
extern "C" __global__ void shared_pointers(float *a, float *b, int n)
{
	__shared__ float *p[2];

	if (threadIdx.x == 0) {
		p[0] = a;
		p[1] = b;
	}
	__syncthreads();
	if (threadIdx.x < n)
		p[0][threadIdx.x] = p[1][threadIdx.x];
}

extern "C" __global__ void clock_stamp(long long *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = clock64();
}

// A switch that becomes a jump table.
extern "C" __global__ void switched(float *out, const float *in, int op, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v;

	if (i >= n)
		return;
	v = in[i];
	switch (op) {
	case 0:
		v = v + 1;
		break;
	case 1:
		v = sqrtf(v);
		break;
	case 2:
		v = v * v * v;
		break;
	case 3:
		v = __expf(v);
		break;
	case 4:
		v = __sinf(v);
		break;
	case 5:
		v = 1 / v;
		break;
	case 6:
		return;
	default:
		v = 0;
	}
	out[i] = v;
}

extern "C" __global__ void while_halving(int *x, int n)
{
	for (int o = n / 2; o > 0; o /= 2) {
		if (threadIdx.x < o)
			x[threadIdx.x] += x[threadIdx.x + o];
		__syncthreads();
	}
}

extern "C" __global__ void two_loops(float *y, const float *x, int n, int m)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		float s = 0;

		for (int j = 0; j < m; j++)
			s += x[i * m + j];
		y[i] = s;
	}
}

// Counts down, by pointers.
extern "C" __global__ void backwards(int *y, const int *x, int n)
{
	const int *p = x + n - 1 - threadIdx.x;
	int *q = y + n - 1 - threadIdx.x;

	for (; p >= x; p -= 32, q -= 32)
		*q = *p;
}
