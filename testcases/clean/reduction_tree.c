/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight streams produce, and pair by pair their results are added up the tree.
 */
#include "prog.h"

enum { N = 1024, LEAVES = 8 };

int main(void)
{
	prog_start();
	CUstream s[LEAVES];
	CUevent e[LEAVES];
	CUdeviceptr d[LEAVES];

	for (uint32_t i = 0; i < LEAVES; i++) {
		s[i] = stream_nb("leaf");
		e[i] = event();
		d[i] = device_u32("part", N);
		WRITES(s[i], d[i], 4 * N);
		FILL(s[i], d[i], i + 1, N, 5000);
	}
	for (int step = 1; step < LEAVES; step *= 2)
		for (int i = 0; i < LEAVES; i += 2 * step) {
			CU(cuEventRecord(e[i + step], s[i + step]));
			CU(cuStreamWaitEvent(s[i], e[i + step], 0));
			UPDATES(s[i], d[i], 4 * N);
			READS(s[i], d[i + step], 4 * N);
			ADD(s[i], d[i], d[i + step], N, 2000);
		}
	CU(cuStreamSynchronize(s[0]));
	check_u32("sum", get_u32(d[0], 0), LEAVES * (LEAVES + 1) / 2);
	for (int i = 0; i < LEAVES; i++)
		CU(cuEventDestroy(e[i]));

	prog_end();
	return 0;
}
