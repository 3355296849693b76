/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream clears an array while warps of a kernel on another, by a mask, write to it: what
 * the kernel leaves out is not followed, but the memset covers all of it.  (Fixed: the
 * memset comes first.)
 * EXPECT: KRT-RACE-WAW warning likely both count=1
 * EXPECT-FIXED: none
 * FINDINGS: 1
 * MENTIONS: KRT-RACE-WAW "warps"
 */
#include "prog.h"

enum { N = 1024 };

static const char ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
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
	CUdeviceptr d = device_u32("d", N);
	uint32_t one = 1, odd = 0xa;
	uint64_t slow = SLOW;
	CUmodule module;
	CUfunction k;

	CU(cuModuleLoadData(&module, ptx));
	k = prog_kernel(module, "warps");
	set_now(d, 5, N);
#ifdef FIXED
	CU(cuMemsetD32Async(d, 0, N, b));
	CU(cuStreamSynchronize(b));
#endif
	CU(cuLaunchKernel(k, 8, 1, 1, 128, 1, 1, 0, a, (void *[]){&d, &one, &odd, &slow}, NULL));
#ifndef FIXED
	CU(cuMemsetD32Async(d, 0, N, b));
#endif
	CU(cuStreamSynchronize(a));
	CU(cuStreamSynchronize(b));
	check_u32("d[32]", get_u32(d, 32), 1);
	CU(cuModuleUnload(module));
	prog_end();
	return 0;
}
