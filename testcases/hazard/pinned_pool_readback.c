/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pinned staging block is given back with a copy to the host in flight; the next
 * owner's copy lands in the same bytes from another stream.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the late copy wins
 */
#include "blocks.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr one = device_u32("one", N), two = device_u32("two", N), p, q;
	struct blocks staging;

	set_now(one, 1, N);
	set_now(two, 2, N);
	blocks_open_host(&staging, "staging", 1 << 20);
	p = blocks_alloc(&staging, 4 * N, a);
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(blocks_host(p), one, 4 * N, a));
#ifdef FIXED
	CU(cuStreamSynchronize(a));
#endif
	blocks_free(&staging, p);
	q = blocks_alloc(&staging, 4 * N, b);
	CU(cuMemcpyDtoHAsync(blocks_host(q), two, 4 * N, b));
	CU(cuCtxSynchronize());
	check_u32("q[0]", blocks_host(q)[0], 2);

	blocks_close(&staging);
	prog_end();
	return 0;
}
