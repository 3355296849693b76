/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short kernels, launched one by one.
 * EXPECT: KRT-PERF-LAUNCH-BOUND note certain both count=1
 * EXPECT-FIXED: none
 * OPTIONS: timing=cupti:sim_submit_ns=6000:sim_service_ns=2000
 * SIM-ONLY: figures of the virtual clock
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");
	uint32_t *host = pinned_u32("host", n);

	/* example */
#ifdef FIXED
	CUgraph graph;
	CUgraphExec exec;

	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	for (int k = 0; k < 100; k++)
		fill(s, x); /* a short kernel */
	cuStreamEndCapture(s, &graph);
	cuGraphInstantiate(&exec, graph, 0);
#endif
	for (int i = 0; i < 20; i++) {
#ifdef FIXED
		cuGraphLaunch(exec, s); /* one call */
#else
		for (int k = 0; k < 100; k++)
			fill(s, x); /* a short kernel */
#endif
		cuMemcpyDtoHAsync(host, x, bytes, s);
	}
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
