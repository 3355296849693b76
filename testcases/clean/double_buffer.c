/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Double buffering: a copy stream fills one half while the compute stream uses the
 * other; an event for "full" and one for "free" a half.
 */
#include "prog.h"

enum { N = 4096, STEPS = 8 };

int main(void)
{
	prog_start();
	CUstream copy = stream_nb("copy"), compute = stream_nb("compute");
	CUevent full[2] = {event(), event()}, empty[2] = {event(), event()};
	CUdeviceptr in[2] = {device_u32("in0", N), device_u32("in1", N)},
		    acc = device_u32("acc", N);
	uint32_t *host = pinned_u32("host", N * STEPS);

	set_now(acc, 0, N);
	for (uint32_t i = 0; i < STEPS; i++)
		host_fill(host + N * i, i + 1, N);
	for (int i = 0; i < STEPS; i++) {
		int half = i & 1;

		if (i >= 2)
			CU(cuStreamWaitEvent(copy, empty[half], 0));
		CU(cuMemcpyHtoDAsync(in[half], host + N * i, 4 * N, copy));
		CU(cuEventRecord(full[half], copy));
		CU(cuStreamWaitEvent(compute, full[half], 0));
		READS(compute, in[half], 4 * N);
		UPDATES(compute, acc, 4 * N);
		ADD(compute, acc, in[half], N, 20000);
		CU(cuEventRecord(empty[half], compute));
	}
	check_u32("acc[0]", get_u32(acc, 0), STEPS * (STEPS + 1) / 2);
	for (int i = 0; i < 2; i++) {
		CU(cuEventDestroy(full[i]));
		CU(cuEventDestroy(empty[i]));
		CU(cuMemFree(in[i]));
	}
	CU(cuMemFree(acc));
	CU(cuMemFreeHost(host));

	prog_end();
	return 0;
}
