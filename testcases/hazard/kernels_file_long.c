/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels file says that a kernel writes 100 times as much as its buffer holds: that
 * is wrong, and the buffers beside it are none of its business.  In its own buffer it may
 * still meet a memset, but that is not certain.
 * OPTIONS: kernels=testcases/harness/long.kernels
 * EXPECT: KRT-RACE-WAW warning likely both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr before = device_u32("before", N), d = device_u32("d", N),
		    behind = device_u32("behind", N);

	set_now(before, 1, N);
	set_now(d, 1, N);
	set_now(behind, 1, N);
	FILL(a, d, 2, N, 0);
	CU(cuMemsetD32Async(before, 3, N, b));
	CU(cuMemsetD32Async(behind, 3, N, b));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(d, 3, N, b));
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
