/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool hands a block on while a stream still reads it.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "explain.h"

int main(void)
{
	prog_start();
	CUstream compute = stream_nb("compute"), copies = stream_nb("copies");
	uint32_t *host = pinned_u32("host", n);
	struct blocks pool;
	CUdeviceptr p, q;
	CUevent ready = event(), done = event();

	blocks_open(&pool, "pool", 1 << 20);

	/* example */
	p = blocks_alloc(&pool, bytes, compute); /* a caching allocator of the program's own */
	fill(compute, p);			 /* a kernel that writes p */
	cuEventRecord(ready, compute);
	cuStreamWaitEvent(copies, ready, 0);
	cuMemcpyDtoHAsync(host, p, bytes, copies);
#ifdef FIXED
	cuEventRecord(done, copies);	     /* after the last use on another stream */
	cuStreamWaitEvent(compute, done, 0); /* before the block may be handed out again */
#endif
	blocks_free(&pool, p);
	q = blocks_alloc(&pool, bytes, compute); /* the same bytes */
	fill(compute, q);
	/* end */

	CU(cuCtxSynchronize());
	blocks_close(&pool);
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
