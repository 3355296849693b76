/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy between device buffers without a stream returns before it is done; a
 * non-blocking stream does not wait for it.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the old content comes back
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(a, 2, N);
	set_now(b, 1, N);
	NOTHING(NULL);
	SPIN(NULL, SLOW);
	CU(cuMemcpyDtoD(b, a, 4 * N));
#ifdef FIXED
	CU(cuCtxSynchronize());
#endif
	CU(cuMemcpyDtoHAsync(h, b, 4 * N, s));
	CU(cuStreamSynchronize(s));
	check_u32("h[0]", h[0], 2);
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
