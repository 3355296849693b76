/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round is four launches from one place, then a wait, and nothing else.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * FINDINGS: 1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 64, PARTS = 4, ROUNDS = 30 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", PARTS * N);

	set_now(x, 0, PARTS * N);
	for (int i = 0; i < ROUNDS; i++) {
		for (uint64_t k = 0; k < PARTS; k++)
			INC(s, x + 4 * k * N, 1, N, 0);
#ifndef FIXED
		CU(cuStreamSynchronize(s));
#endif
	}
	CU(cuStreamSynchronize(s));
	check_u32("x[0]", get_u32(x, 0), ROUNDS);

	prog_end();
	return 0;
}
