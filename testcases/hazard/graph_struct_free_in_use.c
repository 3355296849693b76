/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory, of which a kernel of a graph has the address in a struct, is freed on
 * a stream that does not wait for the launch. Fixed: it waits.
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-FREE-IN-USE "kernel node packed"
 */
#include "shapes.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent made = event(), done = event();
	CUgraphExec exec;
	CUdeviceptr p;
	CUgraph graph;

	CU(cuMemAllocAsync(&p, 4 * N, a));
	CU(cuEventRecord(made, a));
	CU(cuStreamWaitEvent(b, made, 0));
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	PACKED(a, p, 1, N, SLOW);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuEventRecord(done, a));
#ifdef FIXED
	CU(cuStreamWaitEvent(b, done, 0));
#endif
	CU(cuMemFreeAsync(p, b));
	CU(cuCtxSynchronize());
	CU(cuGraphExecDestroy(exec));
	prog_end();
	return 0;
}
