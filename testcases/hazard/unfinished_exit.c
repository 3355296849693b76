/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last results are on their way to the host when the program ends: of two streams
 * one is waited for.
 * EXPECT: KRT-UNFINISHED warning certain both count=1
 * MENTIONS: KRT-UNFINISHED "the process exits"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", 2 * N);
	uint32_t *h = pinned_u32("h", 2 * N);
	CUevent e = event();

	set_now(d, 1, 2 * N);
	for (int i = 0; i < 2; i++) {
		CU(cuMemcpyDtoHAsync(h, d, 4 * N, a));
		CU(cuMemcpyDtoHAsync(h + N, d + 4 * N, 4 * N, b));
	}
	CU(cuStreamSynchronize(a));
	check_u32("h[0]", h[0], 1);
#ifdef FIXED
	CU(cuEventRecord(e, b));
	while (cuEventQuery(e) == CUDA_ERROR_NOT_READY)
		;
#endif
	CU(cuEventDestroy(e));
	return 0;
}
