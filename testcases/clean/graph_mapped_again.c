/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Physical memory is unmapped while the graph that names its address is not launched,
 * and mapped there again before it is.
 */
#include "vmm.h"

enum { ROUNDS = 3 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	struct vmm m = vmm_new();
	CUdeviceptr va = vmm_map(&m);
	CUgraphExec exec;
	CUgraph graph;

	set_now(va, 0, 64);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	INC(s, va, 1, 64, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (int i = 0; i < ROUNDS; i++) {
		CU(cuGraphLaunch(exec, s));
		CU(cuStreamSynchronize(s));
		CU(cuMemUnmap(va, m.size));
		vmm_map_at(&m, va);
	}
	check_u32("va[0]", get_u32(va, 0), ROUNDS);
	CU(cuGraphExecDestroy(exec));
	vmm_unmap(&m, va);
	vmm_end(&m);
	prog_end();
	return 0;
}
