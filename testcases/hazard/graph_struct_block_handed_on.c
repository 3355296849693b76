/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph whose kernel has its block's address in a struct is launched once and destroyed, the
 * block returned to the pool while it runs and handed to another stream. Fixed: the other
 * stream waits for the launch.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "cuGraphLaunch"
 * EXPECT-FIXED: none
 * SIM-WRONG: the new owner's value is overwritten
 */
#include "blocks.h"
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	struct blocks pool;

	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent done = event();
	CUgraphExec exec;
	CUgraph graph;

	blocks_open(&pool, "pool", 16 * N);
	CUdeviceptr p = blocks_alloc(&pool, 4 * N, a), q;

	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	PACKED(a, p, 1, N, SLOW);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuEventRecord(done, a));
	CU(cuGraphExecDestroy(exec));
	blocks_free(&pool, p);
	q = blocks_alloc(&pool, 4 * N, b);
#ifdef FIXED
	CU(cuStreamWaitEvent(b, done, 0));
#endif
	FILL(b, q, 2, N, 0);
	check_u32("q[0]", get_u32(q, 0), 2);
	blocks_free(&pool, q);
	blocks_close(&pool);
	prog_end();
	return 0;
}
