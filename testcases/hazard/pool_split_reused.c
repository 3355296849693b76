/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large block comes back and is split: only the part that the old copy still
 * reads is handed out too early.
 * EXPECT: KRT-REUSE-RACE error certain both count=1
 * FINDINGS: 1
 * EXPECT-FIXED: none
 * SIM-WRONG: the copy holds a new owner's bytes
 */
#include "blocks.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	uint32_t *h = pinned_u32("h", N);
	struct blocks pool;
	CUdeviceptr p, q[4];

	blocks_open(&pool, "tensors", 1 << 20);
	p = blocks_alloc(&pool, 4 * 4 * N, a);
	CU(cuMemsetD32Async(p, 7, 4 * N, a));
	CU(cuStreamSynchronize(a));
	SPIN(a, SLOW);
	CU(cuMemcpyDtoHAsync(h, p + 2 * 4 * N, 4 * N, a)); /* of the third quarter */
	blocks_free(&pool, p);
	for (int i = 0; i < 4; i++)
		q[i] = blocks_alloc(&pool, 4 * N, b);
	for (int i = 0; i < 4; i++) {
#ifdef FIXED
		if (i == 2)
			CU(cuStreamSynchronize(a));
#endif
		CU(cuMemsetD32Async(q[i], 100 + (unsigned)i, N, b));
	}
	CU(cuCtxSynchronize());
	check_u32("h[0]", h[0], 7);

	blocks_close(&pool);
	CU(cuMemFreeHost(h));
	prog_end();
	return 0;
}
