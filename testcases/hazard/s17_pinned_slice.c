/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pinned pool looks up the pointer of a copy to remember its event; a pointer
 * into the middle of a block is not found, so the block comes back too early.
 * SOURCE: scenarios S17
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * MENTIONS: KRT-REUSE-RACE "the CPU (host write #"
 * EXPECT-FIXED: none
 * SIM-WRONG: the slice holds the next batch
 * GUARD: none: a part of a page
 * CHECKSUM: KRT-REUSE-RACE
 */
#include "blocks.h"

enum { N = 1024, OFF = 256 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUevent copied = event();
	CUdeviceptr d = device_u32("d", OFF), p, q;
	struct blocks pinned;

	blocks_open_host(&pinned, "pinned", 1 << 20);
	p = blocks_alloc(&pinned, 4 * N, s);
	krtsan_host_write(blocks_host(p), 4 * N);
	host_fill(blocks_host(p), 1, N);
	SPIN(s, SLOW);
	CU(cuMemcpyHtoDAsync(d, blocks_host(p) + OFF, 4 * OFF, s));
#ifdef FIXED
	CU(cuEventRecord(copied, s));
#endif
	blocks_free(&pinned, p);
#ifdef FIXED
	CU(cuEventSynchronize(copied));
#endif
	q = blocks_alloc(&pinned, 4 * N, s);
	krtsan_host_write(blocks_host(q), 4 * N);
	host_fill(blocks_host(q), 2, N);
	check_u32("d[0]", get_u32(d, 0), 1);

	blocks_close(&pinned);
	CU(cuEventDestroy(copied));
	prog_end();
	return 0;
}
