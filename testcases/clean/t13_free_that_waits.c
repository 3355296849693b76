/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuMemFree of ordinary memory under a pending kernel: the driver waits in practice,
 * which the documentation does not promise.  One warning, no error.
 * SOURCE: trap T13
 * EXPECT: KRT-FREE-IN-USE warning certain documented count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N), out = device_u32("out", N);

	set_now(x, 2, N);
	COPY(s, out, x, N, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	CU(cuMemFree(x));
	check_u32("out[0]", get_u32(out, 0), 2);

	prog_end();
	return 0;
}
