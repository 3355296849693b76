/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flag is written before the data: the consumer's wait comes too soon.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the consumer copies the old content
 */
#include "prog.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("producer"), b = stream_nb("consumer");
	CUdeviceptr d = device_u32("d", N), flag = device_u32("flag", 1);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 1, N);
	set_now(flag, 0, 1);
#ifndef FIXED
	CU(cuStreamWriteValue32(a, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
#endif
	SPIN(a, SLOW);
	CU(cuMemsetD32Async(d, 2, N, a));
#ifdef FIXED
	CU(cuStreamWriteValue32(a, flag, 1, CU_STREAM_WRITE_VALUE_DEFAULT));
#endif
	CU(cuStreamWaitValue32(b, flag, 1, CU_STREAM_WAIT_VALUE_GEQ));
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 2);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
