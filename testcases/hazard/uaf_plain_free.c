/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel writes a buffer that was freed long ago, where a flag says so.  (It does not
 * say so here, so that the program lives; the address is dead all the same.)
 * EXPECT: KRT-UAF-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "shapes.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a");
	CUdeviceptr d = device_u32("d", N), flag = device_u32("flag", 1);

	shapes_load();
	set_now(d, 0, N);
	set_now(flag, 0, 1);
#ifndef FIXED
	CU(cuMemFree(d));
#endif
	ASKED(a, d, flag, N, 0);
	CU(cuCtxSynchronize());
#ifdef FIXED
	CU(cuMemFree(d));
#endif

	prog_end();
	return 0;
}
