/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of a graph has a pointer one past the end of its block, which is the first byte of
 * the block behind it: it goes backwards, or has nothing to do. That block is returned, handed
 * out again to another stream and used there, and freed memory of its own begins where another
 * such pointer points.
 * EXPECT: none
 */
#include "blocks.h"
#include "shapes.h"

enum { N = 1024 };

static CUgraphExec captured(CUstream s, CUdeviceptr end)
{
	CUgraphExec exec;
	CUgraph graph;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	BACK(s, end, 3, N, 0);
	FILL(s, end, 4, 0, 0); /* of no elements */
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

int main(void)
{
	struct blocks pool;

	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUgraphExec exec;

	blocks_open(&pool, "pool", 16 * N);
	CUdeviceptr p = blocks_alloc(&pool, 4 * N, a), behind = blocks_alloc(&pool, 4 * N, a),
		    again;

	MUST(behind == p + 4 * N);
	set_now(p, 0, 2 * N);
	exec = captured(a, behind);
	CU(cuGraphLaunch(exec, a));
	/* beside the launch: it is not used there */
	blocks_free(&pool, behind);
	again = blocks_alloc(&pool, 4 * N, b);
	MUST(again == behind);
	FILL(b, again, 7, N, 0);
	/* the address is not stale */
	CU(cuGraphLaunch(exec, a));
	CU(cuMemsetD32Async(again, 7, N, b));
	check_u32("p[N - 1]", get_u32(p, N - 1), 3);
	check_u32("again[0]", get_u32(again, 0), 7);
	CU(cuGraphExecDestroy(exec));
	blocks_free(&pool, again);
	blocks_free(&pool, p);
	blocks_close(&pool);
	prog_end();
	return 0;
}
