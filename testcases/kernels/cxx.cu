// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 90-O0
// flags: --extended-lambda -std=c++17
// Templates, functors, lambdas, overloads, internal linkage: what C++ makes of names and arguments.

template <class T> __global__ void fill_typed(T *out, T v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = v;
}
template __global__ void fill_typed<short>(short *, short, int);
template __global__ void fill_typed<double>(double *, double, int);

template <class F, class T> __global__ void elementwise(int n, F f, T *out, const T *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = f(in[i]);
}
struct Square {
	__device__ float operator()(float x) const
	{
		return x * x;
	}
};
template __global__ void elementwise<Square, float>(int, Square, float *, const float *);

struct Biased {
	const float *bias;
	float scale;
	__device__ float operator()(float x) const
	{
		return x * scale + bias[threadIdx.x];
	}
};
template __global__ void elementwise<Biased, float>(int, Biased, float *, const float *);

// A functor with what it captured is all there is.
template <class F> __global__ void for_each(int n, F f)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		f(i);
}

void launch_lambda(float *y, const float *x, float a, int n)
{
	for_each<<<1, 32>>>(n, [=] __device__(int i) { y[i] += a * x[i]; });
}

template <int N, class T> struct Array {
	T v[N];
};

// As PyTorch hands over its operands.
template <int N> __global__ void vectorized(int n, Array<N, char *> data)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float s = 0;
	for (int k = 1; k < N; k++)
		s += ((const float *)data.v[k])[i];
	((float *)data.v[0])[i] = s;
}
template __global__ void vectorized<3>(int, Array<3, char *>);

template <class... T> __global__ void set_all(int n, T *...p)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		((p[i] = i), ...);
}
template __global__ void set_all<int, long long, char>(int, int *, long long *, char *);

namespace
{
__global__ void hidden(int *out, int n)
{
	if (threadIdx.x < n)
		out[threadIdx.x] = 7;
}
} // namespace
void launch_hidden(int *out, int n)
{
	hidden<<<1, 32>>>(out, n);
}

namespace ns
{
struct Matrix {
	float *p;
	int ld;
	__device__ float &at(int r, int c)
	{
		return p[r * ld + c];
	}
};
__global__ void add_identity(Matrix m, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		m.at(i, i) += 1;
}
} // namespace ns

template <bool Accumulate> __global__ void store(float *out, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (Accumulate)
		out[i] += in[i];
	else
		out[i] = in[i];
}
template __global__ void store<true>(float *, const float *, int);
template __global__ void store<false>(float *, const float *, int);
