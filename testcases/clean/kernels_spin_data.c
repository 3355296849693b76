/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that hand data over through a flag in device memory, with no event between
 * their streams: one stream writes the data and then the flag, the other waits for the
 * flag in a kernel of its own and then reads. The same where the waiting side, or the
 * writing side, is a graph.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1024 };

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
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr flag = device_u32("flag", 1), x = device_u32("x", N), y = device_u32("y", N);
	CUgraphExec writer, reader;
	CUgraph graph;

	set_now(flag, 0, 1);
	set_now(x, 0, N);
	set_now(y, 0, N);
	FILL(b, x, 7, N, SLOW);
	FILL(b, flag, 1, 1, 0);
	AWAIT(a, flag, 1);
	COPY(a, y, x, N, 0);
	check_u32("y[5]", get_u32(y, 5), 7);

	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	FILL(a, x, 8, N, SLOW);
	FILL(a, flag, 2, 1, 0);
	CU(cuStreamEndCapture(a, &graph));
	writer = instantiated(graph);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	AWAIT(a, flag, 2);
	COPY(a, y, x, N, 0);
	CU(cuStreamEndCapture(a, &graph));
	reader = instantiated(graph);

	CU(cuGraphLaunch(writer, b));
	CU(cuGraphLaunch(reader, a));
	check_u32("y[5]", get_u32(y, 5), 8);
	set_now(flag, 0, 1);
	FILL(b, x, 9, N, SLOW);
	FILL(b, flag, 2, 1, 0);
	CU(cuGraphLaunch(reader, a));
	check_u32("y[6]", get_u32(y, 6), 9);
	set_now(flag, 0, 1);
	CU(cuGraphLaunch(writer, b));
	AWAIT(a, flag, 2);
	COPY(a, y, x, N, 0);
	check_u32("y[7]", get_u32(y, 7), 8);
	CU(cuGraphExecDestroy(writer));
	CU(cuGraphExecDestroy(reader));
	prog_end();
	return 0;
}
