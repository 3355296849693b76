/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler overwrites a row of an index table that the forward pass, on its
 * own stream, still reads.  The producer's event orders one way only.
 * SOURCE: scenarios S08
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * MENTIONS: KRT-RACE-WAR "only the other way round"
 * MENTIONS: KRT-RACE-WAR " (s08_index_table_war.c:27 main)"
 * EXPECT-FIXED: none
 * SIM-WRONG: the forward pass reads the next request's row
 */
#include "prog.h"

enum { ROWS = 16, COLS = 64, N = ROWS * COLS };

int main(void)
{
	prog_start();
	CUstream sched = stream_nb("sched"), fwd = stream_nb("forward");
	CUevent filled = event(), consumed = event();
	CUdeviceptr table = device_u32("table", N), out = device_u32("out", N);

	set_now(out, 0, N);
	WRITES(sched, table, 4 * N);
	FILL(sched, table, 5, N, 0);
	CU(cuEventRecord(filled, sched));
	CU(cuStreamWaitEvent(fwd, filled, 0));
	READS(fwd, table, 4 * N);
	WRITES(fwd, out, 4 * N);
	COPY(fwd, out, table, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(consumed, fwd));
	CU(cuStreamWaitEvent(sched, consumed, 0));
#endif
	/* Row 3 goes to the next request. */
	WRITES(sched, table + 4 * 3 * COLS, 4 * COLS);
	FILL(sched, table + 4 * 3 * COLS, 6, COLS, 0);

	check_u32("out row 2", get_u32(out, 2 * COLS), 5);
	check_u32("out row 3", get_u32(out, 3 * COLS), 5);
	CU(cuEventDestroy(filled));
	CU(cuEventDestroy(consumed));
	prog_end();
	return 0;
}
