/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream waits for an event that nobody records: the wait is a no-op.
 * EXPECT: KRT-EVENT-UNRECORDED warning certain both count=1
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * MENTIONS: KRT-EVENT-UNRECORDED "waits for the event created at prog.h:"
 * MENTIONS: KRT-EVENT-UNRECORDED "a record of that event before #"
 * MENTIONS: KRT-RACE-RAW "(event_unrecorded.c:30 main) met an event without a record"
 * SIM-WRONG: the old content comes back
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("producer"), b = stream_nb("consumer");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 1, N);
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 2, N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
#endif
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 2);

	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
