/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upload reaches past the end of its allocation; the driver refuses it and the
 * program does not look.
 * EXPECT: KRT-COPY-BOUNDS error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("upload");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N + 1);

#ifdef FIXED
	CU(cuMemcpyHtoDAsync(d, h, 4 * N, s));
#else
	(void)cuMemcpyHtoDAsync(d + 4, h, 4 * N, s);
#endif
	CU(cuStreamSynchronize(s));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
