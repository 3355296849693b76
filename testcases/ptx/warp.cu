// SPDX-License-Identifier: Apache-2.0
// Warps, barriers, atomics, spinning, halves: see basic.cu.  warp.ptx is
// `nvcc -ptx -arch=compute_80 warp.cu`.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

extern "C" __global__ void warp_sum(const int *in, int *out)
{
	int v = in[threadIdx.x];

	for (int o = 16; o; o >>= 1)
		v += __shfl_down_sync(~0u, v, o);
	if (threadIdx.x % 32 == 0)
		out[threadIdx.x / 32] = v;
}

extern "C" __global__ void shuffles(int *out)
{
	int l = threadIdx.x, *o = out + l * 8;

	o[0] = __shfl_sync(~0u, l * 2, 5);
	o[1] = __shfl_up_sync(~0u, l * 2, 3);
	o[2] = __shfl_down_sync(~0u, l * 2, 3, 8);
	o[3] = __shfl_xor_sync(~0u, l * 2, 9);
	o[4] = __shfl_sync(~0u, l, l + 1, 4);
	o[5] = (int)(__shfl_down_sync(~0u, (long long)l << 33, 1) >> 32);
	if (l & 1)
		o[6] = __shfl_sync(0xaaaaaaaau, l, 31);
	else
		o[6] = __shfl_sync(0x55555555u, l, 30);
	o[7] = 0;
}

extern "C" __global__ void votes(int *out)
{
	int l = threadIdx.x, *o = out + l * 8;

	o[0] = __ballot_sync(~0u, l % 3 == 0);
	o[1] = __all_sync(~0u, l < 32);
	o[2] = __any_sync(~0u, l == 40);
	o[3] = __match_any_sync(~0u, l / 5);
	int pred;
	o[4] = __match_all_sync(~0u, 7, &pred) + pred;
	o[5] = __reduce_add_sync(~0u, l);
	o[6] = __reduce_max_sync(~0u, -l);
	if (l < 10)
		o[7] = __activemask();
	else
		o[7] = o[6] - 22;
}

extern "C" __global__ void aggregated(int *counter, int *slots)
{
	if (threadIdx.x % 3 == 0) {
		cg::coalesced_group g = cg::coalesced_threads();
		int base = 0;

		if (g.thread_rank() == 0)
			base = atomicAdd(counter, g.size());
		base = g.shfl(base, 0);
		slots[base + g.thread_rank()] = threadIdx.x;
	}
}

extern "C" __global__ void tiles(const int *in, int *out)
{
	auto tile = cg::tiled_partition<8>(cg::this_thread_block());

	out[threadIdx.x] = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
}

extern "C" __global__ void block_votes(int *out)
{
	out[threadIdx.x * 3] = __syncthreads_count(threadIdx.x % 3 == 0);
	out[threadIdx.x * 3 + 1] = __syncthreads_and(threadIdx.x < 90);
	out[threadIdx.x * 3 + 2] = __syncthreads_or(threadIdx.x == 77);
}

extern "C" __global__ void named_barriers(int *out)
{
	__shared__ int box;

	if (threadIdx.x < 32) {
		if (threadIdx.x == 0)
			box = 41;
		asm volatile("bar.arrive 1, 64;" ::: "memory");
	} else {
		asm volatile("bar.sync 1, 64;" ::: "memory");
		out[threadIdx.x - 32] = box + 1;
	}
}

extern "C" __global__ void grid_sync(int *data, int rounds)
{
	cg::grid_group g = cg::this_grid();
	unsigned i = g.thread_rank(), n = g.size();

	for (int r = 0; r < rounds; r++) {
		int v = data[(i + 1) % n];

		g.sync();
		data[i] = v + 1;
		g.sync();
	}
}

/* A barrier of one's own: a counter, as many kernels have it. */
extern "C" __global__ void own_barrier(volatile unsigned *count, int *data)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicAdd((unsigned *)count, 1);
		while (*count < gridDim.x)
			;
	}
	__syncthreads();
	unsigned other = ((blockIdx.x + 1) % gridDim.x) * blockDim.x + threadIdx.x;
	atomicAdd(&data[gridDim.x * blockDim.x], data[other]);
}

extern "C" __global__ void spin(volatile int *flag, int *out)
{
	while (!*flag)
		;
	*out = *flag + 1;
}

extern "C" __global__ void spin_sleep(volatile int *flag, int *out)
{
	while (!*flag)
		__nanosleep(100);
	*out = *flag + 1;
}

/* Threads of one warp, one waits for another: needs independent threads. */
extern "C" __global__ void lock(int *mutex, int *value)
{
	while (atomicCAS(mutex, 0, 1) != 0)
		;
	__threadfence();
	*(volatile int *)value = *(volatile int *)value + 1;
	__threadfence();
	atomicExch(mutex, 0);
}

extern "C" __global__ void timed(long long *out, long long ticks)
{
	long long t0 = clock64();

	while (clock64() - t0 < ticks)
		;
	out[0] = clock64() - t0;
}

extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
	int t = threadIdx.x;

	atomicAdd(&i[0], t);
	atomicSub(&i[1], t);
	atomicMin(&i[2], -t);
	atomicMax(&i[3], t);
	atomicExch(&i[4], 9);
	atomicAnd(&i[5], ~(1 << t % 31));
	atomicOr(&i[6], 1 << t % 31);
	atomicXor(&i[7], 1 << t % 31);
	atomicInc(&u[0], 10);
	atomicDec(&u[1], 10);
	atomicMax(&u[2], (unsigned)-t);
	atomicAdd(&l[0], (unsigned long long)t << 32);
	atomicMin(&l[1], (unsigned long long)t + 3);
	atomicCAS(&l[2], 5ull, 6ull);
	atomicAdd(&f[0], 0.5f);
	atomicAdd(&d[0], 0.25);
}

extern "C" __global__ void halves(const float *in, float *out)
{
	int i = threadIdx.x;
	__half a = __float2half(in[i]), b = __float2half(in[i + 1]);
	__half2 v = __halves2half2(a, b);
	__nv_bfloat16 c = __float2bfloat16(in[i]);

	out[i * 5] = __half2float(__hadd(a, b));
	out[i * 5 + 1] = __half2float(__hfma(a, b, a));
	v = __hmul2(v, v);
	out[i * 5 + 2] = __low2float(v) + __high2float(v);
	out[i * 5 + 3] = __bfloat162float(c);
	out[i * 5 + 4] = __hgt(a, b) ? 1 : 0;
}

extern "C" __global__ void async_copy(const int4 *in, int4 *out)
{
	__shared__ int4 buf[64];

	__pipeline_memcpy_async(&buf[threadIdx.x], &in[threadIdx.x], sizeof(int4));
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	out[threadIdx.x] = buf[63 - threadIdx.x];
}

extern "C" __global__ void heap(int *out)
{
	int *p = (int *)malloc(16);

	if (p) {
		p[0] = threadIdx.x;
		out[threadIdx.x] = p[0] + 1;
		free(p);
	} else {
		out[threadIdx.x] = -1;
	}
}
