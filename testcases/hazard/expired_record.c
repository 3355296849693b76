/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event was recorded before the second read.
 * SOURCE: ordering cases (expired record)
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the second read sees the new content
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("reader"), b = stream_nb("writer");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h1 = pinned_u32("h1", N), *h2 = pinned_u32("h2", N);

	set_now(d, 1, N);
	CU(cuMemcpyDtoHAsync(h1, d, 4 * N, a));
#ifndef FIXED
	CU(cuEventRecord(e, a));
#endif
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h2, d, 4 * N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
#endif
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemsetD32Async(d, 2, N, b));
	CU(cuCtxSynchronize());
	check_u32("h2[0]", h2[0], 1);

	CU(cuMemFreeHost(h1));
	CU(cuMemFreeHost(h2));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
