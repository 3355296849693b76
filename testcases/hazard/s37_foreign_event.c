/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task without inputs runs on a stream of the pool, which waits for an event from
 * outside of the capture instead of forking from it; the join then breaks the
 * capture.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "a stream that was not forked into the capture"
 * MENTIONS: KRT-CAPTURE-ISOLATION "fork stream "pool" first"
 * MENTIONS: KRT-CAPTURE-ISOLATION "event "done""
 * SOURCE: NVIDIA/cccl#8674 (S37)
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream user = stream_nb("user"), pool = stream_nb("pool");
	CUevent before = event(), done = event();
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N);
	CUgraph graph = NULL;

	krtsan_name(done, 0, "done");
	set_now(a, 0, N);
	set_now(b, 0, N);
	CU(cuEventRecord(before, user));
	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	FILL(user, a, 1, N, 0);
#ifdef FIXED
	CU(cuEventRecord(before, user));
#endif
	CU(cuStreamWaitEvent(pool, before, 0));
	FILL(pool, b, 1, N, 0);
	CU(cuEventRecord(done, pool));
#ifdef FIXED
	CU(cuStreamWaitEvent(user, done, 0));
	ADD(user, a, b, N, 0);
	CU(cuStreamEndCapture(user, &graph));
	CU(cuGraphDestroy(graph));
#else
	MUST(cuStreamWaitEvent(user, done, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	MUST(cuStreamEndCapture(user, &graph) != CUDA_SUCCESS);
#endif
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(before));
	CU(cuEventDestroy(done));

	prog_end();
	return 0;
}
