/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An elapsed time that could be computed shows that both events completed; the header
 * says that it is not meant for that.
 * EXPECT: KRT-HOST-READ-RACE warning certain documented count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUevent start, stop;
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUresult r;
	float ms;

	CU(cuEventCreate(&start, CU_EVENT_DEFAULT));
	CU(cuEventCreate(&stop, CU_EVENT_DEFAULT));
	set_now(d, 2, N);
	CU(cuEventRecord(start, s));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
	CU(cuEventRecord(stop, s));
	while ((r = cuEventElapsedTime(&ms, start, stop)) == CUDA_ERROR_NOT_READY)
		;
	CU(r);
#ifdef FIXED
	CU(cuEventSynchronize(stop));
#endif
	krtsan_host_read(h, 4 * N);
	check_u32("h[0]", h[0], 2);
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(start));
	CU(cuEventDestroy(stop));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
