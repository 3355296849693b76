/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kernels write every second element of one buffer, and both take the even ones.
 * (The twin's take the even and the odd ones, as fields of an array of structs lie.)
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", 2 * N + 4);

	set_now(d, 0, 2 * N + 4);
	EVENS(a, d, 0, N, SLOW);
#ifdef FIXED
	EVENS(b, d, 1, N, 0);
#else
	EVENS(b, d, 2, N, 0);
#endif
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
