/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two streams launch one kernel whose blocks take a lock in device memory (cas) to add to
 * a sum by plain accesses: the lock keeps the launches apart, too.
 * EXPECT: none
 */
#include "prog.h"

enum { BLOCKS = 4 };

static const char ptx[] =
	".version 7.0\n"
	".target sm_70\n"
	".address_size 64\n"
	/* under the lock: *sum += v, by the first thread of each block */
	PTX_HEAD("locked", ".param .u64 lock, .param .u64 sum, .param .u32 v")
	"	ld.param.u64 %rd5, [lock];\n"
	"	ld.param.u64 %rd6, [sum];\n"
	"	ld.param.u32 %r5, [v];\n"
	"TAKE:\n"
	"	atom.global.cas.b32 %r6, [%rd5], 0, 1;\n"
	"	setp.ne.u32 %p2, %r6, 0;\n"
	"	@%p2 bra TAKE;\n"
	"	membar.gl;\n"
	"	ld.volatile.global.u32 %r7, [%rd6];\n"
	"	add.u32 %r7, %r7, %r5;\n"
	"	st.global.u32 [%rd6], %r7;\n"
	"	membar.gl;\n"
	"	atom.global.exch.b32 %r8, [%rd5], 0;\n"
	"	ret;\n"
	"}\n";

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr lock = device_u32("lock", 1), sum = device_u32("sum", 1);
	uint32_t one = 1, ten = 10;
	uint64_t now = 0;
	CUmodule module;
	CUfunction k;

	CU(cuModuleLoadData(&module, ptx));
	k = prog_kernel(module, "locked");
	set_now(lock, 0, 1);
	set_now(sum, 0, 1);
	CU(cuLaunchKernel(k, BLOCKS, 1, 1, 1, 1, 1, 0, a, (void *[]){&lock, &sum, &one, &now}, NULL));
	CU(cuLaunchKernel(k, BLOCKS, 1, 1, 1, 1, 1, 0, b, (void *[]){&lock, &sum, &ten, &now}, NULL));
	CU(cuStreamSynchronize(a));
	CU(cuStreamSynchronize(b));
	check_u32("sum", get_u32(sum, 0), 11 * BLOCKS);
	CU(cuModuleUnload(module));
	prog_end();
	return 0;
}
