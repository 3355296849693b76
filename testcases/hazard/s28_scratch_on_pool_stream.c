/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handle 0 is taken for "no stream given": the scratch is cleared on a stream
 * from a pool, the kernel runs on the default stream.
 * SOURCE: scenarios S28 (Triton form)
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the kernel adds to old scratch
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream pooled = stream_nb("pooled");
	CUdeviceptr w = device_u32("scratch", N);

	set_now(w, 50, N);
	NOTHING(pooled);
	SPIN(pooled, SLOW);
#ifdef FIXED
	CU(cuMemsetD32Async(w, 0, N, NULL));
#else
	CU(cuMemsetD32Async(w, 0, N, pooled));
#endif
	UPDATES(NULL, w, 4 * N);
	INC(NULL, w, 1, N, 0);
	check_u32("scratch[0]", get_u32(w, 0), 1);

	prog_end();
	return 0;
}
