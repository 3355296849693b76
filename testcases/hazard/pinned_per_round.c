/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each round pins memory for its upload: from the driver, and of the heap.  Fixed:
 * both are pinned once.
 * EXPECT: KRT-PERF-ALLOC-HOT note certain both count=2
 * FINDINGS: 2
 * MENTIONS: KRT-PERF-ALLOC-HOT "keep a few pinned buffers"
 * MENTIONS: KRT-PERF-ALLOC-HOT "register the memory once before the loop"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024, ROUNDS = 40, AHEAD = 2 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", 2 * N);
	CUevent done[AHEAD];
	void *pinned[AHEAD], *heap[AHEAD];

	set_now(d, 0, 2 * N);
	for (int i = 0; i < AHEAD; i++) {
		done[i] = event();
		MUST(!posix_memalign(&heap[i], 4096, 4 * N));
		memset(heap[i], 0, 4 * N);
#ifdef FIXED
		CU(cuMemHostAlloc(&pinned[i], 4 * N, 0));
		CU(cuMemHostRegister(heap[i], 4 * N, 0));
#endif
	}
	for (int i = 0; i < ROUNDS; i++) {
		int k = i % AHEAD;

		if (i >= AHEAD) {
			CU(cuEventSynchronize(done[k]));
#ifndef FIXED
			CU(cuMemFreeHost(pinned[k]));
			CU(cuMemHostUnregister(heap[k]));
#endif
		}
#ifndef FIXED
		CU(cuMemHostAlloc(&pinned[k], 4 * N, 0));
		CU(cuMemHostRegister(heap[k], 4 * N, 0));
#endif
		host_fill(pinned[k], 1, N);
		host_fill(heap[k], 2, N);
		CU(cuMemcpyHtoDAsync(d, pinned[k], 4 * N, s));
		CU(cuMemcpyHtoDAsync(d + 4 * N, heap[k], 4 * N, s));
		INC(s, d, 1, 2 * N, 0);
		CU(cuEventRecord(done[k], s));
	}
	check_u32("d[0]", get_u32(d, 0), 2);
	check_u32("d[N]", get_u32(d, N), 3);
	for (int i = 0; i < AHEAD; i++) {
		CU(cuMemFreeHost(pinned[i]));
		CU(cuMemHostUnregister(heap[i]));
		free(heap[i]);
	}

	prog_end();
	return 0;
}
