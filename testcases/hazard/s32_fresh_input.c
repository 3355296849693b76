/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each step writes a tensor of its own, and the graph goes on reading the one that it
 * was captured with, which is still alive. With "upload" the tensors are copies from
 * the host. Fixed: the tensor is copied into the captured one.
 * EXPECT: KRT-GRAPH-STALE-INPUT note likely both count=1
 * MENTIONS: KRT-GRAPH-STALE-INPUT "which nobody read"
 * ARGS: upload
 * EXPECT: KRT-GRAPH-STALE-INPUT note likely both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * SOURCE: vllm-project/vllm#53915 (S32)
 */
#include "prog.h"

enum { N = 1024, STEPS = 6 };

static bool upload;
static uint32_t *staging;

static void produce(CUstream s, CUdeviceptr x, uint32_t v)
{
	if (!upload) {
		FILL(s, x, v, N, 0);
		return;
	}
	host_fill(staging, v, N);
	CU(cuMemcpyHtoDAsync(x, staging, 4 * N, s));
}

int main(int argc, char **argv)
{
	upload = argc > 1 && !strcmp(argv[1], "upload");
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x0 = device_u32("x0", N), out = device_u32("out", N), x;
	CUgraph graph;
	CUgraphExec exec;

	staging = pinned_u32("staging", N);
	produce(s, x0, 1);
	COPY(s, out, x0, N, 0);
	CU(cuStreamSynchronize(s));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	COPY(s, out, x0, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (uint32_t i = 0; i < STEPS; i++) {
		x = device_u32("x", N);
		produce(s, x, 10 + i);
#ifdef FIXED
		CU(cuMemcpyDtoDAsync(x0, x, 4 * N, s));
#endif
		CU(cuGraphLaunch(exec, s));
		CU(cuStreamSynchronize(s));
		CU(cuMemFree(x));
	}
	check_u32("out[3]", get_u32(out, 3), 10 + STEPS - 1);
	CU(cuGraphExecDestroy(exec));

	prog_end();
	return 0;
}
