/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph allocates memory and leaves it behind, for the stream to use. It is read once
 * more after another graph's launch has freed it; "freed": after cuMemFreeAsync. Each
 * launch makes it anew. "other": it is freed on a stream that does not wait for the
 * launch. Fixed: read first.
 * EXPECT: KRT-UAF-STREAM error certain both count=2
 * MENTIONS: KRT-UAF-STREAM "cuGraphLaunch"
 * ARGS: freed
 * EXPECT: KRT-UAF-STREAM error certain both count=2
 * MENTIONS: KRT-UAF-STREAM "cuMemFreeAsync"
 * ARGS: other
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * MENTIONS: KRT-FREE-IN-USE "cuGraphLaunch"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 2 };

static CUgraphExec instantiated(CUgraph graph)
{
	CUgraphExec exec;

	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

int main(int argc, char **argv)
{
	bool other = argc > 1 && !strcmp(argv[1], "other");

	prog_start();
	CUstream s = stream_nb("s"), t = stream_nb("t");
	CUdeviceptr out = device_u32("out", N), left;
	CUgraphExec make, end = NULL;
	CUgraphNode node;
	CUgraph graph, ends;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemAllocAsync(&left, 4 * N, s));
	CU(cuMemsetD32Async(left, 7, N, s));
	CU(cuStreamEndCapture(s, &graph));
	if (argc == 1) {
		CU(cuGraphCreate(&ends, 0));
		CU(cuGraphAddMemFreeNode(&node, ends, NULL, 0, left));
		end = instantiated(ends);
	}
	make = instantiated(graph);

	if (other) {
		CU(cuGraphLaunch(make, s));
		CU(cuMemFreeAsync(left, t));
		CU(cuCtxSynchronize());
	}
	for (int i = 0; i < ROUNDS && !other; i++) {
		CU(cuGraphLaunch(make, s));
		CU(cuMemcpyDtoDAsync(out, left, 4 * N, s));
#ifdef FIXED
		CU(cuMemcpyDtoDAsync(out, left, 4 * N, s));
#endif
		if (end)
			CU(cuGraphLaunch(end, s));
		else
			CU(cuMemFreeAsync(left, s));
#ifndef FIXED
		CU(cuMemcpyDtoDAsync(out, left, 4 * N, s));
#endif
	}
	CU(cuStreamSynchronize(s));

	CU(cuGraphExecDestroy(make));
	if (end)
		CU(cuGraphExecDestroy(end));
	prog_end();
	return 0;
}
