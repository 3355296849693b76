/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wait for an event that is recorded too late.
 * EXPECT: KRT-EVENT-UNRECORDED warning certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream producer = stream_nb("producer"), consumer = stream_nb("consumer");
	CUdeviceptr x = device("x"), y = device("y");
	CUevent ready = event();

	/* example */
#ifndef FIXED
	cuStreamWaitEvent(consumer, ready, 0); /* no record yet: does nothing */
#endif
	fill(producer, x); /* a kernel that writes x */
	cuEventRecord(ready, producer);
#ifdef FIXED
	cuStreamWaitEvent(consumer, ready, 0); /* after the record */
#endif
	fill(consumer, y);
	/* end */

	CU(cuCtxSynchronize());
	prog_end();
	return 0;
}
