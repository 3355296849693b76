/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scratch is cleared on the default stream, the kernel runs on a
 * non-blocking one.
 * SOURCE: scenarios S28 (CUTLASS form)
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the kernel adds to old scratch
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("gemm");
	CUdeviceptr w = device_u32("scratch", N);

	set_now(w, 50, N);
	NOTHING(NULL);
	SPIN(NULL, SLOW);
#ifdef FIXED
	CU(cuMemsetD32Async(w, 0, N, s));
#else
	CU(cuMemsetD32Async(w, 0, N, NULL));
#endif
	UPDATES(s, w, 4 * N);
	INC(s, w, 1, N, 0);
	check_u32("scratch[0]", get_u32(w, 0), 1);

	prog_end();
	return 0;
}
