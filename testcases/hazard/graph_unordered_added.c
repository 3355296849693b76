/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph built by hand: the copy is added without the set before it as a
 * dependency.
 * EXPECT: KRT-GRAPH-UNORDERED-NODES error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-UNORDERED-NODES "add the edge"
 * MENTIONS: KRT-GRAPH-UNORDERED-NODES "cuGraphAddMemcpyNode"
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N);
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = x, .value = 7, .elementSize = 4, .width = N, .height = 1};
	CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = x,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = y,
			      .WidthInBytes = 4 * N,
			      .Height = 1,
			      .Depth = 1};
	CUgraphNode first, second;
	CUgraph graph;
	CUgraphExec exec;

	set_now(x, 0, N);
	set_now(y, 0, N);
	CU(cuGraphCreate(&graph, 0));
	CU(cuGraphAddMemsetNode(&first, graph, NULL, 0, &set, prog_context));
#ifdef FIXED
	CU(cuGraphAddMemcpyNode(&second, graph, &first, 1, &copy, prog_context));
#else
	CU(cuGraphAddMemcpyNode(&second, graph, NULL, 0, &copy, prog_context));
#endif
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	check_u32("y[5]", get_u32(y, 5), 7);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));

	prog_end();
	return 0;
}
