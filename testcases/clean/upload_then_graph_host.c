/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph's host node fills the staging buffer again, behind the upload that read it:
 * the bytes change before the program's own thread knows of the upload's end, and in order.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1024 };

static uint32_t *staging;

static void refill(void *unused)
{
	(void)unused;
	krtsan_host_write(staging, 4 * N);
	for (uint32_t i = 0; i < N; i++)
		staging[i] = 7;
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	CUDA_HOST_NODE_PARAMS host = { .fn = refill };
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;

	staging = pinned_u32("staging", N);
	host_fill(staging, 1, N);
	CU(cuGraphCreate(&graph, 0));
	CU(cuGraphAddHostNode(&node, graph, NULL, 0, &host));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuMemcpyHtoDAsync(d, staging, 4 * N, s));
	CU(cuGraphLaunch(exec, s));
	CU(cuMemcpyHtoDAsync(d, staging, 4 * N, s));
	CU(cuStreamSynchronize(s));
	check_u32("d", get_u32(d, 0), 7);

	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	CU(cuMemFreeHost(staging));
	prog_end();
	return 0;
}
