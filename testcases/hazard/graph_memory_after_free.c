/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph allocates memory and leaves it behind, for the stream to use. It is read once
 * more after another graph's launch has freed it; "freed": after cuMemFreeAsync. Each
 * launch makes it anew. "other": it is freed on a stream that does not wait for the
 * launch. "third": a third graph reads it after the free. Fixed: read first.
 * EXPECT: KRT-UAF-STREAM error certain both count=2
 * MENTIONS: KRT-UAF-STREAM "cuGraphLaunch"
 * ARGS: freed
 * EXPECT: KRT-UAF-STREAM error certain both count=2
 * MENTIONS: KRT-UAF-STREAM "cuMemFreeAsync"
 * ARGS: other
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * MENTIONS: KRT-FREE-IN-USE "cuGraphLaunch"
 * ARGS: third
 * EXPECT: KRT-UAF-STREAM error certain both count=1
 * MENTIONS: KRT-UAF-STREAM "copy node (added by cuGraphAddMemcpyNode"
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
	bool third = argc > 1 && !strcmp(argv[1], "third");

	prog_start();
	CUstream s = stream_nb("s"), t = stream_nb("t");
	CUdeviceptr out = device_u32("out", N), left;
	CUgraphExec make, end = NULL, reader = NULL;
	CUgraphNode node;
	CUgraph graph, ends, reads;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemAllocAsync(&left, 4 * N, s));
	CU(cuMemsetD32Async(left, 7, N, s));
	CU(cuStreamEndCapture(s, &graph));
	if (argc == 1 || third) {
		CU(cuGraphCreate(&ends, 0));
		CU(cuGraphAddMemFreeNode(&node, ends, NULL, 0, left));
		end = instantiated(ends);
	}
	if (third) {
		CUDA_MEMCPY3D read = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				      .srcDevice = left,
				      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				      .dstDevice = out,
				      .WidthInBytes = 4 * N,
				      .Height = 1,
				      .Depth = 1};

		CU(cuGraphCreate(&reads, 0));
		CU(cuGraphAddMemcpyNode(&node, reads, NULL, 0, &read, prog_context));
		reader = instantiated(reads);
	}
	make = instantiated(graph);

	if (other) {
		CU(cuGraphLaunch(make, s));
		CU(cuMemFreeAsync(left, t));
		CU(cuCtxSynchronize());
	}
	if (third) {
		CU(cuGraphLaunch(make, s));
		CU(cuGraphLaunch(reader, s));
		CU(cuGraphLaunch(end, s));
		CU(cuGraphLaunch(reader, s));
		CU(cuStreamSynchronize(s));
		CU(cuGraphExecDestroy(reader));
	}
	for (int i = 0; i < ROUNDS && !other && !third; i++) {
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
		/* said to read it, and does not: a driver refuses copies there */
		READS(s, left, 4 * N);
		SPIN(s, 0);
#endif
	}
	CU(cuStreamSynchronize(s));

	CU(cuGraphExecDestroy(make));
	if (end)
		CU(cuGraphExecDestroy(end));
	prog_end();
	return 0;
}
