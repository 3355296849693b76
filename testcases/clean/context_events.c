/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event that covers a whole context, and a wait that holds a whole context.
 */
#include "prog.h"
#include "contexts.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b"), there;
	CUdeviceptr x = device_u32("x", N), y = device_u32("y", N), out;
	CUevent e = event();
	CUcontext other;

	SPIN(a, SLOW);
	CU(cuMemsetD32Async(x, 1, N, a));
	CU(cuMemsetD32Async(y, 2, N, b));
	CU(cuCtxRecordEvent(prog_context, e));
	other = context_new();
	there = stream_nb("there");
	out = device_u32("out", 2 * N);
	CU(cuCtxWaitEvent(other, e));
	CU(cuMemcpyPeerAsync(out, other, x, prog_context, 4 * N, there));
	CU(cuMemcpyPeerAsync(out + 4 * N, other, y, prog_context, 4 * N, there));
	check_u32("out[0]", get_u32(out, 0), 1);
	check_u32("out[N]", get_u32(out, N), 2);
	context_end(other);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
