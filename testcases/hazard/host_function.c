/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host function reads what a copy on another stream still writes.
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: it sees the old content
 */
#include "prog.h"

enum { N = 2048 };

static uint32_t *h, seen;

static void reduce(void *arg)
{
	(void)arg;
	krtsan_host_read(h, 4 * N);
	seen = ((volatile uint32_t *)h)[0];
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("copy"), b = stream_nb("callback");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);

	h = pinned_u32("h", N);
	set_now(d, 2, N);
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuLaunchHostFunc(b, reduce, NULL));
	CU(cuCtxSynchronize());
	check_u32("seen", seen, 2);

	CU(cuMemFreeHost(h));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
