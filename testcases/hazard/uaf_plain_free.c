/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel is given the address of a buffer that was freed long ago.  (It does not
 * touch it here, so that the program lives; the address is dead all the same.)
 * EXPECT: KRT-UAF-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a");
	CUdeviceptr d = device_u32("d", N);

	set_now(d, 0, N);
#ifndef FIXED
	CU(cuMemFree(d));
#endif
	MAYBE(a, d, 0, N, 0);
	CU(cuCtxSynchronize());
#ifdef FIXED
	CU(cuMemFree(d));
#endif

	prog_end();
	return 0;
}
