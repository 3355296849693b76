/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel whose atomics are meant to meet what others do (atomic-ok): counters that another
 * stream sets back at any time.
 * OPTIONS: kernels=testcases/harness/sync.kernels
 * EXPECT: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), in = device_u32("in", N);

	set_now(d, 1, N);
	set_now(in, 1, N);
	COPY(a, d, in, N, 0);
	CU(cuMemsetD32Async(d, 0, N, b));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
