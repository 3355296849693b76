/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer is overwritten while its read-back on another stream is pending.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the read-back brings the new content
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream down = stream_nb("down"), up = stream_nb("up");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	uint32_t *src = pinned_u32("src", N), *dst = pinned_u32("dst", N);

	set_now(d, 1, N);
	host_fill(src, 2, N);
	SPIN(down, SLOW);
	CU(cuMemcpyDtoHAsync(dst, d, 4 * N, down));
#ifdef FIXED
	CU(cuEventRecord(e, down));
	CU(cuStreamWaitEvent(up, e, 0));
#endif
	CU(cuMemcpyHtoDAsync(d, src, 4 * N, up));
	CU(cuCtxSynchronize());
	check_u32("dst[0]", dst[0], 1);

	CU(cuMemFreeHost(src));
	CU(cuMemFreeHost(dst));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
