/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronising the legacy stream was seen to wait for blocking streams; documented is
 * the stream's own work.
 * EXPECT: KRT-HOST-READ-RACE warning certain documented count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_blocking("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 2, N);
	NOTHING(s);
	SPIN(s, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#else
	CU(cuStreamSynchronize(NULL));
#endif
	krtsan_host_read(h, 4 * N);
	check_u32("h[0]", h[0], 2);
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
