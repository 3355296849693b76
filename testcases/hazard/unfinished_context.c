/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context is destroyed with a copy to the host under way: its pinned destination
 * goes with it, and nothing had waited.
 * EXPECT: KRT-UNFINISHED warning certain both count=1
 * MENTIONS: KRT-UNFINISHED "destroys its context"
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "contexts.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUcontext other = context_new();
	struct prog_kernels k;
	CUstream s;
	CUdeviceptr d;
	uint32_t *h;

	prog_load(&k);
	s = stream_nb("there");
	d = device_u32("d", N);
	h = pinned_u32("h", N);
	set_now(d, 1, N);
	K_SPIN(&k, s, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
#ifdef FIXED
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 1);
#endif
	CU(cuCtxDestroy(other));
	CU(cuCtxSetCurrent(prog_context));

	prog_end();
	return 0;
}
