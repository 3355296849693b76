/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch copy's source moves in realloc before it is read.
 * EXPECT: KRT-HOST-FREE-IN-USE error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "batch.h"

enum { N = 8192 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("upload");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = malloc(4 * N), *above = malloc(4 * N), *bigger;

	MUST(h && above);
	set_now(d, 0, N);
	host_fill(h, 7, N);
	host_fill(above, 8, N);
	SPIN(s, SLOW);
	batch_copy(d, (CUdeviceptr)(uintptr_t)h, 4 * N, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, s);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	bigger = realloc(h, 16 * N);
	MUST(bigger);
	CU(cuCtxSynchronize());
	free(bigger);
	free(above);

	prog_end();
	return 0;
}
