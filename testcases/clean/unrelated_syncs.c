/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syncs that cover just enough: a stream's, an event's before the end of the stream,
 * the legacy stream's for its own work.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N);
	uint32_t *hx = pinned_u32("hx", N), *hy = pinned_u32("hy", N);

	CU(cuMemsetD32Async(x, 1, N, a));
	CU(cuMemcpyDtoHAsync(hx, x, 4 * N, a));
	CU(cuEventRecord(e, a));
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(y, 2, N, b));
	CU(cuMemcpyDtoHAsync(hy, y, 4 * N, b));
	CU(cuEventSynchronize(e));
	krtsan_host_read(hx, 4 * N);
	check_u32("hx[0]", hx[0], 1);
	CU(cuMemsetD32Async(x, 3, N, b));
	CU(cuStreamSynchronize(b));
	krtsan_host_read(hy, 4 * N);
	check_u32("hy[0]", hy[0], 2);
	CU(cuMemsetD32Async(y, 4, N, NULL));
	CU(cuStreamSynchronize(NULL));
	CU(cuMemcpyDtoHAsync(hy, y, 4 * N, b));
	CU(cuStreamSynchronize(b));
	krtsan_host_read(hy, 4 * N);
	check_u32("hy[0]", hy[0], 4);
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(hx));
	CU(cuMemFreeHost(hy));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
