/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cooperative launch against a read-back.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 256, BLOCKS = 4 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N), counter = device_u32("counter", 1);
	uint32_t *h = pinned_u32("h", N), blocks = BLOCKS, n = N;
	uint64_t cycles = SLOW / 8;
	void *args[] = {&d, &counter, &blocks, &n, &cycles};

	set_now(d, 1, N);
	set_now(counter, 0, 1);
	UPDATES(a, d, 4 * N);
	ATOMICS(a, counter, 4);
	CU(cuLaunchCooperativeKernel(prog.meet, BLOCKS, 1, 1, 64, 1, 1, 0, a, args));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	check_u32("arrivals", get_u32(counter, 0), BLOCKS);
	check_u32("d[0]", get_u32(d, 0), 2);

	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
