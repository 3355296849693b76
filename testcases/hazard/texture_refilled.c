/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory behind a texture object is overwritten while a kernel samples it: the
 * object is a number, and no parameter holds the address.
 * EXPECT: KRT-RACE-WAR warning likely both count=1
 * MENTIONS: KRT-RACE-WAR "device buffer "
 * EXPECT-FIXED: none
 * MAY-SKIP: needs textures
 */
#include "prog.h"

enum { N = 64 };

/* sample: dst[i] = texture[i], by N threads */
/* clang-format off */
static const char ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry sample(.param .u64 dst, .param .u64 texture, .param .u64 cycles)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %rd<8>;\n"
	"	ld.param.u64 %rd1, [cycles];\n"
	"	mov.u64 %rd2, %clock64;\n"
	"SPIN:\n"
	"	mov.u64 %rd3, %clock64;\n"
	"	sub.s64 %rd3, %rd3, %rd2;\n"
	"	setp.lt.u64 %p1, %rd3, %rd1;\n"
	"	@%p1 bra SPIN;\n"
	"	mov.u32 %r1, %tid.x;\n"
	"	ld.param.u64 %rd4, [texture];\n"
	"	tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd4, {%r1}];\n"
	"	ld.param.u64 %rd5, [dst];\n"
	"	mul.wide.u32 %rd6, %r1, 4;\n"
	"	add.s64 %rd5, %rd5, %rd6;\n"
	"	st.global.u32 [%rd5], %r2;\n"
	"	ret;\n"
	"}\n";
/* clang-format on */

int main(void)
{
	CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_LINEAR};
	CUDA_TEXTURE_DESC how = {.flags = 1}; /* read as integers */
	CUtexObject texture;
	CUmodule module;
	CUfunction sample;

	prog_start();
	if (cuModuleLoadData(&module, ptx) != CUDA_SUCCESS ||
	    cuModuleGetFunction(&sample, module, "sample") != CUDA_SUCCESS ||
	    cuFuncLoad(sample) != CUDA_SUCCESS)
		prog_skip("no textures");
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr image = device_u32("image", 2 * N), out = device_u32("out", N);
	uint64_t cycles = SLOW;
	CUevent e = event();
	void *args[] = {&out, &texture, &cycles};

	set_now(image, 1, 2 * N);
	what.res.linear.devPtr = image;
	what.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
	what.res.linear.numChannels = 1;
	what.res.linear.sizeInBytes = 4 * N;
	CU(cuTexObjectCreate(&texture, &what, &how, NULL));
	CU(cuLaunchKernel(sample, 1, 1, 1, N, 1, 1, 0, a, args, NULL));
	/* behind what the texture shows */
	CU(cuMemsetD32Async(image + 4 * N, 3, N, b));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemsetD32Async(image, 2, N, b));
	check_u32("out[N - 1]", get_u32(out, N - 1), 1);
	CU(cuEventDestroy(e));
	CU(cuTexObjectDestroy(texture));
	CU(cuMemFree(image));
	CU(cuMemFree(out));
	CU(cuModuleUnload(module));

	prog_end();
	return 0;
}
