/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scalar is copied to pinned memory and read at once.
 * SOURCE: scenarios S22
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: a stale scalar
 * GUARD-LINE: check_u32("scalar", h[0], 3)
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("model");
	CUevent copied = event();
	CUdeviceptr d = device_u32("d", N);
	volatile uint32_t *h = pinned_u32("scalar", 1);

	set_now(d, 0, N);
	WRITES(s, d, 4 * N);
	FILL(s, d, 3, N, SLOW);
	CU(cuMemcpyDtoHAsync((void *)h, d, 4, s));
#ifdef FIXED
	CU(cuEventRecord(copied, s));
	CU(cuEventSynchronize(copied));
#endif
	krtsan_host_read((void *)h, 4);
	check_u32("scalar", h[0], 3);

	CU(cuStreamSynchronize(s));
	CU(cuMemFreeHost((void *)h));
	CU(cuEventDestroy(copied));
	prog_end();
	return 0;
}
