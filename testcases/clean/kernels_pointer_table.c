/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of pointers: one that a small upload filled, whose buffers nobody else touches,
 * and one that a copy from elsewhere filled, of which nothing is known.
 * EXPECT: none
 */
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr known = device_u32("known", 8), unknown = device_u32("unknown", 8);
	CUdeviceptr d[4] = {device_u32("first", N), device_u32("second", N), device_u32("third", N),
			    device_u32("fourth", N)};
	CUdeviceptr other = device_u32("other", N);
	uint64_t *h = (uint64_t *)pinned_u32("h", 8);

	memcpy(h, d, sizeof(d));
	CU(cuMemcpyHtoD(known, d, sizeof(d)));
	CU(cuMemcpyHtoDAsync(unknown, h, sizeof(d), a));
	CU(cuStreamSynchronize(a));
	for (int i = 0; i < 4; i++)
		set_now(d[i], 0, N);
	POKE(a, known, 7, 4, SLOW);
	FILL(b, other, 1, N, 0);
	POKE(a, unknown, 8, 4, 0);
	CU(cuMemsetD32Async(other, 2, N, b));
	check_u32("first[0]", get_u32(d[0], 0), 8);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
