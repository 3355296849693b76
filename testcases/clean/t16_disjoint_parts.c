/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Different bytes of one allocation on different streams, by copies, sets and
 * declared kernels, to the byte.
 * SOURCE: trap T16
 */
#include "prog.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 0, N);
	CU(cuMemcpyHtoDAsync(d, h, 1021, a));
	CU(cuMemsetD8Async(d + 1021, 0xff, 3, b));
	CU(cuMemcpyHtoDAsync(d + 1024, h, 4 * 1024 - 1024, c));
	WRITES(a, d + 4096, 4 * 1024);
	FILL(a, d + 4096, 1, 1024, 1000);
	WRITES(b, d + 8192, 4 * 1024);
	FILL(b, d + 8192, 2, 1024, 1000);
	UPDATES(c, d + 12288, 4 * 1024);
	INC(c, d + 12288, 3, 1024, 1000);
	/* The two halves of the host buffer as well. */
	CU(cuMemcpyDtoHAsync(h + N / 2, d + 12288, 4 * 1024, c));
	check_u32("first byte of b's", get_u32(d, 255) >> 24, 0xff);
	check_u32("d[1024]", get_u32(d, 1024), 1);
	check_u32("d[2048]", get_u32(d, 2048), 2);
	check_u32("d[3072]", get_u32(d, 3072), 3);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
