/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer is passed to kernels that never touch it, while kernels elsewhere use it;
 * and to one that is declared to touch something else, while a copy writes it.
 * SOURCE: trap T30
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr bias = device_u32("bias", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(bias, 1, N);
	MAYBE(a, bias, 0, N, SLOW);
	INC(b, bias, 1, N, 0);
	check_u32("bias[0]", get_u32(bias, 0), 2);
	NOTHING(a);
	MAYBE(a, bias, 0, N, SLOW);
	CU(cuMemcpyHtoDAsync(bias, h, 4 * N, b));
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
