/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static inputs of a captured graph are written by kernels, one of them only where
 * the request has something for it: a replay without reads its old value. Fixed: a
 * reserved value is written then.
 * EXPECT: KRT-GRAPH-STALE-INPUT note likely both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-STALE-INPUT "device buffer "optional""
 * MENTIONS: KRT-GRAPH-STALE-INPUT "kernel copy"
 */
#include "prog.h"

enum { N = 1024, REQUESTS = 9, WITHOUT = 5 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr tokens = device_u32("tokens", N), optional = device_u32("optional", N),
		    out = device_u32("out", N), fresh = device_u32("fresh", N);
	CUgraphExec exec;
	CUgraph graph;

	set_now(fresh, 10, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	COPY(s, out, tokens, N, 0);
	ADD(s, out, optional, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (uint32_t i = 0; i < REQUESTS; i++) {
		FILL(s, tokens, i, N, 0);
		if (i != WITHOUT)
			COPY(s, optional, fresh, N, 0);
#ifdef FIXED
		else
			FILL(s, optional, 0, N, 0);
#endif
		CU(cuGraphLaunch(exec, s));
		CU(cuStreamSynchronize(s));
		if (i == WITHOUT)
			check_u32("out[3]", get_u32(out, 3), i);
	}
	CU(cuGraphExecDestroy(exec));

	prog_end();
	return 0;
}
