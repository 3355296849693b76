/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copies of one batch are in no order: two of them into one destination race.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * FIX: KRT-RACE-WAW none: the copies of one batch cannot wait for each other
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N), d = device_u32("d", 2 * N);
#ifdef FIXED
	CUdeviceptr dsts[2] = {d, d + 4 * N};
#else
	CUdeviceptr dsts[2] = {d, d + 4 * (N - 1)};
#endif
	CUdeviceptr srcs[2] = {a, b};
	size_t sizes[2] = {4 * N, 4 * N}, first = 0;
	CUmemcpyAttributes attr = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};

	set_now(a, 1, N);
	set_now(b, 2, N);
	CU(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attr, &first, 1, s));
	CU(cuStreamSynchronize(s));

	prog_end();
	return 0;
}
