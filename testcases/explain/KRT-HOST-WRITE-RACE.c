/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A staging buffer is filled again while its upload is on its way.
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");
	uint32_t *staging = pinned_u32("staging", n);

	/* example */
	cuMemcpyHtoDAsync(x, staging, bytes, s);
#ifdef FIXED
	cuStreamSynchronize(s); /* or another buffer: two in turns */
#endif
	krtsan_host_write(staging, bytes); /* tells krtsan of the next line */
	memset(staging, 0, bytes);
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
