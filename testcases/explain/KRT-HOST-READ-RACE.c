/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU reads the destination of a copy that is on its way.
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");
	uint32_t *host = pinned_u32("host", n);

	/* example */
	cuMemcpyDtoHAsync(host, x, bytes, s);
#ifdef FIXED
	cuStreamSynchronize(s);
#endif
	krtsan_host_read(host, bytes); /* tells krtsan of the next line */
	printf("%u\n", host[0]);
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
