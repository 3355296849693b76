/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another thread waits for the device while a stream captures in global mode: its
 * call fails and breaks the capture, which learns of it at its next call. Fixed: a
 * thread-local capture, and a wait for a stream.
 * EXPECT: KRT-CAPTURE-ISOLATION error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-CAPTURE-ISOLATION "by another thread"
 * MENTIONS: KRT-CAPTURE-ISOLATION "cuCtxSynchronize"
 * SOURCE: ggml-org/llama.cpp#14033, vllm-project/vllm#48053 (S37)
 */
#include "prog.h"

enum { N = 1024 };

static CUstream elsewhere;

static void *other(void *unused)
{
	CU(cuCtxSetCurrent(prog_context));
#ifdef FIXED
	CU(cuStreamSynchronize(elsewhere));
#else
	MUST(cuCtxSynchronize() != CUDA_SUCCESS);
#endif
	return unused;
}

int main(void)
{
	prog_start();
	CUstream user = stream_nb("user");
	CUdeviceptr a = device_u32("a", N);
	CUgraph graph = NULL;
	pthread_t t;

	elsewhere = stream_nb("elsewhere");
#ifdef FIXED
	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
#else
	CU(cuStreamBeginCapture(user, CU_STREAM_CAPTURE_MODE_GLOBAL));
#endif
	FILL(user, a, 1, N, 0);
	MUST(!pthread_create(&t, NULL, other, NULL));
	MUST(!pthread_join(t, NULL));
#ifdef FIXED
	FILL(user, a, 2, N, 0);
	CU(cuStreamEndCapture(user, &graph));
	CU(cuGraphDestroy(graph));
#else
	MUST(cuStreamEndCapture(user, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
#endif

	prog_end();
	return 0;
}
