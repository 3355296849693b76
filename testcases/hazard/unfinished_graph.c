/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last launch of a graph that fetches its results is not waited for.
 * EXPECT: KRT-UNFINISHED warning certain both count=1
 * MENTIONS: KRT-UNFINISHED "cuGraphLaunch"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 512, STEPS = 3 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUgraphExec exec;
	CUgraph graph;
	int steps = STEPS;

	set_now(d, 0, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	INC(s, d, 1, N, 0);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (int i = 0; i < steps; i++) {
		CU(cuGraphLaunch(exec, s));
		CU(cuStreamSynchronize(s));
		check_u32("h[0]", ((volatile uint32_t *)h)[0], (uint32_t)i + 1);
	}
	CU(cuGraphLaunch(exec, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	return 0;
}
