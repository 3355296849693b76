/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy overwrites what a host function enqueued before it still reads: the
 * copy's stream waits for an event that was recorded in front of the function.
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "gate.h"

enum { N = 2048 };

static uint32_t *h, sum;

static void reduce(void *arg)
{
	krtsan_host_read(h, 4 * N);
	*(uint32_t *)arg = ((volatile uint32_t *)h)[0];
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("callback"), b = stream_nb("copy");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);
	struct gate g = gate_new();

	h = pinned_u32("h", N);
	set_now(d, 2, N);
	/* Held back until all is enqueued: had it run, the host would know. */
	gate_close(&g, a);
	CU(cuEventRecord(e, a));
	CU(cuLaunchHostFunc(a, reduce, &sum));
#ifdef FIXED
	CU(cuEventRecord(e, a));
#endif
	CU(cuStreamWaitEvent(b, e, 0));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	gate_open(&g);
	CU(cuCtxSynchronize());
	gate_free(&g);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
