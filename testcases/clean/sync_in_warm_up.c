/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thirty steps are synced to warm up, in the loop itself or in one before it; the
 * loop that counts is not.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 64, WARM = 30, STEPS = 300 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr x = device_u32("x", N);

	set_now(x, 0, N);
	for (int i = 0; i < STEPS; i++) {
		INC(s, x, 1, N, 0);
		if (i < WARM)
			CU(cuStreamSynchronize(s));
	}
	CU(cuStreamSynchronize(s));
	for (int i = 0; i < WARM; i++) {
		FILL(s, x, 1, N, 0);
		CU(cuStreamSynchronize(s));
	}
	for (int i = 0; i < STEPS; i++)
		FILL(s, x, 2, N, 0);
	check_u32("x[0]", get_u32(x, 0), 2);

	prog_end();
	return 0;
}
