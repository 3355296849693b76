/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs whose nodes are in order, or touch nothing in common: halves of one buffer
 * on two forked streams, a shared input, atomic updates, a join through a third
 * stream, edges through an empty node, a disabled node that would conflict.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1024 };

static CUgraph captured(CUstream a, CUstream b, CUstream c, CUdeviceptr x, CUdeviceptr y,
			CUdeviceptr count)
{
	CUevent ev = event();
	CUgraph graph;

	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemsetD32Async(x, 1, N, a));
	CU(cuEventRecord(ev, a));
	CU(cuStreamWaitEvent(b, ev, 0));
	CU(cuStreamWaitEvent(c, ev, 0));
	/* a shared input, halves of an output, one counter */
	CU(cuMemcpyDtoDAsync(y, x, 2 * N, a));
	CU(cuMemcpyDtoDAsync(y + 2 * N, x + 2 * N, 2 * N, b));
	ATOMICS(a, count, 4);
	TALLY(a, count, 1, N, 0);
	ATOMICS(b, count, 4);
	TALLY(b, count, 1, N, 0);
	/* both join into c, c into a */
	CU(cuEventRecord(ev, b));
	CU(cuStreamWaitEvent(c, ev, 0));
	CU(cuEventRecord(ev, a));
	CU(cuStreamWaitEvent(c, ev, 0));
	READS(c, y, 4 * N);
	WRITES(c, x, 4 * N);
	COPY(c, x, y, N, 0);
	CU(cuEventRecord(ev, c));
	CU(cuStreamWaitEvent(a, ev, 0));
	CU(cuMemsetD32Async(y, 3, N, a));
	CU(cuStreamEndCapture(a, &graph));
	CU(cuEventDestroy(ev));
	return graph;
}

static CUgraph by_hand(CUdeviceptr x, CUgraphNode *second)
{
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = x, .value = 7, .elementSize = 4, .width = N, .height = 1};
	CUgraphNode first, between;
	CUgraph graph;

	CU(cuGraphCreate(&graph, 0));
	CU(cuGraphAddMemsetNode(&first, graph, NULL, 0, &set, prog_context));
	CU(cuGraphAddEmptyNode(&between, graph, &first, 1));
	set.value = 9;
	CU(cuGraphAddMemsetNode(second, graph, &between, 1, &set, prog_context));
	return graph;
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c");
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N), count = device_u32("count", 1);
	CUgraph graph;
	CUgraphExec exec;
	CUgraphNode second;

	set_now(count, 0, 1);
	graph = captured(a, b, c, x, y, count);
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuGraphLaunch(exec, b)); /* launches of one executable follow each other */
	check_u32("count", get_u32(count, 0), 4 * N);
	check_u32("x[5]", get_u32(x, 5), 1);
	CU(cuGraphExecDestroy(exec));

	graph = by_hand(x, &second);
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphLaunch(exec, a));
	check_u32("x[5]", get_u32(x, 5), 9);
	CU(cuGraphNodeSetEnabled(exec, second, 0));
	CU(cuGraphLaunch(exec, a));
	check_u32("x[5]", get_u32(x, 5), 7);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));

	prog_end();
	return 0;
}
