// SPDX-License-Identifier: Apache-2.0
// Kernels that test_exec.c runs on the interpreter and checks against the CPU.  basic.ptx is
// `nvcc -ptx -arch=compute_80 basic.cu`, committed for machines without a toolkit.
#include <cstdio>
#include <cassert>

struct Inner { short tag; double scale; };
struct Args { float *out; int n; Inner in; const float *a; unsigned char pad[5]; };

__constant__ float coef[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ int *pointers[2] = {&counter, nullptr};

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

extern "C" __global__ void reduce(const float *in, float *out, int n)
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
		atomicAdd(out, s[0]);
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
	__shared__ unsigned local[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[in[i]], 1u);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void transpose(const int *in, int *out, int w, int h)
{
	__shared__ int tile[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;

	if (x < w && y < h)
		tile[threadIdx.y][threadIdx.x] = in[y * w + x];
	__syncthreads();
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	if (x < h && y < w)
		out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void dynamic_shared(int *out, int n)
{
	extern __shared__ int buf[];
	int i = threadIdx.x;

	buf[i] = i * i;
	__syncthreads();
	out[i] = buf[n - 1 - i];
}

extern "C" __global__ void structs(Args p)
{
	int i = threadIdx.x;

	if (i < p.n)
		p.out[i] = (float)(p.a[i] * p.in.scale + p.in.tag + p.pad[i % 5]);
}

extern "C" __global__ void constants(float *out)
{
	out[threadIdx.x] = coef[threadIdx.x & 3] * 10;
}

extern "C" __global__ void globals(int *out)
{
	atomicAdd(pointers[0], 2);
	out[0] = pointers[1] == nullptr;
}

__device__ __noinline__ float scale_of(float x, int k)
{
	return x * k + 1;
}

extern "C" __global__ void device_call(const float *in, float *out)
{
	out[threadIdx.x] = scale_of(in[threadIdx.x], threadIdx.x) + scale_of(2, 3);
}

struct Big { int v[7]; };
__device__ __noinline__ Big make_big(int k, Big b)
{
	for (int i = 0; i < 7; i++)
		b.v[i] = b.v[6 - i] * k + i;
	return b;
}

extern "C" __global__ void struct_call(int *out)
{
	Big b;

	for (int i = 0; i < 7; i++)
		b.v[i] = i + threadIdx.x;
	b = make_big(3, b);
	for (int i = 0; i < 7; i++)
		out[threadIdx.x * 7 + i] = b.v[i];
}

__device__ __noinline__ int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

extern "C" __global__ void recursion(int *out)
{
	out[threadIdx.x] = fib(threadIdx.x);
}

__device__ __noinline__ int endless(int n, volatile int *p)
{
	return *p ? n : endless(n + 1, p) + 1;
}

extern "C" __global__ void stack_overflow(int *p)
{
	p[1] = endless(0, p);
}

typedef int (*op_t)(int, int);
__device__ int op_add(int a, int b) { return a + b; }
__device__ int op_sub(int a, int b) { return a - b; }
__device__ int op_mul(int a, int b) { return a * b; }
__device__ op_t ops[3] = {op_add, op_sub, op_mul};

extern "C" __global__ void pointers_to_functions(int *out)
{
	out[threadIdx.x] = ops[threadIdx.x % 3](threadIdx.x, 7);
}

extern "C" __global__ void switches(int *io)
{
	switch (io[threadIdx.x]) {
	case 0: io[threadIdx.x] = 5; break;
	case 1: io[threadIdx.x] = io[31] * 3; break;
	case 2: io[threadIdx.x] = 11; break;
	case 3: io[threadIdx.x] = __popc(io[30]); break;
	case 4: io[threadIdx.x] = 17 + io[30]; break;
	case 5: io[threadIdx.x] = io[30] ^ 99; break;
	case 6: io[threadIdx.x] = io[30] / 7; break;
	default: io[threadIdx.x] = -1; break;
	}
}

extern "C" __global__ void local_array(const int *in, int *out)
{
	int a[16];

	for (int i = 0; i < 16; i++)
		a[in[i]] = i * 3;
	out[threadIdx.x] = a[(in[threadIdx.x] + threadIdx.x) & 15];
}

extern "C" __global__ void vectors(const float4 *in, float4 *out, const uchar4 *b, ushort2 *h)
{
	float4 v = in[threadIdx.x];
	uchar4 c = b[threadIdx.x];

	out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
	h[threadIdx.x] = make_ushort2(c.x + c.y, c.z * c.w);
}

extern "C" __global__ void integers(const long long *a, const long long *b, long long *out, int n)
{
	int i = threadIdx.x;
	long long x = a[i], y = b[i];
	unsigned long long ux = x, uy = y;
	long long *o = out + i * 16;

	o[0] = x / y;
	o[1] = x % y;
	o[2] = ux / uy;
	o[3] = ux % uy;
	o[4] = (int)x / (int)(y | 1);
	o[5] = (unsigned)x % ((unsigned)y | 1);
	o[6] = __mul64hi(x, y);
	o[7] = __umul64hi(ux, uy);
	o[8] = x * y + 12345;
	o[9] = (x << (y & 63)) ^ (x >> (y & 31));
	o[10] = __clzll(x) + __popcll(y) * 100 + __ffsll(x) * 10000;
	o[11] = __brevll(ux) + __brev((unsigned)y);
	o[12] = (short)x * (short)y + (signed char)x;
	o[13] = __byte_perm((unsigned)x, (unsigned)y, 0x5140) +
		__funnelshift_l((unsigned)x, (unsigned)y, 9);
	o[14] = min(x, y) + max(ux, uy) + abs((int)x);
	o[15] = n;
}

extern "C" __global__ void floats(const float *a, const float *b, float *out)
{
	int i = threadIdx.x;
	float x = a[i], y = b[i], *o = out + i * 16;

	o[0] = x / y;
	o[1] = sqrtf(fabsf(x));
	o[2] = fmaf(x, y, 0.5f);
	o[3] = fminf(x, y) + fmaxf(x, y) * 2;
	o[4] = floorf(x) + ceilf(y) + truncf(x) + rintf(y);
	o[5] = expf(x * 0.125f);
	o[6] = logf(fabsf(x) + 1);
	o[7] = sinf(x) + cosf(y);
	o[8] = (float)(int)x + (float)(unsigned)fabsf(y);
	o[9] = powf(fabsf(x) + 0.5f, 1.5f);
	o[10] = tanhf(x) + atan2f(x, y);
	o[11] = __fdividef(x, y) + rsqrtf(fabsf(y) + 1);
	o[12] = __fadd_rz(x, y) + __fmul_ru(x, y) + __fdiv_rd(x, y);
	o[13] = fmodf(x, y);
	o[14] = isnan(x * INFINITY) ? 1 : 2;
	o[15] = copysignf(x, y) + __saturatef(x);
}

extern "C" __global__ void doubles(const double *a, const double *b, double *out)
{
	int i = threadIdx.x;
	double x = a[i], y = b[i], *o = out + i * 8;

	o[0] = x / y;
	o[1] = sqrt(fabs(x));
	o[2] = fma(x, y, 0.5);
	o[3] = exp(x * 0.125) + log(fabs(y) + 1);
	o[4] = sin(x) + cos(y);
	o[5] = (double)(long long)(x * 1e10) + (double)(float)y;
	o[6] = pow(fabs(x) + 0.5, 1.5);
	o[7] = floor(x) + rint(y);
}

extern "C" __global__ void say(int n)
{
	int r = printf("n=%d %s %5.2f %c %lx|%*d%%\n", n, "text", 2.5, 'x', 0x1234567890l, 5, 7);

	if (r != 7)
		printf("r=%d\n", r);
}

extern "C" __global__ void asserts(int n)
{
	assert(n == 3);
}

extern "C" __global__ void out_of_bounds(int *p, int n)
{
	p[n] = 1;
}
