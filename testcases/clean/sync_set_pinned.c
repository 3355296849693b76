/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of pinned memory without a stream is complete on return.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	uint32_t *h = pinned_u32("h", N);

	CU(cuMemsetD32((CUdeviceptr)(uintptr_t)h, 7, N));
	krtsan_host_read(h, 4 * N);
	check_u32("h[0]", h[0], 7);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
