/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two block transfers on two streams meet in one destination block.
 * SOURCE: scenarios S10 (write against write)
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the block holds the older transfer
 */
#include "prog.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	CUstream off = stream_nb("offload"), off2 = stream_nb("offload2");
	CUevent done = event();
	CUdeviceptr p1 = device_u32("primary1", N), p2 = device_u32("primary2", N),
		    sec = device_u32("secondary", N);

	set_now(p1, 1, N);
	set_now(p2, 2, N);
	SPIN(off, SLOW);
	CU(cuMemcpyDtoDAsync(sec, p1, 4 * N, off));
#ifdef FIXED
	CU(cuEventRecord(done, off));
	CU(cuStreamWaitEvent(off2, done, 0));
#endif
	CU(cuMemcpyDtoDAsync(sec, p2, 4 * N, off2));
	check_u32("secondary[0]", get_u32(sec, 0), 2);

	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
