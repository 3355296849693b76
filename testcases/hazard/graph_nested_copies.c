/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph two levels down in another, whose clone is instantiated when the block of its
 * kernel has gone back to the pool and to a new owner. "added": the graph is given to the
 * generic call for nodes, "moved": and moves into it, "declared": no block is
 * returned, but the access that was declared for the captured kernel meets a set.
 * Fixed: the block is kept, the set comes after the launch.
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=1
 * MENTIONS: KRT-GRAPH-STALE-ADDR "captured by cuLaunchKernel"
 * ARGS: added
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=1
 * ARGS: moved
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=1
 * ARGS: declared
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count=1
 * EXPECT-FIXED: none
 */
#include "blocks.h"

enum { N = 1024 };

static CUgraph around(CUgraph inner, const char *how)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	CUgraphNode node;
	CUgraph graph;

	CU(cuGraphCreate(&graph, 0));
	if (!strcmp(how, "added") || !strcmp(how, "moved")) {
		p.graph.graph = inner;
		p.graph.ownership = !strcmp(how, "moved") ? CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
							  : CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
		CU(cuGraphAddNode(&node, graph, NULL, NULL, 0, &p));
	} else {
		CU(cuGraphAddChildGraphNode(&node, graph, NULL, 0, inner));
	}
	if (strcmp(how, "moved"))
		CU(cuGraphDestroy(inner));
	return graph;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct blocks pool;
	CUgraph graph, clone;
	CUgraphExec exec;

	prog_start();
	CUstream s = stream_nb("s"), other = stream_nb("other");
	CUdeviceptr x;

	blocks_open(&pool, "pool", 64 * N);
	x = blocks_alloc(&pool, 4 * N, s);
	set_now(x, 0, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	WRITES(s, x, 4 * N);
	INC(s, x, 1, N, SLOW);
	CU(cuStreamEndCapture(s, &graph));
	graph = around(around(graph, how), how);
#ifndef FIXED
	if (strcmp(how, "declared")) {
		blocks_free(&pool, x);
		x = blocks_alloc(&pool, 4 * N, s);
	}
#endif
	if (!strcmp(how, "moved")) { /* what was moved cannot be cloned everywhere */
		clone = graph;
	} else {
		CU(cuGraphClone(&clone, graph));
		CU(cuGraphDestroy(graph));
	}
	CU(cuGraphInstantiate(&exec, clone, 0));
	CU(cuGraphDestroy(clone));
	CU(cuGraphLaunch(exec, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	if (!strcmp(how, "declared"))
		CU(cuMemsetD32Async(x + 4, 7, 1, other));
	CU(cuCtxSynchronize());

	CU(cuGraphExecDestroy(exec));
	blocks_close(&pool);
	prog_end();
	return 0;
}
