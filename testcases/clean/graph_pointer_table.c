/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of a graph writes through pointers that lie in a table; the table gets other
 * pointers between the launches, and what it held before is freed, used on another
 * stream, handed to another owner.
 * EXPECT: none
 */
#include "blocks.h"
#include "shapes.h"

enum { N = 1024, ROUNDS = 3 };

int main(void)
{
	struct blocks pool;

	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr table = device_u32("table", 4), d[2], old[2] = {0};
	CUgraphExec exec;
	CUgraph graph;

	blocks_open(&pool, "pool", 64 * N);
	for (int i = 0; i < 2; i++)
		d[i] = blocks_alloc(&pool, 4 * N, a);
	CU(cuMemcpyHtoD(table, d, sizeof(d)));
	CU(cuCtxSynchronize());
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	POKE(a, table, 7, 2, SLOW);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (int r = 0; r < ROUNDS; r++) {
		CU(cuGraphLaunch(exec, a));
		CU(cuStreamSynchronize(a));
		check_u32("d[1][0]", get_u32(d[1], 0), 7);
		for (int i = 0; i < 2; i++) {
			blocks_free(&pool, d[i]);
			old[i] = blocks_alloc(&pool, 4 * N, b);
			d[i] = blocks_alloc(&pool, 4 * N, a);
		}
		CU(cuMemcpyHtoD(table, d, sizeof(d)));
		CU(cuCtxSynchronize());
		CU(cuGraphLaunch(exec, a));
		/* beside the launch */
		for (int i = 0; i < 2; i++) {
			FILL(b, old[i], 1, N, 0);
			blocks_free(&pool, old[i]);
		}
		CU(cuCtxSynchronize());
		check_u32("d[0][0]", get_u32(d[0], 0), 7);
	}
	CU(cuGraphExecDestroy(exec));
	blocks_close(&pool);
	prog_end();
	return 0;
}
