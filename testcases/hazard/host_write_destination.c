/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU clears a buffer that a read-back is still to fill.
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 2, N);
#ifdef FIXED
	krtsan_host_write(h, 4 * N);
	host_fill(h, 0, N);
#endif
	SPIN(s, SLOW);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, s));
#ifndef FIXED
	krtsan_host_write(h, 4 * N);
	host_fill(h, 0, N);
#endif
	CU(cuStreamSynchronize(s));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
