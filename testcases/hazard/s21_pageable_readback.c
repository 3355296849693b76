/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result is copied to pageable memory and read without a sync.  Drivers were
 * seen to return from the copy after its completion; that is no promise.
 * SOURCE: scenarios S21
 * EXPECT: KRT-HOST-READ-RACE warning certain documented count=1
 * EXPECT-FIXED: none
 * GUARD: none: pageable memory is the driver's to copy
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("library");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = malloc(4 * N);

	MUST(h);
	set_now(d, 0, N);
	WRITES(s, d, 4 * N);
	FILL(s, d, 3, N, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	krtsan_host_read(h, 4 * N);
	check_u32("h[5]", h[5], 3);

	CU(cuStreamSynchronize(s));
	free(h);
	prog_end();
	return 0;
}
