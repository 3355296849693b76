/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As hazard/launch_bound, but the kernels take 40 us: the device sets the pace.
 * EXPECT: none
 * OPTIONS: timing=cupti:sim_submit_ns=6000:sim_service_ns=40000
 * SIM-ONLY: figures of the virtual clock
 */
#include "prog.h"

enum { N = 64, KERNELS = 120, ROUNDS = 20 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N);
	uint32_t *out = pinned_u32("out", ROUNDS);

	set_now(x, 0, N);
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < KERNELS; k++)
			INC(s, x, 1, N, 0);
		CU(cuMemcpyDtoHAsync(&out[i], x, 4, s));
	}
	CU(cuStreamSynchronize(s));
	check_u32("last", out[ROUNDS - 1], ROUNDS * KERNELS);

	prog_end();
	return 0;
}
