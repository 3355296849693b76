/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU prepares the next upload in the pinned source of a captured copy while the
 * launch before may not have read it. Fixed: it waits for that launch.
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count=2
 * MENTIONS: KRT-HOST-WRITE-RACE "cuGraphLaunch"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 4096, STEPS = 3 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N), sum = device_u32("sum", N);
	uint32_t *h = pinned_u32("h", N);
	CUgraphExec exec;
	CUgraph graph;

	set_now(sum, 0, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	SPIN(s, SLOW);
	CU(cuMemcpyHtoDAsync(d, h, 4 * N, s));
	ADD(s, sum, d, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (uint32_t i = 0; i < STEPS; i++) {
#ifdef FIXED
		CU(cuStreamSynchronize(s));
#endif
		krtsan_host_write(h, 4 * N);
		host_fill(h, i, N);
		CU(cuGraphLaunch(exec, s));
	}
	check_u32("sum[0]", get_u32(sum, 0), 3);

	CU(cuGraphExecDestroy(exec));
	CU(cuMemFree(d));
	CU(cuMemFree(sum));
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
