/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches in stream order, several copies each, from pinned memory and between
 * device buffers.
 */
#include "prog.h"

enum { N = 1024, PARTS = 4 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N * PARTS), d2 = device_u32("d2", N * PARTS), dst[PARTS],
		    src[PARTS];
	uint32_t *h = pinned_u32("h", N * PARTS);
	size_t size[PARTS], first = 0;
	CUmemcpyAttributes attr = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};

	for (uint32_t i = 0; i < PARTS; i++) {
		host_fill(h + N * i, i, N);
		dst[i] = d + 4 * N * i;
		src[i] = (CUdeviceptr)(uintptr_t)(h + N * i);
		size[i] = 4 * N;
	}
	SPIN(s, SLOW);
	CU(cuMemcpyBatchAsync(dst, src, size, PARTS, &attr, &first, 1, s));
	for (uint32_t i = 0; i < PARTS; i++) {
		src[i] = dst[i];
		dst[i] = d2 + 4 * N * (PARTS - 1 - i);
	}
	CU(cuMemcpyBatchAsync(dst, src, size, PARTS, &attr, &first, 1, s));
	CU(cuStreamSynchronize(s));
	host_fill(h, 9, N * PARTS);
	check_u32("d2[0]", get_u32(d2, 0), PARTS - 1);
	check_u32("d2 last", get_u32(d2, N * PARTS - 1), 0);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
