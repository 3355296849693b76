/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A main stream forks to four workers and joins them, three times over one buffer.
 */
#include "prog.h"

enum { N = 4096, WORKERS = 4, ROUNDS = 3 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("main"), w[WORKERS];
	CUevent fork = event(), join[WORKERS];
	CUdeviceptr d = device_u32("d", N);

	set_now(d, 0, N);
	for (int i = 0; i < WORKERS; i++) {
		w[i] = stream_nb("worker");
		join[i] = event();
	}
	for (int round = 0; round < ROUNDS; round++) {
		UPDATES(s, d, 4 * N);
		INC(s, d, 1, N, 5000);
		CU(cuEventRecord(fork, s));
		for (int i = 0; i < WORKERS; i++) {
			CUdeviceptr part = d + 4 * (N / WORKERS) * (size_t)i;

			CU(cuStreamWaitEvent(w[i], fork, 0));
			UPDATES(w[i], part, 4 * (N / WORKERS));
			INC(w[i], part, 10, N / WORKERS, 5000);
			CU(cuEventRecord(join[i], w[i]));
		}
		for (int i = 0; i < WORKERS; i++)
			CU(cuStreamWaitEvent(s, join[i], 0));
	}
	check_u32("d[N-1]", get_u32(d, N - 1), 11 * ROUNDS);
	for (int i = 0; i < WORKERS; i++)
		CU(cuEventDestroy(join[i]));
	CU(cuEventDestroy(fork));

	prog_end();
	return 0;
}
