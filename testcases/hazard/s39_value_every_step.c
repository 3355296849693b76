/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S39: a kernel counts, the count is fetched and waited for, and the next kernel is
 * sized by it, once a token.  Fixed: the next kernel finds the count on the device.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-SYNC-HOT "fetched 4 bytes behind kernel tally"
 * MENTIONS: KRT-PERF-SYNC-HOT "40 times with work in between, in 40 rounds"
 * EXPECT-FIXED: none
 * SOURCE: scenario S39
 */
#include "prog.h"

enum { N = 256, TOKENS = 40 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("decode");
	CUdeviceptr x = device_u32("x", N), count = device_u32("count", 1);
	uint32_t *host = pinned_u32("host count", 1);

	set_now(x, 0, N);
	set_now(count, 0, 1);
	for (int i = 0; i < TOKENS; i++) {
		TALLY(s, count, 1, 2, 0);
#ifdef FIXED
		INC(s, x, 1, N, 0);
#else
		CU(cuMemcpyDtoHAsync(host, count, 4, s));
		CU(cuStreamSynchronize(s));
		INC(s, x, 1, host[0] < N ? N : 1, 0);
#endif
	}
	CU(cuMemcpyDtoHAsync(host, count, 4, s));
	check_u32("x[0]", get_u32(x, 0), TOKENS);
	check_u32("count", host[0], 2 * TOKENS);

	CU(cuMemFreeHost(host));
	prog_end();
	return 0;
}
