/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy on another stream reads what a host function is still to write; nothing makes
 * that stream wait for the function.
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the copy takes the old content
 */
#include "prog.h"

enum { N = 1024 };

static uint32_t *source;

static void produce(void *arg)
{
	(void)arg;
	krtsan_host_write(source, 4 * N);
	host_fill(source, 2, N);
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("callback"), b = stream_nb("copy");
	CUevent e = event();
	CUdeviceptr d = device_u32("d", N);

	source = pinned_u32("source", N);
	host_fill(source, 1, N);
	SPIN(s, SLOW);
	CU(cuLaunchHostFunc(s, produce, NULL));
#ifdef FIXED
	CU(cuEventRecord(e, s));
	CU(cuStreamWaitEvent(b, e, 0));
#else
	SPIN(b, SLOW / 2);
#endif
	CU(cuMemcpyHtoDAsync(d, source, 4 * N, b));
	check_u32("d[0]", get_u32(d, 0), 2);
	CU(cuMemFreeHost(source));
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
