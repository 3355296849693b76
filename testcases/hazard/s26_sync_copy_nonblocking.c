/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A blocking copy runs on the default stream, which does not wait for a
 * non-blocking stream.
 * SOURCE: scenarios S26 (copy)
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * MENTIONS: KRT-RACE-RAW "does not order with a non-blocking stream"
 * EXPECT-FIXED: none
 * SIM-WRONG: the copy brings the old content
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("queue");
	CUdeviceptr x = device_u32("x", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(x, 1, N);
	WRITES(s, x, 4 * N);
	FILL(s, x, 2, N, SLOW);
#ifdef FIXED
	CU(cuMemcpyDtoHAsync(h, x, 4 * N, s));
	CU(cuStreamSynchronize(s));
#else
	CU(cuMemcpyDtoH(h, x, 4 * N));
#endif
	check_u32("h[0]", h[0], 2);

	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
