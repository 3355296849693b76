/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event is recorded on a stream of another context than it was created in: the
 * driver refuses, and a wait for it orders nothing.
 * EXPECT: KRT-WRONG-DEVICE error certain both count=1
 * MENTIONS: KRT-WRONG-DEVICE "was created in context 1"
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "contexts.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("here"), b;
	CUevent e = event();
	CUcontext other = context_new();
	CUdeviceptr d;
	CUresult r;

	b = stream_nb("there");
	d = device_u32("d", N);
#ifdef FIXED
	CU(cuEventDestroy(e));
	e = event();
#endif
	CU(cuMemsetD32Async(d, 1, N, b));
	r = cuEventRecord(e, b);
	printf("record %s\n", r == CUDA_SUCCESS ? "done" : "refused");
	CU(cuStreamWaitEvent(a, e, 0));
	CU(cuStreamSynchronize(b));
	check_u32("d[0]", get_u32(d, 0), 1);
	CU(cuEventDestroy(e));
	CU(cuMemFree(d));
	context_end(other);

	prog_end();
	return 0;
}
