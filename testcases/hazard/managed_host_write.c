/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU writes managed memory that a copy still reads.
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the copy takes the new value
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr m, d = device_u32("d", N);
	uint32_t *h;

	CU(cuMemAllocManaged(&m, 4 * N, CU_MEM_ATTACH_GLOBAL));
	h = (uint32_t *)(uintptr_t)m;
	host_fill(h, 1, N);
	SPIN(s, SLOW);
	CU(cuMemcpyDtoDAsync(d, m, 4 * N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	krtsan_host_write(h, 4 * N);
	host_fill(h, 2, N);
	check_u32("d[0]", get_u32(d, 0), 1);
	CU(cuMemFree(m));

	prog_end();
	return 0;
}
