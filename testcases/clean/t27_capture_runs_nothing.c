/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a stream captures, what it is given does not run: the host reads and writes
 * the buffers that the captured work names, other streams use them, and one of them is
 * freed and never replayed.
 * SOURCE: trap T27
 */
#include "prog.h"

enum { N = 512, ROUNDS = 4 };

int main(void)
{
	prog_start();
	CUstream capturing = stream_nb("capturing"), fork = stream_nb("fork"),
		 other = stream_nb("other");
	CUdeviceptr d = device_u32("d", N), given_up = device_u32("given up", N);
	uint32_t *in = pinned_u32("in", N), *out = pinned_u32("out", N);
	CUevent forked = event(), joined = event();
	CUgraphExec exec;
	CUgraph graph;

	/* A capture that comes to nothing. */
	CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemsetD32Async(given_up, 1, N, capturing));
	CU(cuStreamEndCapture(capturing, &graph));
	CU(cuGraphDestroy(graph));
	CU(cuMemFree(given_up));

	set_now(d, 0, N);
	CU(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemcpyHtoDAsync(d, in, 4 * N, capturing));
	CU(cuEventRecord(forked, capturing));
	CU(cuStreamWaitEvent(fork, forked, 0));
	INC(fork, d, 1, N, 0);
	CU(cuEventRecord(joined, fork));
	CU(cuStreamWaitEvent(capturing, joined, 0));
	CU(cuMemcpyDtoHAsync(out, d, 4 * N, capturing));
	/* nothing of this has happened, or will on its own */
	krtsan_host_write(in, 4 * N);
	host_fill(in, 7, N);
	krtsan_host_read(out, 4 * N);
	check_u32("out[0]", ((volatile uint32_t *)out)[0], 0);
	CU(cuMemsetD32Async(d, 3, N, other));
	CU(cuMemcpyDtoHAsync(out, d, 4 * N, other));
	CU(cuStreamSynchronize(other));
	krtsan_host_read(out, 4 * N);
	check_u32("out[0]", ((volatile uint32_t *)out)[0], 3);
	CU(cuStreamEndCapture(capturing, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));

	for (uint32_t i = 0; i < ROUNDS; i++) {
		krtsan_host_write(in, 4 * N);
		host_fill(in, i, N);
		CU(cuGraphLaunch(exec, other));
		CU(cuStreamSynchronize(other));
		krtsan_host_read(out, 4 * N);
		check_u32("out[0]", ((volatile uint32_t *)out)[0], i + 1);
	}
	CU(cuGraphExecDestroy(exec));
	CU(cuEventDestroy(forked));
	CU(cuEventDestroy(joined));
	CU(cuMemFreeHost(in));
	CU(cuMemFreeHost(out));

	prog_end();
	return 0;
}
