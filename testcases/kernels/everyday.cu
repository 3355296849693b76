// SPDX-License-Identifier: Apache-2.0
// variants: 90 75
// What programs are made of: tiles with any edges, rows by blocks of any size, vectors and their
// rest, indices taken apart by divisions.
#include <cuda_fp16.h>

// Any sizes; the inner loop goes over tiles of 8.
extern "C" __global__ void matmul_edges(float *c, const float *a, const float *b, int m, int n,
					int k)
{
	__shared__ float as[8][8], bs[8][8];
	int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < (k + 7) / 8; t++) {
		int ka = t * 8 + threadIdx.x, kb = t * 8 + threadIdx.y;

		as[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0;
		bs[threadIdx.y][threadIdx.x] = kb < k && col < n ? b[kb * n + col] : 0;
		__syncthreads();
		for (int i = 0; i < 8; i++)
			sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
		__syncthreads();
	}
	if (row < m && col < n)
		c[row * n + col] = sum;
}

// A tile of 16 x 16 by 16 x 4 threads.
extern "C" __global__ void transpose_edges(float *out, const float *in, int w, int h)
{
	__shared__ float tile[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;

	for (int j = 0; j < 16; j += 4)
		if (x < w && y + j < h)
			tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
	__syncthreads();
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	for (int j = 0; j < 16; j += 4)
		if (x < h && y + j < w)
			out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Two elements a round, and a tree.
extern "C" __global__ void reduce_pairs(float *out, const float *in, unsigned n)
{
	extern __shared__ float s[];
	unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + tid;
	float mine = 0;

	while (i < n) {
		mine += in[i];
		if (i + blockDim.x < n)
			mine += in[i + blockDim.x];
		i += blockDim.x * 2 * gridDim.x;
	}
	s[tid] = mine;
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		if (tid < k)
			s[tid] += s[tid + k];
		__syncthreads();
	}
	if (tid == 0)
		out[blockIdx.x] = s[0];
}

// A block a row of halves, two at a time.
extern "C" __global__ void rms_norm(__half *out, const __half *in, const __half *weight, int cols)
{
	__shared__ float red[32];
	const __half2 *row = (const __half2 *)(in + (size_t)blockIdx.x * cols);
	const __half2 *w = (const __half2 *)weight;
	__half2 *to = (__half2 *)(out + (size_t)blockIdx.x * cols);
	float s = 0;

	for (int i = threadIdx.x; i < cols / 2; i += blockDim.x) {
		float2 v = __half22float2(row[i]);

		s += v.x * v.x + v.y * v.y;
	}
	for (int k = 16; k; k >>= 1)
		s += __shfl_xor_sync(~0u, s, k);
	if (threadIdx.x % 32 == 0)
		red[threadIdx.x / 32] = s;
	__syncthreads();
	s = 0;
	for (int i = 0; i < blockDim.x / 32; i++)
		s += red[i];
	s = rsqrtf(s / cols + 1e-6f);
	for (int i = threadIdx.x; i < cols / 2; i += blockDim.x)
		to[i] = __hmul2(__hmul2(row[i], __float2half2_rn(s)), w[i]);
}

// Four at a time, and what is left over.
extern "C" __global__ void vectors_and_rest(float *y, const float *x, int n)
{
	int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;

	for (int i = first; i < n / 4; i += step)
		((float4 *)y)[i] = ((const float4 *)x)[i];
	for (int i = n / 4 * 4 + first; i < n; i += step)
		y[i] = x[i];
}

// A matrix turned round, by one index.
extern "C" __global__ void permute_flat(int *out, const int *in, int w, int h)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < w * h)
		out[i % w * h + i / w] = in[i];
}

// Pixels of three colours to planes.
extern "C" __global__ void planes_of(float *out, const unsigned char *in, int pixels)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < 3 * pixels)
		out[i % 3 * pixels + i / 3] = in[i];
}

extern "C" __global__ void channel_bias(float *x, const float *bias, int channels, int plane, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] += bias[i / plane % channels];
}

// A warp a row, as long as there are rows.
extern "C" __global__ void warp_rows(float *out, const float *in, int rows, int cols)
{
	int warps = gridDim.x * blockDim.x / 32, lane = threadIdx.x % 32;

	for (int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32; r < rows; r += warps) {
		float s = 0;

		for (int c = lane; c < cols; c += 32)
			s += in[r * cols + c];
		for (int k = 16; k; k >>= 1)
			s += __shfl_down_sync(~0u, s, k);
		if (lane == 0)
			out[r] = s;
	}
}
