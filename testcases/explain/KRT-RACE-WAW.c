/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer is cleared on one stream and filled on another.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x = device("x");
	uint32_t *host = pinned_u32("host", n);
	CUevent done = event();

	/* example */
	cuMemsetD32Async(x, 0, n, a);
#ifdef FIXED
	cuEventRecord(done, a);	       /* after the clearing */
	cuStreamWaitEvent(b, done, 0); /* before the filling */
#endif
	cuMemcpyHtoDAsync(x, host, bytes, b);
	/* end */

	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
