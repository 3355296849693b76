/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory is unregistered while a copy of it is pending.  The driver was
 * seen to wait; nothing promises that it does.
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
	void *h = aligned_alloc(4096, 4 * N);

	MUST(h);
	memset(h, 1, 4 * N);
	CU(cuMemHostRegister(h, 4 * N, CU_MEMHOSTREGISTER_PORTABLE));
	SPIN(s, SLOW);
	CU(cuMemcpyHtoDAsync(d, h, 4 * N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	CU(cuMemHostUnregister(h));
	CU(cuCtxSynchronize());
	free(h);

	prog_end();
	return 0;
}
