/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value written into memory by one stream lets another go on.
 * SOURCE: trap T19
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), flag = device_u32("flag", 4);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 1, N);
	set_now(flag, 0, 4);
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 2, N, a));
	CU(cuStreamWriteValue32(a, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
	CU(cuStreamWaitValue32(b, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	/* And back, with a 64-bit value. */
	CU(cuStreamWriteValue64(b, flag + 8, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
	CU(cuStreamWaitValue64(a, flag + 8, 1, CU_STREAM_WAIT_VALUE_EQ));
	CU(cuMemsetD32Async(d, 3, N, a));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 2);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
