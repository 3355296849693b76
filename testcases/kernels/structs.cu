// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 100 90-O0
// Pointers inside arguments that are passed by value.

struct View {
	float *data;
	int n;
};

extern "C" __global__ void view_add(View out, View a, View b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < out.n)
		out.data[i] = a.data[i] + b.data[i];
}

struct Inner {
	short tag;
	const double *table;
};
struct Outer {
	char kind;
	Inner in[2];
	double *out;
	int n;
};

extern "C" __global__ void nested(Outer o)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < o.n)
		o.out[i] = o.in[0].table[i] + o.in[1].table[2 * i] + o.in[1].tag;
}

struct Pointers {
	int count;
	float *p[4];
};

// The index of the pointer is not known before the launch.
extern "C" __global__ void array_of_pointers(Pointers list, int n)
{
	int i = threadIdx.x;

	if (blockIdx.x < list.count && i < n)
		list.p[blockIdx.x][i] = blockIdx.x;
}

extern "C" __global__ void unrolled_pointers(Pointers list, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		list.p[0][i] = list.p[1][i] + list.p[2][i] * list.p[3][i];
}

struct Strided {
	const float *data;
	long long stride[2];
	int size[2];
};

extern "C" __global__ void strided_copy(float *out, Strided s)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;

	if (c < s.size[1] && r < s.size[0])
		out[r * s.size[1] + c] = s.data[r * s.stride[0] + c * s.stride[1]];
}

// Written only if there is something to write to.
struct Optional {
	float *grad, *aux;
	bool want;
};

extern "C" __global__ void optional_output(float *y, const float *x, Optional o, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	y[i] = x[i];
	if (o.want)
		o.grad[i] = 2 * x[i];
}

extern "C" __global__ void constant_view(const __grid_constant__ View v, float *out)
{
	const View *p = &v;
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < p->n)
		out[i] = p->data[i];
}

// A pointer that is compared but never followed, and one that is not even looked at.
extern "C" __global__ void unused_pointers(int *out, const int *looked_at, const int *ignored,
					   int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = looked_at != nullptr;
}

// Numbers that look like pointers, and a pointer that arrives as a number.
extern "C" __global__ void numbers(unsigned long long where, unsigned long long key, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		((unsigned long long *)where)[i] = key ^ i;
}

// Base and end: the second pointer only bounds the loop.
extern "C" __global__ void from_to(float *first, const float *last)
{
	for (float *p = first + blockIdx.x * blockDim.x + threadIdx.x; p < last;
	     p += gridDim.x * blockDim.x)
		*p = 1;
}
