/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a kernel of CUB's the file that comes with krtsan says only which pointers it reads and
 * writes.  Where its PTX is there that tells the bytes: two launches that write one word are
 * a certain error, on halves of one buffer they are silent.
 * EXPECT: KRT-RACE-WAW error certain both count=1
 * MENTIONS: KRT-RACE-WAW "kernel cub::DeviceRadixSortUpsweepKernel<int> #"
 * MENTIONS: KRT-RACE-WAW "ptx-range"
 * EXPECT-FIXED: none
 */
#include "prog.h"

/* void cub::DeviceRadixSortUpsweepKernel<int>(int const*, int*, int) */
#define UPSWEEP "_ZN3cub28DeviceRadixSortUpsweepKernelIiEEvPKT_PS1_i"

enum { N = 2048 };

static const char upsweep_ptx[] =
	".version 6.0\n.target sm_52\n.address_size 64\n"
	".visible .entry " UPSWEEP "(.param .u64 in, .param .u64 out, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<5>;\n"
	"	ld.param.u64 %rd1, [in];\n"
	"	ld.param.u64 %rd2, [out];\n"
	"	ld.param.u32 %r1, [n];\n"
	"	cvta.to.global.u64 %rd1, %rd1;\n"
	"	cvta.to.global.u64 %rd2, %rd2;\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mov.u32 %r4, %ntid.x;\n"
	"	mov.u32 %r5, %tid.x;\n"
	"	mad.lo.s32 %r3, %r3, %r4, %r5;\n"
	"	setp.ge.s32 %p, %r3, %r1;\n"
	"	@%p bra done;\n"
	"	mul.wide.s32 %rd3, %r3, 4;\n"
	"	add.s64 %rd4, %rd1, %rd3;\n"
	"	ld.global.u32 %r2, [%rd4];\n"
	"	add.s64 %rd4, %rd2, %rd3;\n"
	"	st.global.u32 [%rd4], %r2;\n"
	"done:\n"
	"	ret;\n"
	"}\n";

static CUfunction upsweep;

static void sweep(CUstream s, CUdeviceptr in, CUdeviceptr out, uint32_t n)
{
	void *args[] = {&in, &out, &n};

	CU(cuLaunchKernel(upsweep, (n + 127) / 128, 1, 1, 128, 1, 1, 0, s, args, NULL));
}

int main(void)
{
	prog_start();
	CUstream a = stream_nb("a"), b = stream_nb("b");
	CUdeviceptr d = device_u32("d", N), in = device_u32("in", N);
	CUmodule m;

	CU(cuModuleLoadData(&m, upsweep_ptx));
	CU(cuModuleGetFunction(&upsweep, m, UPSWEEP));
	set_now(d, 1, N);
	set_now(in, 2, N);
	sweep(a, in, d, N / 2);
#ifdef FIXED
	sweep(b, in, d + 4 * (N / 2), N / 2);
#else
	sweep(b, in, d + 4 * (N / 2 - 1), N / 2);
#endif
	CU(cuCtxSynchronize());
	check_u32("d[0]", get_u32(d, 0), 2);
	CU(cuModuleUnload(m));

	prog_end();
	return 0;
}
