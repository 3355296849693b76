/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What looks like trouble for a capture and is none: waits and records with the
 * EXTERNAL flag, an event of before that is recorded again inside, forks that join
 * through one another, questions about the capture's status, another thread's
 * unsafe calls while the mode is thread-local, unsafe calls in relaxed mode, the
 * legacy stream beside a non-blocking one.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1024 };

static void *other(void *unused)
{
	CUdeviceptr p;

	CU(cuCtxSetCurrent(prog_context));
	CU(cuMemAlloc(&p, 4096));
	CU(cuMemsetD32(p, 0, 1024));
	CU(cuStreamSynchronize(CU_STREAM_LEGACY));
	CU(cuMemFree(p));
	return unused;
}

int main(void)
{
	prog_start();
	CUstream user = stream_nb("user"), left = stream_nb("left"), right = stream_nb("right");
	CUevent outside = event(), ev = event(), join = event();
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N), c;
	CUstreamCaptureStatus status;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUgraph graph;
	pthread_t t;

	CU(cuEventRecord(outside, left));
	CU(cuEventRecord(ev, right));
	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuStreamIsCapturing(user, &status));
	MUST(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CU(cuStreamIsCapturing(left, &status));
	MUST(status == CU_STREAM_CAPTURE_STATUS_NONE);
	CU(cuStreamWaitEvent(user, outside, CU_EVENT_WAIT_EXTERNAL));
	CU(cuEventRecord(ev, user));
	CU(cuStreamWaitEvent(left, ev, 0));
	CU(cuStreamWaitEvent(right, ev, 0));
	FILL(left, a, 1, N, 0);
	CU(cuEventRecord(join, left));
	CU(cuStreamWaitEvent(right, join, 0));
	FILL(right, b, 2, N, 0);
	MUST(!pthread_create(&t, NULL, other, NULL));
	MUST(!pthread_join(t, NULL));
	CU(cuThreadExchangeStreamCaptureMode(&mode));
	CU(cuMemAlloc(&c, 4096));
	CU(cuThreadExchangeStreamCaptureMode(&mode));
	CU(cuEventRecord(join, right));
	CU(cuStreamWaitEvent(user, join, 0));
	CU(cuEventRecordWithFlags(outside, user, CU_EVENT_RECORD_EXTERNAL));
	CU(cuStreamEndCapture(user, &graph));
	CU(cuGraphDestroy(graph));
	CU(cuStreamBeginCapture(left, CU_STREAM_CAPTURE_MODE_RELAXED));
	FILL(left, a, 3, N, 0);
	CU(cuMemsetD32Async(c, 1, 1024, CU_STREAM_LEGACY));
	CU(cuStreamEndCapture(left, &graph));
	CU(cuGraphDestroy(graph));
	CU(cuCtxSynchronize());
	CU(cuMemFree(c));
	CU(cuEventDestroy(outside));
	CU(cuEventDestroy(ev));
	CU(cuEventDestroy(join));

	prog_end();
	return 0;
}
