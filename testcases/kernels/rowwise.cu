// SPDX-License-Identifier: Apache-2.0
// variants: 90 75 100
// One block or one warp a row: softmax, norms, losses, an optimiser's step.

extern "C" __global__ void softmax(float *y, const float *x, int cols)
{
	__shared__ float s[32];
	const float *row = x + (size_t)blockIdx.x * cols;
	float m = -1e30f, sum = 0;

	for (int c = threadIdx.x; c < cols; c += 32)
		m = fmaxf(m, row[c]);
	for (int o = 16; o > 0; o >>= 1)
		m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
	for (int c = threadIdx.x; c < cols; c += 32)
		sum += __expf(row[c] - m);
	s[threadIdx.x] = sum;
	__syncwarp();
	sum = 0;
	for (int i = 0; i < 32; i++)
		sum += s[i];
	for (int c = threadIdx.x; c < cols; c += 32)
		y[(size_t)blockIdx.x * cols + c] = __expf(row[c] - m) / sum;
}

extern "C" __global__ void layer_norm(float *y, float *mean, float *rstd, const float *x,
				      const float *gamma, const float *beta, int cols)
{
	float s = 0, q = 0;

	for (int c = threadIdx.x; c < cols; c += 32) {
		float v = x[blockIdx.x * cols + c];

		s += v;
		q += v * v;
	}
	for (int o = 16; o > 0; o >>= 1) {
		s += __shfl_xor_sync(~0u, s, o);
		q += __shfl_xor_sync(~0u, q, o);
	}
	float mu = s / cols, r = rsqrtf(q / cols - mu * mu + 1e-5f);
	if (threadIdx.x == 0) {
		mean[blockIdx.x] = mu;
		rstd[blockIdx.x] = r;
	}
	for (int c = threadIdx.x; c < cols; c += 32)
		y[blockIdx.x * cols + c] = (x[blockIdx.x * cols + c] - mu) * r * gamma[c] + beta[c];
}

extern "C" __global__ void adam(float *p, float *m, float *v, const float *g, float lr, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float gi = g[i], mi = m[i] = 0.9f * m[i] + 0.1f * gi,
	      vi = v[i] = 0.99f * v[i] + 0.01f * gi * gi;
	p[i] -= lr * mi / (sqrtf(vi) + 1e-8f);
}

extern "C" __global__ void cross_entropy(float *loss, const float *logits, const int *target,
					 int classes, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		loss[i] = -logits[i * classes + target[i]];
}

extern "C" __global__ void bias_gelu(float *x, const float *bias, int cols, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		float v = x[i] + bias[i % cols];

		x[i] = v / (1 + __expf(-1.702f * v));
	}
}

// Rotates pairs of a head in place.
extern "C" __global__ void rotary(float *q, const float *cosine, const float *sine, int heads,
				  int half)
{
	int pos = blockIdx.x, head = blockIdx.y, i = threadIdx.x;

	if (i >= half)
		return;
	float *h = q + (pos * heads + head) * 2 * half;
	float a = h[i], b = h[i + half], c = cosine[pos * half + i], s = sine[pos * half + i];
	h[i] = a * c - b * s;
	h[i + half] = a * s + b * c;
}

// Appends one position to every head's cache.
extern "C" __global__ void cache_append(float *cache, const float *key, int length, int pos,
					int dim)
{
	int head = blockIdx.x;

	for (int d = threadIdx.x; d < dim; d += blockDim.x)
		cache[((long long)head * length + pos) * dim + d] = key[head * dim + d];
}

extern "C" __global__ void concatenate(float *out, const float *a, const float *b, int na, int nb)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < na)
		out[i] = a[i];
	else if (i < na + nb)
		out[i] = b[i - na];
}
