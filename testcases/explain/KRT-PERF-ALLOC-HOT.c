/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scratch buffer allocated and freed in each round.
 * EXPECT: KRT-PERF-ALLOC-HOT note certain both count=1
 * EXPECT: KRT-FREE-IN-USE warning certain documented count=64
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr scratch, y = device("y");

	/* example */
#ifdef FIXED
	cuMemAlloc(&scratch, bytes); /* once, of the largest size */
#endif
	for (int i = 0; i < 64; i++) {
#ifndef FIXED
		cuMemAlloc(&scratch, bytes);
#endif
		fill(s, scratch); /* a kernel */
		add(s, y, scratch);
#ifndef FIXED
		cuMemFree(scratch); /* waits for the device */
#endif
	}
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
