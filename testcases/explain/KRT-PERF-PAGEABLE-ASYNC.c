/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results fetched into pageable memory.
 * EXPECT: KRT-PERF-PAGEABLE-ASYNC note certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device("x");
	uint32_t *result;

	/* example */
#ifndef FIXED
	result = malloc(64 * bytes);
#else
	cuMemHostAlloc((void **)&result, 64 * bytes, 0); /* pinned */
#endif
	for (int i = 0; i < 64; i++) {
		fill(s, x); /* a kernel */
		cuMemcpyDtoHAsync(result + i * n, x, bytes, s);
	}
	cuStreamSynchronize(s);
	/* end */

	CU(cuCtxSynchronize());
	printf("%u\n", result[0]);
	prog_end();
	return 0;
}
