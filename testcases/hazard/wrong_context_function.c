/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function of one context is launched on a stream of another: the driver refuses.
 * EXPECT: KRT-WRONG-DEVICE error certain both count=1
 * MENTIONS: KRT-WRONG-DEVICE "was loaded in context 1"
 * MENTIONS: KRT-WRONG-DEVICE "belongs to context 2"
 * EXPECT-FIXED: none
 */
#include "prog.h"
#include "contexts.h"

enum { N = 1024 };

int main(void)
{
	prog_start();
	CUcontext other = context_new();
	struct prog_kernels k = prog;
	CUstream s = stream_nb("there");
	CUdeviceptr d = device_u32("d", N);
	uint32_t v = 1, n = N;
	uint64_t cycles = 0;
	void *args[] = {&d, &v, &n, &cycles};
	CUresult r;

	set_now(d, 1, N);
#ifdef FIXED
	prog_load(&k);
#endif
	r = cuLaunchKernel(k.fill, 1, 1, 1, 64, 1, 1, 0, s, args, NULL);
	printf("launch %s\n", r == CUDA_SUCCESS ? "done" : "refused");
	check_u32("d[0]", get_u32(d, 0), 1);
	CU(cuMemFree(d));
	context_end(other);

	prog_end();
	return 0;
}
