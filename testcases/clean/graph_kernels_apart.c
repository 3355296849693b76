/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel nodes of one graph with no path between them, and nothing declared: they read one
 * buffer, write halves of another, even and odd rows of a third, add to one counter; and two
 * executables that do so on two streams at once.
 * EXPECT: none
 */
#include "shapes.h"

enum { N = 1024, ROWS_EACH = 8 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c");
	CUdeviceptr in = device_u32("in", N), out = device_u32("out", N),
		    rows = device_u32("rows", 2 * ROWS_EACH * ROW), count = device_u32("count", 1);
	CUevent fork = event(), join = event();
	CUgraphExec exec, even, odd;
	CUgraph graph;

	set_now(in, 5, N);
	set_now(out, 0, N);
	set_now(rows, 9, 2 * ROWS_EACH * ROW);
	set_now(count, 0, 1);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuEventRecord(fork, a));
	CU(cuStreamWaitEvent(b, fork, 0));
	COPY(a, out, in, N / 2, 0);
	COPY(b, out + 2 * N, in, N / 2, 0);
	ROWS(a, rows, 0, ROWS_EACH, 0);
	ROWS(b, rows, 1, ROWS_EACH, 0);
	TALLY(a, count, 1, N, 0);
	TALLY(b, count, 1, N, 0);
	CU(cuEventRecord(join, b));
	CU(cuStreamWaitEvent(a, join, 0));
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	check_u32("out[N - 1]", get_u32(out, N - 1), 5);
	check_u32("count", get_u32(count, 0), 2 * N);
	check_u32("rows[ROW]", get_u32(rows, ROW), 1);
	CU(cuGraphExecDestroy(exec));

	for (uint32_t i = 0; i < 2; i++) {
		CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		ADD(a, out + 2 * N * i, in, N / 2, 0);
		ROWS(a, rows, i, ROWS_EACH, 0);
		TALLY(a, count, 1, N, 0);
		CU(cuStreamEndCapture(a, &graph));
		CU(cuGraphInstantiate(i ? &odd : &even, graph, 0));
		CU(cuGraphDestroy(graph));
	}
	for (int i = 0; i < 3; i++) {
		CU(cuGraphLaunch(even, b));
		CU(cuGraphLaunch(odd, c));
	}
	check_u32("out[N - 1]", get_u32(out, N - 1), 20);
	check_u32("count", get_u32(count, 0), 8 * N);
	CU(cuGraphExecDestroy(even));
	CU(cuGraphExecDestroy(odd));
	prog_end();
	return 0;
}
