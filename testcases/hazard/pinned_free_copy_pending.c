/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pinned buffer is freed while its upload is pending.
 * EXPECT: KRT-HOST-FREE-IN-USE warning certain documented count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("upload");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	SPIN(s, SLOW);
	CU(cuMemcpyHtoDAsync(d, h, 4 * N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	CU(cuMemFreeHost(h));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
