/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured upload reads a local variable of a function that has returned by the time
 * of the launch. Fixed: the variable outlives the launches.
 * EXPECT: KRT-GRAPH-STALE-HOST error certain both count=1
 * MENTIONS: KRT-GRAPH-STALE-HOST "on the stack of a function that has returned"
 * EXPECT-FIXED: none
 * SOURCE: PaddlePaddle/Paddle#78568 (S33)
 */
#include "prog.h"

static CUgraphExec exec;

static __attribute__((noinline)) void record(CUstream s, CUdeviceptr d, uint32_t *count)
{
#ifndef FIXED
	volatile uint32_t here[64];
	uint32_t *from = (uint32_t *)here;
#else
	uint32_t *from = count;
#endif
	CUgraph graph;

	from[0] = *count;
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyHtoDAsync(d, from, 4, s));
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
}

int main(void)
{
	uint32_t count = 12;

	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("count", 1);

	record(s, d, &count);
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(exec));
	CU(cuMemFree(d));
	prog_end();
	return 0;
}
