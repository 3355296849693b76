/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams fill views of one buffer that lie side by side, with a kernel of three
 * loops of which none ends where its rounds do: more gaps than rows and pieces show.
 * EXPECT: none
 */
#include "prog.h"

enum { A = 5, N = 200 * A };

/* for a < n, y < 6, x < 10, in rounds of blocks, 4 and 8: dst[200 * a + 20 * y + x] = v */
static const char view_ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	PTX_HEAD("view", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u64 %rd5, [dst];\n"
	"	ld.param.u32 %r7, [v];\n"
	"	ld.param.u32 %r5, [n];\n"
	"	mov.u32 %r6, %nctaid.x;\n"
	"BLOCK:\n"
	"	setp.ge.u32 %p2, %r1, %r5;\n"
	"	@%p2 bra DONE;\n"
	"	shr.u32 %r8, %r3, 3;\n"
	"ROW:\n"
	"	setp.ge.u32 %p2, %r8, 6;\n"
	"	@%p2 bra NEXT;\n"
	"	and.b32 %r9, %r3, 7;\n"
	"COLUMN:\n"
	"	setp.ge.u32 %p2, %r9, 10;\n"
	"	@%p2 bra BELOW;\n"
	"	mad.lo.u32 %r10, %r8, 20, %r9;\n"
	"	mad.lo.u32 %r10, %r1, 200, %r10;\n"
	"	mul.wide.u32 %rd4, %r10, 4;\n"
	"	add.s64 %rd4, %rd5, %rd4;\n"
	"	st.global.u32 [%rd4], %r7;\n"
	"	add.u32 %r9, %r9, 8;\n"
	"	bra COLUMN;\n"
	"BELOW:\n"
	"	add.u32 %r8, %r8, 4;\n"
	"	bra ROW;\n"
	"NEXT:\n"
	"	add.u32 %r1, %r1, %r6;\n"
	"	bra BLOCK;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n";

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N);
	uint32_t one = 1, two = 2, n = A;
	uint64_t slow = SLOW, now = 0;
	CUdeviceptr beside = d + 40;
	CUmodule module;
	CUfunction view;

	CU(cuModuleLoadData(&module, view_ptx));
	view = prog_kernel(module, "view");
	set_now(d, 0, N);
	CU(cuLaunchKernel(view, 3, 1, 1, 32, 1, 1, 0, a, (void *[]){&d, &one, &n, &slow}, NULL));
	CU(cuLaunchKernel(view, 3, 1, 1, 32, 1, 1, 0, b, (void *[]){&beside, &two, &n, &now}, NULL));
	check_u32("d[909]", get_u32(d, 909), 1);
	check_u32("d[910]", get_u32(d, 910), 2);
	CU(cuModuleUnload(module));

	prog_end();
	return 0;
}
