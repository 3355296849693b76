/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record fails (it asks for what does not exist), nobody looks at the result, and the
 * event is waited for all the same.
 * EXPECT: KRT-EVENT-FAILED warning certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);

	CU(cuMemsetD32Async(d, 1, N, a));
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#ifdef FIXED
	MUST(cuEventRecord(e, a) == CUDA_SUCCESS);
#else
	MUST(cuEventRecordWithFlags(e, a, 1u << 30) != CUDA_SUCCESS);
#endif
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemsetD32Async(d, 2, N, b));
	CU(cuCtxSynchronize());

	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
