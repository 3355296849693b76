/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights that kernels on four streams read at once, some of them while they are copied
 * out as well; each writes a part of one output.  Nothing is declared.
 * EXPECT: none
 */
#include "shapes.h"

enum { N = 1000, STREAMS = 4 };

int main(void)
{
	prog_start();
	shapes_load();
	CUstream s[STREAMS];
	CUdeviceptr w = device_u32("weights", N), out = device_u32("out", STREAMS * N);
	CUdeviceptr index = device_u32("index", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(w, 3, N);
	set_now(index, 0, N);
	set_now(out, 1, STREAMS * N);
	for (int i = 0; i < STREAMS; i++)
		s[i] = stream_nb("worker");
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < STREAMS; i++) {
			ADD(s[i], out + 4 * N * i, w, N, i ? 0 : SLOW / 4);
			UNPACK(s[i], out + 4 * N * i, w, N, 0);
			/* which of them is for the index to say */
			GATHER(s[i], out + 4 * N * i, w, index, N, 0);
			COPY(s[i], out + 4 * N * i, w, N, 0);
		}
	CU(cuMemcpyDtoHAsync(h, w, 4 * N, s[1]));
	check_u32("out[0]", get_u32(out, 0), 3);
	check_u32("out[4N-1]", get_u32(out, STREAMS * N - 1), 3);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
