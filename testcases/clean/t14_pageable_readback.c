/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy to pageable memory that returned after its completion, and a read.  One
 * warning, no error.
 * SOURCE: trap T14
 * EXPECT: KRT-HOST-READ-RACE warning certain documented count=1
 * EXPECT-FIXED: none
 * GUARD: none: pageable memory is the driver's to copy
 */
#include "prog.h"

enum { N = 64 };

int main(void)
{
	prog_start();
	CUstream s = stream_blocking("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t h[N];

	SPIN(s, SLOW);
	CU(cuMemsetD32Async(d, 2, N, s));
	CU(cuMemcpyDtoHAsync(h, d, sizeof(h), s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	krtsan_host_read(h, sizeof(h));
	check_u32("h[0]", h[0], 2);
	CU(cuStreamSynchronize(s));

	prog_end();
	return 0;
}
