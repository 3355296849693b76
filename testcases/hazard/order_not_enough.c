/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy to the host is picked up by another stream too early, and when the program ends
 * nothing has waited for it either: an order between the two streams leaves the second fault.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * FIX: KRT-RACE-RAW keeps: nothing waits for the copy to the host before the end
 * MENTIONS: KRT-RACE-RAW "KRT-UNFINISHED is there instead"
 * FINDINGS: 1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream down = stream_nb("down"), up = stream_nb("up");
	CUdeviceptr d = device_u32("d", N), x = device_u32("x", N);
	uint32_t *h = pinned_u32("h", N);
	CUevent done = event();

	set_now(d, 1, N);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, down));
	CU(cuEventRecord(done, down));
#ifdef FIXED
	CU(cuStreamWaitEvent(up, done, 0));
#endif
	CU(cuMemcpyHtoDAsync(x, h, 4 * N, up));
#ifdef FIXED
	CU(cuStreamSynchronize(up));
#endif
	CU(cuEventDestroy(done));
	return 0;
}
