/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel reads what a copy on another stream writes.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream uploads = stream_nb("uploads"), compute = stream_nb("compute");
	CUdeviceptr x = device("x"), y = device("y");
	uint32_t *host = pinned_u32("host", n);
	CUevent done = event();

	/* example */
	cuMemcpyHtoDAsync(x, host, bytes, uploads); /* writes x */
#ifdef FIXED
	cuEventRecord(done, uploads);	     /* after the write */
	cuStreamWaitEvent(compute, done, 0); /* before the read */
#endif
	add(compute, y, x); /* a kernel: y += x */
	/* end */

	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
