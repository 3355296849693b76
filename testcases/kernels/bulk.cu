// SPDX-License-Identifier: Apache-2.0
// variants: 90
// Bulk copies and tensor maps, as PTX.
#include <cuda.h>
#include <cstdint>

__device__ static unsigned at(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void bulk_load(float *out, const float *in)
{
	__shared__ alignas(16) float s[256];
	__shared__ uint64_t bar;
	const float *from = in + blockIdx.x * 256;

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&bar)));
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at(&bar)));
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			     "[%0], [%1], 1024, [%2];" ::"r"(at(s)),
			     "l"(from), "r"(at(&bar))
			     : "memory");
	}
	__syncthreads();
	asm volatile(
		"{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" ::
			"r"(at(&bar))
		: "memory");
	out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void bulk_store(float *out, const float *in)
{
	__shared__ alignas(16) float s[256];

	s[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(
				     out + blockIdx.x * 256),
			     "r"(at(s))
			     : "memory");
		asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::
				     : "memory");
	}
}

extern "C" __global__ void bulk_reduce(float *sum)
{
	__shared__ alignas(16) float s[256];

	s[threadIdx.x] = 1;
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], "
			     "[%1], 1024;" ::"l"(sum),
			     "r"(at(s))
			     : "memory");
		asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::
				     : "memory");
	}
}

extern "C" __global__ void bulk_prefetch(const float *in)
{
	asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(in));
}

extern "C" __global__ void tensor_load(float *out, const __grid_constant__ CUtensorMap map)
{
	__shared__ alignas(128) float s[16][16];
	__shared__ uint64_t bar;

	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&bar)));
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;" ::"r"(at(&bar)));
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::"
			     "complete_tx::bytes [%0], [%1, {%2, %3}], "
			     "[%4];" ::"r"(at(s)),
			     "l"(&map), "r"(blockIdx.x * 16), "r"(0), "r"(at(&bar))
			     : "memory");
	}
	__syncthreads();
	asm volatile(
		"{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" ::
			"r"(at(&bar))
		: "memory");
	out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x / 16][threadIdx.x % 16];
}

extern "C" __global__ void tensor_store(const __grid_constant__ CUtensorMap map, float v)
{
	__shared__ alignas(128) float s[16][16];

	s[threadIdx.x / 16][threadIdx.x % 16] = v;
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, "
			     "%2}], [%3];" ::"l"(&map),
			     "r"(blockIdx.x * 16), "r"(0), "r"(at(s))
			     : "memory");
		asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::
				     : "memory");
	}
}
