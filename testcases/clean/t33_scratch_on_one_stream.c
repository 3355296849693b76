/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Library scratch is overwritten launch after launch on one stream.
 * SOURCE: trap T33
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("gemm");
	CUdeviceptr scratch = device_u32("scratch", N), out = device_u32("out", N);

	set_now(out, 0, N);
	for (uint32_t i = 1; i <= 5; i++) {
		WRITES(s, scratch, 4 * N);
		FILL(s, scratch, i, N, 1000);
		READS(s, scratch, 4 * N);
		UPDATES(s, out, 4 * N);
		ADD(s, out, scratch, N, 0);
	}
	for (uint32_t i = 1; i <= 5; i++) {
		CU(cuMemsetD32Async(scratch, i, N, s));
		ADD(s, out, scratch, N, 0);
	}
	check_u32("out[0]", get_u32(out, 0), 30);

	prog_end();
	return 0;
}
