/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream-ordered pool for each stream, with temporaries that live for one step;
 * one result crosses over with an event and comes back with another.
 */
#include "prog.h"
#include "pool.h"

enum { N = 4096, STEPS = 5 };

int main(void)
{
	prog_start();
	pool_keeps_memory();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent there = event(), back = event();
	CUdeviceptr acc = device_u32("acc", N);

	set_now(acc, 0, N);
	for (uint32_t i = 0; i < STEPS; i++) {
		CUdeviceptr tmp, shared;

		CU(cuMemAllocAsync(&shared, 4 * N, a));
		CU(cuMemsetD32Async(shared, i, N, a));
		CU(cuEventRecord(there, a));
		CU(cuStreamWaitEvent(b, there, 0));
		CU(cuMemAllocAsync(&tmp, 4 * N, b));
		WRITES(b, tmp, 4 * N);
		READS(b, shared, 4 * N);
		COPY(b, tmp, shared, N, 10000);
		UPDATES(b, acc, 4 * N);
		READS(b, tmp, 4 * N);
		ADD(b, acc, tmp, N, 0);
		CU(cuMemFreeAsync(tmp, b));
		CU(cuEventRecord(back, b));
		CU(cuStreamWaitEvent(a, back, 0));
		CU(cuMemFreeAsync(shared, a));
	}
	check_u32("acc[0]", get_u32(acc, 0), STEPS * (STEPS - 1) / 2);
	CU(cuEventDestroy(there));
	CU(cuEventDestroy(back));

	prog_end();
	return 0;
}
