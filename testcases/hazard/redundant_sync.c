/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each round waits for an event and then, once more, for the stream that has nothing
 * else; and the stream is made to wait for its own event.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * EXPECT: KRT-PERF-REDUNDANT-SYNC note certain both count=2
 * FINDINGS: 3
 * EXPECT-FIXED: KRT-PERF-SYNC-HOT note certain both count=1
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 40 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUevent e = event();

	set_now(d, 0, N);
	for (int i = 0; i < ROUNDS; i++) {
		INC(s, d, 1, N, 0);
		CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
		CU(cuEventRecord(e, s));
#ifndef FIXED
		CU(cuStreamWaitEvent(s, e, 0));
#endif
		CU(cuEventSynchronize(e));
#ifndef FIXED
		CU(cuStreamSynchronize(s));
#endif
		krtsan_host_read(h, 4 * N);
		if (h[0] != (uint32_t)i + 1)
			check_u32("h[0]", h[0], (uint32_t)i + 1);
	}
	check_u32("d[0]", get_u32(d, 0), ROUNDS);

	prog_end();
	return 0;
}
