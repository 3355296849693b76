/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of a graph are given addresses that they never use: a number that is the address of
 * freed memory, a member of a struct that nobody reads; what lies there is freed and written
 * beside the launch.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), busy = device_u32("busy", N), left;
	struct {
		CUdeviceptr dst, unused;
		uint32_t v, n;
	} arg = {d, busy, 5, N};
	uint64_t number = busy, cycles = SLOW;
	uint32_t n = N;
	CUgraphExec exec;
	CUgraph graph;

	CU(cuMemAllocAsync(&left, 4 * N, b));
	CU(cuStreamSynchronize(b));
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	LAUNCH(prog.packed, 1, a, &arg, &cycles);
	LAUNCH(prog.scalar, 1, a, &d, &number, &n, &cycles);
	number = left;
	LAUNCH(prog.scalar, 1, a, &d, &number, &n, &cycles);
	CU(cuStreamEndCapture(a, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, a));
	CU(cuMemsetD32Async(busy, 1, N, b));
	CU(cuMemFreeAsync(left, b));
	CU(cuGraphLaunch(exec, a));
	check_u32("d[5]", get_u32(d, 5), (uint32_t)left);
	CU(cuGraphExecDestroy(exec));
	CU(cuMemFree(busy));
	prog_end();
	return 0;
}
