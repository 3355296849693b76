/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered free of the target of a copy that runs on another stream.
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "pool.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream a = stream_nb("owner"), b = stream_nb("upload");
	CUevent ready = event(), done = event();
	CUdeviceptr p;
	uint32_t *src = pinned_u32("src", N);

	CU(cuMemAllocAsync(&p, 4 * N, a));
	CU(cuEventRecord(ready, a));
	CU(cuStreamWaitEvent(b, ready, 0));
	SPIN(b, SLOW);
	CU(cuMemcpyHtoDAsync(p, src, 4 * N, b));
#ifdef FIXED
	CU(cuEventRecord(done, b));
	CU(cuStreamWaitEvent(a, done, 0));
#endif
	CU(cuMemFreeAsync(p, a));
	CU(cuCtxSynchronize());

	CU(cuMemFreeHost(src));
	CU(cuEventDestroy(ready));
	CU(cuEventDestroy(done));

	prog_end();
	return 0;
}
