/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several contexts at once, each with its own legacy stream and data; results meet
 * through events that cross contexts.
 */
#include "prog.h"
#include "contexts.h"

enum { N = 512, CONTEXTS = 3 };

int main(void)
{
	prog_start();
	CUcontext c[CONTEXTS];
	struct prog_kernels k[CONTEXTS];
	CUdeviceptr d[CONTEXTS], sum = device_u32("sum", N), part = device_u32("part", N);
	CUevent e[CONTEXTS];
	CUstream s = stream_nb("sum");

	set_now(sum, 0, N);
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		c[i] = context_new();
		prog_load(&k[i]);
		d[i] = device_u32("there", N);
		e[i] = event();
		/* Plain stream 0 of this context. */
		CU(cuMemsetD32(d[i], i, N));
		UPDATES(NULL, d[i], 4 * N);
		K_PVN(&k[i], inc, NULL, d[i], 10, N, 20000);
		CU(cuEventRecord(e[i], NULL));
	}
	CU(cuCtxSetCurrent(prog_context));
	for (int i = 0; i < CONTEXTS; i++) {
		CU(cuStreamWaitEvent(s, e[i], 0));
		CU(cuMemcpyPeerAsync(part, prog_context, d[i], c[i], 4 * N, s));
		READS(s, part, 4 * N);
		UPDATES(s, sum, 4 * N);
		ADD(s, sum, part, N, 0);
	}
	check_u32("sum[0]", get_u32(sum, 0), 10 * CONTEXTS + CONTEXTS * (CONTEXTS - 1) / 2);
	for (int i = 0; i < CONTEXTS; i++)
		context_end(c[i]);

	prog_end();
	return 0;
}
