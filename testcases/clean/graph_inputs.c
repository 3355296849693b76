/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static inputs of a graph that are rightly not written before each launch: a table
 * that changes now and then, rows of a batch that shrinks, launches in a row for a
 * measurement, an input that another graph writes, one that a kernel may have
 * written, constants. Fresh data beside it that is copied in, is prefetched for the
 * next step, or is a result that the CPU reads.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1024, ROWS = 8, STEPS = 15 };

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
	CUdeviceptr tokens = device_u32("tokens", N), table = device_u32("table", N),
		    rows = device_u32("rows", ROWS * N), middle = device_u32("middle", N),
		    flags = device_u32("flags", N), weights = device_u32("weights", N),
		    out = device_u32("out", N), next = device_u32("next", N);
	uint32_t *in = pinned_u32("in", N), *back = pinned_u32("back", N);
	CUgraphExec first, second;
	CUgraph graph;

	set_now(weights, 1, N);
	set_now(table, 0, N);
	set_now(flags, 0, N);
	set_now(middle, 0, N);
	set_now(rows, 0, ROWS * N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	COPY(s, middle, tokens, N, 0);
	ADD(s, middle, weights, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	first = instantiated(graph);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	COPY(s, out, middle, N, 0);
	ADD(s, out, table, N, 0);
	ADD(s, out, rows, N, 0);
	ADD(s, out, flags, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	second = instantiated(graph);

	for (uint32_t i = 0; i < STEPS; i++) {
		CUdeviceptr fresh = device_u32("fresh", N), result = device_u32("result", N);

		host_fill(in, i, N);
		/* in a buffer of its own first, then where the graph reads it */
		CU(cuMemcpyHtoDAsync(fresh, in, 4 * N, s));
		CU(cuMemcpyDtoDAsync(tokens, fresh, 4 * N, s));
		/* in the first steps in each, later every eighth */
		if (i < 4 || i % 8 == 0)
			CU(cuMemcpyHtoDAsync(table, in, 4 * N, s));
		for (uint32_t r = 0; r < (i < 5 ? ROWS : ROWS / 2); r++)
			CU(cuMemcpyHtoDAsync(rows + 4 * N * r, in, 4 * N, s));
		/* a copy at first, a kernel of unknown access afterwards */
		if (i < 5)
			CU(cuMemcpyHtoDAsync(flags, in, 4 * N, s));
		else
			FILL(s, flags, i, N, 0);
		if (i < 6) /* written by hand at first, then by the other graph */
			CU(cuMemcpyHtoDAsync(middle, in, 4 * N, s));
		CU(cuGraphLaunch(first, s));
		CU(cuGraphLaunch(second, s));
		FILL(s, result, i, N, 0);
		CU(cuMemcpyDtoHAsync(back, result, 4 * N, s));
		/* for the next step */
		CU(cuMemcpyHtoDAsync(next, in, 4 * N, s));
		CU(cuStreamSynchronize(s));
		CU(cuMemFree(fresh));
		CU(cuMemFree(result));
	}
	for (int i = 0; i < 20; i++) /* a measurement */
		CU(cuGraphLaunch(second, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(first));
	CU(cuGraphExecDestroy(second));
	(void)next;

	prog_end();
	return 0;
}
