/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A debug dump that races on purpose, inside a region that krtsan is told to ignore.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("dump");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 1, N, a));
	krtsan_ignore_begin();
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	krtsan_ignore_end();
	CU(cuMemsetD32Async(d, 2, N, a));
	CU(cuCtxSynchronize());
	check_u32("d[0]", get_u32(d, 0), 2);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
