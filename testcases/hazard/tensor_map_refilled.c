/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next batch is copied into a tensor while a kernel of this one still fetches
 * tiles of it through a tensor map, which it is given by value.  What lies beside
 * the tensor's rows may be written at any time.
 * EXPECT: KRT-RACE-WAR warning likely both count=1
 * MENTIONS: KRT-RACE-WAR "device buffer "
 * EXPECT-FIXED: none
 * MAY-SKIP: needs tensor maps (compute capability 9.0) and a driver that runs them
 */
#include "prog.h"

enum { ROW = 16, ROWS = 16, PITCH = 32 }; /* in elements of 4 bytes */

/* fetch: 16 x 16 elements from (0, 0) of the tensor to dst, by 256 threads */
/* clang-format off */
static const char ptx[] =
	".version 8.0\n"
	".target sm_90\n"
	".address_size 64\n"
	".visible .entry fetch(.param .u64 dst, .param .align 64 .b8 map[128], .param .u64 cycles)\n"
	"{\n"
	"	.reg .pred %p<3>;\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %rd<10>;\n"
	"	.shared .align 128 .b8 tile[1024];\n"
	"	.shared .align 8 .b64 bar;\n"
	"	ld.param.u64 %rd1, [cycles];\n"
	"	mov.u64 %rd2, %clock64;\n"
	"SPIN:\n"
	"	mov.u64 %rd3, %clock64;\n"
	"	sub.s64 %rd3, %rd3, %rd2;\n"
	"	setp.lt.u64 %p1, %rd3, %rd1;\n"
	"	@%p1 bra SPIN;\n"
	"	mov.u32 %r1, %tid.x;\n"
	"	mov.u32 %r2, bar;\n"
	"	mov.u32 %r3, tile;\n"
	"	mov.u32 %r4, 0;\n"
	"	mov.b64 %rd4, map;\n"
	"	cvta.param.u64 %rd5, %rd4;\n"
	"	setp.ne.u32 %p1, %r1, 0;\n"
	"	@%p1 bra WAIT;\n"
	"	mbarrier.init.shared.b64 [%r2], 1;\n"
	"	fence.proxy.async.shared::cta;\n"
	"	mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 1024;\n"
	"	cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
	" [%r3], [%rd5, {%r4, %r4}], [%r2];\n"
	"WAIT:\n"
	"	bar.sync 0;\n"
	"AGAIN:\n"
	"	mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n"
	"	@!%p2 bra AGAIN;\n"
	"	shl.b32 %r5, %r1, 2;\n"
	"	add.u32 %r6, %r3, %r5;\n"
	"	ld.shared.u32 %r7, [%r6];\n"
	"	ld.param.u64 %rd6, [dst];\n"
	"	mul.wide.u32 %rd7, %r1, 4;\n"
	"	add.s64 %rd8, %rd6, %rd7;\n"
	"	st.global.u32 [%rd8], %r7;\n"
	"	ret;\n"
	"}\n";
/* clang-format on */

int main(void)
{
	cuuint64_t dim[] = {ROW, ROWS}, stride[] = {4 * PITCH};
	cuuint32_t box[] = {ROW, ROWS}, step[] = {1, 1};
	CUtensorMap map;
	CUmodule module;
	CUfunction fetch;

	prog_start();
	if (cuModuleLoadData(&module, ptx) != CUDA_SUCCESS ||
	    cuModuleGetFunction(&fetch, module, "fetch") != CUDA_SUCCESS ||
	    cuFuncLoad(fetch) != CUDA_SUCCESS)
		prog_skip("no tensor maps");
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr tensor = device_u32("tensor", PITCH * ROWS), out = device_u32("out", ROW * ROWS);
	uint32_t *h = pinned_u32("h", PITCH * ROWS);
	uint64_t cycles = SLOW;
	CUevent e = event();
	void *args[] = {&out, &map, &cycles};

	set_now(tensor, 1, PITCH * ROWS);
	host_fill(h, 2, PITCH * ROWS);
	CU(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, (void *)(uintptr_t)tensor,
				  dim, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
				  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
				  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
	CU(cuLaunchKernel(fetch, 1, 1, 1, ROW * ROWS, 1, 1, 0, a, args, NULL));
	/* between the rows */
	CU(cuMemsetD2D32Async(tensor + 4 * ROW, 4 * PITCH, 3, PITCH - ROW, ROWS - 1, b));
#ifdef FIXED
	CU(cuEventRecord(e, a));
	CU(cuStreamWaitEvent(b, e, 0));
#endif
	CU(cuMemcpyHtoDAsync(tensor, h, 4 * PITCH * ROWS, b));
	check_u32("out[0]", get_u32(out, 0), 1);
	CU(cuEventDestroy(e));
	CU(cuMemFree(tensor));
	CU(cuMemFree(out));
	CU(cuMemFreeHost(h));
	CU(cuModuleUnload(module));

	prog_end();
	return 0;
}
