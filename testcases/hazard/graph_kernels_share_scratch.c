/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two executables are launched on two streams, and a kernel of each writes one scratch buffer
 * that another kernel of each reads. Fixed: a scratch buffer each.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count>=1
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "scratch"
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "kernel node fill"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 4096, ROUNDS = 3 };

static CUgraphExec captured(CUstream s, CUdeviceptr scratch, CUdeviceptr out, CUdeviceptr weights)
{
	CUgraphExec exec;
	CUgraph graph;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	FILL(s, scratch, 1, N, 0);
	ADD(s, out, scratch, N, 0);
	ADD(s, out, weights, N, 0); /* both read them */
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

int main(void)
{
	prog_start();
	CUstream s[2] = {stream_nb("a"), stream_nb("b")};
	CUdeviceptr scratch[2] = {device_u32("scratch", N), device_u32("second scratch", N)};
	CUdeviceptr out[2] = {device_u32("out a", N), device_u32("out b", N)};
	CUdeviceptr weights = device_u32("weights", N);
	CUgraphExec exec[2];

	set_now(weights, 2, N);
	for (int i = 0; i < 2; i++) {
		set_now(out[i], 0, N);
#ifdef FIXED
		exec[i] = captured(s[i], scratch[i], out[i], weights);
#else
		exec[i] = captured(s[i], scratch[0], out[i], weights);
#endif
	}
	for (int r = 0; r < ROUNDS; r++)
		for (int i = 0; i < 2; i++)
			CU(cuGraphLaunch(exec[i], s[i]));
	for (int i = 0; i < 2; i++)
		check_u32("out[0]", get_u32(out[i], 0), 3 * ROUNDS);
	for (int i = 0; i < 2; i++)
		CU(cuGraphExecDestroy(exec[i]));
	prog_end();
	return 0;
}
