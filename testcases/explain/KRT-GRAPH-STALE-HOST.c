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
	uint32_t *values = pinned_u32("values", n), *other = NULL;
	CUgraph graph;
	CUgraphExec exec;

	MUST(!other);

	/* example */
	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	cuMemcpyHtoDAsync(x, values, bytes, s); /* read at each launch, not now */
	cuStreamEndCapture(s, &graph);
	cuGraphInstantiate(&exec, graph, 0);
#ifndef FIXED
	cuMemFreeHost(values);			   /* the graph goes on to name them */
	cuMemHostAlloc((void **)&other, bytes, 0); /* and reads what is somebody else's by now */
#endif
	cuGraphLaunch(exec, s);
#ifdef FIXED
	cuStreamSynchronize(s);
	cuGraphExecDestroy(exec);
	cuMemFreeHost(values); /* when no executable names it */
#endif
	/* end */

	CU(cuCtxSynchronize());
	CU(cuGraphDestroy(graph));
	prog_end();
	return 0;
}
