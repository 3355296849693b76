/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event is recorded on two streams in turn and waited for once: the first
 * record is lost, and with it the order after the first writer.
 * SOURCE: scenarios S23
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT: KRT-EVENT-OVERWRITTEN warning certain both count=1
 * MENTIONS: KRT-EVENT-OVERWRITTEN "the wait does not cover stream"
 * EXPECT-FIXED: none
 * SIM-WRONG: the sum lacks the first halo
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s1 = stream_nb("east"), s2 = stream_nb("west"), s3 = stream_nb("join");
	CUevent e1 = event(), e2 = event();
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N);

	set_now(x, 0, N);
	set_now(y, 0, N);
	WRITES(s1, x, 4 * N);
	FILL(s1, x, 10, N, SLOW);
	CU(cuEventRecord(e1, s1));
	WRITES(s2, y, 4 * N);
	FILL(s2, y, 20, N, 0);
#ifdef FIXED
	CU(cuEventRecord(e2, s2));
	CU(cuStreamWaitEvent(s3, e2, 0));
#else
	CU(cuEventRecord(e1, s2));
#endif
	CU(cuStreamWaitEvent(s3, e1, 0));
	READS(s3, x, 4 * N);
	UPDATES(s3, y, 4 * N);
	ADD(s3, y, x, N, 0);
	check_u32("sum", get_u32(y, 0), 30);

	CU(cuEventDestroy(e1));
	CU(cuEventDestroy(e2));
	prog_end();
	return 0;
}
