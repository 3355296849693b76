/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two executables whose cooperative kernels meet their grids at one counter run side
 * by side; by argument one of the two is launched without a graph.
 * SOURCE: scenario S43
 * EXPECT: KRT-COOP-SHARED error certain both count=1
 * EXPECT-FIXED: none
 * ARGS: eager-first
 * EXPECT: KRT-COOP-SHARED error certain both count=1
 * ARGS: eager-last
 * EXPECT: KRT-COOP-SHARED error certain both count=1
 */
#include "prog.h"

enum { N = 128, BLOCKS = 2, STREAMS = 2 };

static CUdeviceptr d[STREAMS], counter[STREAMS];
static CUstream s[STREAMS];
static uint32_t blocks[STREAMS];

static void meet(int i)
{
	uint32_t n = N;
	uint64_t cycles = 1000;
	void *args[] = {&d[i], &counter[i], &blocks[i], &n, &cycles};

	UPDATES(s[i], d[i], 4 * N);
	ATOMICS(s[i], counter[i], 4);
	CU(cuLaunchCooperativeKernel(prog.meet, BLOCKS, 1, 1, 64, 1, 1, 0, s[i], args));
}

static CUgraphExec captured(int i)
{
	CUgraphExec exec;
	CUgraph graph;

	CU(cuStreamBeginCapture(s[i], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	meet(i);
	CU(cuStreamEndCapture(s[i], &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

int main(int argc, char **argv)
{
	prog_start();
	CUgraphExec exec[STREAMS];
	CUdeviceptr shared = device_u32("semaphores", STREAMS);
	int eager = argc < 2 ? -1 : strcmp(argv[1], "eager-first") ? 1 : 0;

	set_now(shared, 0, STREAMS);
	for (int i = 0; i < STREAMS; i++) {
		s[i] = stream_nb("worker");
		d[i] = device_u32("d", N);
		set_now(d[i], 0, N);
		blocks[i] = BLOCKS;
		counter[i] = shared;
#ifdef FIXED
		counter[i] += (CUdeviceptr)(4 * i);
#endif
		exec[i] = captured(i);
	}
	for (int i = 0; i < STREAMS; i++)
		if (i == eager)
			meet(i);
		else
			CU(cuGraphLaunch(exec[i], s[i]));
	for (int i = 0; i < STREAMS; i++)
		check_u32("d[0]", get_u32(d[i], 0), 1);
	for (int i = 0; i < STREAMS; i++)
		CU(cuGraphExecDestroy(exec[i]));

	prog_end();
	return 0;
}
