/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of several streams add into one buffer atomically.
 * SOURCE: trap T17
 */
#include "prog.h"

enum { N = 512, BINS = 16, STREAMS = 4 };

int main(void)
{
	prog_start();
	CUdeviceptr bins = device_u32("bins", BINS);
	CUstream s[STREAMS];

	set_now(bins, 0, BINS);
	for (int i = 0; i < STREAMS; i++)
		s[i] = stream_nb("worker");
	for (int i = 0; i < STREAMS; i++) {
		ATOMICS(s[i], bins, 4 * BINS);
		TALLY(s[i], bins, BINS, N, 1000);
	}
	/* Kernels of which nothing was declared that do the same. */
	for (int i = 0; i < STREAMS; i++)
		TALLY(s[i], bins, BINS, N, 1000);
	check_u32("bin 0", get_u32(bins, 0), 2 * STREAMS * N / BINS);
	check_u32("bin 15", get_u32(bins, BINS - 1), 2 * STREAMS * N / BINS);

	prog_end();
	return 0;
}
