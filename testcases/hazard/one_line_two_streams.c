/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line fills both halves of a buffer, each on a stream of its own; the reader waits
 * for neither.  It is one finding, and one event does not mend it: each stream needs one.
 * EXPECT: KRT-RACE-RAW error certain both count=2
 * MENTIONS: KRT-RACE-RAW "once for each stream"
 * MENTIONS: KRT-RACE-RAW "it takes an event for each stream"
 * FIX: KRT-RACE-RAW removes
 * FINDINGS: 1
 * EXPECT-FIXED: none
 * SIM-WRONG: old bytes are read
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream half[2] = {stream_nb("low"), stream_nb("high")}, reader = stream_nb("reader");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUevent done = event();

	for (int i = 0; i < 2; i++) {
		SPIN(half[i], SLOW);
		CU(cuMemsetD32Async(d + (CUdeviceptr)i * 2 * N, 7, N / 2, half[i]));
	}
#ifdef FIXED
	for (int i = 0; i < 2; i++) {
		CU(cuEventRecord(done, half[i]));
		CU(cuStreamWaitEvent(reader, done, 0));
	}
#endif
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, reader));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 7);
	check_u32("h[N-1]", h[N - 1], 7);

	CU(cuMemFreeHost(h));
	CU(cuMemFree(d));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
