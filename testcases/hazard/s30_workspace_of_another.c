/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two graphs are captured with one workspace from a cache. When the second graph is
 * retired its cache is cleared and the workspace goes to somebody else; the first
 * graph is launched again and writes there. Fixed: each graph has a workspace of its
 * own, which lives as long as it.
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=1
 * MENTIONS: KRT-GRAPH-STALE-ADDR "workspace"
 * MENTIONS: KRT-GRAPH-STALE-ADDR "of device buffer"
 * MENTIONS: KRT-GRAPH-STALE-ADDR "captured by cuLaunchKernel"
 * EXPECT-FIXED: none
 * SIM-WRONG: the new owner's value is overwritten
 * SOURCE: pytorch/pytorch#193402 (S30)
 */
#include "blocks.h"

enum { N = 1024 };

static CUgraphExec captured(CUstream s, CUdeviceptr w)
{
	CUgraphExec exec;
	CUgraph graph;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	INC(s, w, 1, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

int main(void)
{
	struct blocks pool;

	prog_start();
	CUstream s = stream_nb("s");
	CUgraphExec first, second;

	blocks_open(&pool, "pool", 16 * N);
	CUdeviceptr w = blocks_alloc(&pool, 4 * N, s), w2 = w;

	krtsan_name((void *)(uintptr_t)w, 4 * N, "workspace");
#ifdef FIXED
	w2 = blocks_alloc(&pool, 4 * N, s);
#endif
	first = captured(s, w);
	second = captured(s, w2);
	CU(cuGraphLaunch(first, s));
	CU(cuGraphLaunch(second, s));
	CU(cuStreamSynchronize(s));

	/* the second graph and its cache */
	CU(cuGraphExecDestroy(second));
	blocks_free(&pool, w2);
	CUdeviceptr theirs = blocks_alloc(&pool, 4 * N, s);

	FILL(s, theirs, 40, N, 0);
	CU(cuGraphLaunch(first, s));
	check_u32("theirs[0]", get_u32(theirs, 0), 40);

	CU(cuGraphExecDestroy(first));
	blocks_close(&pool);
	prog_end();
	return 0;
}
