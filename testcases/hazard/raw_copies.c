/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream uploads a buffer, another reads it back.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the old content comes back
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream up = stream_nb("up"), down = stream_nb("down");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *src = pinned_u32("src", N), *dst = pinned_u32("dst", N);

	set_now(d, 1, N);
	host_fill(src, 2, N);
	SPIN(up, SLOW);
	CU(cuMemcpyHtoDAsync(d, src, 4 * N, up));
#ifdef FIXED
	CU(cuEventRecord(e, up));
	CU(cuStreamWaitEvent(down, e, 0));
#endif
	CU(cuMemcpyDtoHAsync(dst, d, 4 * N, down));
	CU(cuCtxSynchronize());
	check_u32("dst[0]", dst[0], 2);

	CU(cuMemFreeHost(src));
	CU(cuMemFreeHost(dst));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
