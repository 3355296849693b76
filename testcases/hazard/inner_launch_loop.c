/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request is an input, layers launched from one place, an output that is waited
 * for: the site of the layers is passed many times a round, the wait once.  Fixed:
 * outputs go to a ring of slots, each of which is waited for a round late, and only
 * every fourth time.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-SYNC-HOT "in 20 rounds"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 256, LAYERS = 12, REQUESTS = 20, SLOTS = 4 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("serve");
	CUdeviceptr x = device_u32("x", N);
	uint32_t *in = pinned_u32("in", REQUESTS), *out = pinned_u32("out", REQUESTS);

	set_now(x, 0, N);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		in[i] = i;
		CU(cuMemcpyHtoDAsync(x, &in[i], 4, s));
		for (int k = 0; k < LAYERS; k++)
			INC(s, x, 1, N, 0);
		CU(cuMemcpyDtoHAsync(&out[i], x, 4, s));
#ifdef FIXED
		if (i % SLOTS == SLOTS - 1)
#endif
			CU(cuStreamSynchronize(s));
	}
	check_u32("last", out[REQUESTS - 1], REQUESTS - 1 + LAYERS);

	prog_end();
	return 0;
}
