/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set without a stream returns before it is done, and a non-blocking stream
 * does not wait for the default stream that it runs on.
 * SOURCE: scenarios S26 (set)
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the kernel reads what the set should have replaced
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("queue");
	CUdeviceptr x = device_u32("x", N), out = device_u32("out", N);

	set_now(x, 1, N);
	/* The default stream is busy with something of its own. */
	NOTHING(NULL);
	SPIN(NULL, SLOW);
#ifdef FIXED
	CU(cuMemsetD32Async(x, 5, N, s));
#else
	CU(cuMemsetD32(x, 5, N));
#endif
	READS(s, x, 4 * N);
	WRITES(s, out, 4 * N);
	COPY(s, out, x, N, 0);
	check_u32("out[0]", get_u32(out, 0), 5);

	prog_end();
	return 0;
}
