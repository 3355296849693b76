/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that a graph's kernels read and write, beside a real input: the program sets it
 * before each of the first replays and not afterwards. Scratch that a kernel of the
 * graph writes first, through a struct, is no input either.
 * EXPECT: none
 */
#include "shapes.h"

enum { N = 1024, STEPS = 12, WARM = 5 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream s = stream_nb("s");
	CUdeviceptr tokens = device_u32("tokens", N), state = device_u32("state", N),
		    scratch = device_u32("scratch", N), out = device_u32("out", N);
	uint32_t *in = pinned_u32("in", N);
	CUgraphExec exec;
	CUgraph graph;

	set_now(out, 0, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	UNPACK(s, scratch, tokens, N, 0);
	ADD(s, state, scratch, N, 0);
	COPY(s, out, state, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	for (uint32_t i = 0; i < STEPS; i++) {
		host_fill(in, 1, N);
		CU(cuMemcpyHtoDAsync(tokens, in, 4 * N, s));
		if (i < WARM) {
			CU(cuMemsetD32Async(state, 0, N, s));
			CU(cuMemsetD32Async(scratch, 0, N, s));
		}
		CU(cuGraphLaunch(exec, s));
		CU(cuStreamSynchronize(s));
	}
	check_u32("out[3]", get_u32(out, 3), 1 + STEPS - WARM);
	CU(cuGraphExecDestroy(exec));

	prog_end();
	return 0;
}
