/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host waits for an event that nobody recorded and reads the result.
 * EXPECT: KRT-EVENT-UNRECORDED warning certain both count=1
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the result is not there yet
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 2, N);
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
#endif
	CU(cuEventSynchronize(e));
	krtsan_host_read(h, 4 * N);
	check_u32("h[7]", h[7], 2);

	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
