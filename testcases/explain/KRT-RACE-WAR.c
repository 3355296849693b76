/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next upload overwrites a table that a kernel still reads.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream uploads = stream_nb("uploads"), compute = stream_nb("compute");
	CUdeviceptr table = device("table"), y = device("y");
	uint32_t *next = pinned_u32("next", n);
	CUevent done = event();

	/* example */
	add(compute, y, table); /* a kernel: y += table */
#ifdef FIXED
	cuEventRecord(done, compute);	     /* after the read */
	cuStreamWaitEvent(uploads, done, 0); /* before the table is written again */
#endif
	cuMemcpyHtoDAsync(table, next, bytes, uploads);
	/* end */

	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
