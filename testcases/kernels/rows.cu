// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 100 90-lineinfo 90-O0
// Transposes, rows by parity, parts of one buffer, tiles of two and three dimensions.

extern "C" __global__ void transpose_naive(int *out, const int *in, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		out[x * h + y] = in[y * w + x];
}

extern "C" __global__ void transpose_tile(int *out, const int *in, int w, int h)
{
	__shared__ int tile[8][9];
	int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

	if (x < w && y < h)
		tile[threadIdx.y][threadIdx.x] = in[y * w + x];
	__syncthreads();
	x = blockIdx.y * 8 + threadIdx.x;
	y = blockIdx.x * 8 + threadIdx.y;
	if (x < h && y < w)
		out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}

// Rows parity, parity + 2, ... of a matrix.
extern "C" __global__ void rows_of_parity(float *y, int w, int rows, int parity)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = 2 * blockIdx.y + parity;

	if (c < w && r < rows)
		y[r * w + c] = r;
}

extern "C" __global__ void columns_of_parity(float *y, int w, int rows, int parity)
{
	int c = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + parity, r = blockIdx.y;

	if (c < w && r < rows)
		y[r * w + c] = c;
}

extern "C" __global__ void part_of(float *y, int first, int count)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
		y[first + i] = 1;
}

extern "C" __global__ void interleave(float2 *out, const float *re, const float *im, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = make_float2(re[i], im[i]);
}

extern "C" __global__ void imaginary_parts(float *out, const float2 *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i].y;
}

extern "C" __global__ void tile_2d(float *y, const float *x, int ld)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;

	y[r * ld + c] = x[r * ld + c] + 1;
}

extern "C" __global__ void box_3d(float *y, int nx, int ny, int nz)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y,
	    k = blockIdx.z * blockDim.z + threadIdx.z;

	if (i < nx && j < ny && k < nz)
		y[((size_t)k * ny + j) * nx + i] = k;
}

// Persistent blocks take one tile after the other.
extern "C" __global__ void persistent_tiles(float *y, const float *x, int tiles)
{
	for (int t = blockIdx.x; t < tiles; t += gridDim.x)
		y[t * blockDim.x + threadIdx.x] = x[t * blockDim.x + threadIdx.x] * 2;
}

// The two colours of a chessboard.
extern "C" __global__ void red_black(float *u, int w, int h, int colour)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;

	if (c < w && r < h && ((c + r) & 1) == colour)
		u[r * w + c] = 0.5f;
}

extern "C" __global__ void shift_masked(int *y, const int *x, unsigned mask)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = x[(i >> 2) & mask];
}
