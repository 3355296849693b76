// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 100 90-O0
// Dense linear algebra: vectors, matrices, batches, tiles in shared memory.

extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

extern "C" __global__ void axpby(long long n, double a, const double *x, double b, const double *y,
				 double *z)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		z[i] = a * x[i] + b * y[i];
}

extern "C" __global__ void scale_in_place(float *x, float a, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
		x[i] *= a;
}

// One thread a row, a loop of symbolic length.
extern "C" __global__ void gemv(float *__restrict__ y, const float *__restrict__ a,
				const float *__restrict__ x, int m, int k)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0;

	if (r >= m)
		return;
	for (int c = 0; c < k; c++)
		s += a[r * k + c] * x[c];
	y[r] = s;
}

extern "C" __global__ void gemm_naive(float *c, const float *a, const float *b, int m, int n, int k)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x,
	    row = blockIdx.y * blockDim.y + threadIdx.y;
	float s = 0;

	if (row >= m || col >= n)
		return;
	for (int i = 0; i < k; i++)
		s += a[row * k + i] * b[i * n + col];
	c[row * n + col] = s;
}

// Edges of the matrices are multiples of the tile.
extern "C" __global__ void gemm_tiled(float *c, const float *a, const float *b, int n, int k)
{
	__shared__ float ta[8][8], tb[8][8];
	int col = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
	float s = 0;

	for (int t = 0; t < k; t += 8) {
		ta[threadIdx.y][threadIdx.x] = a[row * k + t + threadIdx.x];
		tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
		__syncthreads();
		for (int i = 0; i < 8; i++)
			s += ta[threadIdx.y][i] * tb[i][threadIdx.x];
		__syncthreads();
	}
	c[row * n + col] = s;
}

extern "C" __global__ void batched_scale(float *y, const float *x, const float *factor, int n,
					 long long stride)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	long long base = blockIdx.y * stride;

	if (i < n)
		y[base + i] = x[base + i] * factor[blockIdx.y];
}

extern "C" __global__ void outer_product(float *c, const float *a, const float *b, int m, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < m * n)
		c[i] = a[i / n] * b[i % n];
}

// Lower triangle, one block a row.
extern "C" __global__ void triangle_scale(float *a, int n)
{
	int row = blockIdx.x;

	if (row >= n)
		return;
	for (int c = threadIdx.x; c <= row; c += blockDim.x)
		a[row * n + c] *= 0.5f;
}
