/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many captures that are no storm: one for each shape when it is first seen, then
 * launched again and again; a capture in each step that only updates the executable
 * with new parameters; shapes that are all captured before the first launch.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1024, SHAPES = 20, REQUESTS = 200 };

static CUgraph captured(CUstream s, CUdeviceptr x, uint32_t v, uint32_t n)
{
	CUgraph graph;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	FILL(s, x, v, n, 0);
	CU(cuStreamEndCapture(s, &graph));
	return graph;
}

static CUgraphExec instantiated(CUgraph graph)
{
	CUgraphExec exec;

	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N);
	CUgraphExec exec[SHAPES] = {NULL}, early[SHAPES], one;
	CUgraphExecUpdateResultInfo info;

	for (uint32_t i = 0; i < SHAPES; i++)
		early[i] = instantiated(captured(s, x, 1, 64 + i));
	for (uint32_t i = 0; i < SHAPES; i++)
		CU(cuGraphLaunch(early[i], s));
	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint32_t shape = i < SHAPES ? i : i * 7 % SHAPES;

		if (!exec[shape])
			exec[shape] = instantiated(captured(s, x, 2, 64 + shape));
		CU(cuGraphLaunch(exec[shape], s));
	}
	one = instantiated(captured(s, x, 0, N));
	for (uint32_t i = 1; i <= 40; i++) {
		CUgraph graph = captured(s, x, i, N);

		CU(cuGraphExecUpdate(one, graph, &info));
		CU(cuGraphDestroy(graph));
		CU(cuGraphLaunch(one, s));
	}
	check_u32("x[5]", get_u32(x, 5), 40);
	for (uint32_t i = 0; i < SHAPES; i++) {
		CU(cuGraphExecDestroy(exec[i]));
		CU(cuGraphExecDestroy(early[i]));
	}
	CU(cuGraphExecDestroy(one));

	prog_end();
	return 0;
}
