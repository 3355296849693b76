/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured copy from heap memory that is freed before the launch.
 * EXPECT: KRT-GRAPH-STALE-HOST error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");
	uint32_t *values = calloc(n, 4);
	CUgraph graph;
	CUgraphExec exec;

	MUST(values);

	/* example */
	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	cuMemcpyHtoDAsync(x, values, bytes, s); /* read at each launch, not now */
	cuStreamEndCapture(s, &graph);
	cuGraphInstantiate(&exec, graph, 0);
#ifndef FIXED
	free(values); /* the graph goes on to name them */
#endif
	cuGraphLaunch(exec, s);
#ifdef FIXED
	cuStreamSynchronize(s);
	cuGraphExecDestroy(exec);
	free(values); /* when no executable names it */
#endif
	/* end */

	CU(cuCtxSynchronize());
	CU(cuGraphDestroy(graph));
	prog_end();
	return 0;
}
