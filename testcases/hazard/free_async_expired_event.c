/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The free waits for an event of the user's stream that was recorded before its last
 * use.
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "pool.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream a = stream_nb("owner"), b = stream_nb("user");
	CUevent ready = event(), done = event();
	CUdeviceptr p, out = device_u32("out", N);

	CU(cuMemAllocAsync(&p, 4 * N, a));
	CU(cuMemsetD32Async(p, 1, N, a));
	CU(cuEventRecord(ready, a));
	CU(cuStreamWaitEvent(b, ready, 0));
	COPY(b, out, p, N, 1000);
#ifndef FIXED
	CU(cuEventRecord(done, b));
#endif
	COPY(b, out, p, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(done, b));
#endif
	CU(cuStreamWaitEvent(a, done, 0));
	CU(cuMemFreeAsync(p, a));
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(ready));
	CU(cuEventDestroy(done));

	prog_end();
	return 0;
}
