/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kernels write every second row of one matrix, and both take the same ones.  (The
 * twin's take the even and the odd ones: their bytes alternate.)
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "shapes.h"

enum { N = 100 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", 2 * (N + 2) * ROW);

	set_now(d, 0, 2 * (N + 2) * ROW);
	ROWS(a, d, 0, N, SLOW);
#ifdef FIXED
	ROWS(b, d, 1, N, 0);
#else
	ROWS(b, d, 2, N, 0);
#endif
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
