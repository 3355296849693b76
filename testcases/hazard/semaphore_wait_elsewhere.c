/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream waits for the value that the copying stream signals, and reads what a
 * third one writes. Fixed: the third one signals the next value of the timeline.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-RACE-RAW "stream "third""
 * SIM-ONLY: a descriptor is only a name there
 */
#define _GNU_SOURCE
#include "prog.h"

#include <sys/mman.h>

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream copies = stream_nb("copies"), third = stream_nb("third"), user = stream_nb("user");
	CUdeviceptr d = device_u32("d", N), e = device_u32("e", N), out = device_u32("out", N);
	CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc = {
		.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
		.handle = {.fd = memfd_create("timeline", 0)}};
	CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS at = {.params = {.fence = {1}}};
	CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS until = {.params = {.fence = {1}}};
	CUexternalSemaphore sem;

	if (cuImportExternalSemaphore(&sem, &desc) != CUDA_SUCCESS)
		return 1;
	set_now(d, 0, N);
	set_now(e, 0, N);
	CU(cuMemsetD32Async(d, 1, N, copies));
	CU(cuSignalExternalSemaphoresAsync(&sem, &at, 1, copies));
#ifdef FIXED
	CU(cuWaitExternalSemaphoresAsync(&sem, &until, 1, third));
	until.params.fence.value = at.params.fence.value = 2;
#endif
	CU(cuMemsetD32Async(e, 1, N, third));
#ifdef FIXED
	CU(cuSignalExternalSemaphoresAsync(&sem, &at, 1, third));
#endif
	CU(cuWaitExternalSemaphoresAsync(&sem, &until, 1, user));
	CU(cuMemcpyDtoDAsync(out, d, 4 * N, user));
	CU(cuMemcpyDtoDAsync(out, e, 4 * N, user));
	CU(cuCtxSynchronize());
	CU(cuDestroyExternalSemaphore(sem));

	prog_end();
	return 0;
}
