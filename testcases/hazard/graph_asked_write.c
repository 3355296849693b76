/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of a graph writes a buffer where a word in memory says so, and another stream sets
 * that buffer at the same time: the two conflict when it does. Fixed: the set waits.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP warning likely both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "kernel node asked"
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "device buffer "x""
 */
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x = device_u32("x", N), flag = device_u32("flag", 1);
	CUevent done = event();
	CUgraphExec exec;
	CUgraph graph;

	set_now(x, 0, N);
	set_now(flag, 7, 1);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	ASKED(a, x, flag, N, SLOW);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuEventRecord(done, a));
#ifdef FIXED
	CU(cuStreamWaitEvent(b, done, 0));
#endif
	CU(cuMemsetD32Async(x, 1, N, b));
	check_u32("x[5]", get_u32(x, 5), 1);
	CU(cuGraphExecDestroy(exec));
	prog_end();
	return 0;
}
