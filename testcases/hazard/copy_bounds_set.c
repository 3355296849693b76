/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set without a stream reaches past the end of its allocation.
 * EXPECT: KRT-COPY-BOUNDS error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("d", N);

#ifdef FIXED
	CU(cuMemsetD32(d, 0, N));
#else
	(void)cuMemsetD32(d, 0, N + 16);
#endif
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
