/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers move between launches, and the executable follows: by a new capture and a
 * whole-graph update, by a node's parameters, by a node that is disabled, by a new
 * executable. What was captured is never launched with an old address.
 */
#include "blocks.h"

enum { N = 512 };

static struct blocks pool;

static CUgraph captured(CUstream s, CUdeviceptr d)
{
	CUgraph graph;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemsetD32Async(d, 1, N, s));
	INC(s, d, 1, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	return graph;
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec;
	CUgraph graph;

	blocks_open(&pool, "pool", 128 * N);
	CUdeviceptr d = blocks_alloc(&pool, 4 * N, s);

	graph = captured(s, d);
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (int i = 0; i < 4; i++) {
		CUdeviceptr to = blocks_alloc(&pool, 4 * N, s);

		blocks_free(&pool, d);
		d = to;
		graph = captured(s, d);
		CU(cuGraphExecUpdate(exec, graph, &info));
		CU(cuGraphDestroy(graph));
		CU(cuGraphLaunch(exec, s));
	}
	check_u32("d[0]", get_u32(d, 0), 2);
	CU(cuGraphExecDestroy(exec));

	/* a node that is not wanted any more holds nothing */
	CUdeviceptr first = blocks_alloc(&pool, 4 * N, s);
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = first, .elementSize = 4, .width = N, .height = 1, .value = 5};
	CUgraphNode node[2];

	CU(cuGraphCreate(&graph, 0));
	CU(cuGraphAddMemsetNode(&node[0], graph, NULL, 0, &set, prog_context));
	set.dst = d;
	CU(cuGraphAddMemsetNode(&node[1], graph, NULL, 0, &set, prog_context));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphNodeSetEnabled(exec, node[0], 0));
	blocks_free(&pool, first);
	CU(cuGraphLaunch(exec, s));
	check_u32("d[0]", get_u32(d, 0), 5);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));

	/* outlives its memory, and is only destroyed */
	graph = captured(s, d);
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	blocks_free(&pool, d);
	CU(cuGraphExecDestroy(exec));

	blocks_close(&pool);
	prog_end();
	return 0;
}
