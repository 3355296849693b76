/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph's input is refreshed on a stream that the launch does not wait for.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream copies = stream_nb("copies"), s = stream_nb("compute");
	CUdeviceptr input = device("input"), y = device("y");
	uint32_t *host = pinned_u32("host", n);
	CUgraph graph;
	CUgraphExec exec;
	CUevent done = event();

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	add(s, y, input);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));

	/* example */
	cuMemcpyHtoDAsync(input, host, bytes, copies);
#ifdef FIXED
	cuEventRecord(done, copies);   /* after the copy */
	cuStreamWaitEvent(s, done, 0); /* before the launch */
#endif
	cuGraphLaunch(exec, s); /* its kernel reads input */
	/* end */

	CU(cuCtxSynchronize());
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
