/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events go right after the wait, streams with work still queued, in any order; the
 * device-wide sync covers what they did.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);

	for (uint32_t i = 0; i < 4; i++) {
		CUstream a = stream_nb("a"), b = stream_nb("b");
		CUevent e = event();

		SPIN(a, 50000);
		CU(cuMemsetD32Async(d, i, N, a));
		CU(cuEventRecord(e, a));
		CU(cuStreamDestroy(a));
		CU(cuStreamWaitEvent(b, e, 0));
		CU(cuEventDestroy(e));
		CU(cuMemcpyDtoDAsync(out, d, 4 * N, b));
		CU(cuStreamDestroy(b));
		CU(cuCtxSynchronize());
	}
	check_u32("out[0]", get_u32(out, 0), 3);

	prog_end();
	return 0;
}
