/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a driver that tells neither names nor parameters of kernels: both are known
 * from the module.  A kernel writes what a copy on another stream reads; one that
 * has its pointer in a struct writes what another copy sets; one of a fat binary,
 * with machine code and text in it, reads what a third overwrites.
 * OPTIONS: sim_driver=12020
 * EXPECT: KRT-RACE-RAW error certain both count=1
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * EXPECT: KRT-RACE-WAR error certain both count=1
 * MENTIONS: KRT-RACE-RAW "kernel fill"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 64 };

/* Without compression: void scale(float *out, const float *in, float f), one element a thread. */
__asm__(".pushsection .rodata\n.balign 8\nolder_driver_image: .incbin \"testcases/images/none.fatbin\"\n"
	".popsection\n");
extern const char older_driver_image[] __asm__("older_driver_image");

int main(void)
{
	prog_start();
	CUstream s = stream_nb("compute"), other = stream_nb("other");
	CUdeviceptr a = device_u32("a", N), b = device_u32("b", N), copy = device_u32("copy", N);
	struct {
		uint64_t dst, unused;
		uint32_t v, n;
	} arg = {.dst = b, .v = 3, .n = N};
	uint64_t cycles = SLOW;
	CUdeviceptr in = device_u32("in", N), scaled = device_u32("scaled", N);
	float factor = 2;
	CUevent done = event();
	CUfunction scale;
	CUmodule module;

	CU(cuModuleLoadData(&module, older_driver_image));
	scale = prog_kernel(module, "_Z5scalePfPKff");
	set_now(a, 1, N);
	FILL(s, a, 7, N, SLOW);
	LAUNCH(prog.packed, 1, s, &arg, &cycles);
	LAUNCH(scale, 1, s, &scaled, &in, &factor);
#ifdef FIXED
	CU(cuEventRecord(done, s));
	CU(cuStreamWaitEvent(other, done, 0));
#endif
	CU(cuMemcpyDtoDAsync(copy, a, 4 * N, other));
	CU(cuMemsetD32Async(b, 5, N, other));
	CU(cuMemcpyDtoDAsync(in, copy, 4 * N, other));
	CU(cuCtxSynchronize());
	CU(cuModuleUnload(module));
	CU(cuEventDestroy(done));
	prog_end();
	return 0;
}
