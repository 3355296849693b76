/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams update one buffer by turns, with one event a direction.
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 20 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent ab = event(), ba = event();
	CUdeviceptr d = device_u32("d", N);

	set_now(d, 0, N);
	for (int i = 0; i < ROUNDS; i++) {
		UPDATES(a, d, 4 * N);
		INC(a, d, 1, N, 1000);
		CU(cuEventRecord(ab, a));
		CU(cuStreamWaitEvent(b, ab, 0));
		UPDATES(b, d, 4 * N);
		INC(b, d, 1, N, 1000);
		CU(cuEventRecord(ba, b));
		CU(cuStreamWaitEvent(a, ba, 0));
	}
	CU(cuStreamSynchronize(a));
	check_u32("d[0]", get_u32(d, 0), 2 * ROUNDS);
	CU(cuEventDestroy(ab));
	CU(cuEventDestroy(ba));

	prog_end();
	return 0;
}
