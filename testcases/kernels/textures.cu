// SPDX-License-Identifier: Apache-2.0
// variants: 90 75
// Textures and surfaces.

extern "C" __global__ void texture_linear(float *out, cudaTextureObject_t tex, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex1Dfetch<float>(tex, i);
}

extern "C" __global__ void texture_2d(float *out, cudaTextureObject_t tex, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		out[y * w + x] = tex2D<float>(tex, x + 0.5f, y + 0.5f);
}

extern "C" __global__ void surface_write(cudaSurfaceObject_t surf, const float *in, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < w && y < h)
		surf2Dwrite(in[y * w + x], surf, x * 4, y);
}

extern "C" __global__ void surface_read(float *out, cudaSurfaceObject_t surf, int w)
{
	int x = threadIdx.x;

	if (x < w)
		out[x] = surf2Dread<float>(surf, x * 4, 0);
}
