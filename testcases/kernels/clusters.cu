// SPDX-License-Identifier: Apache-2.0
// variants: 90
// Shared memory of the other blocks of a cluster; barriers in memory.
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_exchange(int *out, const int *in)
{
	__shared__ int s[32];
	auto cluster = cg::this_cluster();
	int i = blockIdx.x * 32 + threadIdx.x;

	s[threadIdx.x] = in[i];
	cluster.sync();
	out[i] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x];
	cluster.sync();
}

extern "C" __global__ void barrier_copy(int *out, const int *in)
{
	__shared__ alignas(16) int s[64];
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	auto block = cg::this_thread_block();

	if (block.thread_rank() == 0)
		init(&bar, block.size());
	block.sync();
	cuda::memcpy_async(block, s, in + blockIdx.x * 64, sizeof(s), bar);
	bar.arrive_and_wait();
	out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
