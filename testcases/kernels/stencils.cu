// SPDX-License-Identifier: Apache-2.0
// variants: 90 75
// Neighbours: interiors, clamped borders, halos in shared memory.

extern "C" __global__ void stencil3(float *y, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i > 0 && i < n - 1)
		y[i] = x[i - 1] + x[i] + x[i + 1];
}

extern "C" __global__ void stencil3_clamped(float *y, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)];
}

extern "C" __global__ void stencil5(float *y, const float *x, int w, int h)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;

	if (c >= 1 && c < w - 1 && r >= 1 && r < h - 1)
		y[r * w + c] = x[r * w + c] + x[r * w + c - 1] + x[r * w + c + 1] +
			       x[(r - 1) * w + c] + x[(r + 1) * w + c];
}

// Input has a border of one on both sides: x[0 .. n + 1].
extern "C" __global__ void stencil_shared(float *y, const float *x, int n)
{
	extern __shared__ float s[];
	int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;

	if (i < n) {
		s[t] = x[i + 1];
		if (threadIdx.x == 0)
			s[0] = x[i];
		if (threadIdx.x == blockDim.x - 1 || i == n - 1)
			s[t + 1] = x[i + 2];
	}
	__syncthreads();
	if (i < n)
		y[i] = s[t - 1] + s[t] + s[t + 1];
}

__constant__ float taps[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
extern "C" __global__ void convolve(float *y, const float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 0;

	if (i >= n)
		return;
	for (int k = 0; k < 5; k++)
		s += taps[k] * x[i + k];
	y[i] = s;
}

extern "C" __global__ void stencil7(float *y, const float *x, int nx, int ny, int nz)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x + 1,
	    j = blockIdx.y * blockDim.y + threadIdx.y + 1;
	int plane = nx * ny;

	if (i >= nx - 1 || j >= ny - 1)
		return;
	for (int k = 1; k < nz - 1; k++) {
		int at = k * plane + j * nx + i;

		y[at] = x[at] + x[at - 1] + x[at + 1] + x[at - nx] + x[at + nx] + x[at - plane] +
			x[at + plane];
	}
}

extern "C" __global__ void max_pool(float *y, const float *x, int w, int h)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;

	if (2 * c + 1 >= w || 2 * r + 1 >= h)
		return;
	const float *p = x + 2 * r * w + 2 * c;
	y[r * (w / 2) + c] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[w], p[w + 1]));
}
