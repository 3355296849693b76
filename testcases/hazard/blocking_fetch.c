/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each round fetches its value by a copy without a stream, which waits for the round's
 * kernels; the upload waits for nothing more.  Fixed: the values are fetched once.
 * EXPECT: KRT-PERF-SYNC-HOT note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-SYNC-HOT "cuMemcpyDtoH waited for legacy stream 40 times"
 * MENTIONS: KRT-PERF-SYNC-HOT "in 40 rounds of its loop"
 * MENTIONS: KRT-PERF-SYNC-HOT "each time to fetch 4 bytes behind kernel add"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 64, ROUNDS = 40 };

int main(void)
{
	prog_start();
	CUdeviceptr in = device_u32("in", ROUNDS * N), sum = device_u32("sum", N);
	uint32_t batch[ROUNDS * N], value = 0;

	set_now(sum, 0, N);
	host_fill(batch, 1, ROUNDS * N);
#ifdef FIXED
	CU(cuMemcpyHtoD(in, batch, sizeof(batch)));
#endif
	for (CUdeviceptr i = 0; i < ROUNDS; i++) {
#ifndef FIXED
		CU(cuMemcpyHtoD(in, batch, 4 * N));
#endif
		INC(NULL, in, 1, N, 0);
		ADD(NULL, sum, in, N, 0);
#ifndef FIXED
		CU(cuMemcpyDtoH(&value, sum, 4));
#endif
	}
#ifdef FIXED
	CU(cuMemcpyDtoH(&value, sum, 4));
#else
	check_u32("value", value, 2 * ROUNDS);
#endif

	prog_end();
	return 0;
}
