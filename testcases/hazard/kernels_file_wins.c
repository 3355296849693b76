/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's kernels file comes before the one that comes with krtsan: it says of the same
 * kernel that it writes twice as much, and so two halves meet.  Fixed, an annotation of the
 * program comes before both.
 * OPTIONS: kernels=testcases/harness/wins.kernels
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "elementwise.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", 2 * N);

	elementwise_start();
	set_now(d, 1, 2 * N);
#ifdef FIXED
	krtsan_access(a, (void *)(uintptr_t)d, 4 * (N / 2), KRTSAN_WRITE);
#endif
	ELEMENTWISE(a, d, 2, N / 2);
#ifdef FIXED
	krtsan_access(b, (void *)(uintptr_t)(d + 4 * (N / 2)), 4 * (N / 2), KRTSAN_WRITE);
#endif
	ELEMENTWISE(b, d + 4 * (N / 2), 3, N / 2);
	CU(cuCtxSynchronize());
	check_u32("d[0]", get_u32(d, 0), 2);
	CU(cuModuleUnload(elementwise_module));

	prog_end();
	return 0;
}
