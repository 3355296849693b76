/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that take their buffers from tables in device memory.  One block a
 * table entry, 64 threads; each spins for `cycles` first.
 */
#ifndef TABLES_H
#define TABLES_H

#include "prog.h"

/* clang-format off */
#define TABLES_HEAD(name, params) \
	".visible .entry " name "(" params ", .param .u32 n, .param .u64 cycles)\n" \
	"{\n" \
	"	.reg .pred %p<4>;\n" \
	"	.reg .b32 %r<16>;\n" \
	"	.reg .f32 %f<4>;\n" \
	"	.reg .b64 %rd<16>;\n" \
	"	ld.param.u64 %rd1, [cycles];\n" \
	"	mov.u64 %rd2, %clock64;\n" \
	"SPIN:\n" \
	"	mov.u64 %rd3, %clock64;\n" \
	"	sub.s64 %rd3, %rd3, %rd2;\n" \
	"	setp.lt.u64 %p1, %rd3, %rd1;\n" \
	"	@%p1 bra SPIN;\n" \
	"	mov.u32 %r1, %ctaid.x;\n" \
	"	mov.u32 %r2, %ntid.x;\n" \
	"	mov.u32 %r4, %tid.x;\n" \
	"	ld.param.u32 %r5, [n];\n" \
	"	ld.param.u64 %rd5, [table];\n"
#define TABLES_LOOP \
	"LOOP:\n" \
	"	setp.ge.u32 %p2, %r4, %r5;\n" \
	"	@%p2 bra DONE;\n" \
	"	mul.wide.u32 %rd4, %r4, 4;\n"
#define TABLES_NEXT \
	"	add.s32 %r4, %r4, %r2;\n" \
	"	bra LOOP;\n" \
	"DONE:\n" \
	"	ret;\n" \
	"}\n"
/* The block's entry of size bytes, its address in %rd6. */
#define TABLES_ENTRY(size) \
	"	mul.wide.u32 %rd4, %r1, " #size ";\n" \
	"	add.s64 %rd6, %rd5, %rd4;\n"

static const char tables_ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	/* each_fill: for each block b, table[b][i] = v */
	TABLES_HEAD("each_fill", ".param .u64 table, .param .u32 v")
	"	ld.param.u32 %r7, [v];\n"
	TABLES_ENTRY(8)
	"	ld.global.u64 %rd7, [%rd6];\n"
	TABLES_LOOP
	"	add.s64 %rd8, %rd7, %rd4;\n"
	"	st.global.u32 [%rd8], %r7;\n"
	TABLES_NEXT
	/* each_scale: table[b][i] *= 2, in floats */
	TABLES_HEAD("each_scale", ".param .u64 table")
	TABLES_ENTRY(8)
	"	ld.global.u64 %rd7, [%rd6];\n"
	TABLES_LOOP
	"	add.s64 %rd8, %rd7, %rd4;\n"
	"	ld.global.f32 %f1, [%rd8];\n"
	"	add.f32 %f1, %f1, %f1;\n"
	"	st.global.f32 [%rd8], %f1;\n"
	TABLES_NEXT
	/* jobs: struct { float *in, *out; long n; } table[]: table[b].out[i] = table[b].in[i] */
	TABLES_HEAD("jobs", ".param .u64 table")
	TABLES_ENTRY(24)
	"	ld.global.u64 %rd7, [%rd6];\n"
	"	ld.global.u64 %rd9, [%rd6+8];\n"
	"	ld.global.u32 %r5, [%rd6+16];\n"
	TABLES_LOOP
	"	add.s64 %rd8, %rd7, %rd4;\n"
	"	add.s64 %rd10, %rd9, %rd4;\n"
	"	ld.global.f32 %f1, [%rd8];\n"
	"	st.global.f32 [%rd10], %f1;\n"
	TABLES_NEXT
	/* chase: struct { float *data; } *table[]: table[b]->data[i] = 1 */
	TABLES_HEAD("chase", ".param .u64 table")
	TABLES_ENTRY(8)
	"	ld.global.u64 %rd7, [%rd6];\n"
	"	ld.global.u64 %rd7, [%rd7];\n"
	"	mov.f32 %f1, 0f3f800000;\n"
	TABLES_LOOP
	"	add.s64 %rd8, %rd7, %rd4;\n"
	"	st.global.f32 [%rd8], %f1;\n"
	TABLES_NEXT
	/* make_table: table[b] = base + b * n floats */
	TABLES_HEAD("make_table", ".param .u64 table, .param .u64 base")
	TABLES_ENTRY(8)
	"	ld.param.u64 %rd7, [base];\n"
	"	mul.lo.u32 %r8, %r1, %r5;\n"
	"	mul.wide.u32 %rd8, %r8, 4;\n"
	"	add.s64 %rd7, %rd7, %rd8;\n"
	"	st.global.u64 [%rd6], %rd7;\n"
	"	ret;\n"
	"}\n"
	;
/* clang-format on */

static CUmodule tables_module;

static inline CUfunction tables_kernel(const char *name)
{
	if (!tables_module)
		CU(cuModuleLoadData(&tables_module, tables_ptx));
	return prog_kernel(tables_module, name);
}

#define EACH_FILL(f, entries, stream, table, v, n, cycles)                                         \
	do {                                                                                       \
		CUdeviceptr t_ = (table);                                                          \
		uint32_t v_ = (v), n_ = (n);                                                       \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH(f, entries, stream, &t_, &v_, &n_, &c_);                                    \
	} while (0)
/* each_scale, jobs, chase */
#define EACH(f, entries, stream, table, n, cycles)                                                 \
	do {                                                                                       \
		CUdeviceptr t_ = (table);                                                          \
		uint32_t n_ = (n);                                                                 \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH(f, entries, stream, &t_, &n_, &c_);                                         \
	} while (0)
#define MAKE_TABLE(f, entries, stream, table, base, n)                                             \
	do {                                                                                       \
		CUdeviceptr t_ = (table), b_ = (base);                                             \
		uint32_t n_ = (n);                                                                 \
		uint64_t c_ = 0;                                                                   \
		LAUNCH(f, entries, stream, &t_, &b_, &n_, &c_);                                    \
	} while (0)

/* n addresses to the device, and everything is done. */
static inline void table_fill(CUdeviceptr table, const CUdeviceptr *entry, size_t n)
{
	CU(cuCtxSynchronize());
	CU(cuMemcpyHtoD(table, entry, 8 * n));
	CU(cuCtxSynchronize());
}

static inline CUdeviceptr table_of(const char *name, const CUdeviceptr *entry, size_t n)
{
	CUdeviceptr t;

	CU(cuMemAlloc(&t, 8 * n));
	krtsan_name((void *)(uintptr_t)t, 8 * n, name);
	table_fill(t, entry, n);
	return t;
}

#endif
