/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned memory is set through its device address and read by the CPU too early.
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the old value
 * GUARD: none: a part of a page
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr alias;
	void *p;

	CU(cuMemHostAlloc(&p, 4 * N, CU_MEMHOSTALLOC_DEVICEMAP));
	host_fill(p, 1, N);
	CU(cuMemHostGetDevicePointer(&alias, (char *)p + 1024, 0));
	SPIN(s, SLOW);
	CU(cuMemsetD32Async(alias, 2, 16, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	krtsan_host_read((char *)p + 1024, 64);
	check_u32("first set", ((volatile uint32_t *)p)[256], 2);
	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(p));

	prog_end();
	return 0;
}
