/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A size in elements where bytes are meant.
 * EXPECT: KRT-COPY-BOUNDS error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x;
	size_t count = n;

	CU(cuMemAlloc(&x, count * 4));

	/* example */
#ifndef FIXED
	cuMemsetD32Async(x, 0, count * 4, s); /* counts elements of 4 bytes */
#else
	cuMemsetD32Async(x, 0, count, s);
#endif
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
