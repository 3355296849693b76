/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clone of a graph and a graph that holds it as a child are instantiated after the
 * buffer of its nodes has gone back to the pool and got a new owner. Fixed: before,
 * and the buffer is kept.
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=2
 * MENTIONS: KRT-GRAPH-STALE-ADDR "captured by cuLaunchKernel"
 * EXPECT-FIXED: none
 */
#include "blocks.h"

enum { N = 512 };

int main(void)
{
	struct blocks pool;

	prog_start();
	CUstream s = stream_nb("s");
	CUgraph graph, clone, outer;
	CUgraphExec exec[2];
	CUgraphNode node;

	blocks_open(&pool, "pool", 16 * N);
	CUdeviceptr p = blocks_alloc(&pool, 4 * N, s);

	set_now(p, 0, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	INC(s, p, 1, N, 0);
	CU(cuStreamEndCapture(s, &graph));
#ifndef FIXED
	blocks_free(&pool, p);
	p = blocks_alloc(&pool, 4 * N, s);
#endif
	CU(cuGraphClone(&clone, graph));
	CU(cuGraphCreate(&outer, 0));
	CU(cuGraphAddChildGraphNode(&node, outer, NULL, 0, graph));
	CU(cuGraphDestroy(graph));
	CU(cuGraphInstantiate(&exec[0], clone, 0));
	CU(cuGraphInstantiate(&exec[1], outer, 0));
	CU(cuGraphDestroy(clone));
	CU(cuGraphDestroy(outer));
	for (int i = 0; i < 2; i++)
		CU(cuGraphLaunch(exec[i], s));
	check_u32("p[0]", get_u32(p, 0), 2);
	for (int i = 0; i < 2; i++)
		CU(cuGraphExecDestroy(exec[i]));
	blocks_free(&pool, p);
	blocks_close(&pool);
	prog_end();
	return 0;
}
