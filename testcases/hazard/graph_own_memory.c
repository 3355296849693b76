/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a graph allocates itself, used on another branch: by a set that comes
 * after the free; "early", that nothing orders after the allocation; "beside", that
 * nothing orders before the free.
 * EXPECT: KRT-UAF-STREAM error certain both count=1
 * MENTIONS: KRT-UAF-STREAM "graph node"
 * ARGS: early
 * EXPECT: KRT-UBA-STREAM error certain both count=1
 * ARGS: beside
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

static void order(CUevent ev, CUstream first, CUstream second)
{
	CU(cuEventRecord(ev, first));
	CU(cuStreamWaitEvent(second, ev, 0));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

#ifdef FIXED
	how = "right";
#endif
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent ev = event();
	CUdeviceptr p;
	CUgraph graph;
	CUgraphExec exec;

	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	if (!strcmp(how, "early"))
		order(ev, a, b);
	CU(cuMemAllocAsync(&p, 4 * N, a));
	if (!strcmp(how, "beside") || !strcmp(how, "right"))
		order(ev, a, b);
	if (!*how) {
		CU(cuMemFreeAsync(p, a));
		order(ev, a, b);
	}
	CU(cuMemsetD32Async(p, 1, N, b));
	if (!strcmp(how, "early") || !strcmp(how, "right"))
		order(ev, b, a);
	if (*how)
		CU(cuMemFreeAsync(p, a));
	order(ev, b, a);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphExecDestroy(exec));
	CU(cuEventDestroy(ev));

	prog_end();
	return 0;
}
