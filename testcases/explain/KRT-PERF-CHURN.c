/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event made for each wait.
 * EXPECT: KRT-PERF-CHURN note certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr x = device("x"), y = device("y");
	CUevent e;

	/* example */
#ifdef FIXED
	cuEventCreate(&e, CU_EVENT_DISABLE_TIMING); /* can be recorded again */
#endif
	for (int i = 0; i < 64; i++) {
#ifndef FIXED
		cuEventCreate(&e, CU_EVENT_DISABLE_TIMING);
#endif
		fill(a, x); /* a kernel */
		cuEventRecord(e, a);
		cuStreamWaitEvent(b, e, 0);
		fill(b, y);
#ifndef FIXED
		cuEventDestroy(e);
#endif
	}
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
