/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each round waits for the event of two rounds before, which guards a staging buffer;
 * but each round frees memory as well, and that waits for the device: the event's wait
 * then finds all done, and is not what lets the device run dry.
 * Fixed: memory allocated once.
 * EXPECT: KRT-PERF-ALLOC-HOT note certain both count=1
 * FINDINGS: 1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 64, ROUNDS = 40 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr sum = device_u32("sum", N), in[2], work;
	uint32_t *h[2] = {pinned_u32("h0", N), pinned_u32("h1", N)};
	CUevent used[2] = {event(), event()};

	in[0] = device_u32("in0", N);
	in[1] = device_u32("in1", N);
	set_now(sum, 0, N);
#ifdef FIXED
	CU(cuMemAlloc(&work, 4 * N));
#endif
	for (int i = 0; i < ROUNDS; i++) {
		int k = i % 2;

		if (i >= 2)
			CU(cuEventSynchronize(used[k]));
		krtsan_host_write(h[k], 4 * N);
		h[k][0] = 1;
#ifndef FIXED
		CU(cuMemAlloc(&work, 4 * N));
#endif
		CU(cuMemcpyHtoDAsync(in[k], h[k], 4 * N, s));
		ADD(s, sum, in[k], N, 0);
		CU(cuEventRecord(used[k], s));
#ifndef FIXED
		CU(cuMemFree(work));
#endif
	}
	check_u32("sum[0]", get_u32(sum, 0), ROUNDS);

	prog_end();
	return 0;
}
