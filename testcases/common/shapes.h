/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Further kernels of the test programs: which bytes they touch depends on the
 * shape of the launch, on where the pointer points, on a word in memory; pointers
 * that lie in a struct.  One module, loaded into the current context.
 */
#ifndef SHAPES_H
#define SHAPES_H

#include "prog.h"

enum { ROW = 64 }; /* elements */

/* clang-format off */
static const char shapes_ptx[] =
	".version 7.0\n"
	".target sm_50\n"
	".address_size 64\n"
	/* rows: one block of 64 threads for each of n rows, every second one from row v on: dst = v */
	PTX_HEAD("rows", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r5, [n];\n"
	"	setp.ge.u32 %p2, %r1, %r5;\n"
	"	@%p2 ret;\n"
	"	ld.param.u32 %r7, [v];\n"
	"	shl.b32 %r8, %r1, 1;\n"
	"	add.s32 %r8, %r8, %r7;\n"
	"	mad.lo.s32 %r8, %r8, 64, %r3;\n"
	"	mul.wide.s32 %rd4, %r8, 4;\n"
	PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	"	ret;\n"
	"}\n"
	/* back: dst[-1 - i] = v */
	PTX_HEAD("back", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r7, [v];\n"
	PTX_LOOP
	"	neg.s64 %rd4, %rd4;\n"
	PTX_DST
	"	st.global.u32 [%rd5+-4], %r7;\n"
	PTX_NEXT
	/* asked: dst[i] = *src where *src is not 0 */
	PTX_HEAD("asked", ".param .u64 dst, .param .u64 src, .param .u32 n")
	"	ld.param.u64 %rd6, [src];\n"
	"	ld.global.u32 %r7, [%rd6];\n"
	"	setp.eq.u32 %p3, %r7, 0;\n"
	"	@%p3 ret;\n"
	PTX_LOOP PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/* gather: dst[i] = src[index[i]] */
	PTX_HEAD("gather", ".param .u64 dst, .param .u64 src, .param .u64 index, .param .u32 n")
	PTX_LOOP PTX_DST
	"	ld.param.u64 %rd7, [index];\n"
	"	add.s64 %rd7, %rd7, %rd4;\n"
	"	ld.global.u32 %r7, [%rd7];\n"
	"	mul.wide.u32 %rd8, %r7, 4;\n"
	"	ld.param.u64 %rd6, [src];\n"
	"	add.s64 %rd6, %rd6, %rd8;\n"
	"	ld.global.u32 %r8, [%rd6];\n"
	"	st.global.u32 [%rd5], %r8;\n"
	PTX_NEXT
	/* unpack: struct { u64 dst; u64 src; u32 n; } by value: dst[i] = src[i] */
	PTX_HEAD("unpack", ".param .align 8 .b8 arg[24]")
	"	ld.param.u64 %rd7, [arg];\n"
	"	ld.param.u64 %rd8, [arg+8];\n"
	"	ld.param.u32 %r5, [arg+16];\n"
	"	mov.u32 %r6, %nctaid.x;\n"
	"	mul.lo.s32 %r6, %r6, %r2;\n"
	"LOOP:\n"
	"	setp.ge.u32 %p2, %r4, %r5;\n"
	"	@%p2 bra DONE;\n"
	"	mul.wide.u32 %rd4, %r4, 4;\n"
	"	add.s64 %rd5, %rd7, %rd4;\n"
	"	add.s64 %rd6, %rd8, %rd4;\n"
	"	ld.global.u32 %r7, [%rd6];\n"
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/* evens: dst[2 * i + v] = v */
	PTX_HEAD("evens", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r7, [v];\n"
	PTX_LOOP
	"	shl.b32 %r8, %r4, 1;\n"
	"	add.s32 %r8, %r8, %r7;\n"
	"	mul.wide.u32 %rd4, %r8, 4;\n"
	PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	PTX_NEXT
	/* tile: of n rows, 256 elements apart, 64 elements from column v on: = v */
	PTX_HEAD("tile", ".param .u64 dst, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r5, [n];\n"
	"	setp.ge.u32 %p2, %r1, %r5;\n"
	"	@%p2 ret;\n"
	"	ld.param.u32 %r7, [v];\n"
	"	shl.b32 %r8, %r1, 8;\n"
	"	add.s32 %r8, %r8, %r7;\n"
	"	add.s32 %r8, %r8, %r3;\n"
	"	mul.wide.s32 %rd4, %r8, 4;\n"
	PTX_DST
	"	st.global.u32 [%rd5], %r7;\n"
	"	ret;\n"
	"}\n"
	/* poke: src is a table of n pointers: *src[i] = v */
	PTX_HEAD("poke", ".param .u64 src, .param .u32 v, .param .u32 n")
	"	ld.param.u32 %r7, [v];\n"
	PTX_LOOP
	"	shl.b64 %rd4, %rd4, 1;\n"
	PTX_SRC
	"	ld.global.u64 %rd7, [%rd6];\n"
	"	st.global.u32 [%rd7], %r7;\n"
	PTX_NEXT
	/* idle: is given a pointer and does not use it: dst[i] = v */
	PTX_HEAD("idle", ".param .u64 dst, .param .u64 src, .param .u32 n")
	PTX_LOOP PTX_DST
	"	st.global.u32 [%rd5], %r5;\n"
	PTX_NEXT
	;
/* clang-format on */

static struct {
	CUmodule module;
	CUfunction rows, back, asked, gather, unpack, evens, tile, poke, idle;
} shapes;

static inline void shapes_load(void)
{
	CU(cuModuleLoadData(&shapes.module, shapes_ptx));
	shapes.rows = prog_kernel(shapes.module, "rows");
	shapes.back = prog_kernel(shapes.module, "back");
	shapes.asked = prog_kernel(shapes.module, "asked");
	shapes.gather = prog_kernel(shapes.module, "gather");
	shapes.unpack = prog_kernel(shapes.module, "unpack");
	shapes.evens = prog_kernel(shapes.module, "evens");
	shapes.tile = prog_kernel(shapes.module, "tile");
	shapes.poke = prog_kernel(shapes.module, "poke");
	shapes.idle = prog_kernel(shapes.module, "idle");
}

/* first: 0 for even rows, 1 for odd ones */
#define ROWS(stream, dst, first, n, cycles)                                                        \
	do {                                                                                       \
		CUdeviceptr p_ = (dst);                                                            \
		uint32_t v_ = (first), n_ = (n);                                                   \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH(shapes.rows, n_, stream, &p_, &v_, &n_, &c_);                               \
	} while (0)
/* of n rows, 256 elements apart, the 64 from column `first` on */
#define TILE(stream, dst, first, n, cycles)                                                        \
	do {                                                                                       \
		CUdeviceptr p_ = (dst);                                                            \
		uint32_t v_ = (first), n_ = (n);                                                   \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH(shapes.tile, n_, stream, &p_, &v_, &n_, &c_);                               \
	} while (0)
/* n elements, from the `first` on every second one */
#define EVENS(stream, dst, first, n, cycles)	K_PVN(&shapes, evens, stream, dst, first, n, cycles)
#define POKE(stream, table, v, n, cycles)	K_PVN(&shapes, poke, stream, table, v, n, cycles)
#define IDLE(stream, dst, unused, n, cycles)	K_DSN(&shapes, idle, stream, dst, unused, n, cycles)
#define BACK(stream, dst, v, n, cycles)	   K_PVN(&shapes, back, stream, dst, v, n, cycles)
#define ASKED(stream, dst, src, n, cycles) K_DSN(&shapes, asked, stream, dst, src, n, cycles)
#define GATHER(stream, dst, src, index, n, cycles)                                                 \
	do {                                                                                       \
		CUdeviceptr d_ = (dst), s_ = (src), i_ = (index);                                  \
		uint32_t n_ = (n);                                                                 \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH(shapes.gather, 1, stream, &d_, &s_, &i_, &n_, &c_);                         \
	} while (0)
/* Pointers in structs. */
#define PACKED(stream, d, value, count, cycles)                                                    \
	do {                                                                                       \
		struct {                                                                           \
			CUdeviceptr dst, unused;                                                   \
			uint32_t v, n;                                                             \
		} a_ = {(d), 0, (value), (count)};                                                 \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH(prog.packed, 1, stream, &a_, &c_);                                          \
	} while (0)
#define UNPACK(stream, d, s, count, cycles)                                                        \
	do {                                                                                       \
		struct {                                                                           \
			CUdeviceptr dst, src;                                                      \
			uint32_t n, pad;                                                           \
		} a_ = {(d), (s), (count), 0};                                                     \
		uint64_t c_ = (cycles);                                                            \
		LAUNCH(shapes.unpack, 1, stream, &a_, &c_);                                        \
	} while (0)

#endif
