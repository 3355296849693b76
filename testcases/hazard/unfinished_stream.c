/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream is destroyed with a copy to the host in it, and nothing waits afterwards
 * either.  (The handle's end is no wait.)
 * EXPECT: KRT-UNFINISHED warning certain both count=1
 * MENTIONS: KRT-UNFINISHED "cuStreamDestroy"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 1, N);
	SPIN(s, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
	check_u32("h[0]", h[0], 1);
#endif
	CU(cuStreamDestroy(s));
	return 0;
}
