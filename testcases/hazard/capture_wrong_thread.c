/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker ends the capture that another thread began. Fixed: the capture is begun
 * in relaxed mode, which any thread may end.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "from another thread than the one that began it"
 */
#include "prog.h"

enum { N = 1024 };

#ifdef FIXED
#define MODE CU_STREAM_CAPTURE_MODE_RELAXED
#else
#define MODE CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
#endif

static void *end(void *stream)
{
	CUgraph graph = NULL;
	CUresult r;

	CU(cuCtxSetCurrent(prog_context));
	r = cuStreamEndCapture(stream, &graph);
#ifdef FIXED
	CU(r);
	CU(cuGraphDestroy(graph));
#else
	MUST(r == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
#endif
	return NULL;
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr a = device_u32("a", N);
	CUgraph graph = NULL;
	pthread_t t;

	CU(cuStreamBeginCapture(s, MODE));
	FILL(s, a, 1, N, 0);
	MUST(!pthread_create(&t, NULL, end, s));
	MUST(!pthread_join(t, NULL));
#ifndef FIXED
	if (cuStreamEndCapture(s, &graph) == CUDA_SUCCESS)
		CU(cuGraphDestroy(graph));
#else
	(void)graph;
#endif

	prog_end();
	return 0;
}
