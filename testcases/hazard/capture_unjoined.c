/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of two streams forked into a capture, one is not joined.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "stream "right", pulled into it by cuStreamWaitEvent"
 * MENTIONS: KRT-CAPTURE-ISOLATION "record an event on stream "right""
 * MENTIONS: KRT-CAPTURE-ISOLATION "(capture_unjoined.c:26 main) began on stream"
 * MENTIONS: KRT-CAPTURE-ISOLATION "cuEventRecord(done, right);  // after capture_unjoined.c:31"
 * MENTIONS: KRT-CAPTURE-ISOLATION "cuStreamWaitEvent(user, done, 0);  // before the end of the capture at capture_unjoined.c:40"
 * SOURCE: AMD-Ecosystem/llama.cpp#71 (S37)
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream user = stream_nb("user"), left = stream_nb("left"), right = stream_nb("right");
	CUevent fork = event(), join = event();
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N);
	CUgraph graph = NULL;

	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuEventRecord(fork, user));
	CU(cuStreamWaitEvent(left, fork, 0));
	CU(cuStreamWaitEvent(right, fork, 0));
	FILL(left, a, 1, N, 0);
	FILL(right, b, 2, N, 0);
	CU(cuEventRecord(join, left));
	CU(cuStreamWaitEvent(user, join, 0));
#ifdef FIXED
	CU(cuEventRecord(join, right));
	CU(cuStreamWaitEvent(user, join, 0));
	CU(cuStreamEndCapture(user, &graph));
	CU(cuGraphDestroy(graph));
#else
	MUST(cuStreamEndCapture(user, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
#endif
	CU(cuEventDestroy(fork));
	CU(cuEventDestroy(join));

	prog_end();
	return 0;
}
