/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel is given the address of a buffer and does not use it: it may be written and
 * freed meanwhile.
 * EXPECT: none
 */
#include "shapes.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), x = device_u32("x", N), y;

	set_now(d, 0, N);
	CU(cuMemAllocAsync(&y, 4 * N, b));
	CU(cuMemsetD32Async(y, 1, N, b));
	CU(cuStreamSynchronize(b));
	IDLE(a, d, x, N, SLOW);
	IDLE(a, d, y, N, 0);
	FILL(b, x, 2, N, 0);
	CU(cuMemFreeAsync(y, b));
	CU(cuStreamSynchronize(b));
	CU(cuMemFree(x));
	IDLE(a, d, x, N, 0); /* dead, and not used */
	check_u32("d[0]", get_u32(d, 0), N);

	prog_end();
	return 0;
}
