/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph is captured with the input of that day, which goes back to the pool. Each
 * step computes its input into a fresh block and launches the graph, which reads the
 * block of then. Fixed: a static input that the graph keeps, and a copy into it.
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=4
 * MENTIONS: KRT-GRAPH-STALE-ADDR "has returned it since"
 * EXPECT-FIXED: none
 * SIM-WRONG: the sum of an old input
 * SOURCE: vllm-project/vllm#53915 (S32)
 */
#include "blocks.h"

enum { N = 512, STEPS = 4 };

int main(void)
{
	struct blocks pool;

	prog_start();
	CUstream s = stream_nb("s");
	CUgraphExec exec;
	CUgraph graph;
	uint32_t want = 0;

	blocks_open(&pool, "pool", 64 * N);
	CUdeviceptr y = blocks_alloc(&pool, 4 * N, s), x0 = blocks_alloc(&pool, 4 * N, s), held;

	set_now(y, 0, N);
	set_now(x0, 0, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	ADD(s, y, x0, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
#ifndef FIXED
	blocks_free(&pool, x0);
	held = blocks_alloc(&pool, 4 * N, s); /* somebody else's */
#else
	held = 0;
#endif
	for (uint32_t i = 1; i <= STEPS; i++) {
		CUdeviceptr x = blocks_alloc(&pool, 4 * N, s);

		FILL(s, x, i, N, 0);
#ifdef FIXED
		CU(cuMemcpyDtoDAsync(x0, x, 4 * N, s));
#endif
		CU(cuGraphLaunch(exec, s));
		blocks_free(&pool, x);
		want += i;
	}
	check_u32("y[0]", get_u32(y, 0), want);

	if (held)
		blocks_free(&pool, held);
	CU(cuGraphExecDestroy(exec));
	blocks_close(&pool);
	prog_end();
	return 0;
}
