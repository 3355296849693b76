/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query says "not ready" and the program goes on.
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT-FIXED: none
 * SIM-WRONG: the old content comes back
 */
#include "prog.h"
#include "gate.h"

enum { N = 2048 };

int main(void)
{
	prog_start();
	struct gate gate = gate_new();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);
	uint32_t *h = pinned_u32("h", N);
	CUresult r;

	set_now(d, 1, N);
	gate_close(&gate, a);
	CU(cuMemsetD32Async(d, 2, N, a));
	MUST(cuStreamQuery(a) == CUDA_ERROR_NOT_READY);
#ifdef FIXED
	gate_open(&gate);
	while ((r = cuStreamQuery(a)) == CUDA_ERROR_NOT_READY)
		;
	CU(r);
#endif
	CU(cuMemcpyDtoHAsync(h, d, 4 * N, b));
	CU(cuStreamSynchronize(b));
	check_u32("h[0]", h[0], 2);
	gate_open(&gate);
	CU(r = cuCtxSynchronize());
	CU(cuMemFreeHost(h));
	gate_free(&gate);

	prog_end();
	return 0;
}
