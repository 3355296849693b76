/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capturing stream waits for an event from outside of the capture.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream producer = stream_nb("producer"), consumer = stream_nb("consumer");
	CUdeviceptr x = device("x"), y = device("y");
	CUgraph graph = NULL;
	CUevent ready = event();

	/* example */
	fill(producer, x); /* a kernel that writes x */
	cuEventRecord(ready, producer);
#ifdef FIXED
	cuStreamWaitEvent(consumer, ready, 0); /* before the capture begins */
#endif
	cuStreamBeginCapture(consumer, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
#ifndef FIXED
	cuStreamWaitEvent(consumer, ready, 0); /* the record is not of this capture */
#endif
	cuMemcpyDtoDAsync(y, x, bytes, consumer);
	cuStreamEndCapture(consumer, &graph);
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
