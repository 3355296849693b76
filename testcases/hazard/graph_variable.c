/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of a graph writes a variable of its module while a kernel on another stream
 * reads it; nobody ever asks for its address. Fixed: the reader waits for the launch.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "variable "
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "kernel node put"
 */
#include "variable.h"

int main(void)
{
	struct variable_kernels k;

	prog_start();
	variable_load(&k);
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr out = device_u32("out", 1);
	CUevent done = event();
	CUgraphExec exec;
	CUgraph graph;

	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	VARIABLE_V(k.put, a, 7, SLOW);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuEventRecord(done, a));
#ifdef FIXED
	CU(cuStreamWaitEvent(b, done, 0));
#endif
	VARIABLE_P(k.look, b, out, 0);
	check_u32("out", get_u32(out, 0), 7);
	CU(cuGraphExecDestroy(exec));
	CU(cuModuleUnload(k.module));
	prog_end();
	return 0;
}
