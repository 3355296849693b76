/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A race that is expected and not there.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 */
#include "prog.h"

enum { N = 256 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a");
	CUdeviceptr d = device_u32("d", N);

	CU(cuMemsetD32Async(d, 1, N, a));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
