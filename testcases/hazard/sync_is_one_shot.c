/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device-wide sync orders what came before it, not what the same stream does next.
 * SOURCE: ordering cases
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the earlier set wins
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);

	CU(cuMemsetD32Async(d, 1, N, a));
#ifndef FIXED
	CU(cuCtxSynchronize());
#endif
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 2, N, a));
#ifdef FIXED
	CU(cuCtxSynchronize());
#endif
	CU(cuMemsetD32Async(d, 3, N, b));
	check_u32("d[0]", get_u32(d, 0), 3);

	prog_end();
	return 0;
}
