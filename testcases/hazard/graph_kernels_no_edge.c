/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams forked into one capture: a kernel on one writes what a kernel on the other
 * reads, no event between them, and nothing declares what they do.
 * EXPECT: KRT-GRAPH-UNORDERED-NODES error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-UNORDERED-NODES "kernel node fill"
 * MENTIONS: KRT-GRAPH-UNORDERED-NODES "kernel node copy"
 * MENTIONS: KRT-GRAPH-UNORDERED-NODES "device buffer "x""
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent fork = event(), join = event();
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N);
	CUgraphExec exec;
	CUgraph graph;

	set_now(x, 0, N);
	set_now(y, 0, N);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuEventRecord(fork, a));
	CU(cuStreamWaitEvent(b, fork, 0));
	FILL(a, x, 7, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(fork, a));
	CU(cuStreamWaitEvent(b, fork, 0));
#endif
	COPY(b, y, x, N, 0);
	CU(cuEventRecord(join, b));
	CU(cuStreamWaitEvent(a, join, 0));
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuStreamSynchronize(a));
	check_u32("y[5]", get_u32(y, 5), 7);
	CU(cuGraphExecDestroy(exec));
	prog_end();
	return 0;
}
