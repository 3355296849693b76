/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two launches write the same words, and the kernels file says that they order themselves
 * through memory: that cannot be seen, so it is not certain.
 * OPTIONS: kernels=testcases/harness/sync.kernels
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
	CUdeviceptr d = device_u32("d", N);

	set_now(d, 1, N);
	FILL(a, d, 2, N, 0);
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	FILL(b, d, 3, N, 0);
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
