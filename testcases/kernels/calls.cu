// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 90-O0
// Device functions that stay functions: pointers in, pointers out, recursion, calls through
// pointers.

__device__ __noinline__ float load_at(const float *p, int i)
{
	return p[i];
}
__device__ __noinline__ void store_at(float *p, int i, float v)
{
	p[i] = v;
}
extern "C" __global__ void calls_with_pointers(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		store_at(out, i, load_at(in, i));
}

__device__ __noinline__ float *row_of(float *m, int r, int ld)
{
	return m + r * ld;
}
extern "C" __global__ void call_returns_pointer(float *m, int ld)
{
	row_of(m, blockIdx.x, ld)[threadIdx.x] = 1;
}

struct Range {
	const int *p;
	int *q;
	int n;
};
__device__ __noinline__ void copy_range(Range r)
{
	for (int i = threadIdx.x; i < r.n; i += blockDim.x)
		r.q[i] = r.p[i];
}
extern "C" __global__ void call_with_struct(int *out, const int *in, int n)
{
	copy_range(Range{in, out, n});
}

// Adds up a binary tree in an array.
__device__ __noinline__ int tree_sum(const int *tree, int at, int n)
{
	return at >= n ? 0
		       : tree[at] + tree_sum(tree, 2 * at + 1, n) + tree_sum(tree, 2 * at + 2, n);
}
extern "C" __global__ void recursion(int *out, const int *tree, int n)
{
	*out = tree_sum(tree, 0, n);
}

__device__ __noinline__ int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion_no_memory(int *out)
{
	out[threadIdx.x] = fibonacci(threadIdx.x);
}

typedef float (*unary)(float);
__device__ float twice(float x)
{
	return 2 * x;
}
__device__ float half_of(float x)
{
	return x / 2;
}
__device__ unary operations[2] = {twice, half_of};
extern "C" __global__ void call_through_table(float *out, const float *in, int op, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = operations[op](in[i]);
}

typedef void (*writer)(float *, int);
__device__ __noinline__ void write_one(float *p, int i)
{
	p[i] = 1;
}
__device__ __noinline__ void write_next(float *p, int i)
{
	p[i + 1] = 2;
}
extern "C" __global__ void call_through_pointer(float *out, int which, int n)
{
	writer w = which ? write_next : write_one;
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		w(out, i);
}

__device__ __noinline__ void swap_pointers(float **a, float **b)
{
	float *t = *a;

	*a = *b;
	*b = t;
}
// Through local memory: the address of a pointer is handed on.
extern "C" __global__ void swapped(float *a, float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float *from = a, *to = b;

	swap_pointers(&from, &to);
	if (i < n)
		to[i] = from[i];
}
