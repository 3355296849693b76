/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process ends with a copy to the host on its way.
 * EXPECT: KRT-UNFINISHED warning certain both count=1
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
	cuStreamSynchronize(s); /* before the result is used */
#endif
	printf("%u\n", host[0]);
	exit(0);
	/* end */

	prog_end();
	return 0;
}
