/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel gets a block after its stream-ordered free, on the same stream.
 * EXPECT: KRT-UAF-STREAM error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "pool.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream a = stream_nb("a");
	CUdeviceptr p, out = device_u32("out", N);

	CU(cuMemAllocAsync(&p, 4 * N, a));
	CU(cuMemsetD32Async(p, 3, N, a));
#ifndef FIXED
	CU(cuMemFreeAsync(p, a));
#endif
	COPY(a, out, p, N, 0);
#ifdef FIXED
	CU(cuMemFreeAsync(p, a));
#endif
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
