/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The captured stream waits for an event that was recorded before the capture
 * began. Fixed: it waits first.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "before the capture began"
 * MENTIONS: KRT-CAPTURE-ISOLATION "stream "producer""
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream producer = stream_nb("producer"), user = stream_nb("user");
	CUevent ready = event();
	CUdeviceptr in = device_u32("in", N), out = device_u32("out", N);
	CUgraph graph = NULL;

	set_now(in, 0, N);
	FILL(producer, in, 1, N, 0);
	CU(cuEventRecord(ready, producer));
#ifdef FIXED
	CU(cuStreamWaitEvent(user, ready, 0));
	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	COPY(user, out, in, N, 0);
	CU(cuStreamEndCapture(user, &graph));
	CU(cuGraphDestroy(graph));
#else
	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	MUST(cuStreamWaitEvent(user, ready, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	MUST(cuStreamEndCapture(user, &graph) != CUDA_SUCCESS);
#endif
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(ready));
	(void)out;

	prog_end();
	return 0;
}
