/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same shape as many hazards, all of it on one stream, or read-only: pairs that
 * need no order.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c");
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", 2 * N);
	uint32_t *h = pinned_u32("h", 2 * N);

	set_now(x, 1, N);
	/* Three readers of one buffer. */
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, x, 4 * N, a));
	CU(cuMemcpyDtoDAsync(y, x, 4 * N, b));
	READS(c, x, 4 * N);
	WRITES(c, y + 4 * N, 4 * N);
	COPY(c, y + 4 * N, x, N, 0);
	/* The host reads a source that copies read. */
	CU(cuMemcpyHtoDAsync(y + 4, h + N, 64, b));
	krtsan_host_read(h + N, 64);
	check_u32("y[0]", get_u32(y, 0), 1);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
