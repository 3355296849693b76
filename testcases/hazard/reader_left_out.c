/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten readers; the writer waits for nine of them.
 * SOURCE: ordering cases
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024, READERS = 10 };

int main(void)
{
	prog_start();
	CUstream r[READERS], w = stream_nb("writer");
	CUevent e[READERS];
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N * READERS);

	set_now(d, 1, N);
	for (int i = 0; i < READERS; i++) {
		r[i] = stream_nb("reader");
		e[i] = event();
		CU(cuMemcpyDtoDAsync(out + 4 * N * i, d, 4 * N, r[i]));
		CU(cuEventRecord(e[i], r[i]));
	}
#ifdef FIXED
	for (int i = 0; i < READERS; i++)
#else
	for (int i = 0; i < READERS - 1; i++)
#endif
		CU(cuStreamWaitEvent(w, e[i], 0));
	CU(cuMemsetD32Async(d, 2, N, w));
	CU(cuCtxSynchronize());
	for (int i = 0; i < READERS; i++)
		CU(cuEventDestroy(e[i]));

	prog_end();
	return 0;
}
