/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peer copies between two contexts, there and back, each followed by an event.
 */
#include "prog.h"
#include "contexts.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("here"), b;
	CUevent sent = event(), back;
	CUdeviceptr x = device_u32("x", N), y;
	CUcontext other = context_new();
	struct prog_kernels k;

	prog_load(&k);
	b = stream_nb("there");
	back = event();
	y = device_u32("y", N);
	CU(cuCtxSetCurrent(prog_context));
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(x, 1, N, a));
	CU(cuMemcpyPeerAsync(y, other, x, prog_context, 4 * N, a));
	CU(cuEventRecord(sent, a));
	CU(cuCtxSetCurrent(other));
	CU(cuStreamWaitEvent(b, sent, 0));
	UPDATES(b, y, 4 * N);
	K_PVN(&k, inc, b, y, 1, N, 20000);
	CU(cuMemcpyPeerAsync(x, prog_context, y, other, 4 * N, b));
	CU(cuEventRecord(back, b));
	CU(cuCtxSetCurrent(prog_context));
	CU(cuStreamWaitEvent(a, back, 0));
	CU(cuMemcpyDtoDAsync(x, x + 2 * N, 2 * N, a));
	check_u32("x[0]", get_u32(x, 0), 2);
	CU(cuEventDestroy(sent));
	context_end(other);

	prog_end();
	return 0;
}
