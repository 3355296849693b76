/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram is cleared on another stream while a kernel still adds to it.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "shapes.h"

enum { N = 4096, BINS = 64 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr bins = device_u32("bins", BINS);

	set_now(bins, 0, BINS);
	/* two streams that add in any order are no hazard */
	TALLY(a, bins, BINS, N, SLOW);
	TALLY(b, bins, BINS, N, 0);
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(bins, 0, BINS, b));
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
