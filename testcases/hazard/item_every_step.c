/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value of 4 bytes is fetched into a plain variable and waited for, every step:
 * that it is pageable is of no matter, the wait is.  Fixed: every twentieth step.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-SYNC-HOT "fetched 4 bytes behind kernel inc"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 64, STEPS = 60 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("train");
	CUdeviceptr x = device_u32("x", N);
	uint32_t *in = pinned_u32("in", N), loss = 0, sum = 0;

	set_now(x, 0, N);
	for (int i = 0; i < STEPS; i++) {
		CU(cuMemcpyHtoDAsync(x, in, 4 * N, s));
		INC(s, x, 3, N, 0);
#ifdef FIXED
		if (i % 20)
			continue;
#endif
		CU(cuMemcpyDtoHAsync(&loss, x, 4, s));
		CU(cuStreamSynchronize(s));
		sum += loss;
	}
	CU(cuStreamSynchronize(s));
	MUST(sum && sum % 3 == 0);
	check_u32("x[0]", get_u32(x, 0), 3);

	prog_end();
	return 0;
}
