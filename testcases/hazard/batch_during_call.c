/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch whose source is read during the call, out of stream order: what an
 * earlier kernel of the same stream writes may be missed.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "batch.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);

	set_now(d, 1, N);
	WRITES(s, d, 4 * N);
	FILL(s, d, 2, N, SLOW);
#ifdef FIXED
	CU(cuStreamSynchronize(s));
#endif
	batch_copy((CUdeviceptr)(uintptr_t)h, d, 4 * N, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
		   s);
	CU(cuStreamSynchronize(s));
	check_u32("h[0]", h[0], 2);
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
