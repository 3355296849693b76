/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion by polling: an event query, then a stream query.
 * SOURCE: trap T05
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUresult r;

	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 1, N, a));
	CU(cuEventRecord(e, a));
	while ((r = cuEventQuery(e)) == CUDA_ERROR_NOT_READY)
		;
	CU(r);
	CU(cuMemsetD32Async(d, 2, N, b));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	while ((r = cuStreamQuery(b)) == CUDA_ERROR_NOT_READY)
		;
	CU(r);
	krtsan_host_read(h, 4 * N);
	check_u32("h[0]", h[0], 2);
	krtsan_host_write(h, 4 * N);
	host_fill(h, 3, N);
	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
