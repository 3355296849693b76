/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured upload reads a local variable that lay right below the frame of the
 * function that launches: it is gone as any other, though no call has reached it yet.
 * Fixed: it is a variable of the function that launches.
 * EXPECT: KRT-GRAPH-STALE-HOST error certain both count=1
 * MENTIONS: KRT-GRAPH-STALE-HOST "on the stack of a function that has returned"
 * EXPECT-FIXED: none
 */
#include "prog.h"

#ifndef FIXED
static __attribute__((noinline)) void upload(CUstream s, CUdeviceptr d, uint32_t v)
{
	uint32_t here = v;

	CU(cuMemcpyHtoDAsync(d, &here, 4, s));
}
#endif

int main(void)
{
	CUgraph graph;
	CUgraphExec exec;

	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", 1);

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
#ifdef FIXED
	uint32_t here = 12;

	CU(cuMemcpyHtoDAsync(d, &here, 4, s));
#else
	upload(s, d, 12);
#endif
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuMemFree(d));
	prog_end();
	return 0;
}
