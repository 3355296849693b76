/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cooperative launches whose barriers do not meet: a workspace for each stream in one
 * allocation, and one that goes from stream to stream by events; ordinary kernels add
 * to a shared counter meanwhile.
 * SOURCE: the right side of scenario S43, trap T17
 */
#include "prog.h"

enum { N = 256, BLOCKS = 2, STREAMS = 3, ROUNDS = 3 };

int main(void)
{
	prog_start();
	CUstream s[STREAMS];
	CUevent e = event();
	CUdeviceptr d = device_u32("d", STREAMS * N), work = device_u32("workspaces", STREAMS),
		    token = device_u32("token", 1), sum = device_u32("sum", 1);
	uint32_t arrivals = 0;

	set_now(d, 0, STREAMS * N);
	set_now(work, 0, STREAMS);
	set_now(token, 0, 1);
	set_now(sum, 0, 1);
	for (int i = 0; i < STREAMS; i++)
		s[i] = stream_nb("worker");
	for (uint32_t round = 1; round <= ROUNDS; round++)
		for (uint32_t i = 0; i < STREAMS; i++) {
			CUdeviceptr mine = d + 4 * N * i, counter = work + 4 * i;
			uint32_t blocks = round * BLOCKS, n = N;
			uint64_t cycles = 1000;
			void *args[] = {&mine, &counter, &blocks, &n, &cycles};

			UPDATES(s[i], mine, 4 * N);
			ATOMICS(s[i], counter, 4);
			CU(cuLaunchCooperativeKernel(prog.meet, BLOCKS, 1, 1, 64, 1, 1, 0, s[i],
						     args));
			ATOMICS(s[i], sum, 4);
			TALLY(s[i], sum, 1, N, 0);
			/* the shared one, in turn */
			counter = token;
			arrivals += BLOCKS;
			blocks = arrivals;
			UPDATES(s[i], mine, 4 * N);
			ATOMICS(s[i], counter, 4);
			CU(cuStreamWaitEvent(s[i], e, 0));
			CU(cuLaunchCooperativeKernel(prog.meet, BLOCKS, 1, 1, 64, 1, 1, 0, s[i],
						     args));
			CU(cuEventRecord(e, s[i]));
		}
	check_u32("d[0]", get_u32(d, 0), 2 * ROUNDS);
	check_u32("token", get_u32(token, 0), arrivals);
	check_u32("sum", get_u32(sum, 0), STREAMS * ROUNDS * N);
	CU(cuEventDestroy(e));

	prog_end();
	return 0;
}
