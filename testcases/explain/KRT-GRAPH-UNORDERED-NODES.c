/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two branches of a capture meet in one buffer.
 * EXPECT: KRT-GRAPH-UNORDERED-NODES error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x = device("x"), y = device("y");
	CUgraph graph;
	CUgraphExec exec;
	CUevent fork = event(), done = event(), join = event();

	/* example */
	cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	cuEventRecord(fork, a);
	cuStreamWaitEvent(b, fork, 0); /* b joins the capture */
	fill(a, x);		       /* a kernel that writes x */
#ifdef FIXED
	cuEventRecord(done, a);	       /* after the write */
	cuStreamWaitEvent(b, done, 0); /* before the read: an edge of the graph */
#endif
	add(b, y, x); /* a kernel: y += x */
	cuEventRecord(join, b);
	cuStreamWaitEvent(a, join, 0);
	cuStreamEndCapture(a, &graph);
	cuGraphInstantiate(&exec, graph, 0);
	/* end */

	CU(cuCtxSynchronize());
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
