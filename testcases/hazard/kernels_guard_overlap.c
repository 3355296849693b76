/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two kernels fill the two parts of one buffer, and the first part has one element too
 * many.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * MENTIONS: KRT-RACE-WAW "+0x1000..+0x1004"
 * EXPECT-FIXED: none
 */
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", 2 * N);

	set_now(d, 0, 2 * N);
#ifdef FIXED
	FILL(a, d, 1, N, SLOW);
#else
	FILL(a, d, 1, N + 1, SLOW);
#endif
	FILL(b, d + 4 * N, 2, N, 0);
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
