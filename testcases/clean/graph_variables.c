/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of a module in graphs: two executables add to one atomically on two streams
 * at once and read a constant; one that a graph writes is read after it; the variables
 * of a second module of the same text are others. The module is unloaded last.
 * EXPECT: none
 */
#include "variable.h"

int main(void)
{
	struct variable_kernels k, other;

	prog_start();
	variable_load(&k);
	variable_load(&other);
	CUstream s[2] = {stream_nb("a"), stream_nb("b")};
	CUdeviceptr out[2] = {device_u32("out", 2), device_u32("out", 2)};
	CUgraphExec exec[2];
	CUgraph graph;

	for (int i = 0; i < 2; i++) {
		struct variable_kernels *mine = i ? &other : &k;

		CU(cuStreamBeginCapture(s[i], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		VARIABLE_V(k.bump, s[i], 1, 0);
		VARIABLE_P(k.scaled, s[i], out[i], 0);
		VARIABLE_V(mine->put, s[i], 10 + (uint32_t)i, 0);
		VARIABLE_P(mine->look, s[i], out[i] + 4, 0);
		CU(cuStreamEndCapture(s[i], &graph));
		CU(cuGraphInstantiate(&exec[i], graph, 0));
		CU(cuGraphDestroy(graph));
	}
	for (int r = 0; r < 3; r++)
		for (int i = 0; i < 2; i++)
			CU(cuGraphLaunch(exec[i], s[i]));
	for (uint32_t i = 0; i < 2; i++) {
		check_u32("out[0]", get_u32(out[i], 0), 3);
		check_u32("out[1]", get_u32(out[i], 1), 10 + i);
		CU(cuGraphExecDestroy(exec[i]));
	}
	CU(cuModuleUnload(k.module));
	CU(cuModuleUnload(other.module));
	prog_end();
	return 0;
}
