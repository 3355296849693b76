/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered free on the allocation stream while the last user runs on
 * another one; the block then goes to a new owner.
 * SOURCE: scenarios S05
 * EXPECT: KRT-FREE-IN-USE error certain both count=1
 * MENTIONS: KRT-FREE-IN-USE "only the other way round"
 * EXPECT-FIXED: none
 * SIM-WRONG: the reader sees the new owner's bytes
 */
#include "prog.h"
#include "pool.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream alloc = stream_nb("alloc"), user = stream_nb("user");
	CUevent ready = event(), done = event();
	CUdeviceptr out = device_u32("out", N), p, q;

	CU(cuMemAllocAsync(&p, 4 * N, alloc));
	CU(cuMemsetD32Async(p, 7, N, alloc));
	CU(cuEventRecord(ready, alloc));
	CU(cuStreamWaitEvent(user, ready, 0));
	COPY(user, out, p, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(done, user));
	CU(cuStreamWaitEvent(alloc, done, 0));
#endif
	CU(cuMemFreeAsync(p, alloc));
	CU(cuMemAllocAsync(&q, 4 * N, alloc));
	CU(cuMemsetD32Async(q, 99, N, alloc));
	CU(cuMemFreeAsync(q, alloc));
	check_u32("out[0]", get_u32(out, 0), 7);

	CU(cuEventDestroy(ready));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
