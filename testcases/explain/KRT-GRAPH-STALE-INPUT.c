/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An optional input keeps its value of the request before.
 * EXPECT: KRT-GRAPH-STALE-INPUT note likely both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr tokens = device("tokens"), image = device("image"), out = device("out");
	uint32_t *text = pinned_u32("text", n), *pixels = pinned_u32("pixels", n);
	CUgraph graph;
	CUgraphExec exec;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	add(s, out, tokens);
	add(s, out, image);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));

	/* example */
	for (int request = 0; request < 8; request++) {
		bool has_image = request != 5;

		cuMemcpyHtoDAsync(tokens, text, bytes, s);
		if (has_image)
			cuMemcpyHtoDAsync(image, pixels, bytes, s);
#ifdef FIXED
		else
			cuMemsetD32Async(image, 0, n, s); /* nothing left of the request before */
#endif
		cuGraphLaunch(exec, s); /* reads both */
		cuStreamSynchronize(s);
	}
	/* end */

	CU(cuCtxSynchronize());
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
	prog_end();
	return 0;
}
