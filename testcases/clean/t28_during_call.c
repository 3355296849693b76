/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch copy that reads its source during the call; the host overwrites and frees
 * the source at once.
 * SOURCE: trap T28
 */
#include "prog.h"
#include "batch.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = malloc(4 * N);

	MUST(h);
	set_now(d, 0, N);
	host_fill(h, 3, N);
	SPIN(s, SLOW);
	batch_copy(d, (CUdeviceptr)(uintptr_t)h, 4 * N, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
		   s);
	krtsan_host_write(h, 4 * N);
	host_fill(h, 4, N);
	free(h);
	check_u32("d[0]", get_u32(d, 0), 3);

	prog_end();
	return 0;
}
