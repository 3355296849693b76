/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One race in a loop is one finding with a count.
 * EXPECT: KRT-RACE-WAW error certain both count=5
 * FINDINGS: 1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 5 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);

	for (uint32_t i = 0; i < ROUNDS; i++) {
		CU(cuMemsetD32Async(d, i, N, a));
#ifdef FIXED
		CU(cuEventRecord(e, a));
		CU(cuStreamWaitEvent(b, e, 0));
#endif
		CU(cuMemsetD32Async(d, i + 1, N, b));
		CU(cuCtxSynchronize());
	}
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
