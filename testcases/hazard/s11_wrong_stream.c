/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reduction stream waits for an event of the default stream; the gradient
 * was written on another stream.
 * SOURCE: scenarios S11
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * MENTIONS: KRT-RACE-RAW "covers nothing of stream"
 * EXPECT-FIXED: none
 * SIM-WRONG: the bucket holds the old gradient
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream backward = stream_nb("backward"), reduce = stream_nb("reduce");
	CUevent ready = event();
	CUdeviceptr grad = device_u32("grad", N), bucket = device_u32("bucket", N);

	set_now(grad, 1, N);
	WRITES(backward, grad, 4 * N);
	FILL(backward, grad, 2, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(ready, backward));
#else
	CU(cuEventRecord(ready, NULL));
#endif
	CU(cuStreamWaitEvent(reduce, ready, 0));
	CU(cuMemcpyDtoDAsync(bucket, grad, 4 * N, reduce));
	UPDATES(reduce, bucket, 4 * N);
	INC(reduce, bucket, 1, N, 0);
	check_u32("bucket[0]", get_u32(bucket, 0), 3);

	CU(cuEventDestroy(ready));
	prog_end();
	return 0;
}
