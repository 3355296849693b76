/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of uploads of the same bytes are in flight, and some of a part of them: the
 * CPU changes the bytes before any is known to be over.
 * EXPECT: KRT-HOST-WRITE-RACE error certain both count>=1
 * EXPECT-FIXED: none
 * CHECKSUM: KRT-HOST-WRITE-RACE
 */
#include "prog.h"

enum { N = 1024, UPLOADS = 3000 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *staging = pinned_u32("staging", N);

	host_fill(staging, 1, N);
	SPIN(s, SLOW);
	for (unsigned i = 0; i < UPLOADS; i++)
		CU(cuMemcpyHtoDAsync(d, staging, i % 3 ? 4 * N : 2 * N, s));
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	krtsan_host_write(staging, 4);
	staging[0] = 2;
	CU(cuStreamSynchronize(s));
	CU(cuMemFreeHost(staging));
	prog_end();
	return 0;
}
