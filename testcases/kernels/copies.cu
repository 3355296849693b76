// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 100 90-lineinfo 90-O0
// Copies and fills: guards, grid-stride loops, chunks, rows, offsets of either sign.

extern "C" __global__ void copy_exact(float *y, const float *x)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = x[i];
}

extern "C" __global__ void copy_guard(float *y, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[i];
}

extern "C" __global__ void copy_grid_stride(float *y, const float *x, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = x[i];
}

extern "C" __global__ void copy_long(double *y, const double *x, unsigned long long n)
{
	unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;

	for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
	     i < n; i += step)
		y[i] = x[i];
}

extern "C" __global__ void copy_offset(float *y, const float *x, int n, long long off)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[i + off];
}

extern "C" __global__ void copy_reverse(short *y, const short *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[n - 1 - i] = x[i];
}

extern "C" __global__ void copy_bytes(unsigned char *y, const unsigned char *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[i];
}

// Rows of w floats, pitches in bytes.
extern "C" __global__ void copy_pitched(char *y, size_t ypitch, const char *x, size_t xpitch, int w,
					int h)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;

	if (c < w && r < h)
		((float *)(y + r * ypitch))[c] = ((const float *)(x + r * xpitch))[c];
}

extern "C" __global__ void copy_chunks(int *y, const int *x, int n, int per)
{
	int first = (blockIdx.x * blockDim.x + threadIdx.x) * per;

	for (int k = 0; k < per; k++)
		if (first + k < n)
			y[first + k] = x[first + k];
}

extern "C" __global__ void fill_value(float *y, float v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = v;
}

extern "C" __global__ void fill_even(int *y, int v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[2 * i] = v;
}

// Touches nothing unless told to.
extern "C" __global__ void copy_early(float *y, const float *x, int n, int skip)
{
	if (skip)
		return;
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	y[i] = x[i];
}

// One thread copies two elements that lie half the buffer apart.
extern "C" __global__ void copy_halves(float *y, const float *x, int half)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= half)
		return;
	y[i] = x[i + half];
	y[i + half] = x[i];
}
