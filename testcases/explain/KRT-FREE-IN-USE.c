/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory freed on one stream while another one uses it.
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x, y = device("y");
	CUevent ready = event(), done = event();

	/* example */
	cuMemAllocAsync(&x, bytes, a);
	fill(a, x); /* a kernel that writes x */
	cuEventRecord(ready, a);
	cuStreamWaitEvent(b, ready, 0);
	add(b, y, x); /* a kernel: y += x */
#ifdef FIXED
	cuEventRecord(done, b);	       /* after the last use */
	cuStreamWaitEvent(a, done, 0); /* before the free */
#endif
	cuMemFreeAsync(x, a);
	/* end */

	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
