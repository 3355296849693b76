/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event for the work of two streams.
 * EXPECT: KRT-EVENT-OVERWRITTEN warning certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream east = stream_nb("east"), west = stream_nb("west"), join = stream_nb("join");
	CUdeviceptr x = device("x"), y = device("y"), z = device("z");
	CUevent done = event(), other = event();

	/* example */
	fill(east, x); /* a kernel that writes x */
	cuEventRecord(done, east);
	fill(west, y);
#ifndef FIXED
	cuEventRecord(done, west); /* done no longer stands for east */
#else
	cuEventRecord(other, west); /* one event for each */
	cuStreamWaitEvent(join, other, 0);
#endif
	cuStreamWaitEvent(join, done, 0);
	fill(join, z);
	/* end */

	CU(cuCtxSynchronize());
	CU(cuEventDestroy(other));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
