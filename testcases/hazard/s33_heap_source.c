/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured upload reads a temporary on the heap, which is freed after the capture: a
 * launch reads what malloc has made of it. Fixed: freed after the last launch.
 * EXPECT: KRT-GRAPH-STALE-HOST error certain both count=2
 * MENTIONS: KRT-GRAPH-STALE-HOST "free #"
 * EXPECT-FIXED: none
 * SOURCE: PaddlePaddle/Paddle#78568 (S33)
 */
#include "prog.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = malloc(4 * N);
	CUgraphExec exec;
	CUgraph graph;

	MUST(h);
	host_fill(h, 3, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyHtoDAsync(d, h, 4 * N, s));
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
#ifndef FIXED
	free(h);
#endif
	CU(cuGraphLaunch(exec, s));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(exec));
#ifdef FIXED
	free(h);
#endif
	CU(cuMemFree(d));
	prog_end();
	return 0;
}
