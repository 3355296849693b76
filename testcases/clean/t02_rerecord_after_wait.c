/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event serves two pairs of streams: each wait binds to the record that is
 * current when it is made, and the event goes right after the last wait.
 * SOURCE: trap T02
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c"), d = stream_nb("d");
	CUevent e = event();
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N);
	uint32_t *hx = pinned_u32("hx", N), *hy = pinned_u32("hy", N);

	SPIN(a, SLOW);
	CU(cuMemsetD32Async(x, 1, N, a));
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemsetD32Async(y, 2, N, c));
	CU(cuEventRecord(e, c));
	CU(cuStreamWaitEvent(d, e, 0));
	CU(cuEventDestroy(e));
	CU(cuMemcpyDtoHAsync(hx, x, 4 * N, b));
	CU(cuMemcpyDtoHAsync(hy, y, 4 * N, d));
	CU(cuCtxSynchronize());
	check_u32("hx[0]", hx[0], 1);
	check_u32("hy[0]", hy[0], 2);
	CU(cuMemFreeHost(hx));
	CU(cuMemFreeHost(hy));

	prog_end();
	return 0;
}
