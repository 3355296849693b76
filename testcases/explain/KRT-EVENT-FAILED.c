/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record that failed, and nobody looked.
 * EXPECT: KRT-EVENT-FAILED warning certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream producer = stream_nb("producer"), consumer = stream_nb("consumer");
	CUdeviceptr x = device("x"), y = device("y");
	CUevent done = event();
	unsigned flags = 0;

	/* example */
	fill(producer, x); /* a kernel that writes x */
	cuEventRecord(done, producer);
#ifndef FIXED
	flags = 1u << 30; /* no such flag: the record fails */
#endif
	fill(producer, x);
	cuEventRecordWithFlags(done, producer, flags);
	cuStreamWaitEvent(consumer, done, 0); /* for the first record only */
	fill(consumer, y);
	/* end */

	CU(cuCtxSynchronize());
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
