/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event recorded in one capture is waited for in the next: its record made edges
 * of the first graph and nothing else. Fixed: it is recorded again first.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "cuStreamWaitEvent"
 * MENTIONS: KRT-CAPTURE-ISOLATION "a capture that has ended"
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream first = stream_nb("first"), second = stream_nb("second");
	CUevent ready = event();
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N);
	CUgraph graph = NULL;

	CU(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
	FILL(first, a, 1, N, 0);
	CU(cuEventRecord(ready, first));
	CU(cuStreamEndCapture(first, &graph));
	CU(cuGraphDestroy(graph));
	CU(cuStreamBeginCapture(second, CU_STREAM_CAPTURE_MODE_RELAXED));
	FILL(second, b, 1, N, 0);
#ifdef FIXED
	CU(cuEventRecord(ready, second));
	CU(cuStreamWaitEvent(second, ready, 0));
	CU(cuStreamEndCapture(second, &graph));
	CU(cuGraphDestroy(graph));
#else
	MUST(cuStreamWaitEvent(second, ready, 0) != CUDA_SUCCESS);
	if (cuStreamEndCapture(second, &graph) == CUDA_SUCCESS)
		CU(cuGraphDestroy(graph));
#endif
	CU(cuEventDestroy(ready));

	prog_end();
	return 0;
}
