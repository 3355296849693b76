/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that reach variables of their module by name.  Each spins for `cycles`
 * and then acts, with one thread.
 */
#ifndef VARIABLE_H
#define VARIABLE_H

#include "prog.h"

/* clang-format off */
#define VARIABLE_HEAD(name, params) \
	".visible .entry " name "(" params ", .param .u64 cycles)\n" \
	"{\n" \
	"	.reg .pred %p<2>;\n" \
	"	.reg .b32 %r<4>;\n" \
	"	.reg .b64 %rd<8>;\n" \
	"	ld.param.u64 %rd1, [cycles];\n" \
	"	mov.u64 %rd2, %clock64;\n" \
	"SPIN:\n" \
	"	mov.u64 %rd3, %clock64;\n" \
	"	sub.s64 %rd3, %rd3, %rd2;\n" \
	"	setp.lt.u64 %p1, %rd3, %rd1;\n" \
	"	@%p1 bra SPIN;\n"

static const char variable_ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .global .align 4 .u32 total = 5;\n"
	".visible .global .align 4 .u32 tally;\n"
	".visible .const .align 4 .u32 scale = 3;\n"
	".visible .global .align 4 .b8 table[1024];\n"
	/* put: total = v */
	VARIABLE_HEAD("put", ".param .u32 v")
	"	ld.param.u32 %r1, [v];\n"
	"	st.global.u32 [total], %r1;\n"
	"	ret;\n"
	"}\n"
	/* look: *dst = total */
	VARIABLE_HEAD("look", ".param .u64 dst")
	"	ld.param.u64 %rd4, [dst];\n"
	"	ld.global.u32 %r1, [total];\n"
	"	st.global.u32 [%rd4], %r1;\n"
	"	ret;\n"
	"}\n"
	/* scaled: *dst = scale */
	VARIABLE_HEAD("scaled", ".param .u64 dst")
	"	ld.param.u64 %rd4, [dst];\n"
	"	ld.const.u32 %r1, [scale];\n"
	"	st.global.u32 [%rd4], %r1;\n"
	"	ret;\n"
	"}\n"
	/* through: *dst = v */
	VARIABLE_HEAD("through", ".param .u64 dst, .param .u32 v")
	"	ld.param.u64 %rd4, [dst];\n"
	"	ld.param.u32 %r1, [v];\n"
	"	st.global.u32 [%rd4], %r1;\n"
	"	ret;\n"
	"}\n"
	/* pick: *dst = table[*dst] */
	VARIABLE_HEAD("pick", ".param .u64 dst")
	"	ld.param.u64 %rd4, [dst];\n"
	"	ld.global.u32 %r1, [%rd4];\n"
	"	mov.u64 %rd5, table;\n"
	"	mul.wide.u32 %rd6, %r1, 4;\n"
	"	add.s64 %rd5, %rd5, %rd6;\n"
	"	ld.global.u32 %r2, [%rd5];\n"
	"	st.global.u32 [%rd4], %r2;\n"
	"	ret;\n"
	"}\n"
	/* bump: tally += v, atomically */
	VARIABLE_HEAD("bump", ".param .u32 v")
	"	ld.param.u32 %r1, [v];\n"
	"	red.global.add.u32 [tally], %r1;\n"
	"	ret;\n"
	"}\n";
/* clang-format on */

struct variable_kernels {
	CUmodule module;
	CUfunction put, look, scaled, through, pick, bump;
};

static inline void variable_load(struct variable_kernels *k)
{
	CU(cuModuleLoadData(&k->module, variable_ptx));
	k->put = prog_kernel(k->module, "put");
	k->look = prog_kernel(k->module, "look");
	k->scaled = prog_kernel(k->module, "scaled");
	k->through = prog_kernel(k->module, "through");
	k->pick = prog_kernel(k->module, "pick");
	k->bump = prog_kernel(k->module, "bump");
}

static inline CUdeviceptr variable_address(const struct variable_kernels *k, const char *name)
{
	CUdeviceptr p;
	size_t bytes;

	CU(cuModuleGetGlobal(&p, &bytes, k->module, name));
	MUST(bytes >= 4);
	return p;
}

#define VARIABLE_LAUNCH(function, stream, ...)                                                     \
	do {                                                                                       \
		void *args_[] = {__VA_ARGS__};                                                     \
		CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, args_, NULL));            \
	} while (0)
/* put, bump */
#define VARIABLE_V(function, stream, value, cycles)                                                \
	do {                                                                                       \
		uint32_t v_ = (value);                                                             \
		uint64_t c_ = (cycles);                                                            \
		VARIABLE_LAUNCH(function, stream, &v_, &c_);                                       \
	} while (0)
/* look, scaled, pick */
#define VARIABLE_P(function, stream, pointer, cycles)                                              \
	do {                                                                                       \
		CUdeviceptr p_ = (pointer);                                                        \
		uint64_t c_ = (cycles);                                                            \
		VARIABLE_LAUNCH(function, stream, &p_, &c_);                                       \
	} while (0)
/* through */
#define VARIABLE_PV(function, stream, pointer, value, cycles)                                      \
	do {                                                                                       \
		CUdeviceptr p_ = (pointer);                                                        \
		uint32_t v_ = (value);                                                             \
		uint64_t c_ = (cycles);                                                            \
		VARIABLE_LAUNCH(function, stream, &p_, &v_, &c_);                                  \
	} while (0)

#endif
