/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels access comes from a kernels file, not from the program.
 * OPTIONS: kernels=testcases/harness/kernels.txt
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the copy kernel reads the old content
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", 2 * N), out = device_u32("out", N);

	set_now(d, 1, 2 * N);
	FILL(a, d, 2, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	/* The last element that the first kernel writes, and what follows. */
	COPY(b, out, d + 4 * (N - 1), N, 0);
	check_u32("out[0]", get_u32(out, 0), 2);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
