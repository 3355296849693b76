// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 100
// Wide loads and stores, cache modifiers, small types.

extern "C" __global__ void copy_float4(float4 *y, const float4 *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[i];
}

// Vectors and what is left over.
extern "C" __global__ void copy_with_tail(float *y, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n / 4)
		((float4 *)y)[i] = ((const float4 *)x)[i];
	if (i < n % 4)
		y[n / 4 * 4 + i] = x[n / 4 * 4 + i];
}

extern "C" __global__ void read_only_cache(double2 *y, const double2 *__restrict__ x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		double2 v = __ldg(&x[i]);

		y[i] = make_double2(v.y, v.x);
	}
}

extern "C" __global__ void streaming(int2 *y, const int2 *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		__stcs(&y[i], __ldcs(&x[i]));
}

extern "C" __global__ void write_through(int *y, const int *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		__stwt(&y[i], __ldcv(&x[i]));
}

extern "C" __global__ void char4_sums(int *y, const char4 *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		char4 c = x[i];

		y[i] = c.x + c.y + c.z + c.w;
	}
}

struct __align__(16) Pixel
{
	float r, g, b, a;
};

extern "C" __global__ void red_only(float *out, const Pixel *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i].r;
}

// Three floats an element: no vector fits.
extern "C" __global__ void triples(float3 *y, const float3 *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		float3 v = x[i];

		y[i] = make_float3(v.z, v.y, v.x);
	}
}

extern "C" __global__ void unroll4(float *y, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x * 4 + threadIdx.x;

#pragma unroll
	for (int k = 0; k < 4; k++)
		if (i + k * blockDim.x < n)
			y[i + k * blockDim.x] = x[i + k * blockDim.x];
}
