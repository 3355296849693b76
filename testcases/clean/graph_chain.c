/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of one executable follow each other wherever they are launched, event nodes
 * order what is outside, executables on two streams use buffers of their own and share
 * what they only read; one is destroyed while it runs.
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream s[2] = {stream_nb("a"), stream_nb("b")};
	CUdeviceptr weights = device_u32("weights", N), d[2] = {device_u32("d0", N), device_u32("d1", N)};
	uint32_t *h = pinned_u32("h", N);
	CUevent done = event();
	CUgraphExec exec[2], with_event;
	CUgraphNode set, record;
	CUgraph graph;

	set_now(weights, 3, N);
	for (int i = 0; i < 2; i++) {
		CU(cuStreamBeginCapture(s[i], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		CU(cuMemcpyDtoDAsync(d[i], weights, 4 * N, s[i]));
		INC(s[i], d[i], 1, N, 0);
		CU(cuStreamEndCapture(s[i], &graph));
		CU(cuGraphInstantiate(&exec[i], graph, 0));
		CU(cuGraphDestroy(graph));
	}
	/* one on both streams */
	for (int i = 0; i < 6; i++)
		CU(cuGraphLaunch(exec[0], s[i % 2]));
	CU(cuCtxSynchronize());
	/* both at a time */
	for (int i = 0; i < 6; i++)
		CU(cuGraphLaunch(exec[i % 2], s[i % 2]));
	CU(cuGraphExecDestroy(exec[1]));
	CU(cuCtxSynchronize());
	check_u32("d0[0]", get_u32(d[0], 0), 4);
	check_u32("d1[0]", get_u32(d[1], 0), 4);

	/* an event node says when it is done */
	CU(cuGraphCreate(&graph, 0));
	CUDA_MEMSET_NODE_PARAMS p = {
		.dst = d[0], .elementSize = 4, .width = N, .height = 1, .value = 8};

	CU(cuGraphAddMemsetNode(&set, graph, NULL, 0, &p, prog_context));
	CU(cuGraphAddEventRecordNode(&record, graph, &set, 1, done));
	CU(cuGraphInstantiate(&with_event, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(with_event, s[0]));
	CU(cuStreamWaitEvent(s[1], done, 0));
	CU(cuMemcpyDtoHAsync(h, d[0], 4 * N, s[1]));
	CU(cuStreamSynchronize(s[1]));
	check_u32("h[0]", h[0], 8);

	CU(cuGraphExecDestroy(exec[0]));
	CU(cuGraphExecDestroy(with_event));
	for (int i = 0; i < 2; i++)
		CU(cuMemFree(d[i]));
	CU(cuMemFree(weights));
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
