/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to live long is allocated inside a capture and gets the bytes of a
 * temporary: every launch overwrites it. Fixed: allocated before the capture.
 * EXPECT: KRT-GRAPH-STALE-ADDR error certain both count=1
 * MENTIONS: KRT-GRAPH-STALE-ADDR "cache entry"
 * MENTIONS: KRT-GRAPH-STALE-ADDR "outlives the capture"
 * EXPECT-FIXED: none
 * SIM-WRONG: the entry is overwritten
 * SOURCE: ROCm/aiter#5393 (S35)
 */
#include "blocks.h"

enum { N = 1024 };

int main(void)
{
	struct blocks pool;

	prog_start();
	CUstream s = stream_nb("s");
	CUgraphExec exec;
	CUgraph graph;

	blocks_open(&pool, "graph pool", 32 * N);
	CUdeviceptr out = blocks_alloc(&pool, 4 * N, s), entry = 0;

#ifdef FIXED
	entry = blocks_alloc(&pool, 4 * N, s);
#endif
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CUdeviceptr t = blocks_alloc(&pool, 4 * N, s);

	FILL(s, t, 7, N, 0);
	COPY(s, out, t, N, 0);
	blocks_free(&pool, t);
#ifndef FIXED
	entry = blocks_alloc(&pool, 4 * N, s);
#endif
	CU(cuStreamEndCapture(s, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));

	krtsan_name((void *)(uintptr_t)entry, 4 * N, "cache entry");
	CU(cuMemsetD32Async(entry, 100, N, s));
	CU(cuGraphLaunch(exec, s));
	check_u32("entry[0]", get_u32(entry, 0), 100);

	CU(cuGraphExecDestroy(exec));
	blocks_close(&pool);
	prog_end();
	return 0;
}
