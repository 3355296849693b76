/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module's global variable, set by a copy, read by kernels after it, replaced after
 * a sync.
 */
#include "prog.h"

enum { N = 256 };

static const char ptx[] = ".version 7.0\n"
			  ".target sm_50\n"
			  ".address_size 64\n"
			  ".visible .global .align 4 .u32 scale = 3;\n"
			  ".visible .entry apply(.param .u64 dst)\n"
			  "{\n"
			  "	.reg .b32 %r<4>;\n"
			  "	.reg .b64 %rd<4>;\n"
			  "	ld.param.u64 %rd1, [dst];\n"
			  "	mov.u32 %r1, %tid.x;\n"
			  "	mul.wide.u32 %rd2, %r1, 4;\n"
			  "	add.s64 %rd1, %rd1, %rd2;\n"
			  "	ld.global.u32 %r2, [scale];\n"
			  "	st.global.u32 [%rd1], %r2;\n"
			  "	ret;\n"
			  "}\n";

int main(void)
{
	prog_start();
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N), scale;
	CUmodule module;
	CUfunction apply;
	size_t bytes;
	uint32_t *h = pinned_u32("h", 1);
	void *args[] = {&d};

	CU(cuModuleLoadData(&module, ptx));
	apply = prog_kernel(module, "apply");
	CU(cuModuleGetGlobal(&scale, &bytes, module, "scale"));
	MUST(bytes == 4);
	CU(cuLaunchKernel(apply, 1, 1, 1, N, 1, 1, 0, s, args, NULL));
	check_u32("initial", get_u32(d, 0), 3);
	h[0] = 7;
	CU(cuMemcpyHtoDAsync(scale, h, 4, s));
	CU(cuLaunchKernel(apply, 1, 1, 1, N, 1, 1, 0, s, args, NULL));
	check_u32("set", get_u32(d, N - 1), 7);
	CU(cuModuleUnload(module));
	CU(cuMemFreeHost(h));

	prog_end();
	return 0;
}
