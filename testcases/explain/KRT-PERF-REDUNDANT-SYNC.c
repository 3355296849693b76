/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sync for what an earlier one has waited for.
 * EXPECT: KRT-PERF-REDUNDANT-SYNC note certain both count=1
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * EXPECT-FIXED: KRT-PERF-SYNC-HOT note certain both count=1
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");
	uint32_t *host = pinned_u32("host", n);

	/* example */
	for (int i = 0; i < 64; i++) {
		fill(s, x); /* a kernel */
		cuMemcpyDtoHAsync(host, x, bytes, s);
		cuStreamSynchronize(s);
#ifndef FIXED
		cuCtxSynchronize(); /* nothing is left to wait for */
#endif
	}
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
