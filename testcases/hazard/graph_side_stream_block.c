/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside a capture a block is used by a kernel on a side stream, returned by the stream that
 * it is of without a word of that use (record_stream), and handed out again: the next owner's
 * kernel has no path from the first one's. The pointers lie in structs. Fixed: the side
 * stream joins before the block is returned.
 * EXPECT: KRT-GRAPH-UNORDERED-NODES error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-GRAPH-UNORDERED-NODES "kernel node packed"
 * MENTIONS: KRT-GRAPH-UNORDERED-NODES "kernel node unpack"
 */
#include "blocks.h"
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	struct blocks pool;

	prog_start();
	shapes_load();
	CUstream s = stream_nb("s"), side = stream_nb("side");
	CUevent fork = event(), join = event();
	CUgraphExec exec;
	CUgraph graph;

	blocks_open(&pool, "pool", 64 * N);
	CUdeviceptr out = blocks_alloc(&pool, 4 * N, s), first, second;

	set_now(out, 0, N);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	first = blocks_alloc(&pool, 4 * N, s);
	PACKED(s, first, 7, N, 0);
	CU(cuEventRecord(fork, s));
	CU(cuStreamWaitEvent(side, fork, 0));
	UNPACK(side, out, first, N, SLOW);
	CU(cuEventRecord(join, side));
#ifdef FIXED
	CU(cuStreamWaitEvent(s, join, 0));
#endif
	blocks_free(&pool, first);
	second = blocks_alloc(&pool, 4 * N, s);
	MUST(first == second);
	PACKED(s, second, 9, N, 0);
#ifndef FIXED
	CU(cuStreamWaitEvent(s, join, 0));
#endif
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, s));
	CU(cuStreamSynchronize(s));
	check_u32("out[0]", get_u32(out, 0), 7);
	CU(cuGraphExecDestroy(exec));
	blocks_close(&pool);
	prog_end();
	return 0;
}
