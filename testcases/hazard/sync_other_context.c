/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context-wide sync covers the current context, not the one whose copy the host
 * reads.
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the old value
 */
#include "prog.h"
#include "contexts.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUcontext other;

	set_now(d, 2, N);
	other = context_new();
	CU(cuCtxSetCurrent(prog_context));
	SPIN(s, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
#ifndef FIXED
	CU(cuCtxSetCurrent(other));
#endif
	CU(cuCtxSynchronize());
	krtsan_host_read(h, 4 * N);
	check_u32("h[0]", ((volatile uint32_t *)h)[0], 2);
	CU(cuCtxSetCurrent(prog_context));
	CU(cuCtxSynchronize());
	context_end(other);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
