/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that look like device pointers and are none: a stale pointer in a by-value
 * struct, a 64-bit number near an allocation, two 32-bit parameters side by side.
 * SOURCE: trap T29
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), busy = device_u32("busy", N);
	struct {
		CUdeviceptr dst, unused;
		uint32_t v, n;
	} packed = {d, busy, 5, N};
	uint64_t cycles = SLOW, number = busy + 4 * N + (1ull << 40);
	uint32_t n = N, low = (uint32_t)busy;
	void *args_packed[] = {&packed, &cycles}, *args_scalar[] = {&d, &number, &n, &cycles},
	     *args_words[] = {&d, &low, &n, &cycles};

	set_now(d, 0, N);
	CU(cuLaunchKernel(prog.packed, 1, 1, 1, 64, 1, 1, 0, a, args_packed, NULL));
	CU(cuMemsetD32Async(busy, 1, N, b));
	cycles = 0;
	CU(cuLaunchKernel(prog.scalar, 1, 1, 1, 64, 1, 1, 0, a, args_scalar, NULL));
	CU(cuLaunchKernel(prog.fill, 1, 1, 1, 64, 1, 1, 0, a, args_words, NULL));
	CU(cuMemsetD32Async(busy, 2, N, b));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
