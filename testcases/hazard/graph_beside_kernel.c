/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel reads on one stream what a kernel of a graph writes on another, at the same time.
 * Fixed: it waits for the launch.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "kernel copy"
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "kernel node fill"
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "device buffer "x""
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N);
	CUevent done = event();
	CUgraphExec exec;
	CUgraph graph;

	set_now(x, 0, N);
	set_now(y, 0, N);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	FILL(a, x, 7, N, SLOW);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuEventRecord(done, a));
#ifdef FIXED
	CU(cuStreamWaitEvent(b, done, 0));
#endif
	COPY(b, y, x, N, 0);
	check_u32("y[5]", get_u32(y, 5), 7);
	CU(cuGraphExecDestroy(exec));
	prog_end();
	return 0;
}
