/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kernel nodes with no path between them write every second row of one matrix, both the
 * even ones. Fixed: one writes the odd ones.
 * EXPECT: KRT-GRAPH-UNORDERED-NODES error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-UNORDERED-NODES "kernel node rows"
 */
#include "shapes.h"

enum { ROWS_EACH = 8, N = 2 * ROWS_EACH * ROW };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x = device_u32("x", N);
	CUevent fork = event(), join = event();
	CUgraphExec exec;
	CUgraph graph;

	set_now(x, 9, N);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuEventRecord(fork, a));
	CU(cuStreamWaitEvent(b, fork, 0));
	ROWS(a, x, 0, ROWS_EACH, 0);
#ifdef FIXED
	ROWS(b, x, 1, ROWS_EACH, 0);
#else
	ROWS(b, x, 0, ROWS_EACH, 0);
#endif
	CU(cuEventRecord(join, b));
	CU(cuStreamWaitEvent(a, join, 0));
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuStreamSynchronize(a));
	check_u32("x[0]", get_u32(x, 0), 0);
	CU(cuGraphExecDestroy(exec));
	prog_end();
	return 0;
}
