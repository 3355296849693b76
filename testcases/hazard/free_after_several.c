/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several operations of one stream use a block that another stream frees: one edge is
 * missing, behind the last of them, and that one is told; another stream's use is one
 * of its own.
 * EXPECT: KRT-FREE-IN-USE error certain both count=2
 * FINDINGS: 2
 * MENTIONS: KRT-FREE-IN-USE "cuMemcpyDtoDAsync"
 * MENTIONS: KRT-FREE-IN-USE "kernel inc"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream owner = stream_nb("owner"), first = stream_nb("first"), second = stream_nb("second");
	CUdeviceptr out = device_u32("out", N), d;
	CUevent made = event(), done = event();

	set_now(out, 0, N);
	CU(cuMemAllocAsync(&d, 8 * N, owner));
	CU(cuEventRecord(made, owner));
	CU(cuStreamWaitEvent(first, made, 0));
	CU(cuStreamWaitEvent(second, made, 0));
	CU(cuMemsetD32Async(d, 1, N, first));
	INC(first, d, 1, N, 0);
	CU(cuMemcpyDtoDAsync(out, d, 4 * N, first));
	INC(second, d + 4 * N, 1, N, 0);
#ifdef FIXED
	CU(cuEventRecord(done, first));
	CU(cuStreamWaitEvent(owner, done, 0));
	CU(cuEventRecord(done, second));
	CU(cuStreamWaitEvent(owner, done, 0));
#else
	(void)done;
#endif
	CU(cuMemFreeAsync(d, owner));
	CU(cuCtxSynchronize());
	check_u32("out[0]", get_u32(out, 0), 2);

	prog_end();
	return 0;
}
