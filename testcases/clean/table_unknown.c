/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of which it is no longer known what they hold, or never was: written by
 * a kernel, replaced in part, moved, set to zero and filled from elsewhere, freed
 * and allocated again, copied while a graph is captured; pointers that lead to
 * structs with pointers.  Nothing may be claimed of the buffers that they once
 * held.
 * EXPECT: none
 */
#include "tables.h"

enum { ENTRIES = 4, N = 256 };

static CUstream a, b;
static CUfunction each_fill;
static CUdeviceptr old[ENTRIES], now[ENTRIES];

/* The table holds now[]: old[] is free for others. */
static void use(CUdeviceptr table)
{
	CU(cuCtxSynchronize());
	EACH_FILL(each_fill, ENTRIES, a, table, 1, N, SLOW);
	for (unsigned i = 0; i < ENTRIES; i++)
		CU(cuMemsetD32Async(old[i], 0, N, b));
	CU(cuCtxSynchronize());
}

int main(void)
{
	prog_start();
	CUdeviceptr base = device_u32("base", ENTRIES * N), table, held[ENTRIES], elsewhere;
	CUfunction make_table = tables_kernel("make_table"), chase = tables_kernel("chase");
	CUgraphExec exec;
	CUgraph graph;

	each_fill = tables_kernel("each_fill");
	a = stream_nb("a");
	b = stream_nb("b");
	for (unsigned i = 0; i < ENTRIES; i++) {
		old[i] = device_u32("old", N);
		now[i] = base + 4 * N * i;
	}

	/* a kernel replaces it */
	table = table_of("table", old, ENTRIES);
	MAKE_TABLE(make_table, ENTRIES, a, table, base, N);
	use(table);

	/* copies, of any kind */
	table_fill(table, old, ENTRIES);
	for (unsigned i = 0; i < ENTRIES; i++)
		CU(cuMemcpyHtoD(table + 8 * i, &now[i], 8));
	use(table);
	table_fill(table, old, ENTRIES);
	elsewhere = table_of("elsewhere", now, ENTRIES);
	CU(cuMemcpyDtoD(table, elsewhere, sizeof(now)));
	use(table);
	table_fill(table, old, ENTRIES);
	CU(cuMemsetD8(table, 0, sizeof(old)));
	CU(cuMemcpy(table, elsewhere, sizeof(now)));
	use(table);

	/* a graph */
	table_fill(table, old, ENTRIES);
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemcpyDtoDAsync(table, elsewhere, sizeof(now), a));
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphLaunch(exec, a));
	use(table);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));

	/* what the node copies when it runs, not what lay there when it was made */
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemcpyHtoDAsync(table, held, sizeof(held), a));
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	memcpy(held, now, sizeof(held));
	table_fill(table, old, ENTRIES);
	CU(cuGraphLaunch(exec, a));
	use(table);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));

	/* its memory has another life */
	table_fill(table, old, ENTRIES);
	CU(cuMemFree(table));
	CU(cuMemAlloc(&table, sizeof(now)));
	MAKE_TABLE(make_table, ENTRIES, a, table, base, N);
	use(table);

	/* structs that hold the pointers: these are read, and no more */
	for (unsigned i = 0; i < ENTRIES; i++)
		table_fill(old[i], &now[i], 1);
	table_fill(table, old, ENTRIES);
	EACH(chase, ENTRIES, a, table, N, SLOW);
	for (unsigned i = 0; i < ENTRIES; i++)
		CU(cuMemcpyDtoDAsync(elsewhere, old[i], 8, b));
	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
