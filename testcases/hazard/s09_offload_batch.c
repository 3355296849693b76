/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch copy offloads a block on the store stream before the compute stream
 * has written it.
 * SOURCE: scenarios S09
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the host copy is the old content
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
#ifdef FIXED
	CU(cuEventRecord(written, compute));
	CU(cuStreamWaitEvent(store, written, 0));
	batch_copy((CUdeviceptr)(uintptr_t)host, block, 4 * N, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
		   store);
#else
	batch_copy((CUdeviceptr)(uintptr_t)host, block, 4 * N, CU_MEMCPY_SRC_ACCESS_ORDER_ANY,
		   store);
#endif
	CU(cuStreamSynchronize(store));
	check_u32("host[0]", host[0], 2);

	CU(cuCtxSynchronize());
	CU(cuMemFreeHost(host));
	CU(cuEventDestroy(written));
	prog_end();
	return 0;
}
