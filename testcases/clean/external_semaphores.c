/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External semaphores make the order: a timeline through one handle and through
 * two, a wait that is called before its signal, a binary one, nodes of graphs, and
 * a host that reads and frees once the waiting stream is over.
 * EXPECT: none
 * VERDICT: inconclusive "cuWaitExternalSemaphoresAsync"
 * SIM-ONLY: a descriptor is only a name there
 */
#define _GNU_SOURCE
#include "prog.h"

#include <sys/mman.h>

enum { N = 1024 };

static CUexternalSemaphore import(int fd, CUexternalSemaphoreHandleType type)
{
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {.type = type, .handle = {.fd = fd}};
	CUexternalSemaphore sem;

	if (cuImportExternalSemaphore(&sem, &desc) != CUDA_SUCCESS)
		exit(1);
	return sem;
}

static void signal_at(CUexternalSemaphore sem, uint64_t value, CUstream s)
{
	CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS p = {.params = {.fence = {value}}};

	CU(cuSignalExternalSemaphoresAsync(&sem, &p, 1, s));
}

static void wait_for(CUexternalSemaphore sem, uint64_t value, CUstream s)
{
	CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS p = {.params = {.fence = {value}}};

	CU(cuWaitExternalSemaphoresAsync(&sem, &p, 1, s));
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N), spare = device_u32("spare", N);
	uint32_t *h = pinned_u32("h", N);
	int fd = memfd_create("timeline", 0), again = dup(fd), once = memfd_create("binary", 0);
	CUexternalSemaphore one = import(fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
	CUexternalSemaphore two = import(again, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
	CUexternalSemaphore bin = import(once, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD);

	set_now(d, 0, N);
	/* one handle */
	CU(cuMemsetD32Async(d, 1, N, a));
	signal_at(one, 1, a);
	wait_for(one, 1, b);
	CU(cuMemcpyDtoDAsync(out, d, 4 * N, b));
	signal_at(one, 2, b);
	wait_for(one, 2, a);
	/* two */
	CU(cuMemsetD32Async(d, 2, N, a));
	signal_at(one, 3, a);
	wait_for(two, 3, b);
	CU(cuMemcpyDtoDAsync(out, d, 4 * N, b));
	signal_at(two, 4, b);
	/* the wait comes first */
	wait_for(two, 5, b);
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	CU(cuMemsetD32Async(spare, 1, N, b));
	wait_for(one, 4, a);
	CU(cuMemsetD32Async(d, 3, N, a));
	CU(cuMemsetD32Async(spare, 2, N, a));
	signal_at(one, 5, a);
	CU(cuStreamSynchronize(b));
	check_u32("h[0]", h[0], 3);
	CU(cuMemFree(spare));
	/* a binary one */
	CU(cuMemsetD32Async(d, 4, N, b));
	signal_at(bin, 0, b);
	wait_for(bin, 0, a);
	CU(cuMemcpyDtoDAsync(out, d, 4 * N, a));
	signal_at(one, 6, a);

	/* a graph that waits, and one that signals */
	CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS until = {.params = {.fence = {7}}};
	CUDA_EXT_SEM_WAIT_NODE_PARAMS wp = {&two, &until, 1};
	CUDA_MEMSET_NODE_PARAMS set = {.dst = out, .value = 9, .elementSize = 4, .width = N, .height = 1};
	CUgraph waits, signals;
	CUgraphExec waiting, signalling;
	CUgraphNode w, x;

	CU(cuGraphCreate(&waits, 0));
	CU(cuGraphAddExternalSemaphoresWaitNode(&w, waits, NULL, 0, &wp));
	CU(cuGraphAddMemsetNode(&x, waits, &w, 1, &set, prog_context));
	CU(cuGraphInstantiate(&waiting, waits, 0));
	CU(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	CU(cuMemsetD32Async(out, 8, N, a));
	signal_at(one, 7, a);
	CU(cuStreamEndCapture(a, &signals));
	CU(cuGraphInstantiate(&signalling, signals, 0));
	CU(cuGraphLaunch(signalling, a));
	CU(cuGraphLaunch(waiting, b));
	CU(cuMemcpyDtoHAsync(h, out, 4 * N, b));
	CU(cuStreamSynchronize(b));
	check_u32("h[0]", h[0], 9);
	CU(cuDestroyExternalSemaphore(one));
	CU(cuDestroyExternalSemaphore(two));
	CU(cuDestroyExternalSemaphore(bin));
	CU(cuCtxSynchronize());

	prog_end();
	return 0;
}
