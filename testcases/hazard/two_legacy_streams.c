/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every context has a legacy stream of its own; two of them do not wait for each
 * other.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the earlier set wins
 */
#include "prog.h"
#include "contexts.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("d", N), two;
	CUevent e = event();
	CUcontext other;

	set_now(d, 0, N);
	other = context_new();
	two = device_u32("two", N);
	set_now(two, 2, N);
	CU(cuCtxSetCurrent(prog_context));
	NOTHING(NULL);
	SPIN(NULL, SLOW);
	CU(cuMemsetD32Async(d, 1, N, NULL));
#ifdef FIXED
	CU(cuEventRecord(e, NULL));
#endif
	CU(cuCtxSetCurrent(other));
#ifdef FIXED
	CU(cuStreamWaitEvent(NULL, e, 0));
#endif
	CU(cuMemcpyPeerAsync(d, prog_context, two, other, 4 * N, NULL));
	CU(cuCtxSynchronize());
	CU(cuCtxSetCurrent(prog_context));
	check_u32("d[0]", get_u32(d, 0), 2);
	context_end(other);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
