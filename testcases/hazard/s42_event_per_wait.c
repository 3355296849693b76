/* SPDX-License-Identifier: Apache-2.0 */
/*
 * S42: an event is created for each stream wait and destroyed right after it, which
 * is in order (trap T02).  Fixed: one event, recorded again.
 * EXPECT: KRT-PERF-CHURN note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-CHURN "cuEventCreate made 39 times anew what cuEventDestroy had destroyed"
 * EXPECT-FIXED: none
 * SOURCE: scenario S42
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 40 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);
	CUevent e = event(), back = event();

	set_now(d, 0, N);
	for (int i = 0; i < ROUNDS; i++) {
#ifndef FIXED
		CU(cuEventDestroy(e));
		CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
#endif
		INC(a, d, 1, N, 0);
		CU(cuEventRecord(e, a));
		CU(cuStreamWaitEvent(b, e, 0));
		INC(b, d, 1, N, 0);
		CU(cuEventRecord(back, b));
		CU(cuStreamWaitEvent(a, back, 0));
	}
	check_u32("d[0]", get_u32(d, 0), 2 * ROUNDS);

	prog_end();
	return 0;
}
