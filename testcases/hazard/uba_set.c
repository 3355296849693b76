/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered memory is used on a stream that does not wait for its allocation.
 * EXPECT: KRT-UBA-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "pool.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr p;

	SPIN(a, SLOW);
	CU(cuMemAllocAsync(&p, 4 * N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(p, 1, N, b));
	CU(cuCtxSynchronize());
	CU(cuMemFreeAsync(p, a));
	CU(cuCtxSynchronize());

	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
