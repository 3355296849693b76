/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch writes is read back on another stream while it runs. Fixed: on a
 * stream that waits for it.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUevent done = event();
	CUgraphExec exec;
	CUgraph graph;

	set_now(d, 0, N);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 9, N, a));
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuEventRecord(done, a));
#ifdef FIXED
	CU(cuStreamWaitEvent(b, done, 0));
#endif
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	CU(cuStreamSynchronize(b));
	check_u32("h[0]", h[0], 9);
	CU(cuStreamSynchronize(a));

	CU(cuGraphExecDestroy(exec));
	CU(cuMemFree(d));
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
