/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of a captured upload is unregistered before a launch; the memory itself is
 * there yet. Fixed: it stays registered.
 * EXPECT: KRT-GRAPH-STALE-HOST error certain both count=1
 * MENTIONS: KRT-GRAPH-STALE-HOST "cuMemHostUnregister"
 * EXPECT-FIXED: none
 * SOURCE: PaddlePaddle/Paddle#78568 (S33)
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = aligned_alloc(4096, 4 * N);
	CUgraphExec exec;
	CUgraph graph;

	MUST(h);
	CU(cuMemHostRegister(h, 4 * N, 0));
	for (unsigned i = 0; i < N; i++)
		h[i] = 5;
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyHtoDAsync(d, h, 4 * N, s));
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
#ifndef FIXED
	CU(cuMemHostUnregister(h));
	CU(cuGraphLaunch(exec, s));
	return 0; /* a device may fault: nobody asks */
#else
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuMemHostUnregister(h));
#endif
	CU(cuGraphExecDestroy(exec));
	CU(cuMemFree(d));
	free(h);
	prog_end();
	return 0;
}
