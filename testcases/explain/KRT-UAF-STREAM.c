/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel enqueued behind the free of what it uses.
 * EXPECT: KRT-UAF-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x, y = device("y");

	CU(cuMemAllocAsync(&x, bytes, s));
	fill(s, x);

	/* example */
#ifndef FIXED
	cuMemFreeAsync(x, s);
#endif
	add(s, y, x); /* a kernel: y += x */
#ifdef FIXED
	cuMemFreeAsync(x, s); /* behind the last use */
#endif
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
