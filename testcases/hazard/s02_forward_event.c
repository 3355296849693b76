/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event orders the consumer behind the producer, not the block's next owner
 * behind the consumer.
 * SOURCE: scenarios S02
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "only the other way round"
 * MENTIONS: KRT-REUSE-RACE " (s02_forward_event.c:28 main)"
 * EXPECT-FIXED: none
 * SIM-WRONG: the consumer reads the new owner's bytes
 */
#include "blocks.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream aux = stream_nb("aux"), consumer = stream_nb("consumer");
	CUevent ready = event(), done = event();
	CUdeviceptr out = device_u32("out", N), p, q;
	struct blocks pool;

	blocks_open(&pool, "tensors", 1 << 20);
	p = blocks_alloc(&pool, 4 * N, aux);
	FILL(aux, p, 7, N, 0);
	CU(cuEventRecord(ready, aux));
	CU(cuStreamWaitEvent(consumer, ready, 0));
	COPY(consumer, out, p, N, SLOW);
#ifdef FIXED
	CU(cuEventRecord(done, consumer));
	CU(cuStreamWaitEvent(aux, done, 0));
#endif
	blocks_free(&pool, p);
	q = blocks_alloc(&pool, 4 * N, aux);
	FILL(aux, q, 99, N, 0);
	check_u32("out[0]", get_u32(out, 0), 7);

	blocks_close(&pool);
	CU(cuEventDestroy(ready));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
