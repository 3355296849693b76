/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory used on a stream that does not wait for its allocation.
 * EXPECT: KRT-UBA-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x;
	CUevent ready = event();

	/* example */
	cuMemAllocAsync(&x, bytes, a);
#ifdef FIXED
	cuEventRecord(ready, a);	/* after the allocation */
	cuStreamWaitEvent(b, ready, 0); /* before the first use */
#endif
	cuMemsetD32Async(x, 0, n, b);
	/* end */

	CU(cuCtxSynchronize());
	CU(cuMemFreeAsync(x, a));
	CU(cuEventDestroy(ready));
	prog_end();
	return 0;
}
