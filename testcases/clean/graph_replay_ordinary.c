/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture and replay as frameworks do it: a private pool whose blocks are handed out and
 * returned inside the capture, an output that gets a temporary's bytes, static inputs
 * copied before each launch on the launch's own stream, launches on two streams that
 * follow one another, outputs dropped and the graph launched again, two graphs of one
 * private pool launched one after the other.
 */
#include "blocks.h"

enum { N = 1024, STEPS = 6 };

static struct blocks general, private;

struct plan {
	CUgraphExec exec;
	CUdeviceptr in, out;
};

static struct plan captured(CUstream s)
{
	struct plan p = {.in = blocks_alloc(&general, 4 * N, s)};
	CUdeviceptr a, b;
	CUgraph graph;

	set_now(p.in, 0, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	a = blocks_alloc(&private, 4 * N, s);
	COPY(s, a, p.in, N, 0);
	b = blocks_alloc(&private, 4 * N, s);
	CU(cuMemcpyDtoDAsync(b, a, 4 * N, s));
	blocks_free(&private, a);
	p.out = blocks_alloc(&private, 4 * N, s); /* a's bytes */
	COPY(s, p.out, b, N, 0);
	INC(s, p.out, 1, N, 0);
	blocks_free(&private, b);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&p.exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return p;
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s"), side = stream_nb("side");
	uint32_t *h = pinned_u32("h", STEPS * N);
	CUevent moved = event();

	blocks_open(&general, "general", 64 * N);
	blocks_open(&private, "private", 64 * N);
	struct plan p = captured(s), q = captured(s);

	for (uint32_t i = 0; i < STEPS; i++) {
		host_fill(h + i * N, i, N);
		CU(cuMemcpyHtoDAsync(p.in, h + i * N, 4 * N, s));
		CU(cuGraphLaunch(p.exec, s));
		CU(cuMemcpyDtoDAsync(q.in, p.out, 4 * N, s));
		CU(cuGraphLaunch(q.exec, s));
	}
	check_u32("q.out[0]", get_u32(q.out, 0), STEPS + 1);
	/* the launch moves to another stream, in order */
	CU(cuEventRecord(moved, s));
	CU(cuStreamWaitEvent(side, moved, 0));
	CU(cuMemsetD32Async(p.in, 40, N, side));
	CU(cuGraphLaunch(p.exec, side));
	check_u32("p.out[0]", get_u32(p.out, 0), 41);
	/* the outputs are dropped; what the graphs write is theirs */
	blocks_free(&private, p.out);
	blocks_free(&private, q.out);
	CU(cuGraphLaunch(p.exec, side));
	CU(cuStreamSynchronize(side));
	CU(cuGraphLaunch(q.exec, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(p.exec));
	CU(cuGraphExecDestroy(q.exec));
	blocks_close(&private);
	blocks_close(&general);
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
