/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights written once, then read by kernels of which nothing was declared on many streams.
 * SOURCE: trap T15
 */
#include "prog.h"

enum { N = 2048, STREAMS = 8 };

int main(void)
{
	prog_start();
	CUdeviceptr w = device_u32("weights", N), out = device_u32("out", N * STREAMS);
	CUstream s[STREAMS];
	uint32_t *h = pinned_u32("h", N);

	host_fill(h, 3, N);
	CU(cuMemcpyHtoD(w, h, 4 * N));
	CU(cuCtxSynchronize());
	for (int i = 0; i < STREAMS; i++)
		s[i] = stream_nb("worker");
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < STREAMS; i++) {
			COPY(s[i], out + 4 * N * i, w, N, 1000);
			CU(cuMemcpyDtoDAsync(out + 4 * N * i, w, 4 * N, s[i]));
		}
	check_u32("out of the last", get_u32(out, N * (STREAMS - 1)), 3);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
