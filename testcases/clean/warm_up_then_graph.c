/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step is run and waited for twenty times to warm up; then it is captured, and the
 * graph is launched without a wait.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 64, WARM = 20, STEPS = 300 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N);
	CUgraph graph;
	CUgraphExec exec;

	set_now(x, 0, N);
	for (int i = 0; i < WARM; i++) {
		INC(s, x, 1, N, 0);
		CU(cuStreamSynchronize(s));
	}
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	INC(s, x, 1, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < STEPS; i++)
		CU(cuGraphLaunch(exec, s));
	check_u32("x[0]", get_u32(x, 0), WARM + STEPS);

	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	prog_end();
	return 0;
}
