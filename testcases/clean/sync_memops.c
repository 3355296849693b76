/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pointer attribute makes blocking copies of its buffer complete on return, also
 * those that would not be.
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N);
	uint32_t *h = pinned_u32("h", N);
	int on = 1;

	set_now(a, 2, N);
	CU(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, b));
	CU(cuMemcpyDtoD(b, a, 4 * N));
	CU(cuMemcpyDtoHAsync(h, b, 4 * N, s));
	CU(cuStreamSynchronize(s));
	check_u32("h[0]", h[0], 2);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
