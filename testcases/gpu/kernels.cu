// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels as nvcc users write them, on several streams: kernels CASE [race|fixed].
 * In a case with a race, `fixed` adds the missing edge; the others have none to
 * begin with.  The PTX of the kernels (made by gpu/kernels_ptx.sh) is in
 * testcases/common/nvcc_kernels.h, for hazard/nvcc_kernels.c: the same cases through
 * the driver API, here and without a card.
 * Prints what the case computed where that is the same in either order; exits 0
 * unless CUDA fails.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifndef KERNELS_ONLY
#include <cuda_runtime.h>
#endif

// --- kernels --------------------------------------------------------------------------

extern "C" __global__ void fill(float *out, size_t n, float v)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = v;
}

extern "C" __global__ void scale(const float *in, float *out, size_t n, float by)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i] * by;
}

/* The same over a loop with the grid's stride. */
extern "C" __global__ void saxpy(const float *x, float *y, size_t n, float a)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		y[i] += a * x[i];
}

/* Every second row, from `first` on; a block a row. */
extern "C" __global__ void rows(float *m, int width, int first, float v)
{
	for (int i = threadIdx.x; i < width; i += blockDim.x)
		m[(2 * (size_t)blockIdx.x + first) * width + i] = v;
}

struct view {
	float *data;
	int n;
};

struct job {
	view in, out;
	float by;
};

extern "C" __global__ void work(job j)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < j.out.n)
		j.out.data[i] = j.in.data[i] * j.by;
}

template <typename T, int OP>
__global__ void apply(const T *in, T *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = OP ? in[i] + T(1) : in[i] * T(2);
}
template __global__ void apply<float, 0>(const float *, float *, int);
template __global__ void apply<float, 1>(const float *, float *, int);

template <class F>
__global__ void each(int n, F f)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		f(i);
}

/* A functor, as lambdas are to the compiler. */
struct doubled {
	const float *x;
	float *y;
	__device__ void operator()(int i) const { y[i] = x[i] * 2; }
};
template __global__ void each<doubled>(int, doubled);

__device__ float table[1 << 12];

extern "C" __global__ void set_table(float v)
{
	table[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

extern "C" __global__ void use_table(float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = table[i] * 2;
}

/* out[k] of a table of pointers, a row of blocks each */
extern "C" __global__ void batched(float *const *out, int n, float v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[blockIdx.y][i] = v;
}

extern "C" __global__ void histogram(const float *in, int n, unsigned *bins)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&bins[(unsigned)in[i] & 255], 1u);
}

/* What it is given and never touches. */
extern "C" __global__ void unused(float *given, float *out)
{
	out[threadIdx.x] = 1;
}

#ifndef KERNELS_ONLY
// --- the program ----------------------------------------------------------------------

#define CHECK(call)                                                                         \
	do {                                                                                \
		cudaError_t e_ = (call);                                                    \
		if (e_ != cudaSuccess) {                                                    \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,       \
				cudaGetErrorString(e_));                                    \
			exit(2);                                                            \
		}                                                                           \
	} while (0)

static const int N = 1 << 20, B = 256, W = 1024;
static const int G = N / B;
static cudaStream_t s[4];
static cudaEvent_t done;
static bool fixed;
static float *a, *b, *c, *d;
static unsigned *bins;

/* The edge that the planted races lack. */
static void edge()
{
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(done, s[0]));
	if (fixed)
		CHECK(cudaStreamWaitEvent(s[1], done, 0));
}

static void waw() { fill<<<G, B, 0, s[0]>>>(a, N, 1); edge(); fill<<<G, B, 0, s[1]>>>(a, N, 2); }
static void raw() { scale<<<G, B, 0, s[0]>>>(a, b, N, 2); edge(); scale<<<G, B, 0, s[1]>>>(b, c, N, 2); }
static void war() { scale<<<G, B, 0, s[0]>>>(a, b, N, 2); edge(); fill<<<G, B, 0, s[1]>>>(a, N, 3); }
static void stride() { saxpy<<<64, B, 0, s[0]>>>(a, b, N, 2); edge(); saxpy<<<64, B, 0, s[1]>>>(b, c, N, 2); }
/* against what is no kernel */
static void copy() { scale<<<G, B, 0, s[0]>>>(a, b, N, 2); edge(); CHECK(cudaMemcpyAsync(c, b, N * 4, cudaMemcpyDeviceToDevice, s[1])); }
static void set() { scale<<<G, B, 0, s[0]>>>(a, b, N, 2); edge(); CHECK(cudaMemsetAsync(a, 0, N * 4, s[1])); }
/* the halves meet in one element */
static void halves_meet() { fill<<<G, B, 0, s[0]>>>(a, N / 2 + 1, 1); edge(); fill<<<G, B, 0, s[1]>>>(a + N / 2, N / 2, 2); }
static void even_even() { rows<<<N / W / 2, B, 0, s[0]>>>(a, W, 0, 1); edge(); rows<<<N / W / 2, B, 0, s[1]>>>(a, W, 0, 2); }
static void structs() { work<<<G, B, 0, s[0]>>>(job{{a, N}, {b, N}, 2}); edge(); work<<<G, B, 0, s[1]>>>(job{{b, N}, {c, N}, 2}); }
static void templates() { apply<float, 0><<<G, B, 0, s[0]>>>(a, b, N); edge(); apply<float, 1><<<G, B, 0, s[1]>>>(b, c, N); }
static void lambdas()
{
	float *x = a, *y = b, *z = c;

	each<<<G, B, 0, s[0]>>>(N, [=] __device__(int i) { y[i] = x[i] + 1; });
	edge();
	each<<<G, B, 0, s[1]>>>(N, [=] __device__(int i) { z[i] = y[i] * 2; });
}
static void functors()
{
	each<<<G, B, 0, s[0]>>>(N, doubled{a, b});
	edge();
	each<<<G, B, 0, s[1]>>>(N, doubled{b, c});
}
static void variables() { set_table<<<16, 256, 0, s[0]>>>(1); edge(); use_table<<<16, 256, 0, s[1]>>>(a); }

static float **pointers(float *x, float *y)
{
	float **t, *host[2] = {x, y};

	CHECK(cudaMalloc(&t, sizeof(host)));
	CHECK(cudaMemcpy(t, host, sizeof(host), cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize()); /* a copy from pageable memory may be staged */
	return t;
}
static void tables()
{
	float **t = pointers(a, b), **u = pointers(b, c);

	batched<<<dim3(G, 2), B, 0, s[0]>>>(t, N, 1);
	edge();
	batched<<<dim3(G, 2), B, 0, s[1]>>>(u, N, 2);
}
static void freed()
{
	float *x;

	CHECK(cudaMallocAsync(&x, N * 4, s[0]));
	CHECK(cudaStreamSynchronize(s[0]));
	fill<<<G, B, 0, s[0]>>>(x, N, 1);
	edge();
	CHECK(cudaFreeAsync(x, s[1]));
}

/* --- nothing is missing in these */

static void weights()
{
	float *out[4] = {b, c, d, d + N};

	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 4; i++)
			scale<<<G, B, 0, s[i]>>>(a, out[i], N, 2);
}
static void weights_struct()
{
	float *out[4] = {b, c, d, d + N};

	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 4; i++)
			work<<<G, B, 0, s[i]>>>(job{{a, N}, {out[i], N}, 2});
}
static void halves() { fill<<<G / 2, B, 0, s[0]>>>(a, N / 2, 1); fill<<<G / 2, B, 0, s[1]>>>(a + N / 2, N / 2, 2); }
/* the guard, not the grid, keeps them apart */
static void halves_guarded() { fill<<<G, B, 0, s[0]>>>(a, N / 2 - 5, 1); fill<<<G, B, 0, s[1]>>>(a + N / 2 - 5, N / 2, 2); }
static void even_odd() { rows<<<N / W / 2, B, 0, s[0]>>>(a, W, 0, 1); rows<<<N / W / 2, B, 0, s[1]>>>(a, W, 1, 2); }
static void halves_copied() { fill<<<G / 2, B, 0, s[0]>>>(a, N / 2, 1); CHECK(cudaMemsetAsync(a + N / 2, 0, N * 2, s[1])); }
static void tables_apart() { batched<<<dim3(G, 2), B, 0, s[0]>>>(pointers(a, b), N, 1); batched<<<dim3(G, 2), B, 0, s[1]>>>(pointers(c, d), N, 2); }
static void atomics() { histogram<<<G, B, 0, s[0]>>>(a, N, bins); histogram<<<G, B, 0, s[1]>>>(a, N, bins); }
/* the range is empty: n is 0 */
static void nothing() { fill<<<G, B, 0, s[0]>>>(a, N, 1); fill<<<1, B, 0, s[1]>>>(a, 0, 2); }
static void never_touched()
{
	fill<<<G, B, 0, s[0]>>>(a, N, 1);
	unused<<<1, B, 0, s[1]>>>(a, b);
}
static void never_touched_freed()
{
	float *x;

	CHECK(cudaMallocAsync(&x, N * 4, s[0]));
	CHECK(cudaStreamSynchronize(s[0]));
	unused<<<1, B, 0, s[1]>>>(x, b);
	CHECK(cudaFreeAsync(x, s[0]));
}
/* cudaMemcpyToSymbolAsync while a kernel reads the symbol */
static void symbol_copy()
{
	use_table<<<16, 256, 0, s[0]>>>(a);
	edge();
	CHECK(cudaMemcpyToSymbolAsync(table, b, sizeof(table), 0, cudaMemcpyDeviceToDevice, s[1]));
}

__managed__ int shared_total;
__global__ void set_shared(int v) { shared_total = v; }
static void managed() { set_shared<<<1, 1, 0, s[0]>>>(1); edge(); set_shared<<<1, 1, 0, s[1]>>>(2); }

/* The parameters hold numbers of objects, not the address. */
__global__ void sample(cudaTextureObject_t t, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = tex1Dfetch<float>(t, i);
}
static cudaTextureObject_t texture(float *data)
{
	cudaResourceDesc what = {};
	cudaTextureDesc how = {};
	cudaTextureObject_t t;

	what.resType = cudaResourceTypeLinear;
	what.res.linear.devPtr = data;
	what.res.linear.desc = cudaCreateChannelDesc<float>();
	what.res.linear.sizeInBytes = N * 4;
	CHECK(cudaCreateTextureObject(&t, &what, &how, NULL));
	return t;
}
static void textures() { sample<<<G, B, 0, s[0]>>>(texture(a), b, N); edge(); fill<<<G, B, 0, s[1]>>>(a, N, 3); }
static void textures_read() { sample<<<G, B, 0, s[0]>>>(texture(a), b, N); sample<<<G, B, 0, s[1]>>>(texture(a), c, N); }

__global__ void draw(cudaSurfaceObject_t t, float v) { surf2Dwrite(v, t, threadIdx.x * 4, blockIdx.x); }
static void surfaces()
{
	cudaChannelFormatDesc of = cudaCreateChannelDesc<float>();
	cudaResourceDesc what = {};
	cudaSurfaceObject_t t;
	cudaArray_t image;

	CHECK(cudaMallocArray(&image, &of, 256, 64, cudaArraySurfaceLoadStore));
	what.resType = cudaResourceTypeArray;
	what.res.array.array = image;
	CHECK(cudaCreateSurfaceObject(&t, &what));
	draw<<<64, 256, 0, s[0]>>>(t, 1);
	edge();
	CHECK(cudaMemcpy2DFromArrayAsync(a, 1024, image, 0, 0, 1024, 64, cudaMemcpyDeviceToDevice, s[1]));
}

static void variables_read() { use_table<<<16, 256, 0, s[0]>>>(a); use_table<<<16, 256, 0, s[1]>>>(b); }

static const struct {
	const char *name;
	void (*run)();
} cases[] = {
#define CASE(f) {#f, f}
	CASE(waw), CASE(raw), CASE(war), CASE(stride), CASE(copy), CASE(set), CASE(halves_meet), CASE(even_even),
	CASE(structs), CASE(templates), CASE(lambdas), CASE(functors), CASE(variables), CASE(tables), CASE(freed),
	CASE(weights), CASE(weights_struct), CASE(halves), CASE(halves_guarded), CASE(even_odd), CASE(halves_copied),
	CASE(tables_apart), CASE(atomics), CASE(nothing), CASE(never_touched), CASE(never_touched_freed),
	CASE(variables_read), CASE(symbol_copy), CASE(managed), CASE(textures), CASE(textures_read), CASE(surfaces),
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	void (*run)() = NULL;
	float last[4];

	fixed = argc > 2 && !strcmp(argv[2], "fixed");
	for (auto &k : cases)
		if (!strcmp(k.name, name))
			run = k.run;
	if (!run) {
		fprintf(stderr, "kernels: %s: no such case\n", name);
		return 2;
	}
	for (auto &stream : s)
		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	float **all[] = {&a, &b, &c, &d};
	for (auto p : all) {
		CHECK(cudaMalloc(p, (p == &d ? 2 : 1) * (size_t)N * 4));
		CHECK(cudaMemset(*p, 0, (p == &d ? 2 : 1) * (size_t)N * 4));
	}
	CHECK(cudaMalloc(&bins, 1024));
	CHECK(cudaMemset(bins, 0, 1024));
	CHECK(cudaDeviceSynchronize());
	run();
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 4; i++)
		CHECK(cudaMemcpy(&last[i], *all[i], 4, cudaMemcpyDeviceToHost));
	if (fixed)
		printf("%s: %g %g %g %g\n", name, last[0], last[1], last[2], last[3]);
	else
		printf("%s\n", name);
	return 0;
}
#endif
