/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A blocking sync in every round of a loop that never looks at the result.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count>=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 40 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);

	set_now(d, 0, N);
	for (int i = 0; i < ROUNDS; i++) {
		INC(s, d, 1, N, 0);
#ifndef FIXED
		CU(cuStreamSynchronize(s));
#endif
	}
	check_u32("d[0]", get_u32(d, 0), ROUNDS);

	prog_end();
	return 0;
}
