/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures, instantiates, launches once and destroys in every step. Arguments: what
 * changes from step to step (nothing; "shape": the size; "address": the buffer).
 * Fixed: captured once, launched in every step.
 * EXPECT: KRT-PERF-CAPTURE-STORM note certain both count=1
 * MENTIONS: KRT-PERF-CAPTURE-STORM "1.0 launches a graph"
 * ARGS: shape
 * EXPECT: KRT-PERF-CAPTURE-STORM note certain both count=1
 * ARGS: address
 * EXPECT: KRT-PERF-CAPTURE-STORM note certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * SOURCE: ggml-org/llama.cpp#19754, pytorch/pytorch#171672 (S38)
 */
#include "prog.h"

enum { N = 1024, STEPS = 24 };

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", 2 * N);
	CUgraph graph;
	CUgraphExec exec = NULL;

	set_now(d, 0, 2 * N);
	for (uint32_t i = 0; i < STEPS; i++) {
		CUdeviceptr p = d + (strcmp(what, "address") ? 0 : 4 * (i % 2));
		uint32_t n = strcmp(what, "shape") ? N : N / 2 + i;

#ifdef FIXED
		if (!i) {
#endif
			CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
			CU(cuMemsetD32Async(p, i, n, s));
			FILL(s, p, 1, N, 0);
			CU(cuStreamEndCapture(s, &graph));
			CU(cuGraphInstantiate(&exec, graph, 0));
			CU(cuGraphDestroy(graph));
#ifdef FIXED
		}
#endif
		CU(cuGraphLaunch(exec, s));
#ifndef FIXED
		CU(cuGraphExecDestroy(exec));
#endif
	}
	check_u32("d[1]", get_u32(d, 1), 1);

	prog_end();
	return 0;
}
