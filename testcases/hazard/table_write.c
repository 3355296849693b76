/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batched kernel gets its buffers from a table in device memory; one of them
 * is copied out on another stream, which does not wait for the kernel.
 * EXPECT: KRT-RACE-RAW warning likely both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the third is read too early
 */
#include "tables.h"

enum { ENTRIES = 4, N = 256 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("batch"), fetch = stream_nb("fetch");
	CUfunction each_fill = tables_kernel("each_fill");
	CUdeviceptr entry[ENTRIES], table, spare = device_u32("spare", N);
	uint32_t *got = pinned_u32("got", N);
	CUevent done = event();

	for (unsigned i = 0; i < ENTRIES; i++) {
		entry[i] = device_u32("entry", N);
		set_now(entry[i], 1, N);
	}
	table = table_of("table", entry, ENTRIES);
	/* what is not in the table is nobody's business */
	CU(cuMemsetD32Async(spare, 5, N, fetch));
	EACH_FILL(each_fill, ENTRIES, s, table, 7, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(done, s));
	CU(cuStreamWaitEvent(fetch, done, 0));
#endif
	CU(cuMemcpyDtoHAsync(got, entry[2], 4 * N, fetch));
	CU(cuStreamSynchronize(fetch));
	check_u32("fetched", got[N - 1], 7);

	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	CU(cuMemFreeHost(got));
	prog_end();
	return 0;
}
