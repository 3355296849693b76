/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A "synchronous" upload from pageable memory returns once the bytes are staged;
 * a non-blocking stream may start before they have landed.
 * SOURCE: scenarios S27
 * EXPECT: KRT-RACE-RAW warning certain documented count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("queue");
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);
	uint32_t *h = malloc(4 * N);

	MUST(h);
	set_now(d, 0, N);
	host_fill(h, 4, N);
#ifdef FIXED
	CU(cuMemcpyHtoDAsync(d, h, 4 * N, s));
#else
	CU(cuMemcpyHtoD(d, h, 4 * N));
#endif
	READS(s, d, 4 * N);
	WRITES(s, out, 4 * N);
	COPY(s, out, d, N, 0);
	CU(cuStreamSynchronize(s));
	check_u32("out[0]", get_u32(out, 0), 4);

	free(h);
	prog_end();
	return 0;
}
