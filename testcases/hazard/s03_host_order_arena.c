/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena that knows host program order alone serves a copy stream and a compute
 * stream.  Fixed: the copies run on the compute stream.
 * SOURCE: scenarios S03
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the shape that was copied out is the new owner's
 */
#include "blocks.h"

enum { N = 256 };

int main(void)
{
	prog_start();
	CUstream compute = stream_nb("compute"), copier = stream_nb("copier");
	uint32_t *shape = pinned_u32("shape", N);
	struct blocks arena;
	CUdeviceptr p, q;

#ifdef FIXED
	copier = compute;
#endif
	blocks_open(&arena, "arena", 1 << 20);
	p = blocks_alloc(&arena, 4 * N, copier);
	CU(cuMemsetD32Async(p, 5, N, copier));
	CU(cuStreamSynchronize(copier));
	SPIN(copier, SLOW);
	CU(cuMemcpyDtoHAsync(shape, p, 4 * N, copier));
	blocks_free(&arena, p);
	q = blocks_alloc(&arena, 4 * N, compute);
	CU(cuMemsetD32Async(q, 6, N, compute));
	FILL(compute, q, 8, N, 3 * SLOW);
	CU(cuCtxSynchronize());
	check_u32("shape[0]", shape[0], 5);
	check_u32("q[0]", get_u32(q, 0), 8);

	blocks_close(&arena);
	CU(cuMemFreeHost(shape));
	prog_end();
	return 0;
}
