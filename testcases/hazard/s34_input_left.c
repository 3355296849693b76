/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured graph with two static inputs, one of them optional: where it is absent
 * the replay reads its old value. Fixed: a reserved value is written then.
 * EXPECT: KRT-GRAPH-STALE-INPUT note likely both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-STALE-INPUT "device buffer "optional""
 * MENTIONS: KRT-GRAPH-STALE-INPUT "each of the 5 replays before it"
 * SOURCE: NVIDIA/TensorRT-LLM#18207, vllm-project/vllm#44868 (S34)
 */
#include "prog.h"

enum { N = 1024, REQUESTS = 9, WITHOUT = 5 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr tokens = device_u32("tokens", N), optional = device_u32("optional", N),
		    out = device_u32("out", N), weights = device_u32("weights", N);
	uint32_t *in1 = pinned_u32("in1", N), *in2 = pinned_u32("in2", N);
	CUgraph graph;
	CUgraphExec exec;

	set_now(weights, 100, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	COPY(s, out, tokens, N, 0);
	ADD(s, out, optional, N, 0);
	ADD(s, out, weights, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (uint32_t i = 0; i < REQUESTS; i++) {
		host_fill(in1, i, N);
		host_fill(in2, 10, N);
		CU(cuMemcpyHtoDAsync(tokens, in1, 4 * N, s));
		if (i != WITHOUT)
			CU(cuMemcpyHtoDAsync(optional, in2, 4 * N, s));
#ifdef FIXED
		else
			CU(cuMemsetD32Async(optional, 0, N, s));
#endif
		CU(cuGraphLaunch(exec, s));
		CU(cuStreamSynchronize(s));
		if (i == WITHOUT)
			check_u32("out[3]", get_u32(out, 3), 100 + i);
	}
	CU(cuGraphExecDestroy(exec));

	prog_end();
	return 0;
}
