/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store stream waits for the writer's event, but the batch says that its
 * source may be read at any time from the call on: the wait does not cover it.
 * SOURCE: scenarios S09 (waiting on the stream alone is not enough with ANY)
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * MENTIONS: KRT-RACE-RAW "source order ANY"
 * MENTIONS: KRT-RACE-RAW "give the copy source order STREAM"
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "batch.h"

enum { N = 4096 };

int main(void)
{
	prog_start();
	CUstream compute = stream_nb("compute"), store = stream_nb("store");
	CUevent written = event();
	CUdeviceptr block = device_u32("block", N);
	uint32_t *host = pinned_u32("host_block", N);

	set_now(block, 1, N);
	WRITES(compute, block, 4 * N);
	FILL(compute, block, 2, N, SLOW);
	CU(cuEventRecord(written, compute));
#ifdef FIXED
	/* Known complete when the call is made. */
	CU(cuEventSynchronize(written));
#else
	CU(cuStreamWaitEvent(store, written, 0));
#endif
	batch_copy((CUdeviceptr)(uintptr_t)host, block, 4 * N, CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
		   store);
	CU(cuStreamSynchronize(store));
	check_u32("host[0]", host[0], 2);

	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(host));
	CU(cuEventDestroy(written));
	prog_end();
	return 0;
}
