/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watchdog asks for an event whose record is being captured. Fixed: it asks for
 * one that was recorded outside.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "cuEventQuery"
 * MENTIONS: KRT-CAPTURE-ISOLATION "it has not happened"
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream user = stream_nb("user"), other = stream_nb("other");
	CUevent ev = event();
	CUdeviceptr a = device_u32("a", N);
	CUgraph graph = NULL;
	CUresult r;

	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_RELAXED));
	FILL(user, a, 1, N, 0);
#ifdef FIXED
	CU(cuEventRecord(ev, other));
#else
	CU(cuEventRecord(ev, user));
	(void)other;
#endif
	r = cuEventQuery(ev);
#ifdef FIXED
	MUST(r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY);
	CU(cuStreamEndCapture(user, &graph));
	CU(cuGraphDestroy(graph));
#else
	MUST(r == CUDA_ERROR_CAPTURED_EVENT);
	if (cuStreamEndCapture(user, &graph) == CUDA_SUCCESS)
		CU(cuGraphDestroy(graph));
#endif
	CU(cuCtxSynchronize());
	CU(cuEventDestroy(ev));

	prog_end();
	return 0;
}
