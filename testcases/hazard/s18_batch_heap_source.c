/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary heap vector is freed behind a batch copy that reads its source in
 * stream order.  (A plain copy of pageable memory is staged inside the call.)
 * SOURCE: scenarios S18
 * EXPECT: KRT-HOST-FREE-IN-USE error certain both count=1
 * MENTIONS: KRT-HOST-FREE-IN-USE "source order STREAM"
 * EXPECT-FIXED: none
 * SIM-WRONG: the device gets the next owner's bytes
 * CHECKSUM: KRT-HOST-FREE-IN-USE
 */
#include "prog.h"
#include "batch.h"

enum { N = 8192 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("upload");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *v = malloc(4 * N), *above = malloc(64), *next;

	MUST(v && above);
	set_now(d, 0, N);
	host_fill(v, 7, N);
	SPIN(s, SLOW);
	batch_copy(d, (CUdeviceptr)(uintptr_t)v, 4 * N, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, s);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	free(v);
	/* Other code gets the block. */
	next = malloc(4 * N);
	MUST(next);
	host_fill(next, 8, N);
	check_u32("d[100]", get_u32(d, 100), 7);

	free(next);
	free(above);
	prog_end();
	return 0;
}
