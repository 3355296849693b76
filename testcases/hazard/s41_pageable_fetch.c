/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S41: results are fetched "on a stream" into pageable memory: each call waits for
 * the kernel.  Fixed: pinned memory.
 * EXPECT: KRT-PERF-PAGEABLE-ASYNC note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-PAGEABLE-ASYNC "pinned memory"
 * MENTIONS: KRT-PERF-PAGEABLE-ASYNC "wait before the CPU reads"
 * EXPECT-FIXED: none
 * SOURCE: scenario S41
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 40 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	static uint32_t pageable[ROUNDS][N];
	uint32_t *to = &pageable[0][0];

#ifdef FIXED
	to = pinned_u32("results", (size_t)ROUNDS * N);
#endif
	set_now(d, 0, N);
	for (int i = 0; i < ROUNDS; i++) {
		INC(s, d, 1, N, 0);
		CU(cuMemcpyDtoHAsync(to + (size_t)i * N, d, 4 * N, s));
	}
	CU(cuStreamSynchronize(s));
	check_u32("last", to[(ROUNDS - 1) * N], ROUNDS);

	prog_end();
	return 0;
}
