/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A per-thread stream is a blocking stream.
 * SOURCE: trap T12
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUdeviceptr x = device_u32("x", N), out = device_u32("out", N);

	set_now(x, 1, N);
	SPIN(CU_STREAM_PER_THREAD, SLOW);
	CU(cuMemsetD32Async(x, 2, N, CU_STREAM_PER_THREAD));
	CU(cuMemcpyDtoDAsync(out, x, 4 * N, CU_STREAM_LEGACY));
	CU(cuMemsetD32Async(x, 3, N, CU_STREAM_PER_THREAD));
	check_u32("out[0]", get_u32(out, 0), 2);

	prog_end();
	return 0;
}
