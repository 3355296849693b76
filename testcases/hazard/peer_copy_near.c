/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer copy without a stream between two contexts of one device is an operation of
 * the legacy stream, which a non-blocking stream does not know of.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "contexts.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr src = device_u32("src", N), dst;
	CUcontext other;

	set_now(src, 1, N);
	other = context_new();
	dst = device_u32("dst", N);
	CU(cuCtxSetCurrent(prog_context));
	WRITES(s, src, 4 * N);
	FILL(s, src, 2, N, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	CU(cuMemcpyPeer(dst, other, src, prog_context, 4 * N));
	CU(cuCtxSynchronize());
	CU(cuCtxSetCurrent(other));
	check_u32("dst[0]", get_u32(dst, 0), 2);
	context_end(other);

	prog_end();
	return 0;
}
