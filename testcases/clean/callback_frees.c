/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions free what the copies before them have read: heap blocks of batch
 * copies, and a counter that the main thread polls.
 */
#include "prog.h"
#include "batch.h"

enum { N = 4096, BLOCKS = 4 };

static volatile int freed;

static void release(void *block)
{
	free(block);
	__atomic_fetch_add(&freed, 1, __ATOMIC_SEQ_CST);
}

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N * BLOCKS);

	SPIN(s, SLOW);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		uint32_t *h = malloc(4 * N);

		MUST(h);
		host_fill(h, i, N);
		batch_copy(d + 4 * N * i, (CUdeviceptr)(uintptr_t)h, 4 * N,
			   CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, s);
		CU(cuLaunchHostFunc(s, release, h));
	}
	CU(cuStreamSynchronize(s));
	check_u32("freed", (uint32_t)freed, BLOCKS);
	check_u32("last", get_u32(d, N * BLOCKS - 1), BLOCKS - 1);

	prog_end();
	return 0;
}
