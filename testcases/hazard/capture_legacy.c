/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library call uses the legacy stream while a blocking stream captures. Fixed:
 * the captured stream is non-blocking.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "uses the legacy stream"
 * MENTIONS: KRT-CAPTURE-ISOLATION "stream "user""
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
#ifdef FIXED
	CUstream user = stream_nb("user");
#else
	CUstream user = stream_blocking("user");
#endif
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N);
	CUgraph graph = NULL;
	CUresult r;

	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_RELAXED));
	FILL(user, a, 1, N, 0);
	r = cuMemsetD32Async(b, 2, N, CU_STREAM_LEGACY);
#ifdef FIXED
	CU(r);
	CU(cuStreamEndCapture(user, &graph));
	CU(cuGraphDestroy(graph));
#else
	MUST(r == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	MUST(cuStreamEndCapture(user, &graph) != CUDA_SUCCESS);
#endif

	prog_end();
	return 0;
}
