/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static input of a graph is refreshed on a copy stream, and the launch does not
 * wait for it. Fixed: events both ways.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count>=3
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "copy node (captured by cuMemcpyDtoDAsync"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 4096, STEPS = 3 };

int main(void)
{
	prog_start();
	CUstream compute = stream_nb("compute"), copies = stream_nb("copies");
	CUdeviceptr input = device_u32("input", N), work = device_u32("work", N);
	uint32_t *h = pinned_u32("h", STEPS * N);
	CUevent fed = event(), done = event();
	CUgraphExec exec;
	CUgraph graph;

	set_now(input, 0, N);
	CU(cuStreamBeginCapture(compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyDtoDAsync(work, input, 4 * N, compute));
	INC(compute, work, 1, N, 0);
	CU(cuStreamEndCapture(compute, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (uint32_t i = 0; i < STEPS; i++) {
		host_fill(h + i * N, i, N);
#ifdef FIXED
		CU(cuStreamWaitEvent(copies, done, 0));
#endif
		CU(cuMemcpyHtoDAsync(input, h + i * N, 4 * N, copies));
		CU(cuEventRecord(fed, copies));
#ifdef FIXED
		CU(cuStreamWaitEvent(compute, fed, 0));
#endif
		CU(cuGraphLaunch(exec, compute));
		CU(cuEventRecord(done, compute));
	}
	check_u32("work[0]", get_u32(work, 0), STEPS);

	CU(cuGraphExecDestroy(exec));
	CU(cuMemFree(input));
	CU(cuMemFree(work));
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
