/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that always waits for the slot's event: in its first round nothing was
 * recorded yet, and the wait is a no-op.
 */
#include "prog.h"

enum { N = 1024, SLOTS = 3, STEPS = 9 };

int main(void)
{
	prog_start();
	CUstream up = stream_nb("up"), run = stream_nb("run");
	CUevent used[SLOTS];
	CUdeviceptr slot[SLOTS], out = device_u32("out", N);
	uint32_t *h = pinned_u32("h", N * STEPS);
	CUevent ready = event();

	set_now(out, 0, N);
	for (uint32_t i = 0; i < STEPS; i++)
		host_fill(h + N * i, i, N);
	for (int i = 0; i < SLOTS; i++) {
		used[i] = event();
		slot[i] = device_u32("slot", N);
	}
	for (int i = 0; i < STEPS; i++) {
		CU(cuStreamWaitEvent(up, used[i % SLOTS], 0));
		CU(cuMemcpyHtoDAsync(slot[i % SLOTS], h + N * i, 4 * N, up));
		CU(cuEventRecord(ready, up));
		CU(cuStreamWaitEvent(run, ready, 0));
		ADD(run, out, slot[i % SLOTS], N, 5000);
		CU(cuEventRecord(used[i % SLOTS], run));
	}
	check_u32("out[0]", get_u32(out, 0), STEPS * (STEPS - 1) / 2);
	for (int i = 0; i < SLOTS; i++)
		CU(cuEventDestroy(used[i]));
	CU(cuEventDestroy(ready));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
