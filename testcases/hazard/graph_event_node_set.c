/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event that an executable's wait node waits for, and the one that its record node
 * records, are replaced after the instantiation: by the nodes, "whole": by an update of
 * the whole graph. The producer goes on recording the event of before. Fixed: it
 * records, and waits for, those of now.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count>=3
 * ARGS: whole
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count>=3
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 3 };

static CUgraph graph_of(CUevent wait, CUevent record, CUdeviceptr x, CUgraphNode *node)
{
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = x, .value = 1, .elementSize = 4, .width = N, .height = 1};
	CUgraph graph;

	CU(cuGraphCreate(&graph, 0));
	CU(cuGraphAddEventWaitNode(&node[0], graph, NULL, 0, wait));
	CU(cuGraphAddMemsetNode(&node[1], graph, &node[0], 1, &set, prog_context));
	CU(cuGraphAddEventRecordNode(&node[2], graph, &node[1], 1, record));
	return graph;
}

int main(int argc, char **argv)
{
	(void)argv;
	prog_start();
	CUstream s = stream_nb("s"), producer = stream_nb("producer");
	CUevent ready[2] = {event(), event()}, done[2] = {event(), event()};
	CUdeviceptr x = device_u32("x", N);
	CUgraphNode node[3], other[3];
	CUgraph graph = graph_of(ready[0], done[0], x, node),
		next = graph_of(ready[1], done[1], x, other);
	CUgraphExec exec;
#ifdef FIXED
	int now = 1;
#else
	int now = 0;
#endif

	CU(cuEventRecord(ready[1 - now], s));
	CU(cuEventRecord(done[1 - now], s));
	CU(cuGraphInstantiate(&exec, graph, 0));
	if (argc > 1) {
		CUgraphExecUpdateResultInfo info;

		CU(cuGraphExecUpdate(exec, next, &info));
	} else {
		CU(cuGraphExecEventWaitNodeSetEvent(exec, node[0], ready[1]));
		CU(cuGraphExecEventRecordNodeSetEvent(exec, node[2], done[1]));
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		SPIN(producer, SLOW / 8);
		CU(cuMemsetD32Async(x, i, N, producer));
		CU(cuEventRecord(ready[now], producer));
		CU(cuGraphLaunch(exec, s));
		CU(cuEventRecord(done[1 - now], s));
		CU(cuStreamWaitEvent(producer, done[1], 0));
	}
	CU(cuCtxSynchronize());

	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuGraphDestroy(next));
	prog_end();
	return 0;
}
