/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph launched after memory it names was freed.
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x"), y = device("y"), z = 0;
	CUgraph graph;
	CUgraphExec exec;

	MUST(!z);

	/* example */
	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	add(s, y, x); /* a kernel: y += x */
	cuStreamEndCapture(s, &graph);
	cuGraphInstantiate(&exec, graph, 0);
#ifndef FIXED
	cuMemFree(x);	       /* the graph goes on to name it */
	cuMemAlloc(&z, bytes); /* and reads what is somebody else's by now */
#endif
	cuGraphLaunch(exec, s);
#ifdef FIXED
	cuStreamSynchronize(s);
	cuGraphExecDestroy(exec);
	cuMemFree(x); /* when no executable names it */
#endif
	/* end */

	CU(cuCtxSynchronize());
	CU(cuGraphDestroy(graph));
	prog_end();
	return 0;
}
