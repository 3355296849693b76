/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph's output lies in the bytes of a temporary that the capture gave back to its pool
 * before. It is copied on a stream that does not wait for the launch. Fixed: it waits.
 * EXPECT: KRT-GRAPH-EXEC-OVERLAP error certain both count=1
 * EXPECT-FIXED: none
 * MENTIONS: KRT-GRAPH-EXEC-OVERLAP "kernel node copy"
 * SIM-WRONG: the copy is early
 */
#include "blocks.h"

enum { N = 4096 };

static struct blocks pool;

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr in = device_u32("in", N), temporary, kept, out,
		    result = device_u32("result", N);
	CUevent done = event();
	CUgraphExec exec;
	CUgraph graph;

	blocks_open(&pool, "private", 64 * N);
	set_now(in, 7, N);
	set_now(pool.base, 0, 4 * N);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	temporary = blocks_alloc(&pool, 4 * N, a);
	COPY(a, temporary, in, N, SLOW);
	kept = blocks_alloc(&pool, 4 * N, a);
	CU(cuMemcpyDtoDAsync(kept, temporary, 4 * N, a));
	blocks_free(&pool, temporary);
	out = blocks_alloc(&pool, 4 * N, a);
	MUST(out == temporary);
	COPY(a, out, kept, N, 0);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
#ifdef FIXED
	CU(cuEventRecord(done, a));
	CU(cuStreamWaitEvent(b, done, 0));
#endif
	CU(cuMemcpyDtoDAsync(result, out, 4 * N, b));
	check_u32("result[5]", get_u32(result, 5), 7);
	CU(cuEventDestroy(done));
	CU(cuGraphExecDestroy(exec));
	blocks_free(&pool, kept);
	blocks_free(&pool, out);
	prog_end();
	return 0;
}
