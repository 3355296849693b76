/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module is loaded and unloaded around each launch.
 * EXPECT: KRT-PERF-CHURN note certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-PERF-CHURN "cuModuleLoadData"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 64, ROUNDS = 20 };

int main(void)
{
	prog_start();
	CUdeviceptr x = device_u32("x", N);
	CUfunction f = prog.inc;

	set_now(x, 0, N);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t v = 1, n = N;
		uint64_t none = 0;
		void *args[] = {&x, &v, &n, &none};

#ifndef FIXED
		CUmodule m;

		CU(cuModuleLoadData(&m, prog_ptx));
		CU(cuModuleGetFunction(&f, m, "inc"));
#endif
		CU(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
#ifndef FIXED
		CU(cuModuleUnload(m));
#endif
	}
	check_u32("x[0]", get_u32(x, 0), ROUNDS);

	prog_end();
	return 0;
}
