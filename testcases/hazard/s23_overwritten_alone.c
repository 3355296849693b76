/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lost record of S23 where nothing meets afterwards that it would have ordered.
 * SOURCE: scenarios S23 (structural)
 * EXPECT: KRT-EVENT-OVERWRITTEN warning certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s1 = stream_nb("east"), s2 = stream_nb("west"), s3 = stream_nb("join");
	CUevent e1 = event(), e2 = event();
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N);

	set_now(x, 0, N);
	set_now(y, 0, N);
	FILL(s1, x, 10, N, 0);
	CU(cuEventRecord(e1, s1));
	FILL(s2, y, 20, N, 0);
#ifdef FIXED
	CU(cuEventRecord(e2, s2));
	CU(cuStreamWaitEvent(s3, e2, 0));
#else
	CU(cuEventRecord(e1, s2));
#endif
	CU(cuStreamWaitEvent(s3, e1, 0));
	INC(s3, y, 1, N, 0);
	CU(cuCtxSynchronize());

	CU(cuEventDestroy(e1));
	CU(cuEventDestroy(e2));
	prog_end();
	return 0;
}
