/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams set the same bytes; a part of them is enough.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the earlier set wins
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);

	set_now(d, 0, N);
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 1, N / 2 + 1, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(d + 4 * (N / 2), 2, N / 2, b));
	check_u32("d[N/2]", get_u32(d, N / 2), 2);

	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
