/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host waits for an event that was recorded before the copy it needs.
 * SOURCE: ordering cases (eventSynchronize covers work before the record, not after)
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * MENTIONS: KRT-HOST-READ-RACE " (event_sync_too_early.c:32 main), for what it held at #"
 * MENTIONS: KRT-HOST-READ-RACE " (event_sync_too_early.c:25 main), before #"
 * EXPECT-FIXED: none
 * SIM-WRONG: the old value
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	CU(cuMemsetD32Async(d, 2, N, s));
#ifndef FIXED
	CU(cuEventRecord(e, s));
#endif
	SPIN(s, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
#ifdef FIXED
	CU(cuEventRecord(e, s));
#endif
	CU(cuEventSynchronize(e));
	krtsan_host_read(h, 4 * N);
	check_u32("h[0]", ((volatile uint32_t *)h)[0], 2);
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
