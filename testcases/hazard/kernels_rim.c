/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rim of a picture by a kernel, first and last column of each row, and what lies within
 * by a set on another stream.  The rows of the rim touch; its pieces begin anew with each.
 * The set is a column too wide.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * MENTIONS: KRT-RACE-WAW "writes within bytes +0x4..+0x1800"
 * EXPECT-FIXED: none
 * SIM-WRONG: the rim overwrites the later set
 */
#include "prog.h"

enum { WIDTH = 32, HEIGHT = 48 };

/* rim: dst[32 * i] = dst[32 * i + 31] = v */
static const char rim_ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	PTX_HEAD("rim", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r7, [v];\n"
	PTX_LOOP
	"	shl.b64 %rd4, %rd4, 5;\n"
	PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	"	st.global.u32 [%rd5+124], %r7;\n"
	PTX_NEXT;

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr picture = device_u32("picture", WIDTH * HEIGHT);
	struct prog_kernels k = {0};
	CUmodule module;

	CU(cuModuleLoadData(&module, rim_ptx));
	k.fill = prog_kernel(module, "rim");
	set_now(picture, 0, WIDTH * HEIGHT);
	K_PVN(&k, fill, a, picture, 1, HEIGHT, SLOW);
#ifdef FIXED
	CU(cuMemsetD2D32Async(picture + 4, 4 * WIDTH, 2, WIDTH - 2, HEIGHT, b));
#else
	CU(cuMemsetD2D32Async(picture + 4, 4 * WIDTH, 2, WIDTH - 1, HEIGHT, b));
#endif
	check_u32("picture[1][30]", get_u32(picture, WIDTH + 30), 2);
#ifdef FIXED
	check_u32("picture[1][31]", get_u32(picture, WIDTH + 31), 1);
#else
	check_u32("picture[1][31]", get_u32(picture, WIDTH + 31), 2);
#endif
	CU(cuModuleUnload(module));

	prog_end();
	return 0;
}
