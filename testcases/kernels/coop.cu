// SPDX-License-Identifier: Apache-2.0
// variants: 90 75
// Cooperative groups: tiles of a warp, grid barriers, coalesced threads.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tile_reduce(int *out, const int *in, int n)
{
	auto tile = cg::tiled_partition<16>(cg::this_thread_block());
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int v = cg::reduce(tile, i < n ? in[i] : 0, cg::plus<int>());

	if (tile.thread_rank() == 0)
		out[i / 16] = v;
}

// Two phases with a barrier of the whole grid between them.
extern "C" __global__ void grid_phases(float *out, float *tmp, const float *in, int n)
{
	auto grid = cg::this_grid();

	for (int i = grid.thread_rank(); i < n; i += grid.size())
		tmp[i] = in[i] + 1;
	grid.sync();
	for (int i = grid.thread_rank(); i < n; i += grid.size())
		out[i] = tmp[n - 1 - i];
}

extern "C" __global__ void coalesced_count(int *counter, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n && in[i] > 0) {
		auto active = cg::coalesced_threads();

		if (active.thread_rank() == 0)
			atomicAdd(counter, (int)active.size());
	}
}

extern "C" __global__ void block_rank(int *out)
{
	auto block = cg::this_thread_block();

	out[block.group_index().x * block.size() + block.thread_rank()] = block.thread_rank();
}
