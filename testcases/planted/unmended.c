/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A race whose missing order is expected not to help.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * FIX: KRT-RACE-WAW keeps: it does help
 */
#include "prog.h"

enum { N = 256 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);

	CU(cuMemsetD32Async(d, 1, N, a));
	CU(cuMemsetD32Async(d, 2, N, b));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
