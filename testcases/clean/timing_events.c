/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing: events with timestamps around a stretch, the elapsed time, then the result.
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
	float ms = -1;

	CU(cuEventCreate(&start, CU_EVENT_DEFAULT));
	CU(cuEventCreate(&stop, CU_EVENT_BLOCKING_SYNC));
	for (uint32_t i = 0; i < 3; i++) {
		CU(cuEventRecord(start, s));
		FILL(s, d, i, N, 20000);
		CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
		CU(cuEventRecord(stop, s));
		CU(cuEventSynchronize(stop));
		CU(cuEventElapsedTime(&ms, start, stop));
		MUST(ms >= 0);
		krtsan_host_read(h, 4 * N);
		if (h[0] != i)
			check_u32("h[0]", h[0], i);
	}
	CU(cuEventDestroy(start));
	CU(cuEventDestroy(stop));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
