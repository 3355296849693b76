/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step waits for the previous one's event only after it has begun to refill:
 * the guard covers the second buffer, not the first.
 * SOURCE: scenarios S15
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count=1
 * MENTIONS: KRT-HOST-WRITE-RACE "first"
 * EXPECT-FIXED: none
 * SIM-WRONG: step 0 computes with step 1's first buffer
 * CHECKSUM: KRT-HOST-WRITE-RACE
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("step");
	CUevent done = event();
	uint32_t *first = pinned_u32("first", N), *second = pinned_u32("second", N);
	CUdeviceptr d1 = device_u32("d1", N), d2 = device_u32("d2", N),
		    out = device_u32("out", 2 * N);

	set_now(out, 0, 2 * N);
	SPIN(s, SLOW);
	for (uint32_t step = 0; step < 2; step++) {
#ifdef FIXED
		if (step)
			CU(cuEventSynchronize(done));
#endif
		krtsan_host_write(first, 4 * N);
		host_fill(first, 100 + step, N);
#ifndef FIXED
		if (step)
			CU(cuEventSynchronize(done));
#endif
		CU(cuMemcpyHtoDAsync(d1, first, 4 * N, s));
		krtsan_host_write(second, 4 * N);
		host_fill(second, 200 + step, N);
		CU(cuMemcpyHtoDAsync(d2, second, 4 * N, s));
		CU(cuEventRecord(done, s));
		READS(s, d1, 4 * N);
		READS(s, d2, 4 * N);
		UPDATES(s, out + 4 * N * step, 4 * N);
		ADD(s, out + 4 * N * step, d1, N, 0);
	}
	check_u32("step 0", get_u32(out, 0), 100);
	check_u32("step 1", get_u32(out, N), 101);

	CU(cuMemFreeHost(first));
	CU(cuMemFreeHost(second));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
