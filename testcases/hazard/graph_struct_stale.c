/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of a graph has its input's address in a struct; the input's block goes back to the
 * pool after the capture. Fixed: the block is kept as long as the graph.
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=2
 * MENTIONS: KRT-GRAPH-STALE-ADDR "unpack"
 * EXPECT-FIXED: none
 * SIM-WRONG: the next owner's value is read
 */
#include "blocks.h"
#include "shapes.h"

enum { N = 512 };

int main(void)
{
	struct blocks pool;

	prog_start();
	shapes_load();
	CUstream s = stream_nb("s");
	CUgraphExec exec;
	CUgraph graph;

	blocks_open(&pool, "pool", 64 * N);
	CUdeviceptr y = blocks_alloc(&pool, 4 * N, s), x = blocks_alloc(&pool, 4 * N, s), other;

	set_now(y, 0, N);
	set_now(x, 7, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	UNPACK(s, y, x, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
#ifndef FIXED
	blocks_free(&pool, x);
#endif
	other = blocks_alloc(&pool, 4 * N, s);
	FILL(s, other, 1, N, 0);
	CU(cuGraphLaunch(exec, s));
	CU(cuGraphLaunch(exec, s));
	check_u32("y[0]", get_u32(y, 0), 7);

	CU(cuGraphExecDestroy(exec));
	blocks_close(&pool);
	prog_end();
	return 0;
}
