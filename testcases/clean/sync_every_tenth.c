/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sync every tenth step, with and without a value that is fetched before it, and
 * one every third: in less than half of the rounds.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 64, STEPS = 400 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N);
	uint32_t *loss = pinned_u32("loss", 1), *in = pinned_u32("in", N);

	set_now(x, 0, N);
	for (int i = 0; i < STEPS; i++) {
		INC(s, x, 1, N, 0);
		if (i % 10 == 9)
			CU(cuStreamSynchronize(s));
	}
	for (int i = 0; i < STEPS; i++) {
		CU(cuMemcpyHtoDAsync(x, in, 4, s));
		INC(s, x, 1, N, 0);
		if (i % 10 == 0) {
			CU(cuMemcpyDtoHAsync(loss, x, 4, s));
			CU(cuStreamSynchronize(s));
		}
	}
	for (int i = 0; i < STEPS; i++) {
		INC(s, x, 1, N, 0);
		if (i % 3 == 0)
			CU(cuCtxSynchronize());
	}
	check_u32("x[0]", get_u32(x, 0), STEPS + 1);

	prog_end();
	return 0;
}
