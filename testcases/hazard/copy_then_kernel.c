/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel reads a buffer that an unordered upload still writes.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the kernel reads the old content
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("upload"), b = stream_nb("compute");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);
	uint32_t *src = pinned_u32("src", N);

	set_now(d, 1, N);
	host_fill(src, 2, N);
	SPIN(a, SLOW);
	CU(cuMemcpyHtoDAsync(d, src, 4 * N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	COPY(b, out, d, N, 0);
	check_u32("out[0]", get_u32(out, 0), 2);

	CU(cuMemFreeHost(src));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
