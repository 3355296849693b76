/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S40: a work buffer is allocated in every round and freed a round later, when its
 * work is known to be done.  Fixed: two buffers, allocated once.
 * EXPECT: KRT-PERF-ALLOC-HOT note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-ALLOC-HOT "4 KiB each time"
 * MENTIONS: KRT-PERF-ALLOC-HOT "freed again in the loop by cuMemFree"
 * EXPECT-FIXED: none
 * SOURCE: scenario S40
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 40 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr sum = device_u32("sum", N), work[2];
	CUevent done[2] = {event(), event()};

	set_now(sum, 0, N);
#ifdef FIXED
	CU(cuMemAlloc(&work[0], 4 * N));
	CU(cuMemAlloc(&work[1], 4 * N));
#endif
	for (int i = 0; i < ROUNDS; i++) {
		int now = i % 2, before = !now;

#ifndef FIXED
		CU(cuMemAlloc(&work[now], 4 * N));
#endif
		FILL(s, work[now], 1, N, 0);
		ADD(s, sum, work[now], N, 0);
		CU(cuEventRecord(done[now], s));
		if (!i)
			continue;
		CU(cuEventSynchronize(done[before])); /* this round goes on: not a hot one */
#ifndef FIXED
		CU(cuMemFree(work[before]));
#endif
	}
	check_u32("sum[0]", get_u32(sum, 0), ROUNDS);

	prog_end();
	return 0;
}
