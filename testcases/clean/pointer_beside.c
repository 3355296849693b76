/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel fills a part of an allocation of which another stream's copy writes other
 * bytes: the allocation is shared, the bytes are not.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr slab = device_u32("slab", 2 * N);
	uint32_t *h = pinned_u32("h", N);

	set_now(slab, 0, 2 * N);
	host_fill(h, 3, N);
	FILL(a, slab, 2, N, SLOW);
	CU(cuMemcpyHtoDAsync(slab + 4 * N, h, 4 * N, b));
	CU(cuMemcpyDtoHAsync(h, slab + 4 * N, 4 * N, b));
	check_u32("slab[0]", get_u32(slab, 0), 2);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
