/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches are fed and computed without a wait; the loss is fetched and waited for
 * once an epoch, and memory is allocated for an epoch, not for a step.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 64, EPOCHS = 24, BATCHES = 8 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N), seen = device_u32("seen", 1);
	uint32_t *batch = pinned_u32("batches", BATCHES * N), *loss = pinned_u32("loss", 1);

	set_now(seen, 0, 1);
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		CUdeviceptr scratch;

		CU(cuMemAlloc(&scratch, 4 * N));
		TALLY(s, seen, 1, 1, 0);
		for (int b = 0; b < BATCHES; b++) {
			CU(cuMemcpyHtoDAsync(x, batch + b * N, 4 * N, s));
			INC(s, x, 1, N, 0);
			COPY(s, scratch, x, N, 0);
		}
		CU(cuMemcpyDtoHAsync(loss, scratch, 4, s));
		CU(cuStreamSynchronize(s));
		CU(cuMemFree(scratch));
		krtsan_host_read(loss, 4);
		MUST(loss[0] == 1);
	}
	check_u32("seen", get_u32(seen, 0), EPOCHS);

	prog_end();
	return 0;
}
