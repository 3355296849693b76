/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Managed memory that CPU and kernels use by turns, with a sync between.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr m;
	uint32_t *h;

	CU(cuMemAllocManaged(&m, 4 * N, CU_MEM_ATTACH_GLOBAL));
	h = (uint32_t *)(uintptr_t)m;
	for (uint32_t i = 0; i < 4; i++) {
		krtsan_host_write(h, 4 * N);
		host_fill(h, i, N);
		UPDATES(s, m, 4 * N);
		INC(s, m, 5, N, 10000);
		CU(cuStreamSynchronize(s));
		krtsan_host_read(h, 4 * N);
		if (h[N - 1] != i + 5)
			check_u32("h[N-1]", h[N - 1], i + 5);
	}
	/* Prefetching moves pages and is no access. */
	CU(cuMemPrefetchAsync(m, 4 * N, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, prog_device},
			      0, s));
	CU(cuStreamSynchronize(s));
	CU(cuMemFree(m));

	prog_end();
	return 0;
}
