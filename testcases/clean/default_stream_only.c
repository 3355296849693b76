/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A textbook program: everything on the default stream, with blocking copies.
 */
#include "prog.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	uint32_t *h = malloc(4 * N);
	CUdeviceptr a, b;

	MUST(h);
	CU(cuMemAlloc(&a, 4 * N));
	CU(cuMemAlloc(&b, 4 * N));
	for (uint32_t round = 1; round <= 3; round++) {
		krtsan_host_write(h, 4 * N);
		host_fill(h, round, N);
		CU(cuMemcpyHtoD(a, h, 4 * N));
		CU(cuMemsetD32(b, 0, N));
		ADD(NULL, b, a, N, 20000);
		CU(cuMemcpyDtoH(h, b, 4 * N));
		krtsan_host_read(h, 4 * N);
		if (h[N - 1] != round)
			check_u32("h[N-1]", h[N - 1], round);
	}
	CU(cuCtxSynchronize());
	CU(cuMemFree(a));
	CU(cuMemFree(b));
	free(h);

	prog_end();
	return 0;
}
