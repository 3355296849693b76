/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A poll until the round is done is a wait, once a round; the queries that find it
 * unfinished are not.  Fixed: one query a round, and no matter what it says.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-SYNC-HOT "cuStreamQuery waited for stream"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 64, ROUNDS = 30 };

static bool done(CUstream s)
{
	CUresult r = cuStreamQuery(s);

	MUST(r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY);
	return r == CUDA_SUCCESS;
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N);
	unsigned ready = 0;

	set_now(x, 0, N);
	for (int i = 0; i < ROUNDS; i++) {
		INC(s, x, 1, N, SLOW / 8);
#ifdef FIXED
		ready += done(s);
#else
		while (!done(s))
			;
		ready++;
#endif
	}
	MUST(ready <= ROUNDS);
	check_u32("x[0]", get_u32(x, 0), ROUNDS);

	prog_end();
	return 0;
}
