/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer copy into another context's buffer against that context's own set.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the peer copy lands on the later set
 */
#include "prog.h"
#include "contexts.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("here"), b;
	CUevent e = event();
	CUdeviceptr src = device_u32("src", N), dst;
	CUcontext other;

	set_now(src, 1, N);
	other = context_new();
	b = stream_nb("there");
	dst = device_u32("dst", N);
	set_now(dst, 0, N);
	CU(cuCtxSetCurrent(prog_context));
	SPIN(a, SLOW);
	CU(cuMemcpyPeerAsync(dst, other, src, prog_context, 4 * N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
#endif
	CU(cuCtxSetCurrent(other));
#ifdef FIXED
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(dst, 2, N, b));
	CU(cuCtxSynchronize());
	CU(cuCtxSetCurrent(prog_context));
	CU(cuCtxSynchronize());
	CU(cuCtxSetCurrent(other));
	check_u32("dst[0]", get_u32(dst, 0), 2);
	context_end(other);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
