/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch whose parameters come as one buffer (`extra`), against a set.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the kernel overwrites the later set
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	/* As the kernel's parameters lie: 8-byte ones aligned. */
	struct {
		CUdeviceptr dst;
		uint32_t v, n;
		uint64_t cycles;
	} params = {d, 2, N, SLOW};
	size_t size = sizeof(params);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &params, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &size, CU_LAUNCH_PARAM_END};

	set_now(d, 1, N);
	CU(cuLaunchKernel(prog.fill, 1, 1, 1, 64, 1, 1, 0, a, NULL, extra));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(d, 3, N, b));
	check_u32("d[0]", get_u32(d, 0), 3);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
