/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model is brought in, tensor by tensor: an allocation, an event and an upload
 * each; then it runs; then all of it goes, with work in between.  Nothing of that is
 * done again and again.
 * EXPECT: none
 */
#include "prog.h"

enum { N = 64, TENSORS = 40 };

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s"), up = stream_nb("upload");
	CUdeviceptr t[TENSORS], x = device_u32("x", N);
	CUevent e[TENSORS];
	uint32_t *one = pinned_u32("one", N);

	host_fill(one, 1, N);
	set_now(x, 0, N);
	for (int i = 0; i < TENSORS; i++) {
		CU(cuMemAlloc(&t[i], 4 * N));
		CU(cuEventCreate(&e[i], CU_EVENT_DISABLE_TIMING));
		CU(cuMemcpyHtoDAsync(t[i], one, 4 * N, up));
		CU(cuEventRecord(e[i], up));
	}
	for (int i = 0; i < TENSORS; i++) {
		CU(cuStreamWaitEvent(s, e[i], 0));
		ADD(s, x, t[i], N, 0);
	}
	CU(cuStreamSynchronize(s));
	for (int i = 0; i < TENSORS; i++) {
		CU(cuMemFree(t[i]));
		CU(cuEventDestroy(e[i]));
		INC(s, x, 1, N, 0);
	}
	check_u32("x[0]", get_u32(x, 0), 2 * TENSORS);

	prog_end();
	return 0;
}
