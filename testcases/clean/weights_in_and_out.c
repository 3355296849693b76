/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program does once with each of its many buffers is no hot loop, whatever
 * waits: weights are loaded from pageable memory, a large one by pieces through one
 * pinned buffer; in the end they are saved.
 * EXPECT: none
 */
#include "prog.h"

enum { WEIGHTS = 40, N = 32768, PIECE = 1024, STEPS = 50 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr weight[WEIGHTS], more[WEIGHTS], large = device_u32("large", WEIGHTS * PIECE),
					  x = device_u32("x", N);
	uint32_t *staging = pinned_u32("staging", PIECE);
	static uint32_t file[N];

	set_now(x, 0, N);
	host_fill(file, 1, N);
	for (int i = 0; i < WEIGHTS; i++) {
		CU(cuMemAlloc(&weight[i], 4 * N));
		CU(cuMemcpyHtoDAsync(weight[i], file, 4 * N, s));
		CU(cuStreamSynchronize(s));
	}
	for (int i = 0; i < WEIGHTS; i++) {
		CU(cuMemAlloc(&more[i], 4 * N));
		CU(cuMemcpyHtoDAsync(more[i], file, 4 * N, s));
	}
	for (int i = 0; i < WEIGHTS; i++) {
		krtsan_host_write(staging, 4 * PIECE);
		host_fill(staging, 1, PIECE);
		CU(cuMemcpyHtoDAsync(large + 4 * PIECE * (CUdeviceptr)i, staging, 4 * PIECE, s));
		CU(cuStreamSynchronize(s));
	}
	for (int i = 0; i < STEPS; i++)
		ADD(s, x, weight[i % WEIGHTS], PIECE, 0);
	for (int i = 0; i < WEIGHTS; i++) {
		CU(cuMemcpyDtoHAsync(file, weight[i], 4 * N, s));
		CU(cuStreamSynchronize(s));
	}
	for (int i = 0; i < WEIGHTS; i++)
		CU(cuMemcpyDtoH(file, more[i], 4 * N));
	check_u32("x[0]", get_u32(x, 0), STEPS);
	check_u32("file[0]", file[0], 1);

	prog_end();
	return 0;
}
