/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph captured for each launch.
 * EXPECT: KRT-PERF-CAPTURE-STORM note certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");
	CUgraph graph;
	CUgraphExec exec = NULL;

	/* example */
	for (int i = 0; i < 64; i++) {
		if (!exec) {
			cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
			fill(s, x); /* a kernel */
			cuStreamEndCapture(s, &graph);
			cuGraphInstantiate(&exec, graph, 0);
			cuGraphDestroy(graph);
		}
		cuGraphLaunch(exec, s);
#ifndef FIXED
		cuGraphExecDestroy(exec);
		exec = NULL;
#endif
	}
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
