/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record fails (the event belongs to another context than the stream), nobody
 * looks at the result, and the event is waited for all the same.
 * EXPECT: KRT-EVENT-FAILED warning certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "contexts.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUcontext other = context_new();
	CUstream foreign = stream_nb("foreign"), a, b;
	CUevent e;
	CUdeviceptr d;

	CU(cuCtxSetCurrent(prog_context));
	a = stream_nb("a");
	b = stream_nb("b");
	e = event();
	d = device_u32("d", N);
	CU(cuMemsetD32Async(d, 1, N, a));
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#ifdef FIXED
	MUST(cuEventRecord(e, a) == CUDA_SUCCESS);
#else
	MUST(cuEventRecord(e, foreign) != CUDA_SUCCESS);
#endif
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemsetD32Async(d, 2, N, b));
	CU(cuCtxSynchronize());

	CU(cuEventDestroy(e));
	(void)foreign;
	context_end(other);

	prog_end();
	return 0;
}
