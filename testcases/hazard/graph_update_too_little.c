/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffer of a graph moves, and one of its two kernel nodes is given the new
 * address; the other keeps the old one, which went back to the pool. Fixed: both are.
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=1
 * EXPECT-FIXED: none
 */
#include "blocks.h"

enum { N = 512 };

static CUDA_KERNEL_NODE_PARAMS inc_of(void **args)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = prog.inc,
					 .gridDimX = 1,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 64,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = args};
}

int main(void)
{
	struct blocks pool;

	prog_start();
	CUstream s = stream_nb("s");
	uint32_t n = N, one = 1;
	uint64_t cycles = 0;
	CUdeviceptr p;
	void *args[] = {&p, &one, &n, &cycles};
	CUDA_KERNEL_NODE_PARAMS params = inc_of(args);
	CUgraphNode node[2];
	CUgraphExec exec;
	CUgraph graph;

	blocks_open(&pool, "pool", 64 * N);
	CUdeviceptr old = blocks_alloc(&pool, 4 * N, s), new;

	p = old;
	CU(cuGraphCreate(&graph, 0));
	CU(cuGraphAddKernelNode(&node[0], graph, NULL, 0, &params));
	CU(cuGraphAddKernelNode(&node[1], graph, &node[0], 1, &params));
	CU(cuGraphInstantiate(&exec, graph, 0));
	set_now(old, 0, N);
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));

	new = blocks_alloc(&pool, 4 * N, s);
	set_now(new, 0, N);
	blocks_free(&pool, old);
	p = new;
	CU(cuGraphExecKernelNodeSetParams(exec, node[0], &params));
#ifdef FIXED
	CU(cuGraphExecKernelNodeSetParams(exec, node[1], &params));
#endif
	CU(cuGraphLaunch(exec, s));
	check_u32("new[0]", get_u32(new, 0), 2);

	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	blocks_close(&pool);
	prog_end();
	return 0;
}
