// SPDX-License-Identifier: Apache-2.0
// Kernels of the libraries that stand in for NVIDIA's on the simulated driver.
// Their pointers lie in structs, as those of the real ones do.  kernels.ptx is made
// of them by nvcc -ptx -arch=compute_75 kernels.cu

struct gemm_args {
	const float *a, *b, *c, *bias;
	float *d;
	long long m, n, k, batch;
	long long a_row, a_col, b_row, b_col, c_row, c_col, d_row, d_col;
	long long a_step, b_step, c_step, d_step;
	const float *alpha_at, *beta_at; // NULL: the numbers below
	float alpha, beta;
	const void *left[4]; // what the last call had there: not used
};

extern "C" __global__ void lib_gemm(gemm_args g)
{
	long long all = g.m * g.n * g.batch, stride = (long long)gridDim.x * blockDim.x;
	float alpha = g.alpha_at ? *g.alpha_at : g.alpha, beta = g.beta_at ? *g.beta_at : g.beta;

#pragma unroll 1
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < all; i += stride) {
		long long z = i / (g.m * g.n), r = i % g.m, c = i / g.m % g.n;
		float sum = 0;

#pragma unroll 1
		for (long long k = 0; k < g.k; k++)
			sum += g.a[z * g.a_step + r * g.a_row + k * g.a_col] *
			       g.b[z * g.b_step + k * g.b_row + c * g.b_col];
		sum *= alpha;
		if (beta != 0)
			sum += beta * g.c[z * g.c_step + r * g.c_row + c * g.c_col];
		if (g.bias)
			sum += g.bias[r];
		g.d[z * g.d_step + r * g.d_row + c * g.d_col] = sum;
	}
}

struct batched_args {
	gemm_args g; // a, b, d: tables
	const float *const *a, *const *b;
	float *const *d;
};

extern "C" __global__ void lib_gemm_batched(batched_args g)
{
	long long all = g.g.m * g.g.n * g.g.batch, stride = (long long)gridDim.x * blockDim.x;

#pragma unroll 1
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < all; i += stride) {
		long long z = i / (g.g.m * g.g.n), r = i % g.g.m, c = i / g.g.m % g.g.n;
		float sum = 0, *d = &g.d[z][r * g.g.d_row + c * g.g.d_col];

#pragma unroll 1
		for (long long k = 0; k < g.g.k; k++)
			sum += g.a[z][r * g.g.a_row + k * g.g.a_col] * g.b[z][k * g.g.b_row + c * g.g.b_col];
		*d = sum * g.g.alpha + (g.g.beta != 0 ? g.g.beta * *d : 0);
	}
}

struct tidy_args { // what was computed in a workspace, to where it belongs
	const float *from;
	float *to;
	long long m, n, row, col;
};

extern "C" __global__ void lib_tidy(tidy_args t)
{
	long long stride = (long long)gridDim.x * blockDim.x;

#pragma unroll 1
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < t.m * t.n; i += stride)
		t.to[i % t.m * t.row + i / t.m * t.col] = t.from[i];
}

struct vector_args {
	const float *x;
	float *y;
	long long n, incx, incy;
	float alpha;
	int keep; // y += alpha x, not y = alpha x
};

extern "C" __global__ void lib_vector(vector_args v)
{
	long long stride = (long long)gridDim.x * blockDim.x;

#pragma unroll 1
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < v.n; i += stride)
		v.y[i * v.incy] = v.alpha * v.x[i * v.incx] + (v.keep ? v.y[i * v.incy] : 0);
}

struct dft_args { // of four points each
	const float2 *in;
	float2 *out;
	long long batch, in_step, in_dist, out_step, out_dist;
	int inverse;
};

extern "C" __global__ void lib_dft4(dft_args d)
{
	long long stride = (long long)gridDim.x * blockDim.x;

#pragma unroll 1
	for (long long b = blockIdx.x * (long long)blockDim.x + threadIdx.x; b < d.batch; b += stride) {
		const float2 *in = d.in + b * d.in_dist;
		float2 *out = d.out + b * d.out_dist;
		float2 x0 = in[0], x1 = in[d.in_step], x2 = in[2 * d.in_step], x3 = in[3 * d.in_step];
		float sign = d.inverse ? -1.f : 1.f;
		float2 y;

		y.x = x0.x + x1.x + x2.x + x3.x;
		y.y = x0.y + x1.y + x2.y + x3.y;
		out[0] = y;
		y.x = x0.x - x2.x + sign * (x1.y - x3.y);
		y.y = x0.y - x2.y - sign * (x1.x - x3.x);
		out[d.out_step] = y;
		y.x = x0.x - x1.x + x2.x - x3.x;
		y.y = x0.y - x1.y + x2.y - x3.y;
		out[2 * d.out_step] = y;
		y.x = x0.x - x2.x - sign * (x1.y - x3.y);
		y.y = x0.y - x2.y + sign * (x1.x - x3.x);
		out[3 * d.out_step] = y;
	}
}

struct sum_args { // of the ranks' parts; NULL: there are no more
	const float *from[8];
	float *to;
	long long n;
};

extern "C" __global__ void lib_sum(sum_args s)
{
	long long stride = (long long)gridDim.x * blockDim.x;

#pragma unroll 1
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < s.n; i += stride) {
		float sum = 0;

#pragma unroll 1
		for (int r = 0; r < 8 && s.from[r]; r++)
			sum += s.from[r][i];
		s.to[i] = sum;
	}
}
