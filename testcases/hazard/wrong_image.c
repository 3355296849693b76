/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel is built for a later driver than this one, and the program goes without.
 * The fixed one falls back to an older build.
 * EXPECT: KRT-WRONG-DEVICE warning likely both count=1
 * MENTIONS: KRT-WRONG-DEVICE "newer than the driver can compile"
 * EXPECT-FIXED: none
 */
#include "prog.h"

#define BUILD(version)                                                                             \
	".version " version "\n.target sm_70\n.address_size 64\n"                                  \
	".visible .entry set(.param .u64 p)\n{\n"                                                  \
	"	.reg .b32 %r<2>;\n"                                                                \
	"	.reg .b64 %rd<2>;\n"                                                               \
	"	ld.param.u64 %rd1, [p];\n"                                                         \
	"	mov.u32 %r1, 7;\n"                                                                 \
	"	st.global.u32 [%rd1], %r1;\n"                                                      \
	"	ret;\n}\n"

int main(void)
{
	prog_start();
	CUdeviceptr d = device_u32("d", 1);
	void *args[] = {&d};
	CUmodule m;
	CUfunction f;
	CUresult r;

	set_now(d, 7, 1);
	r = cuModuleLoadData(&m, BUILD("99.0"));
#ifdef FIXED
	if (r != CUDA_SUCCESS)
		r = cuModuleLoadData(&m, BUILD("7.0"));
#endif
	if (r == CUDA_SUCCESS) {
		CU(cuModuleGetFunction(&f, m, "set"));
		CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	}
	check_u32("d[0]", get_u32(d, 0), 7);

	prog_end();
	return 0;
}
