/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that is initialised and torn down again and again: context, module,
 * streams, events, memory of every kind.
 */
#include "prog.h"
#include "contexts.h"

enum { N = 512, ROUNDS = 4 };

int main(void)
{
	prog_start();
	for (uint32_t round = 0; round < ROUNDS; round++) {
		CUcontext c = context_new();
		struct prog_kernels k;
		CUstream s, t;
		CUevent e;
		CUdeviceptr d, p;
		uint32_t *h;

		prog_load(&k);
		s = stream_nb("s");
		t = stream_blocking("t");
		e = event();
		d = device_u32("d", N);
		h = pinned_u32("h", N);
		CU(cuMemAllocAsync(&p, 4 * N, s));
		K_PVN(&k, fill, s, p, round, N, 1000);
		CU(cuMemcpyDtoDAsync(d, p, 4 * N, s));
		CU(cuMemFreeAsync(p, s));
		CU(cuEventRecord(e, s));
		CU(cuStreamWaitEvent(t, e, 0));
		CU(cuMemcpyDtoHAsync(h, d, 4 * N, t));
		CU(cuStreamSynchronize(t));
		if (h[0] != round)
			check_u32("h[0]", h[0], round);
		CU(cuEventDestroy(e));
		CU(cuStreamDestroy(s));
		CU(cuStreamDestroy(t));
		if (round & 1) {
			/* Else the context takes them along. */
			CU(cuMemFree(d));
			CU(cuMemFreeHost(h));
			CU(cuModuleUnload(k.module));
		}
		context_end(c);
	}

	prog_end();
	return 0;
}
