/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a graph's kernel is copied to the host on a stream that does not wait for the
 * launch; the next launch then writes it again while that copy may still run. Fixed: the two
 * streams wait for each other.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count=5
 * EXPECT-FIXED: none
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "kernel node inc"
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "device buffer "out""
 */
#include "prog.h"

enum { N = 4096, STEPS = 3 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr out = device_u32("out", N);
	uint32_t *h = pinned_u32("h", N);
	CUevent done = event(), copied = event();
	CUgraphExec exec;
	CUgraph graph;

	set_now(out, 0, N);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	INC(a, out, 1, N, SLOW);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (uint32_t i = 0; i < STEPS; i++) {
		CU(cuGraphLaunch(exec, a));
		CU(cuEventRecord(done, a));
#ifdef FIXED
		CU(cuStreamWaitEvent(b, done, 0));
#endif
		CU(cuMemcpyDtoHAsync(h, out, 4 * N, b));
		CU(cuEventRecord(copied, b));
#ifdef FIXED
		CU(cuStreamWaitEvent(a, copied, 0));
#endif
	}
	CU(cuStreamSynchronize(b));
	krtsan_host_read(h, 4 * N);
	check_u32("h[5]", h[5], STEPS);
	CU(cuGraphExecDestroy(exec));
	prog_end();
	return 0;
}
