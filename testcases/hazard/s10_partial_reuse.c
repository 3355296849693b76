/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block that is still arriving is copied on for partial reuse.
 * SOURCE: scenarios S10 (read after write)
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the second block gets what was there before
 */
#include "prog.h"

enum { N = 4096, PART = 1000 };

int main(void)
{
	prog_start();
	CUstream on = stream_nb("onboard"), part = stream_nb("partial");
	CUevent arrived = event();
	CUdeviceptr block = device_u32("block", N), copy = device_u32("copy", N);
	uint32_t *sec = pinned_u32("secondary", N);

	set_now(block, 1, N);
	host_fill(sec, 2, N);
	SPIN(on, SLOW);
	CU(cuMemcpyHtoDAsync(block, sec, 4 * N, on));
#ifdef FIXED
	CU(cuEventRecord(arrived, on));
	CU(cuStreamWaitEvent(part, arrived, 0));
#endif
	CU(cuMemcpyDtoDAsync(copy, block, 4 * PART, part));
	check_u32("copy[0]", get_u32(copy, 0), 2);

	CU(cuMemFreeHost(sec));
	CU(cuEventDestroy(arrived));
	prog_end();
	return 0;
}
