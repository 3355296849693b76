/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel with the name and the parameters of one of PyTorch's, which the kernels files
 * that come with krtsan know:
 *   at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, std::array<char*, 1> >
 * (int N, functor, pointers).  It is found by its name alone; what it does is what
 * PyTorch's does.
 */
#ifndef ELEMENTWISE_H
#define ELEMENTWISE_H

#define ELEMENTWISE_FILL                                                                           \
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEE" \
	"viT0_T1_"

static const char elementwise_ptx[] =
	".version 6.0\n.target sm_52\n.address_size 64\n"
	".visible .entry " ELEMENTWISE_FILL "(\n"
	"	.param .u32 n, .param .align 4 .b8 f[4], .param .align 8 .b8 data[8])\n"
	"{\n"
	"	.reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
	"	ld.param.u32 %r1, [n];\n"
	"	ld.param.u32 %r2, [f];\n"
	"	ld.param.u64 %rd1, [data];\n"
	"	cvta.to.global.u64 %rd1, %rd1;\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mov.u32 %r4, %ntid.x;\n"
	"	mov.u32 %r5, %tid.x;\n"
	"	mad.lo.s32 %r3, %r3, %r4, %r5;\n"
	"	setp.ge.s32 %p, %r3, %r1;\n"
	"	@%p bra done;\n"
	"	mul.wide.s32 %rd2, %r3, 4;\n"
	"	add.s64 %rd3, %rd1, %rd2;\n"
	"	st.global.u32 [%rd3], %r2;\n"
	"done:\n"
	"	ret;\n"
	"}\n";

static CUmodule elementwise_module;
static CUfunction elementwise_fill;

static inline void elementwise_start(void)
{
	CU(cuModuleLoadData(&elementwise_module, elementwise_ptx));
	CU(cuModuleGetFunction(&elementwise_fill, elementwise_module, ELEMENTWISE_FILL));
}

/* n words of d become v. */
#define ELEMENTWISE(s, d, v, n)                                                                    \
	do {                                                                                       \
		uint32_t n_ = (n), v_ = (v);                                                       \
		CUdeviceptr d_ = (d);                                                              \
		void *args_[] = {&n_, &v_, &d_};                                                   \
		CU(cuLaunchKernel(elementwise_fill, (n_ + 127) / 128, 1, 1, 128, 1, 1, 0, (s),     \
				  args_, NULL));                                                   \
	} while (0)

#endif
