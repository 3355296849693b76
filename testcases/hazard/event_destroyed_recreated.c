/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event is destroyed and made anew between record and wait.  The handle may be
 * the same; the record is gone.
 * SOURCE: ordering cases (handle reuse must not order)
 * EXPECT: KRT-EVENT-UNRECORDED warning certain both count=1
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("reader"), b = stream_nb("writer");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 1, N);
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, a));
	CU(cuEventRecord(e, a));
#ifdef FIXED
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuEventDestroy(e));
	e = event();
#else
	CU(cuEventDestroy(e));
	e = event();
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(d, 2, N, b));
	CU(cuCtxSynchronize());

	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
