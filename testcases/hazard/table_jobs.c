/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of structs: each block reads one buffer of its entry and writes the
 * other.  Another stream copies an input, which is fine, and sets an output.
 * EXPECT: KRT-RACE-WAW warning likely both count=1
 * EXPECT-FIXED: none
 */
#include "tables.h"

enum { ENTRIES = 4, N = 256 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("jobs"), other = stream_nb("other");
	CUfunction jobs = tables_kernel("jobs");
	struct {
		CUdeviceptr in, out;
		uint64_t n;
	} job[ENTRIES];
	CUdeviceptr table, copy = device_u32("copy", N);
	CUevent done = event();

	for (unsigned i = 0; i < ENTRIES; i++) {
		job[i].in = device_u32("in", N);
		job[i].out = device_u32("out", N);
		job[i].n = N;
		set_now(job[i].in, 0x3f800000, N);
	}
	CU(cuMemAlloc(&table, sizeof(job)));
	CU(cuMemcpyHtoD(table, job, sizeof(job)));
	CU(cuCtxSynchronize());
	EACH(jobs, ENTRIES, s, table, 0, SLOW);
	CU(cuMemcpyDtoDAsync(copy, job[1].in, 4 * N, other));
#ifdef FIXED
	CU(cuEventRecord(done, s));
	CU(cuStreamWaitEvent(other, done, 0));
#endif
	CU(cuMemsetD32Async(job[3].out, 0, N, other));
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
