/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a graph allocates and leaves behind: used and freed by its stream, by
 * another one that waits, by another graph, freed by the next launch; named in a
 * capture while it is free; its address used by ordinary memory afterwards.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 3 };

static CUstream s, t;
static CUevent e;

static CUgraphExec instantiated(CUgraph graph, unsigned long long flags)
{
	CUgraphExec exec;

	CU(cuGraphInstantiate(&exec, graph, flags));
	CU(cuGraphDestroy(graph));
	return exec;
}

static CUgraphExec maker(CUdeviceptr *left, unsigned long long flags)
{
	CUgraph graph;

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemAllocAsync(left, 4 * N, s));
	CU(cuMemsetD32Async(*left, 7, N, s));
	CU(cuStreamEndCapture(s, &graph));
	return instantiated(graph, flags);
}

static void follows(CUstream later, CUstream earlier)
{
	CU(cuEventRecord(e, earlier));
	CU(cuStreamWaitEvent(later, e, 0));
}

int main(void)
{
	prog_start();
	CUdeviceptr out = device_u32("out", N), left, again, plain;
	CUgraphExec make, user;
	CUgraph graph;

	s = stream_nb("s");
	t = stream_nb("t");
	e = event();
	set_now(out, 0, N);

	make = maker(&left, 0);
	for (int i = 0; i < ROUNDS; i++) {
		CUstream where = i & 1 ? t : s;

		CU(cuGraphLaunch(make, s));
		follows(t, s);
		INC(where, left, 1, N, 0);
		CU(cuMemcpyDtoDAsync(out, left, 4 * N, where));
		CU(cuMemFreeAsync(left, where));
		follows(s, t);
	}
	/* captured while nothing is there */
	CU(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	COPY(t, out, left, N, 0);
	CU(cuMemcpyDtoDAsync(out, left, 4 * N, t));
	CU(cuMemFreeAsync(left, t));
	CU(cuStreamEndCapture(t, &graph));
	user = instantiated(graph, 0);
	for (int i = 0; i < ROUNDS; i++) {
		CU(cuGraphLaunch(make, s));
		CU(cuMemcpyDtoDAsync(out, left, 4 * N, s));
		follows(t, s);
		CU(cuGraphLaunch(user, t));
		follows(s, t);
	}
	CU(cuGraphLaunch(make, s));
	CU(cuStreamSynchronize(s));
	CU(cuMemFree(left));
	CU(cuGraphExecDestroy(user));
	CU(cuGraphExecDestroy(make));

	/* each launch frees what the one before has left */
	make = maker(&again, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	for (int i = 0; i < ROUNDS; i++) {
		CU(cuGraphLaunch(make, s));
		CU(cuMemcpyDtoDAsync(out, again, 4 * N, s));
	}
	CU(cuMemFreeAsync(again, s));
	CU(cuGraphLaunch(make, s));
	CU(cuMemcpyDtoDAsync(out, again, 4 * N, s));
	CU(cuMemFreeAsync(again, s));
	CU(cuStreamSynchronize(s));
	CU(cuGraphExecDestroy(make));
	CU(cuDeviceGraphMemTrim(prog_device));

	CU(cuMemAllocAsync(&plain, 4 * N, s));
	CU(cuMemsetD32Async(plain, 1, N, s));
	CU(cuMemFreeAsync(plain, s));
	CU(cuStreamSynchronize(s));
	prog_end();
	return 0;
}
