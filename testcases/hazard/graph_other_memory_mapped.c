/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The physical memory of a graph's buffer is released, and other memory is mapped at its
 * address before the next launch: a warning, as some programs do so on purpose. Fixed:
 * the same memory is mapped again.
 * EXPECT: KRT-GRAPH-STALE-ADDR warning likely both count=1
 * MENTIONS: KRT-GRAPH-STALE-ADDR "other memory is mapped there now"
 * EXPECT-FIXED: none
 */
#include "vmm.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	struct vmm m = vmm_new(), other = vmm_new();
	CUdeviceptr va = vmm_map(&m);
	CUgraphExec exec;
	CUgraph graph;

	set_now(va, 0, 64);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	INC(s, va, 1, 64, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuMemUnmap(va, m.size));
#ifdef FIXED
	vmm_map_at(&m, va);
#else
	vmm_map_at(&other, va);
#endif
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(exec));
	vmm_unmap(&m, va);
	vmm_end(&m);
	vmm_end(&other);
	prog_end();
	return 0;
}
