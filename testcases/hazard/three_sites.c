/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three reads of what one stream writes, at three places: three findings.
 * EXPECT: KRT-RACE-RAW error certain both count=3
 * FINDINGS: 3
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b"), c = stream_nb("c");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", 3 * N);

	CU(cuMemsetD32Async(d, 1, N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuStreamWaitEvent(c, e, 0));
#endif
	CU(cuMemcpyDtoDAsync(out, d, 4 * N, b));
	CU(cuMemcpyDtoDAsync(out + 4 * N, d, 4 * N, c));
	CU(cuMemcpyDtoDAsync(out + 8 * N, d, 4 * N, b));
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
