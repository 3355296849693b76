/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels file says that a kernel writes 100 times as much as its buffer holds.  Each
 * of some streams has a buffer of its own, and they lie side by side: no kernel reaches
 * beyond its memory, so they do not meet.
 * OPTIONS: kernels=testcases/harness/long.kernels
 * EXPECT: none
 */
#include "prog.h"

enum { N = 2048, BUFFERS = 4 };

int main(void)
{
	prog_start();
	CUstream s[BUFFERS];
	CUdeviceptr d[BUFFERS];

	for (int i = 0; i < BUFFERS; i++) {
		s[i] = stream_nb("s");
		d[i] = device_u32("d", N);
		set_now(d[i], 1, N);
	}
	for (int i = 0; i < BUFFERS; i++)
		FILL(s[i], d[i], 2, N, 0);
	CU(cuCtxSynchronize());
	for (int i = 0; i < BUFFERS; i++)
		check_u32("d[0]", get_u32(d[i], 0), 2);

	prog_end();
	return 0;
}
