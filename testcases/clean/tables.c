/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of buffers, and work beside the kernels that use them on buffers that
 * they do not touch: another batch's; those behind the last entry in use; those
 * of a table that lies behind in the same allocation; inputs read twice.
 * EXPECT: none
 */
#include "tables.h"

enum { ENTRIES = 4, N = 256 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUfunction each_fill = tables_kernel("each_fill"), jobs = tables_kernel("jobs");
	CUdeviceptr entry[3 * ENTRIES], out[2 * ENTRIES], tables, both;
	uint32_t *got = pinned_u32("got", N);
	struct {
		CUdeviceptr in, out;
		uint64_t n;
	} job[2 * ENTRIES];

	for (unsigned i = 0; i < 3 * ENTRIES; i++)
		entry[i] = device_u32("entry", N);
	for (unsigned i = 0; i < 2 * ENTRIES; i++)
		out[i] = device_u32("out", N);
	/* three batches side by side */
	tables = table_of("tables", entry, 3 * ENTRIES);
	for (unsigned i = 0; i < 2 * ENTRIES; i++) {
		job[i].in = entry[2 * ENTRIES + i % ENTRIES];
		job[i].out = out[i];
		job[i].n = N;
	}
	CU(cuMemAlloc(&both, sizeof(job)));
	CU(cuMemcpyHtoD(both, job, sizeof(job)));
	CU(cuCtxSynchronize());

	EACH_FILL(each_fill, ENTRIES, a, tables, 1, N, SLOW);
	EACH_FILL(each_fill, ENTRIES, b, tables + 8 * ENTRIES, 2, N, SLOW);
	CU(cuMemcpyDtoHAsync(got, entry[2 * ENTRIES], 4 * N, b));
	CU(cuCtxSynchronize());

	/* both halves read the same inputs */
	EACH(jobs, ENTRIES, a, both, 0, SLOW);
	EACH(jobs, ENTRIES, b, both + sizeof(job) / 2, 0, SLOW);
	CU(cuMemcpyDtoHAsync(got, entry[2 * ENTRIES + 1], 4 * N, b));
	CU(cuMemsetD32Async(entry[0], 0, N, b));
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(got));
	prog_end();
	return 0;
}
