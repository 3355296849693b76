// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 90-O0
// Reductions and scans: shared memory, shuffles, atomics, several passes.

extern "C" __global__ void reduce_block(float *out, const float *in, int n)
{
	__shared__ float s[256];
	float v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		v += in[i];
	s[threadIdx.x] = v;
	__syncthreads();
	for (int o = blockDim.x / 2; o > 0; o >>= 1) {
		if (threadIdx.x < o)
			s[threadIdx.x] += s[threadIdx.x + o];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

extern "C" __global__ void reduce_atomic(float *sum, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = i < n ? in[i] : 0;

	for (int o = 16; o > 0; o >>= 1)
		v += __shfl_down_sync(~0u, v, o);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(sum, v);
}

// One warp a row.
extern "C" __global__ void reduce_rows(float *out, const float *in, int rows, int cols)
{
	int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	float v = 0;

	if (warp >= rows)
		return;
	for (int c = lane; c < cols; c += 32)
		v += in[warp * cols + c];
	for (int o = 16; o > 0; o >>= 1)
		v += __shfl_xor_sync(~0u, v, o);
	if (lane == 0)
		out[warp] = v;
}

extern "C" __global__ void scan_block(int *out, int *block_sum, const int *in, int n)
{
	__shared__ int s[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	s[threadIdx.x] = i < n ? in[i] : 0;
	__syncthreads();
	for (int o = 1; o < blockDim.x; o <<= 1) {
		int v = threadIdx.x >= o ? s[threadIdx.x - o] : 0;

		__syncthreads();
		s[threadIdx.x] += v;
		__syncthreads();
	}
	if (i < n)
		out[i] = s[threadIdx.x];
	if (threadIdx.x == blockDim.x - 1)
		block_sum[blockIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void scan_add(int *data, const int *block_sum, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (blockIdx.x > 0 && i < n)
		data[i] += block_sum[blockIdx.x - 1];
}

// Columns: neighbouring threads, neighbouring columns.
extern "C" __global__ void reduce_columns(float *out, const float *in, int rows, int cols)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	float v = 0;

	if (c >= cols)
		return;
	for (int r = 0; r < rows; r++)
		v += in[(size_t)r * cols + c];
	out[c] = v;
}

// A mean whose number of elements lies in memory.
extern "C" __global__ void mean(float *out, const float *in, const int *count)
{
	float v = 0;
	int n = *count;

	for (int i = threadIdx.x; i < n; i += 32)
		v += in[i];
	for (int o = 16; o > 0; o >>= 1)
		v += __shfl_down_sync(~0u, v, o);
	if (threadIdx.x == 0)
		*out = v / n;
}

extern "C" __global__ void dot(double *out, const double *a, const double *b, int n)
{
	__shared__ double s[64];
	double v = 0;

	for (int i = threadIdx.x; i < n; i += 64)
		v += a[i] * b[i];
	s[threadIdx.x] = v;
	__syncthreads();
	if (threadIdx.x < 32) {
		v += s[threadIdx.x + 32];
		for (int o = 16; o > 0; o >>= 1)
			v += __shfl_down_sync(~0u, v, o);
		if (threadIdx.x == 0)
			out[0] = v;
	}
}
