/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel works on buffers of a table while one of them is given back on
 * another stream.
 * EXPECT: KRT-FREE-IN-USE warning likely both count=1
 * EXPECT-FIXED: none
 */
#include "tables.h"

enum { ENTRIES = 4, N = 256 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("batch"), other = stream_nb("other");
	CUfunction each_fill = tables_kernel("each_fill");
	CUdeviceptr entry[ENTRIES], table;
	CUevent done = event();

	for (unsigned i = 0; i < ENTRIES; i++)
		CU(cuMemAllocAsync(&entry[i], 4 * N, s));
	CU(cuStreamSynchronize(s));
	table = table_of("table", entry, ENTRIES);
	EACH_FILL(each_fill, ENTRIES, s, table, 7, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(done, s));
	CU(cuStreamWaitEvent(other, done, 0));
#endif
	CU(cuMemFreeAsync(entry[1], other));
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
