/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event recorded again and again on one stream; only the last record is waited
 * for, which covers the earlier ones.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);

	for (uint32_t i = 0; i < 6; i++) {
		WRITES(a, d, 4 * N);
		FILL(a, d, i, N, 5000);
		CU(cuEventRecord(e, a));
	}
	CU(cuStreamWaitEvent(b, e, 0));
	READS(b, d, 4 * N);
	WRITES(b, out, 4 * N);
	COPY(b, out, d, N, 0);
	check_u32("out[0]", get_u32(out, 0), 5);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
