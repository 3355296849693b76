/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of PyTorch writes on two streams, told by its name and parameters in the kernels
 * file that comes with krtsan: one word is written by both.  Fixed, each has its own half.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * MENTIONS: KRT-RACE-WAW "kernels-file"
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "elementwise.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);

	elementwise_start();
	set_now(d, 1, N);
	ELEMENTWISE(a, d, 2, N / 2);
#ifdef FIXED
	ELEMENTWISE(b, d + 4 * (N / 2), 3, N / 2);
#else
	ELEMENTWISE(b, d + 4 * (N / 2 - 1), 3, N / 2);
#endif
	CU(cuCtxSynchronize());
	check_u32("d[0]", get_u32(d, 0), 2);
	CU(cuModuleUnload(elementwise_module));

	prog_end();
	return 0;
}
