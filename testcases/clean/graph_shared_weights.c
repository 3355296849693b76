/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights that four graphs on four streams and kernels beside them read at once, by plain
 * pointers, through a struct and by index; each has an output of its own. A launch that reads
 * them while a copy to the host does, too.
 * EXPECT: none
 */
#include "shapes.h"

enum { N = 1024, STREAMS = 4, ROUNDS = 4 };

int main(void)
{
	prog_start();
	shapes_load();
	CUdeviceptr weights = device_u32("weights", N), index = device_u32("index", N),
		    out[STREAMS];
	uint32_t *h = pinned_u32("h", N);
	CUstream s[STREAMS], live = stream_nb("live"), copies = stream_nb("copies");
	CUdeviceptr mine = device_u32("mine", 2 * N);
	CUgraphExec exec[STREAMS];
	CUgraph graph;

	set_now(weights, 3, N);
	set_now(index, 1, N);
	set_now(mine, 0, 2 * N);
	for (int i = 0; i < STREAMS; i++) {
		s[i] = stream_nb("graph's");
		out[i] = device_u32("out", 2 * N);
		set_now(out[i], 0, 2 * N);
		CU(cuStreamBeginCapture(s[i], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
		ADD(s[i], out[i], weights, N, 0);
		UNPACK(s[i], out[i] + 4 * N, weights, N, 0);
		GATHER(s[i], out[i] + 4 * N, weights, index, N, 0);
		CU(cuStreamEndCapture(s[i], &graph));
		CU(cuGraphInstantiate(&exec[i], graph, 0));
		CU(cuGraphDestroy(graph));
	}
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < STREAMS; i++)
			CU(cuGraphLaunch(exec[i], s[i]));
		ADD(live, mine, weights, N, 0);
		UNPACK(live, mine + 4 * N, weights, N, 0);
		GATHER(live, mine + 4 * N, weights, index, N, 0);
		CU(cuMemcpyDtoHAsync(h, weights, 4 * N, copies));
	}
	CU(cuCtxSynchronize());
	check_u32("h[5]", h[5], 3);
	for (int i = 0; i < STREAMS; i++) {
		check_u32("out[5]", get_u32(out[i], 5), 3 * ROUNDS);
		check_u32("out[N + 5]", get_u32(out[i], N + 5), 3);
		CU(cuGraphExecDestroy(exec[i]));
	}
	check_u32("mine[5]", get_u32(mine, 5), 3 * ROUNDS);
	prog_end();
	return 0;
}
