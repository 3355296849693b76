/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One physical allocation at two addresses: written through one, read through the
 * other.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the old content comes back
 */
#include "prog.h"
#include "vmm.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent e = event();
	struct vmm m = vmm_new();
	CUdeviceptr one = vmm_map(&m), two = vmm_map(&m);
	uint32_t *h = pinned_u32("h", N);

	set_now(one, 1, N);
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(one, 2, N, a));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemcpyDtoHAsync(h, two, 4 * N, b));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 2);

	CU(cuMemFreeHost(h));
	vmm_unmap(&m, one);
	vmm_unmap(&m, two);
	vmm_end(&m);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
