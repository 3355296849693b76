/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU reads managed memory that a kernel still writes.
 * EXPECT: KRT-HOST-READ-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the old value
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr m;
	volatile uint32_t *h;

	CU(cuMemAllocManaged(&m, 4 * N, CU_MEM_ATTACH_GLOBAL));
	h = (uint32_t *)(uintptr_t)m;
	krtsan_name((void *)h, 4 * N, "managed");
	host_fill((uint32_t *)h, 1, N);
	WRITES(s, m, 4 * N);
	FILL(s, m, 2, N, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	krtsan_host_read((void *)h, 4);
	check_u32("managed[0]", h[0], 2);
	CU(cuCtxSynchronize());
	CU(cuMemFree(m));

	prog_end();
	return 0;
}
