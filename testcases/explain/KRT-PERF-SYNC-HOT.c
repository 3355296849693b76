/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait for the device in each round.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count>=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");

	/* example */
	for (int i = 0; i < 64; i++) {
		fill(s, x); /* a kernel */
#ifndef FIXED
		cuStreamSynchronize(s);
#endif
	}
#ifdef FIXED
	cuStreamSynchronize(s); /* once, where the result is wanted */
#endif
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
