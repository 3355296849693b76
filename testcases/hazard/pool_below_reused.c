/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of small blocks lies in a block of another one.  That one takes its block back
 * and hands it out on another stream, while a small block's kernel still runs.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * FINDINGS: 1
 * MENTIONS: KRT-REUSE-RACE "of the owner that gave them back to pool"
 * EXPECT-FIXED: none
 * SIM-WRONG: the old owner's kernel writes last
 */
#include "blocks.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUevent done = event();
	struct blocks segments, small;
	CUdeviceptr segment, p;

	blocks_open(&segments, "segments", 16 * N);
	segment = blocks_alloc(&segments, 16 * N, a);
	blocks_over(&small, "small", KRTSAN_POOL_DEVICE, segment, 16 * N);
	p = blocks_alloc(&small, 4 * N, a);
	FILL(a, p, 1, N, SLOW);
	CU(cuEventRecord(done, a));
	blocks_free(&small, p);
	blocks_leave(&small);
	blocks_free(&segments, segment);
#ifdef FIXED
	CU(cuStreamWaitEvent(b, done, 0));
#endif
	segment = blocks_alloc(&segments, 16 * N, b);
	CU(cuMemsetD32Async(segment, 2, 4 * N, b));
	check_u32("segment[0]", get_u32(segment, 0), 2);
	blocks_close(&segments);

	prog_end();
	return 0;
}
