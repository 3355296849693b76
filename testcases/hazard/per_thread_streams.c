/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads use the per-thread stream: one handle, two streams, no order.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the second thread reads the old content
 */
#include "prog.h"

enum { N = 2048 };

static CUdeviceptr d;
static uint32_t *h;
static CUevent e;

static void *consumer(void *arg)
{
	(void)arg;
	CU(cuCtxSetCurrent(prog_context));
#ifdef FIXED
	CU(cuStreamWaitEvent(CU_STREAM_PER_THREAD, e, 0));
#endif
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, CU_STREAM_PER_THREAD));
	CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

int main(void)
{
	prog_start();
	pthread_t thread;

	d = device_u32("d", N);
	h = pinned_u32("h", N);
	e = event();
	set_now(d, 1, N);
	SPIN(CU_STREAM_PER_THREAD, SLOW);
	CU(cuMemsetD32Async(d, 2, N, CU_STREAM_PER_THREAD));
#ifdef FIXED
	CU(cuEventRecord(e, CU_STREAM_PER_THREAD));
#endif
	MUST(!pthread_create(&thread, NULL, consumer, NULL));
	MUST(!pthread_join(thread, NULL));
	check_u32("h[0]", h[0], 2);

	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
