/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A persistent pinned page table is shipped every step; a transfer on another
 * stream holds the copy back while the host, a step ahead, writes the table.
 * SOURCE: scenarios S16
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: step 0 uses step 1's table
 * CHECKSUM: KRT-HOST-WRITE-RACE
 */
#include "prog.h"

enum { N = 256 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("step"), transfer = stream_nb("transfer");
	CUevent slow = event();
#ifdef FIXED
	uint32_t *table[2] = {pinned_u32("table0", N), pinned_u32("table1", N)};
#else
	uint32_t *one = pinned_u32("table", N), *table[2] = {one, one};
#endif
	CUdeviceptr dtable = device_u32("dtable", N), out = device_u32("out", 2 * N);

	SPIN(transfer, SLOW);
	CU(cuEventRecord(slow, transfer));
	CU(cuStreamWaitEvent(s, slow, 0));
	for (uint32_t step = 0; step < 2; step++) {
		krtsan_host_write(table[step], 4 * N);
		host_fill(table[step], 30 + step, N);
		CU(cuMemcpyHtoDAsync(dtable, table[step], 4 * N, s));
		READS(s, dtable, 4 * N);
		WRITES(s, out + 4 * N * step, 4 * N);
		COPY(s, out + 4 * N * step, dtable, N, 0);
	}
	check_u32("step 0", get_u32(out, 0), 30);
	check_u32("step 1", get_u32(out, N), 31);

	CU(cuMemFreeHost(table[0]));
#ifdef FIXED
	CU(cuMemFreeHost(table[1]));
#endif
	CU(cuEventDestroy(slow));
	prog_end();
	return 0;
}
