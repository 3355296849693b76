/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pinned buffer is freed behind an asynchronous set of it.  The driver was
 * seen to wait in cuMemFreeHost; nothing promises that it does.
 * SOURCE: scenarios S19
 * EXPECT: KRT-HOST-FREE-IN-USE warning certain documented count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("check");
	uint32_t *h = pinned_u32("flags", N);

	SPIN(s, SLOW);
	CU(cuMemsetD32Async((CUdeviceptr)(uintptr_t)h, 1, N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
