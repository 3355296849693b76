/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built with per-thread default streams: stream 0 of two threads.
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the read-back brings the other thread's set
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "prog.h"

enum { N = 2048 };

static CUdeviceptr d;
static CUevent e;

static void *writer(void *arg)
{
	(void)arg;
	CU(cuCtxSetCurrent(prog_context));
#ifdef FIXED
	CU(cuStreamWaitEvent(NULL, e, 0));
#endif
	CU(cuMemsetD32(d, 2, N));
	CU(cuStreamSynchronize(NULL));
	return NULL;
}

int main(void)
{
	prog_start();
	pthread_t thread;
	uint32_t *h = pinned_u32("h", N);

	d = device_u32("d", N);
	e = event();
	set_now(d, 1, N);
	SPIN(NULL, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, NULL));
#ifdef FIXED
	CU(cuEventRecord(e, NULL));
#endif
	MUST(!pthread_create(&thread, NULL, writer, NULL));
	MUST(!pthread_join(thread, NULL));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 1);

	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
