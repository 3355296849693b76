/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programmatic dependent launch on one stream: the first kernel lets the next one
 * begin at its start, and the next one reads what the first writes without waiting.
 * (The twin's waits, with griddepcontrol.wait.)
 * SOURCE: scenarios S48
 * EXPECT: KRT-RACE-RAW warning likely both count=1
 * MENTIONS: KRT-RACE-RAW "griddepcontrol.wait"
 * EXPECT-FIXED: none
 */
#include "prog.h"

enum { N = 1024 };

/* clang-format off */
static const char ptx[] =
	".version 7.8\n"
	".target sm_90\n"
	".address_size 64\n"
	PTX_HEAD("first", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	griddepcontrol.launch_dependents;\n"
	"	ld.param.u32 %r7, [v];\n"
	PTX_LOOP PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	PTX_HEAD("goes", ".param .u64 dst, .param .u64 src, .param .u32 n")
	PTX_LOOP PTX_DST PTX_SRC
	"	ld.global.u32 %r7, [%rd6];\n"
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	PTX_HEAD("waits", ".param .u64 dst, .param .u64 src, .param .u32 n")
	"	griddepcontrol.wait;\n"
	PTX_LOOP PTX_DST PTX_SRC
	"	ld.global.u32 %r7, [%rd6];\n"
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	;
/* clang-format on */

int main(void)
{
	prog_start();
	struct {
		CUmodule module;
		CUfunction first, next;
	} k;
	CUstream s = stream_nb("s");
	CUdeviceptr d = device_u32("d", N), out = device_u32("out", N);
	uint32_t n = N;
	uint64_t cycles = 0;
	void *args[] = {&out, &d, &n, &cycles};
	CUlaunchAttribute attr = {
		.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		.value.programmaticStreamSerializationAllowed = 1,
	};
	CUlaunchConfig config = {
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 64,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = s,
		.attrs = &attr,
		.numAttrs = 1,
	};

	CU(cuModuleLoadData(&k.module, ptx));
	k.first = prog_kernel(k.module, "first");
#ifdef FIXED
	k.next = prog_kernel(k.module, "waits");
#else
	k.next = prog_kernel(k.module, "goes");
#endif
	set_now(d, 1, N);
	set_now(out, 0, N);
	K_PVN(&k, first, s, d, 2, N, SLOW);
	CU(cuLaunchKernelEx(&config, k.next, args, NULL));
	/* what is not launched so waits for all before it */
	COPY(s, out, d, N, 0);
	K_PVN(&k, first, s, d, 3, N, 0);
	COPY(s, out, d, N, 0);
	check_u32("out[0]", get_u32(out, 0), 3);
	CU(cuModuleUnload(k.module));
	prog_end();
	return 0;
}
