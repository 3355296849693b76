/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A captured stream waits for an event of another capture. Fixed: one capture, and
 * the other stream is forked from it.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "would join two captures"
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream user = stream_nb("user"), other = stream_nb("other");
	CUevent ev = event();
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N);
	CUgraph graph = NULL;

	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_RELAXED));
#ifdef FIXED
	CU(cuEventRecord(ev, user));
	CU(cuStreamWaitEvent(other, ev, 0));
#else
	CU(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
#endif
	FILL(user, a, 1, N, 0);
	FILL(other, b, 1, N, 0);
	CU(cuEventRecord(ev, other));
#ifdef FIXED
	CU(cuStreamWaitEvent(user, ev, 0));
	CU(cuStreamEndCapture(user, &graph));
	CU(cuGraphDestroy(graph));
#else
	MUST(cuStreamWaitEvent(user, ev, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
	MUST(cuStreamEndCapture(user, &graph) != CUDA_SUCCESS);
	MUST(cuStreamEndCapture(other, &graph) != CUDA_SUCCESS);
#endif
	CU(cuEventDestroy(ev));

	prog_end();
	return 0;
}
