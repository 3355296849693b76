/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library's default stream was created without NON_BLOCKING (and with a priority):
 * it orders with stream 0.
 * SOURCE: trap T34
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream lib;
	CUdeviceptr d = device_u32("d", N);
	unsigned int flags;
	uint32_t h[4];

	CU(cuStreamCreateWithPriority(&lib, CU_STREAM_DEFAULT, 0));
	CU(cuStreamGetFlags(lib, &flags));
	MUST(flags == CU_STREAM_DEFAULT);
	set_now(d, 1, N);
	WRITES(lib, d, 4 * N);
	FILL(lib, d, 2, N, SLOW);
	CU(cuMemcpyDtoH(h, d, sizeof(h)));
	krtsan_host_read(h, sizeof(h));
	check_u32("h[0]", h[0], 2);
	CU(cuMemsetD32(d, 3, N));
	WRITES(lib, d, 4 * N);
	FILL(lib, d, 4, N, 0);
	check_u32("d[0]", get_u32(d, 0), 4);

	prog_end();
	return 0;
}
