/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured upload reads pinned staging memory that goes back to the pool of pinned
 * blocks after the capture; other work fills it, and the next launch uploads that.
 * Fixed: the block is kept as long as the executable.
 * EXPECT: KRT-GRAPH-STALE-HOST error certain both count=1
 * MENTIONS: KRT-GRAPH-STALE-HOST "captured by cuMemcpyHtoDAsync"
 * MENTIONS: KRT-GRAPH-STALE-HOST "staging"
 * EXPECT-FIXED: none
 * SIM-WRONG: uploads what is not its own
 * SOURCE: microsoft/onnxruntime#32121 (S33)
 */
#include "blocks.h"

enum { N = 256 };

int main(void)
{
	struct blocks pool;

	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr table = device_u32("table", N);
	CUgraphExec exec;
	CUgraph graph;

	blocks_open_host(&pool, "pinned pool", 16 * N);
	uint32_t *h = blocks_host(blocks_alloc(&pool, 4 * N, s));

	krtsan_name(h, 4 * N, "staging");
	host_fill(h, 1, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemcpyHtoDAsync(table, h, 4 * N, s));
	INC(s, table, 10, N, 0);
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
#ifndef FIXED
	blocks_free(&pool, (CUdeviceptr)(uintptr_t)h);
#endif
	/* a prefill in between */
	uint32_t *other = blocks_host(blocks_alloc(&pool, 4 * N, s));

	host_fill(other, 1000, N);
	CU(cuGraphLaunch(exec, s));
	check_u32("table[0]", get_u32(table, 0), 11);

	CU(cuGraphExecDestroy(exec));
	CU(cuMemFree(table));
	blocks_close(&pool);
	prog_end();
	return 0;
}
