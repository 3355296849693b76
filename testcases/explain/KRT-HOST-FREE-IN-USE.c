/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap buffer freed while a batch copy still reads it.
 * EXPECT: KRT-HOST-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");
	CUdeviceptr from;
	size_t first = 0, size = bytes;
	CUmemcpyAttributes later = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	uint32_t *values = calloc(n, 4);

	/* example */
	/* the source is read in stream order, not during the call */
	from = (CUdeviceptr)(uintptr_t)values;
	cuMemcpyBatchAsync(&x, &from, &size, 1, &later, &first, 1, s);
#ifdef FIXED
	cuStreamSynchronize(s);
#endif
	free(values);
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
