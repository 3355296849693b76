/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams write one matrix, with a kernel whose guard lets each have bytes of its own:
 * the upper and the lower triangle, one side of a float threshold, the warps of a mask.
 * Launch and parameters decide, no data; the ranges do not follow.
 * EXPECT: none
 */
#include "prog.h"

enum { TILE = 16, SIDE = 64, N = SIDE * SIDE, M = 1024 };

static const char ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	/* dst[SIDE * y + x] = v where x > y, or where y > x; blocks of TILE * TILE */
	PTX_HEAD("triangle", ".param .u64 dst, .param .u32 v, .param .u32 lower")
	"	ld.param.u64 %rd5, [dst];\n"
	"	ld.param.u32 %r7, [v];\n"
	"	ld.param.u32 %r8, [lower];\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.u32 %r3, %r1, 16, %r3;\n"
	"	mov.u32 %r5, %tid.y;\n"
	"	mov.u32 %r6, %ctaid.y;\n"
	"	mad.lo.u32 %r5, %r6, 16, %r5;\n"
	"	setp.ne.u32 %p2, %r8, 0;\n"
	"	@%p2 bra LOWER;\n"
	"	setp.le.u32 %p3, %r3, %r5;\n"
	"	@%p3 bra DONE;\n"
	"	bra STORE;\n"
	"LOWER:\n"
	"	setp.le.u32 %p3, %r5, %r3;\n"
	"	@%p3 bra DONE;\n"
	"STORE:\n"
	"	mad.lo.u32 %r9, %r5, 64, %r3;\n"
	"	mul.wide.u32 %rd4, %r9, 4;\n"
	"	add.s64 %rd4, %rd5, %rd4;\n"
	"	st.global.u32 [%rd4], %r7;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n"
	/* dst[i] = v if f > 0.5, else dst[i + 512] = v */
	PTX_HEAD("side", ".param .u64 dst, .param .u32 v, .param .f32 f")
	"	.reg .f32 %f<2>;\n"
	"	ld.param.u64 %rd5, [dst];\n"
	"	ld.param.u32 %r7, [v];\n"
	"	ld.param.f32 %f1, [f];\n"
	"	mul.wide.u32 %rd4, %r4, 4;\n"
	"	add.s64 %rd4, %rd5, %rd4;\n"
	"	setp.gt.f32 %p2, %f1, 0f3f000000;\n"
	"	@%p2 st.global.u32 [%rd4], %r7;\n"
	"	@!%p2 st.global.u32 [%rd4 + 2048], %r7;\n"
	"	ret;\n"
	"}\n"
	/* dst[i] = v in the warps that mask names */
	PTX_HEAD("warps", ".param .u64 dst, .param .u32 v, .param .u32 mask")
	"	ld.param.u64 %rd5, [dst];\n"
	"	ld.param.u32 %r7, [v];\n"
	"	ld.param.u32 %r8, [mask];\n"
	"	shr.u32 %r9, %r3, 5;\n"
	"	shr.u32 %r8, %r8, %r9;\n"
	"	and.b32 %r8, %r8, 1;\n"
	"	setp.eq.u32 %p2, %r8, 0;\n"
	"	@%p2 bra DONE;\n"
	"	mul.wide.u32 %rd4, %r4, 4;\n"
	"	add.s64 %rd4, %rd5, %rd4;\n"
	"	st.global.u32 [%rd4], %r7;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n";

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), e = device_u32("e", M), f = device_u32("f", M);
	uint32_t one = 1, two = 2, upper = 0, lower = 1, odd = 0xa, even = 0x5;
	float high = 0.75f, low = 0.25f;
	uint64_t slow = SLOW, now = 0;
	CUmodule module;
	CUfunction k;

	CU(cuModuleLoadData(&module, ptx));
	set_now(d, 0, N);
	set_now(e, 0, M);
	set_now(f, 0, M);
	k = prog_kernel(module, "triangle");
	CU(cuLaunchKernel(k, 4, 4, 1, TILE, TILE, 1, 0, a, (void *[]){&d, &one, &upper, &slow}, NULL));
	CU(cuLaunchKernel(k, 4, 4, 1, TILE, TILE, 1, 0, b, (void *[]){&d, &two, &lower, &now}, NULL));
	k = prog_kernel(module, "side");
	CU(cuLaunchKernel(k, 4, 1, 1, 128, 1, 1, 0, a, (void *[]){&e, &one, &high, &slow}, NULL));
	CU(cuLaunchKernel(k, 4, 1, 1, 128, 1, 1, 0, b, (void *[]){&e, &two, &low, &now}, NULL));
	k = prog_kernel(module, "warps");
	CU(cuLaunchKernel(k, 8, 1, 1, 128, 1, 1, 0, a, (void *[]){&f, &one, &odd, &slow}, NULL));
	CU(cuLaunchKernel(k, 8, 1, 1, 128, 1, 1, 0, b, (void *[]){&f, &two, &even, &now}, NULL));
	check_u32("d[1]", get_u32(d, 1), 1);
	check_u32("d[SIDE]", get_u32(d, SIDE), 2);
	check_u32("e[0]", get_u32(e, 0), 1);
	check_u32("e[512]", get_u32(e, 512), 2);
	check_u32("f[32]", get_u32(f, 32), 1);
	check_u32("f[64]", get_u32(f, 64), 2);
	CU(cuModuleUnload(module));
	prog_end();
	return 0;
}
