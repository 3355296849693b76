/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three reads on another stream miss one wait: made before the first of them it mends all
 * three, made before the last one only that.
 * EXPECT: KRT-RACE-RAW error certain both count=3
 * FIX: KRT-RACE-RAW removes+2
 * FIX: KRT-RACE-RAW removes+1
 * FIX: KRT-RACE-RAW removes
 * FINDINGS: 3
 * EXPECT-FIXED: none
 * SIM-WRONG: old bytes are read
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream writer = stream_nb("writer"), reader = stream_nb("reader");
	CUdeviceptr d = device_u32("d", N), x = device_u32("x", N), y = device_u32("y", N);
	uint32_t *h = pinned_u32("h", N);
	CUevent done = event();

	SPIN(writer, SLOW);
	CU(cuMemsetD32Async(d, 7, N, writer));
	CU(cuEventRecord(done, writer));
#ifdef FIXED
	CU(cuStreamWaitEvent(reader, done, 0));
#endif
	CU(cuMemcpyDtoDAsync(x, d, 4 * N, reader));
	CU(cuMemcpyAsync(y, d, 4 * N, reader));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, reader));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 7);

	CU(cuMemFreeHost(h));
	CU(cuMemFree(d));
	CU(cuMemFree(x));
	CU(cuMemFree(y));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
