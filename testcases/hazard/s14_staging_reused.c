/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next iteration fills the pinned staging buffer before the previous upload
 * has read it.
 * SOURCE: scenarios S14
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count=2
 * EXPECT-FIXED: none
 * SIM-WRONG: samples of one iteration show up in another
 * CHECKSUM: KRT-HOST-WRITE-RACE
 */
#include "prog.h"

enum { N = 1024, ITERATIONS = 3 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("upload");
	CUevent uploaded = event();
	uint32_t *staging = pinned_u32("staging", N);
	CUdeviceptr in = device_u32("in", N), out = device_u32("out", N * ITERATIONS);

	SPIN(s, SLOW);
	for (uint32_t i = 0; i < ITERATIONS; i++) {
#ifdef FIXED
		if (i)
			CU(cuEventSynchronize(uploaded));
#endif
		krtsan_host_write(staging, 4 * N);
		host_fill(staging, 10 + i, N);
		CU(cuMemcpyHtoDAsync(in, staging, 4 * N, s));
		CU(cuEventRecord(uploaded, s));
		READS(s, in, 4 * N);
		WRITES(s, out + 4 * N * i, 4 * N);
		COPY(s, out + 4 * N * i, in, N, 0);
	}
	check_u32("sample 0", get_u32(out, 0), 10);
	check_u32("sample 1", get_u32(out, N), 11);
	check_u32("sample 2", get_u32(out, 2 * N), 12);

	CU(cuMemFreeHost(staging));
	CU(cuEventDestroy(uploaded));
	prog_end();
	return 0;
}
