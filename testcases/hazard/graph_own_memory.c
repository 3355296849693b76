/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a graph allocates itself, used on another branch: with "early" by a
 * set that nothing orders after the allocation, else by one that comes after the
 * free.
 * EXPECT: KRT-UAF-STREAM error certain both count=1
 * MENTIONS: KRT-UAF-STREAM "graph node"
 * ARGS: early
 * EXPECT: KRT-UBA-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(int argc, char **argv)
{
	bool early = argc > 1 && !strcmp(argv[1], "early");

	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent ev = event();
	CUdeviceptr p;
	CUgraph graph;
	CUgraphExec exec;

	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	if (early) {
		CU(cuEventRecord(ev, a));
		CU(cuStreamWaitEvent(b, ev, 0));
	}
	CU(cuMemAllocAsync(&p, 4 * N, a));
#ifdef FIXED
	CU(cuEventRecord(ev, a));
	CU(cuStreamWaitEvent(b, ev, 0));
#else
	if (!early) {
		CU(cuMemFreeAsync(p, a));
		CU(cuEventRecord(ev, a));
		CU(cuStreamWaitEvent(b, ev, 0));
	}
#endif
	CU(cuMemsetD32Async(p, 1, N, b));
	CU(cuEventRecord(ev, b));
	CU(cuStreamWaitEvent(a, ev, 0));
#ifdef FIXED
	CU(cuMemFreeAsync(p, a));
#else
	if (early)
		CU(cuMemFreeAsync(p, a));
#endif
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphExecDestroy(exec));
	CU(cuEventDestroy(ev));

	prog_end();
	return 0;
}
