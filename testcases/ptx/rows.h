/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single PTX instructions with their results, worked out by hand: for the
 * interpreter (test_exec.c) and, through the driver API, for a real GPU
 * (testcases/gpu/ptx_rows.c), so that the two cannot drift apart.
 */
#ifndef PTX_ROWS_H
#define PTX_ROWS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct row {
	char out;              /* which register holds the result: r d h f F p */
	const char *code;
	uint64_t a, b, c;      /* in %rd1 %r1 %h1 %f1 %fd1 and so on; %p1 = a & 1 */
	uint64_t want;
};

typedef void rows_fn(const char *group, const struct row *rows, size_t n);

#define F(x) (((union { float f; uint32_t u; }){ .f = (x) }).u)
#define D(x) (((union { double d; uint64_t u; }){ .d = (x) }).u)
#define NAN32 0x7fffffffu
#define M1 0xffffffffu

/* A module with one kernel a row, "k0" and so on: (out, a, b, c).  malloc'd; NULL: no memory. */
static inline char *rows_text(const struct row *rows, size_t n, size_t *length)
{
	size_t cap = 4096 + n * 2048, len = 0;
	char *text = malloc(cap);

	if (!text)
		return NULL;
	len += (size_t)sprintf(text, "%s",
		".version 8.3\n.target sm_90\n.address_size 64\n"
		".global .align 8 .b8 gmem[64] = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,200};\n"
		".const .align 4 .u32 cmem[4] = {10,20,30,40};\n");
	for (size_t i = 0; i < n; i++) {
		len += (size_t)snprintf(
			text + len, cap - len,
			".visible .entry k%zu(.param .u64 o, .param .u64 a, .param .u64 b, .param "
			".u64 c)\n{\n"
			".reg .b64 %%rd<10>, %%addr; .reg .b32 %%r<10>; .reg .b16 %%h<10>; .reg "
			".f32 %%f<10>;"
			".reg .f64 %%fd<10>; .reg .pred %%p<10>; .shared .align 16 .b8 smem[64]; "
			".local .align 16 .b8 lmem[64];\n"
			"ld.param.u64 %%addr, [o]; ld.param.u64 %%rd1, [a]; ld.param.u64 %%rd2, "
			"[b]; ld.param.u64 %%rd3, [c];\n"
			"cvt.u32.u64 %%r1, %%rd1; cvt.u32.u64 %%r2, %%rd2; cvt.u32.u64 %%r3, "
			"%%rd3;\n"
			"cvt.u16.u64 %%h1, %%rd1; cvt.u16.u64 %%h2, %%rd2; cvt.u16.u64 %%h3, "
			"%%rd3;\n"
			"mov.b32 %%f1, %%r1; mov.b32 %%f2, %%r2; mov.b32 %%f3, %%r3;\n"
			"mov.b64 %%fd1, %%rd1; mov.b64 %%fd2, %%rd2; mov.b64 %%fd3, %%rd3;\n"
			"and.b64 %%rd9, %%rd1, 1; setp.ne.u64 %%p1, %%rd9, 0;\n%s\n",
			i, rows[i].code);
		switch (rows[i].out) {
		case 'r':
			len += (size_t)sprintf(text + len, "cvt.u64.u32 %%rd0, %%r0;\n");
			break;
		case 'h':
			len += (size_t)sprintf(text + len, "cvt.u64.u16 %%rd0, %%h0;\n");
			break;
		case 'f':
			len += (size_t)sprintf(text + len,
					       "mov.b32 %%r0, %%f0; cvt.u64.u32 %%rd0, %%r0;\n");
			break;
		case 'F':
			len += (size_t)sprintf(text + len, "mov.b64 %%rd0, %%fd0;\n");
			break;
		case 'p':
			len += (size_t)sprintf(text + len, "selp.b64 %%rd0, 1, 0, %%p0;\n");
			break;
		default:
			break;
		}
		len += (size_t)sprintf(text + len, "st.global.u64 [%%addr], %%rd0;\nret;\n}\n");
	}
	*length = len;
	return text;
}

static inline void rows_integer_arithmetic(rows_fn *fn)
{
	const struct row rows[] = {
		{'r', "add.s32 %r0, %r1, %r2;", 0x7fffffff, 1, 0, 0x80000000},
		{'r', "add.sat.s32 %r0, %r1, %r2;", 0x7fffffff, 1, 0, 0x7fffffff},
		{'r', "sub.sat.s32 %r0, %r1, %r2;", 0x80000000, 1, 0, 0x80000000},
		{'d', "add.u64 %rd0, %rd1, %rd2;", UINT64_MAX, 2, 0, 1},
		{'h', "add.u16 %h0, %h1, %h2;", 0xffff, 3, 0, 2},
		{'d', "sub.s64 %rd0, %rd1, %rd2;", 5, 7, 0, (uint64_t)-2},
		{'r', "sub.s32 %r0, %r1, 10;", 3, 0, 0, (uint32_t)-7},
		{'r', "mul.lo.s32 %r0, %r1, %r2;", (uint32_t)-3, 7, 0, (uint32_t)-21},
		{'r', "mul.hi.u32 %r0, %r1, %r2;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
		{'r', "mul.hi.s32 %r0, %r1, %r2;", 0xffffffff, 0xffffffff, 0, 0},
		{'d', "mul.wide.s32 %rd0, %r1, %r2;", 0xffffffff, 5, 0, (uint64_t)-5},
		{'d', "mul.wide.u32 %rd0, %r1, %r2;", 0xffffffff, 5, 0, 0x4fffffffb},
		{'r', "mul.wide.s16 %r0, %h1, %h2;", 0xffff, 5, 0, (uint32_t)-5},
		{'d', "mul.hi.u64 %rd0, %rd1, %rd2;", UINT64_MAX, UINT64_MAX, 0, UINT64_MAX - 1},
		{'d', "mul.hi.s64 %rd0, %rd1, %rd2;", (uint64_t)-1, 5, 0, UINT64_MAX},
		{'d', "mul.lo.s64 %rd0, %rd1, %rd2;", UINT64_C(1) << 40, 1 << 30, 0, 0},
		{'h', "mul.lo.u16 %h0, %h1, %h2;", 300, 300, 0, 90000 & 0xffff},
		{'h', "mul.hi.u16 %h0, %h1, %h2;", 300, 300, 0, 1},
		{'r', "mad.lo.s32 %r0, %r1, %r2, %r3;", 6, 7, 100, 142},
		{'r', "mad.hi.u32 %r0, %r1, %r2, %r3;", 0x80000000, 4, 5, 7},
		{'d', "mad.wide.u32 %rd0, %r1, %r2, %rd3;", 0xffffffff, 2, 5, 0x200000003},
		{'d', "mad.wide.s32 %rd0, %r1, 4, %rd3;", (uint32_t)-2, 0, 100, 92},
		{'r', "mad.hi.sat.s32 %r0, %r1, %r2, %r3;", 0x7fffffff, 0x7fffffff, 0x7fffffff,
		 0x7fffffff},
		{'r', "mul24.lo.u32 %r0, %r1, %r2;", 0xff000003, 5, 0, 15},
		{'r', "mul24.lo.s32 %r0, %r1, %r2;", 0x00ffffff, 5, 0, (uint32_t)-5},
		{'r', "mul24.hi.u32 %r0, %r1, %r2;", 0xffffff, 0xffffff, 0, 0xfffffe00},
		{'r', "mad24.lo.s32 %r0, %r1, %r2, %r3;", 3, 4, 5, 17},
		{'r', "sad.s32 %r0, %r1, %r2, %r3;", (uint32_t)-3, 4, 10, 17},
		{'r', "sad.u32 %r0, %r1, %r2, %r3;", 3, 10, 1, 8},
		{'r', "div.s32 %r0, %r1, %r2;", (uint32_t)-7, 2, 0, (uint32_t)-3},
		{'r', "rem.s32 %r0, %r1, %r2;", (uint32_t)-7, 2, 0, (uint32_t)-1},
		{'r', "div.u32 %r0, %r1, %r2;", 0xfffffff9, 2, 0, 0x7ffffffc},
		{'r', "div.s32 %r0, %r1, %r2;", 0x80000000, M1, 0, 0x80000000},
		{'r', "rem.s32 %r0, %r1, %r2;", 0x80000000, M1, 0, 0},
		{'r', "div.u32 %r0, %r1, %r2;", 5, 0, 0, M1},
		{'d', "div.u64 %rd0, %rd1, %rd2;", UINT64_MAX, 10, 0,
		 UINT64_C(1844674407370955161)},
		{'d', "div.s64 %rd0, %rd1, %rd2;", (uint64_t)INT64_MIN, UINT64_MAX, 0,
		 (uint64_t)INT64_MIN},
		{'d', "rem.s64 %rd0, %rd1, %rd2;", (uint64_t)-100, 7, 0, (uint64_t)-2},
		{'h', "div.s16 %h0, %h1, %h2;", 0xfff6, 3, 0, 0xfffd},
		{'r', "abs.s32 %r0, %r1;", (uint32_t)-5, 0, 0, 5},
		{'r', "abs.s32 %r0, %r1;", 0x80000000, 0, 0, 0x80000000},
		{'d', "neg.s64 %rd0, %rd1;", 5, 0, 0, (uint64_t)-5},
		{'r', "min.s32 %r0, %r1, %r2;", (uint32_t)-5, 3, 0, (uint32_t)-5},
		{'r', "min.u32 %r0, %r1, %r2;", (uint32_t)-5, 3, 0, 3},
		{'d', "max.s64 %rd0, %rd1, %rd2;", (uint64_t)-5, 3, 0, 3},
		{'h', "max.u16 %h0, %h1, %h2;", 0xffff, 3, 0, 0xffff},
		{'r', "max.relu.s32 %r0, %r1, %r2;", (uint32_t)-5, (uint32_t)-3, 0, 0},
		{'r', "min.s16x2 %r0, %r1, %r2;", 0xffff0005, 0x00030002, 0, 0xffff0002},
		{'r', "add.u16x2 %r0, %r1, %r2;", 0xffff0005, 0x00030002, 0, 0x00020007},
		{'r', "dp4a.s32.s32 %r0, %r1, %r2, %r3;", 0x01ff0203, 0x01010102, 100,
		 100 + 1 - 1 + 2 + 6},
		{'r', "dp4a.u32.u32 %r0, %r1, %r2, %r3;", 0xff000000, 0xff000000, 1, 65026},
		{'r', "dp2a.lo.s32.s32 %r0, %r1, %r2, %r3;", 0xffff0003, 0x00000502, 10,
		 10 + 6 - 5},
		{'r', "dp2a.hi.s32.s32 %r0, %r1, %r2, %r3;", 0x00020003, 0x05020000, 10,
		 10 + 6 + 10},
	};

	fn("integer_arithmetic", rows, sizeof(rows) / sizeof(rows[0]));
}

static inline void rows_carries(rows_fn *fn)
{
	const struct row rows[] = {
		{'d', "add.cc.u32 %r4, %r1, %r2; addc.u32 %r5, %r3, 0; mov.b64 %rd0, {%r4, %r5};",
		 M1, 2, 7, 0x800000001},
		{'d', "sub.cc.u32 %r4, %r1, %r2; subc.u32 %r5, %r3, 0; mov.b64 %rd0, {%r4, %r5};",
		 1, 2, 7, 0x6ffffffff},
		{'r', "add.cc.u32 %r4, %r1, %r2; addc.cc.u32 %r5, %r1, %r2; addc.u32 %r0, 0, 0;",
		 M1, 1, 0, 1},
		{'r', "add.cc.u32 %r4, 1, 1; addc.u32 %r0, %r1, 0;", 5, 0, 0, 5},
		{'d', "add.cc.u64 %rd4, %rd1, %rd2; addc.u64 %rd0, %rd3, 0;", UINT64_MAX, 1, 9, 10},
		{'r', "mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %r0, %r1, %r2, 0;", M1, M1, M1,
		 M1},
		{'r', "mad.hi.cc.u32 %r4, %r1, %r2, %r3; addc.u32 %r0, 0, 0;", M1, M1, 2, 1},
		{'r', "mad.lo.cc.u32 %r4, 1, 1, 1; madc.lo.u32 %r0, 3, 4, 5;", 0, 0, 0, 17},
	};

	fn("carries", rows, sizeof(rows) / sizeof(rows[0]));
}

static inline void rows_bits(rows_fn *fn)
{
	const struct row rows[] = {
		{'r', "and.b32 %r0, %r1, %r2;", 0xf0f0, 0xff00, 0, 0xf000},
		{'d', "or.b64 %rd0, %rd1, %rd2;", 0xf0f0, UINT64_C(1) << 63, 0, 0x800000000000f0f0},
		{'h', "xor.b16 %h0, %h1, %h2;", 0xffff, 0x0ff0, 0, 0xf00f},
		{'r', "not.b32 %r0, %r1;", 5, 0, 0, 0xfffffffa},
		{'r', "cnot.b32 %r0, %r1;", 0, 0, 0, 1},
		{'r', "cnot.b32 %r0, %r1;", 8, 0, 0, 0},
		{'p', "setp.eq.u32 %p2, %r2, 7; and.pred %p0, %p1, %p2;", 1, 7, 0, 1},
		{'p', "setp.eq.u32 %p2, %r2, 7; xor.pred %p0, %p1, %p2;", 1, 7, 0, 0},
		{'p', "not.pred %p0, %p1;", 1, 0, 0, 0},
		{'r', "shl.b32 %r0, %r1, %r2;", 3, 31, 0, 0x80000000},
		{'r', "shl.b32 %r0, %r1, %r2;", 3, 32, 0, 0},
		{'r', "shr.u32 %r0, %r1, 4;", 0x80000010, 0, 0, 0x08000001},
		{'r', "shr.s32 %r0, %r1, %r2;", 0x80000000, 100, 0, M1},
		{'r', "shr.b32 %r0, %r1, %r2;", 0x80000000, 100, 0, 0},
		{'d', "shr.s64 %rd0, %rd1, %r2;", (uint64_t)-16, 2, 0, (uint64_t)-4},
		{'h', "shr.s16 %h0, %h1, %r2;", 0x8000, 3, 0, 0xf000},
		{'r', "shf.l.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000001, 0x00000001, 4, 0x18},
		{'r', "shf.r.wrap.b32 %r0, %r1, %r2, %r3;", 0x80000001, 0x00000003, 36, 0x38000000},
		{'r', "shf.l.clamp.b32 %r0, %r1, %r2, %r3;", 0x1234, 0x5678, 40, 0x1234},
		{'r', "shf.r.clamp.b32 %r0, %r1, %r2, %r3;", 0x1234, 0x5678, 40, 0x5678},
		{'r', "lop3.b32 %r0, %r1, %r2, %r3, 0xe8;", 0xc, 0xa, 0x6, 0xe},
		{'r', "lop3.b32 %r0, %r1, %r2, %r3, 0x96;", 0xc, 0xa, 0x7, 0xc ^ 0xa ^ 0x7},
		{'r', "bfe.u32 %r0, %r1, 4, 8;", 0xabcd, 0, 0, 0xbc},
		{'r', "bfe.s32 %r0, %r1, 4, 8;", 0xabcd, 0, 0, 0xffffffbc},
		{'r', "bfe.s32 %r0, %r1, 28, 8;", 0x90000000, 0, 0, 0xfffffff9},
		{'r', "bfe.u32 %r0, %r1, 0, 0;", M1, 0, 0, 0},
		{'d', "bfe.u64 %rd0, %rd1, 60, 8;", UINT64_C(0xa) << 60, 0, 0, 0xa},
		{'r', "bfi.b32 %r0, %r1, %r2, 8, 4;", 0xff, 0, 0, 0xf00},
		{'d', "bfi.b64 %rd0, %rd1, %rd2, 32, 32;", 0x12345678, 0x9abcdef0, 0,
		 0x123456789abcdef0},
		{'r', "brev.b32 %r0, %r1;", 0x1, 0, 0, 0x80000000},
		{'d', "brev.b64 %rd0, %rd1;", 0x3, 0, 0, 0xc000000000000000},
		{'r', "popc.b32 %r0, %r1;", 0xf0f1, 0, 0, 9},
		{'r', "popc.b64 %r0, %rd1;", UINT64_MAX, 0, 0, 64},
		{'r', "clz.b32 %r0, %r1;", 0, 0, 0, 32},
		{'r', "clz.b64 %r0, %rd1;", 1, 0, 0, 63},
		{'r', "bfind.u32 %r0, %r1;", 0x100, 0, 0, 8},
		{'r', "bfind.u32 %r0, %r1;", 0, 0, 0, M1},
		{'r', "bfind.s32 %r0, %r1;", (uint32_t)-2, 0, 0, 0},
		{'r', "bfind.shiftamt.u32 %r0, %r1;", 0x100, 0, 0, 23},
		{'r', "fns.b32 %r0, %r1, %r2, %r3;", 0xaaaaaaaa, 3, 2, 5},
		{'r', "fns.b32 %r0, %r1, %r2, %r3;", 0xaaaaaaaa, 3, (uint32_t)-2, 1},
		{'r', "fns.b32 %r0, %r1, %r2, %r3;", 0xaaaaaaaa, 3, 0, 3},
		{'r', "prmt.b32 %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 0x5140, 0x55114400},
		{'r', "prmt.b32 %r0, %r1, %r2, 0x9d80;", 0x80008080, 0, 0, 0xff00ff80 & 0xff00ff80},
		{'r', "prmt.b32.f4e %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 1, 0x44332211},
		{'r', "prmt.b32.b4e %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 1, 0x66770011},
		{'r', "prmt.b32.rc8 %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 2, 0x22222222},
		{'r', "prmt.b32.rc16 %r0, %r1, %r2, %r3;", 0x33221100, 0x77665544, 1, 0x33223322},
		{'r', "bmsk.clamp.b32 %r0, %r1, %r2;", 4, 8, 0, 0xff0},
		{'r', "bmsk.clamp.b32 %r0, %r1, %r2;", 4, 40, 0, 0xfffffff0},
		{'r', "szext.clamp.s32 %r0, %r1, %r2;", 0xff, 8, 0, M1},
		{'r', "szext.clamp.u32 %r0, %r1, %r2;", 0x1ff, 8, 0, 0xff},
	};

	fn("bits", rows, sizeof(rows) / sizeof(rows[0]));
}

static inline void rows_compare_and_select(rows_fn *fn)
{
	const struct row rows[] = {
		{ 'p', "setp.lt.s32 %p0, %r1, %r2;", (uint32_t)-1, 1, 0, 1 },
		{ 'p', "setp.lt.u32 %p0, %r1, %r2;", (uint32_t)-1, 1, 0, 0 },
		{ 'p', "setp.lo.u32 %p0, %r1, %r2;", 0, 1, 0, 1 },
		{ 'p', "setp.hs.u32 %p0, %r1, %r2;", 1, 1, 0, 1 },
		{ 'p', "setp.ge.s64 %p0, %rd1, %rd2;", (uint64_t)-1, 0, 0, 0 },
		{ 'p', "setp.eq.b16 %p0, %h1, %h2;", 0x10005, 0x20005, 0, 1 },
		{ 'p', "setp.gt.s16 %p0, %h1, %h2;", 0xffff, 0, 0, 0 },
		{ 'p', "setp.ne.f32 %p0, %f1, %f2;", F(1.0f), F(2.0f), 0, 1 },
		{ 'p', "setp.ne.f32 %p0, %f1, %f2;", NAN32, F(2.0f), 0, 0 },
		{ 'p', "setp.neu.f32 %p0, %f1, %f2;", NAN32, F(2.0f), 0, 1 },
		{ 'p', "setp.equ.f32 %p0, %f1, %f2;", F(1.0f), F(2.0f), 0, 0 },
		{ 'p', "setp.ltu.f32 %p0, %f1, %f2;", NAN32, F(2.0f), 0, 1 },
		{ 'p', "setp.leu.f64 %p0, %fd1, %fd2;", D(2.0), D(2.0), 0, 1 },
		{ 'p', "setp.gtu.f64 %p0, %fd1, %fd2;", D(2.0), D(2.0), 0, 0 },
		{ 'p', "setp.geu.f64 %p0, %fd1, %fd2;", D(2.0), D((double)NAN), 0, 1 },
		{ 'p', "setp.num.f32 %p0, %f1, %f2;", F(1.0f), NAN32, 0, 0 },
		{ 'p', "setp.nan.f32 %p0, %f1, %f2;", F(1.0f), NAN32, 0, 1 },
		{ 'p', "setp.eq.ftz.f32 %p0, %f1, %f2;", 1, 0, 0, 1 },
		{ 'p', "setp.eq.f32 %p0, %f1, %f2;", 1, 0, 0, 0 },
		{ 'p', "setp.lt.and.s32 %p0, %r1, %r2, %p1;", 1, 5, 0, 1 },
		{ 'p', "setp.lt.and.s32 %p0, %r1, %r2, !%p1;", 1, 5, 0, 0 },
		{ 'p', "setp.gt.or.s32 %p0, %r1, %r2, %p1;", 1, 5, 0, 1 },
		{ 'p', "setp.lt.xor.s32 %p0, %r1, %r2, %p1;", 1, 5, 0, 0 },
		{ 'p', "setp.lt.s32 %p2|%p0, %r1, %r2;", 1, 5, 0, 0 },
		{ 'p', "setp.lt.and.s32 %p2|%p0, %r2, %r1, %p1;", 1, 5, 0, 1 },
		{ 'p', "setp.lt.f16 %p0, %h1, %h2;", 0x3c00, 0x4000, 0, 1 },
		{ 'r', "set.lt.u32.s32 %r0, %r1, %r2;", 1, 5, 0, M1 },
		{ 'f', "set.gt.f32.s32 %f0, %r1, %r2;", 9, 5, 0, F(1.0f) },
		{ 'r', "set.eq.and.u32.f32 %r0, %f1, %f1, %p1;", F(1.0f) | 1, 0, 0, M1 },
		{ 'r', "selp.b32 %r0, %r1, %r2, %p1;", 1, 2, 0, 1 },
		{ 'r', "selp.b32 %r0, %r1, %r2, %p1;", 4, 2, 0, 2 },
		{ 'd', "selp.s64 %rd0, -1, %rd2, %p1;", 1, 2, 0, UINT64_MAX },
		{ 'f', "selp.f32 %f0, 0f3F800000, %f2, %p1;", 1, 2, 0, F(1.0f) },
		{ 'r', "slct.u32.s32 %r0, %r1, %r2, %r3;", 1, 2, (uint32_t)-1, 2 },
		{ 'r', "slct.u32.f32 %r0, %r1, %r2, %f3;", 1, 2, 0x80000000, 1 },
		{ 'r', "slct.u32.f32 %r0, %r1, %r2, %f3;", 1, 2, NAN32, 2 },
		{ 'r', "mov.u32 %r0, 1; @%p1 mov.u32 %r0, 2;", 1, 0, 0, 2 },
		{ 'r', "mov.u32 %r0, 1; @!%p1 mov.u32 %r0, 2;", 1, 0, 0, 1 },
	};

	fn("compare_and_select", rows, sizeof(rows) / sizeof(rows[0]));
}

static inline void rows_floats(rows_fn *fn)
{
	const struct row rows[] = {
		{'f', "add.f32 %f0, %f1, %f2;", F(1.5f), F(2.25f), 0, F(3.75f)},
		{'f', "add.rz.f32 %f0, %f1, %f2;", F(1.0f), F(0x1.8p-24f), 0, F(1.0f)},
		{'f', "add.rn.f32 %f0, %f1, %f2;", F(1.0f), F(0x1.8p-24f), 0, F(0x1.000002p0f)},
		{'f', "add.rp.f32 %f0, %f1, %f2;", F(1.0f), F(0x1p-40f), 0, F(0x1.000002p0f)},
		{'f', "add.rm.f32 %f0, %f1, %f2;", F(-1.0f), F(-0x1p-60f), 0, F(-0x1.000002p0f)},
		{'f', "add.rz.f32 %f0, %f1, %f2;", F(-1.0f), F(-0x1p-60f), 0, F(-1.0f)},
		{'f', "add.rm.f32 %f0, %f1, %f2;", F(1.0f), F(-1.0f), 0, 0x80000000},
		{'f', "sub.rm.f32 %f0, %f1, %f2;", F(1.0f), F(1.0f), 0, 0x80000000},
		{'f', "add.rm.f32 %f0, %f1, %f2;", 0, 0, 0, 0},
		{'f', "mul.rz.f32 %f0, %f1, %f2;", F(0x1.fffffep127f), F(2.0f), 0,
		 F(0x1.fffffep127f)},
		{'f', "mul.rp.f32 %f0, %f1, %f2;", F(0x1.fffffep127f), F(2.0f), 0, F(INFINITY)},
		{'f', "add.ftz.f32 %f0, %f1, %f2;", 1, F(0.0f), 0, 0},
		{'f', "add.f32 %f0, %f1, %f2;", 1, F(0.0f), 0, 1},
		{'f', "mul.ftz.f32 %f0, %f1, %f2;", F(-0x1p-100f), F(0x1p-40f), 0, 0x80000000},
		{'f', "add.sat.f32 %f0, %f1, %f2;", F(0.75f), F(2.25f), 0, F(1.0f)},
		{'f', "add.sat.f32 %f0, %f1, %f2;", NAN32, F(2.25f), 0, 0},
		{'f', "sub.f32 %f0, %f1, %f2;", F(INFINITY), F(INFINITY), 0, NAN32},
		{'f', "mul.f32 %f0, %f1, 0f40000000;", F(3.0f), 0, 0, F(6.0f)},
		{'f', "mul.f32 %f0, %f1, 2.5;", F(3.0f), 0, 0, F(7.5f)},
		{'f', "div.rn.f32 %f0, %f1, %f2;", F(1.0f), F(3.0f), 0, 0x3eaaaaab},
		{'f', "div.rz.f32 %f0, %f1, %f2;", F(1.0f), F(3.0f), 0, 0x3eaaaaaa},
		{'f', "div.rp.f32 %f0, %f1, %f2;", F(-1.0f), F(3.0f), 0, 0xbeaaaaaa},
		{'f', "div.approx.f32 %f0, %f1, %f2;", F(1.0f), F(0.0f), 0, F(INFINITY)},
		{'f', "fma.rn.f32 %f0, %f1, %f2, %f3;", F(0x1.000002p0f), F(0x1.000002p0f),
		 F(-1.0f), F(0x1.000001p-22f)},
		{'f', "fma.rz.f32 %f0, %f1, %f2, %f3;", F(1.0f), F(1.0f), F(0x1.8p-24f), F(1.0f)},
		{'f', "mad.rn.f32 %f0, %f1, %f2, %f3;", F(2.0f), F(3.0f), F(1.0f), F(7.0f)},
		{'f', "abs.f32 %f0, %f1;", F(-2.0f), 0, 0, F(2.0f)},
		{'f', "neg.f32 %f0, %f1;", F(0.0f), 0, 0, 0x80000000},
		{'f', "min.f32 %f0, %f1, %f2;", NAN32, F(2.0f), 0, F(2.0f)},
		{'f', "min.NaN.f32 %f0, %f1, %f2;", NAN32, F(2.0f), 0, NAN32},
		{'f', "max.f32 %f0, %f1, %f2;", 0x80000000, 0, 0, 0},
		{'f', "min.f32 %f0, %f1, %f2;", 0, 0x80000000, 0, 0x80000000},
		{'f', "max.xorsign.abs.f32 %f0, %f1, %f2;", F(-3.0f), F(2.0f), 0, F(-3.0f)},
		{'f', "copysign.f32 %f0, %f1, %f2;", F(-1.0f), F(2.0f), 0, F(-2.0f)},
		{'f', "sqrt.rn.f32 %f0, %f1;", F(2.0f), 0, 0, 0x3fb504f3},
		{'f', "sqrt.rz.f32 %f0, %f1;", F(3.0f), 0, 0, 0x3fddb3d7},
		{'f', "sqrt.rp.f32 %f0, %f1;", F(3.0f), 0, 0, 0x3fddb3d8},
		{'f', "sqrt.approx.f32 %f0, %f1;", F(-1.0f), 0, 0, NAN32},
		{'f', "rcp.rn.f32 %f0, %f1;", F(4.0f), 0, 0, F(0.25f)},
		{'f', "rsqrt.approx.f32 %f0, %f1;", F(16.0f), 0, 0, F(0.25f)},
		{'f', "sin.approx.f32 %f0, %f1;", 0, 0, 0, 0},
		{'f', "cos.approx.f32 %f0, %f1;", 0, 0, 0, F(1.0f)},
		{'f', "ex2.approx.f32 %f0, %f1;", F(-3.0f), 0, 0, F(0.125f)},
		{'f', "lg2.approx.f32 %f0, %f1;", F(8.0f), 0, 0, F(3.0f)},
		{'f', "tanh.approx.f32 %f0, %f1;", F(0.0f), 0, 0, 0},
		{'p', "testp.finite.f32 %p0, %f1;", F(INFINITY), 0, 0, 0},
		{'p', "testp.subnormal.f32 %p0, %f1;", 1, 0, 0, 1},
		{'p', "testp.notanumber.f64 %p0, %fd1;", D((double)NAN), 0, 0, 1},
		{'F', "add.f64 %fd0, %fd1, %fd2;", D(1.5), D(2.0), 0, D(3.5)},
		{'F', "add.rp.f64 %fd0, %fd1, %fd2;", D(1.0), D(0x1p-80), 0,
		 D(0x1.0000000000001p0)},
		{'F', "mul.rz.f64 %fd0, %fd1, %fd2;", D(0x1.0000000000001p0),
		 D(-0x1.0000000000001p0), 0, D(-0x1.0000000000002p0)},
		{'F', "mul.rm.f64 %fd0, %fd1, %fd2;", D(0x1.0000000000001p0),
		 D(-0x1.0000000000001p0), 0, D(-0x1.0000000000003p0)},
		{'F', "fma.rn.f64 %fd0, %fd1, %fd2, %fd3;", D(2.0), D(3.0), D(1.0), D(7.0)},
		{'F', "fma.rp.f64 %fd0, %fd1, %fd2, %fd3;", D(1.0), D(1.0), D(0x1p-80),
		 D(0x1.0000000000001p0)},
		{'F', "div.rn.f64 %fd0, %fd1, 0d4008000000000000;", D(1.0), 0, 0, D(1.0 / 3)},
		{'F', "div.rp.f64 %fd0, %fd1, 0d4008000000000000;", D(1.0), 0, 0,
		 0x3fd5555555555556},
		{'F', "sqrt.rn.f64 %fd0, %fd1;", D(9.0), 0, 0, D(3.0)},
		{'F', "rcp.rn.f64 %fd0, %fd1;", D(-8.0), 0, 0, D(-0.125)},
		{'F', "neg.f64 %fd0, %fd1;", D(-8.0), 0, 0, D(8.0)},
		{'F', "min.f64 %fd0, %fd1, %fd2;", D(-8.0), D(1.0), 0, D(-8.0)},
		{'h', "add.f16 %h0, %h1, %h2;", 0x3c00, 0x4000, 0, 0x4200},
		{'h', "fma.rn.f16 %h0, %h1, %h2, %h3;", 0x4000, 0x4200, 0x3c00, 0x4700},
		{'r', "mul.f16x2 %r0, %r1, %r2;", 0x40003c00, 0x42004400, 0, 0x46004400},
		{'r', "fma.rn.relu.f16x2 %r0, %r1, %r2, %r3;", 0x40003c00, 0xc2004400, 0,
		 0x00004400},
		{'h', "neg.bf16 %h0, %h1;", 0x3f80, 0, 0, 0xbf80},
		{'h', "max.f16 %h0, %h1, %h2;", 0x7e00, 0x3c00, 0, 0x3c00},
		{'r', "abs.f16x2 %r0, %r1;", 0xbc00bc00, 0, 0, 0x3c003c00},
	};

	fn("floats", rows, sizeof(rows) / sizeof(rows[0]));
}

static inline void rows_conversions(rows_fn *fn)
{
	const struct row rows[] = {
		{'r', "cvt.s32.s8 %r0, %r1;", 0x1ff, 0, 0, M1},
		{'r', "cvt.u32.u8 %r0, %r1;", 0x1ff, 0, 0, 0xff},
		{'d', "cvt.s64.s32 %rd0, %r1;", 0x80000000, 0, 0, 0xffffffff80000000},
		{'d', "cvt.u64.u32 %rd0, %r1;", 0x80000000, 0, 0, 0x80000000},
		{'h', "cvt.u16.u32 %h0, %r1;", 0x12345, 0, 0, 0x2345},
		{'h', "cvt.sat.u16.u32 %h0, %r1;", 0x12345, 0, 0, 0xffff},
		{'r', "cvt.sat.s32.s64 %r0, %rd1;", (uint64_t)INT64_MIN, 0, 0, 0x80000000},
		{'r', "cvt.sat.u32.s32 %r0, %r1;", (uint32_t)-5, 0, 0, 0},
		{'r', "cvt.sat.s32.u32 %r0, %r1;", M1, 0, 0, 0x7fffffff},
		{'r', "cvt.sat.s8.s32 %r0, %r1;", 300, 0, 0, 127},
		{'r', "cvt.s8.s32 %r0, %r1;", 300, 0, 0, 44},
		{'r', "cvt.rzi.s32.f32 %r0, %f1;", F(-2.75f), 0, 0, (uint32_t)-2},
		{'r', "cvt.rni.s32.f32 %r0, %f1;", F(2.5f), 0, 0, 2},
		{'r', "cvt.rmi.s32.f32 %r0, %f1;", F(-2.25f), 0, 0, (uint32_t)-3},
		{'r', "cvt.rpi.s32.f32 %r0, %f1;", F(2.25f), 0, 0, 3},
		{'r', "cvt.rzi.u32.f32 %r0, %f1;", F(-2.75f), 0, 0, 0},
		{'r', "cvt.rzi.s32.f32 %r0, %f1;", F(1e20f), 0, 0, 0x7fffffff},
		{'r', "cvt.rzi.s32.f32 %r0, %f1;", NAN32, 0, 0, 0},
		{'d', "cvt.rzi.s64.f64 %rd0, %fd1;", D((double)NAN), 0, 0, 0x8000000000000000},
		{'d', "cvt.rzi.u64.f64 %rd0, %fd1;", D(1.8e19), 0, 0,
		 UINT64_C(18000000000000000000)},
		{'d', "cvt.rzi.u64.f32 %rd0, %f1;", F(1e30f), 0, 0, UINT64_MAX},
		{'f', "cvt.rn.f32.s32 %f0, %r1;", (uint32_t)-7, 0, 0, F(-7.0f)},
		{'f', "cvt.rn.f32.u32 %f0, %r1;", M1, 0, 0, F(4294967296.0f)},
		{'f', "cvt.rz.f32.u32 %f0, %r1;", M1, 0, 0, F(4294967040.0f)},
		{'f', "cvt.rn.f32.u64 %f0, %rd1;", UINT64_MAX, 0, 0, F(0x1p64f)},
		{'f', "cvt.rz.f32.u64 %f0, %rd1;", UINT64_MAX, 0, 0, F(0x1.fffffep63f)},
		{'F', "cvt.rn.f64.s64 %fd0, %rd1;", (uint64_t)-3, 0, 0, D(-3.0)},
		{'F', "cvt.rz.f64.u64 %fd0, %rd1;", UINT64_MAX, 0, 0, D(0x1.fffffffffffffp63)},
		{'F', "cvt.f64.f32 %fd0, %f1;", F(1.5f), 0, 0, D(1.5)},
		{'f', "cvt.rn.f32.f64 %f0, %fd1;", D(1.0 / 3), 0, 0, 0x3eaaaaab},
		{'f', "cvt.rm.f32.f64 %f0, %fd1;", D(1.0 / 3), 0, 0, 0x3eaaaaaa},
		{'f', "cvt.rzi.f32.f32 %f0, %f1;", F(-2.75f), 0, 0, F(-2.0f)},
		{'f', "cvt.rni.f32.f32 %f0, %f1;", F(3.5f), 0, 0, F(4.0f)},
		{'f', "cvt.sat.f32.f32 %f0, %f1;", F(3.5f), 0, 0, F(1.0f)},
		{'f', "cvt.ftz.f32.f32 %f0, %f1;", 0x80000001, 0, 0, 0x80000000},
		{'h', "cvt.rn.f16.f32 %h0, %f1;", F(1.0f), 0, 0, 0x3c00},
		{'h', "cvt.rn.f16.f32 %h0, %f1;", F(65520.0f), 0, 0, 0x7c00},
		{'h', "cvt.rz.f16.f32 %h0, %f1;", F(65520.0f), 0, 0, 0x7bff},
		{'h', "cvt.rn.f16.f32 %h0, %f1;", F(0x1p-24f), 0, 0, 1},
		{'h', "cvt.rn.f16.f32 %h0, %f1;", F(0x1.8p-25f), 0, 0, 1},
		{'h', "cvt.rn.f16.f32 %h0, %f1;", F(0x1p-25f), 0, 0, 0},
		{'h', "cvt.rn.f16.f32 %h0, %f1;", F(2049.0f), 0, 0, 0x6800},
		{'h', "cvt.rn.f16.f32 %h0, %f1;", F(2051.0f), 0, 0, 0x6802},
		{'f', "cvt.f32.f16 %f0, %h1;", 0x3555, 0, 0, 0x3eaaa000},
		{'f', "cvt.f32.f16 %f0, %h1;", 0x8001, 0, 0, F(-0x1p-24f)},
		{'f', "cvt.f32.f16 %f0, %h1;", 0xfc00, 0, 0, F(-INFINITY)},
		{'h', "cvt.rn.bf16.f32 %h0, %f1;", 0x3f808000, 0, 0, 0x3f80},
		{'h', "cvt.rn.bf16.f32 %h0, %f1;", 0x3f818000, 0, 0, 0x3f82},
		{'f', "cvt.f32.bf16 %f0, %h1;", 0x4040, 0, 0, F(3.0f)},
		{'r', "cvt.rn.f16x2.f32 %r0, %f1, %f2;", F(1.0f), F(2.0f), 0, 0x3c004000},
		{'h', "cvt.rn.f16.s32 %h0, %r1;", 3, 0, 0, 0x4200},
		{'r', "cvt.rzi.s32.f16 %r0, %h1;", 0xc500, 0, 0, (uint32_t)-5},
		{'r', "cvt.rna.tf32.f32 %r0, %f1;", 0x3f801000, 0, 0, 0x3f802000},
		{'r', "{ .reg .b16 %lo, %hi; mov.b32 {%lo, %hi}, %r1; mov.b32 %r0, {%hi, %lo}; }",
		 0x12345678, 0, 0, 0x56781234},
		{'d', "mov.b64 {%r4, %r5}, %rd1; mov.b64 %rd0, {%r5, %r4};", 0x0123456789abcdef, 0,
		 0, 0x89abcdef01234567},
		{'d', "{ .reg .b128 %q; mov.b128 %q, {%rd1, %rd2}; mov.b128 {%rd4, %rd0}, %q; }", 1,
		 2, 0, 2},
		{'r', "mov.b32 {_, %h4}, %r1; cvt.u32.u16 %r0, %h4;", 0x12345678, 0, 0, 0x1234},
	};

	fn("conversions", rows, sizeof(rows) / sizeof(rows[0]));
}

static inline void rows_memory(rows_fn *fn)
{
	const struct row rows[] = {
		{'r', "ld.global.u8 %r0, [gmem+3];", 0, 0, 0, 4},
		{'r', "ld.global.s8 %r0, [gmem+15];", 0, 0, 0, 0xffffffc8},
		{'r', "ld.global.u32 %r0, [gmem+4];", 0, 0, 0, 0x08070605},
		{'r', "ld.global.b32 {%r0}, [gmem+4+0];", 0, 0, 0, 0x08070605},
		{'d', "mov.u64 %rd4, gmem; ld.global.u64 %rd0, [%rd4+8];", 0, 0, 0,
		 0xc80f0e0d0c0b0a09},
		{'d', "mov.u64 %rd4, gmem+8; ld.u64 %rd0, [%rd4+-8];", 0, 0, 0, 0x0807060504030201},
		{'r', "ld.global.v2.u32 {%r4, %r0}, [gmem];", 0, 0, 0, 0x08070605},
		{'r', "ld.global.v4.u8 {%r4, _, %r0, %r5}, [gmem+4];", 0, 0, 0, 7},
		{'r', "ld.global.nc.L1::no_allocate.u32 %r0, [gmem];", 0, 0, 0, 0x04030201},
		{'r', "ld.volatile.global.u32 %r0, [gmem];", 0, 0, 0, 0x04030201},
		{'r', "ld.acquire.gpu.global.u32 %r0, [gmem];", 0, 0, 0, 0x04030201},
		{'r', "ld.relaxed.sys.u32 %r0, [gmem];", 0, 0, 0, 0x04030201},
		{'r', "ld.global.ca.u32 %r0, [gmem];", 0, 0, 0, 0x04030201},
		{'r',
		 "createpolicy.fractional.L2::evict_last.b64 %rd4, 1.0;"
		 "ld.global.L2::cache_hint.u32 %r0, [gmem], %rd4;",
		 0, 0, 0, 0x04030201},
		{'r', "ldu.global.u32 %r0, [gmem];", 0, 0, 0, 0x04030201},
		{'r', "ld.const.u32 %r0, [cmem+8];", 0, 0, 0, 30},
		{'r', "ld.const.u32 %r0, cmem[3];", 0, 0, 0, 40},
		{'r', "mov.u64 %rd4, cmem; cvta.const.u64 %rd4, %rd4; ld.u32 %r0, [%rd4+4];", 0, 0,
		 0, 20},
		{'r', "st.shared.u32 [smem+4], %r1; ld.shared.u32 %r0, [smem+4];", 77, 0, 0, 77},
		{'r',
		 "mov.u32 %r4, smem; st.shared.u32 [%r4+4], 0; st.shared.u16 [%r4+6], %h1; "
		 "ld.shared.u32 %r0, [%r4+4];",
		 0x4321, 0, 0, 0x43210000},
		{'r',
		 "mov.u64 %rd4, smem; cvta.shared.u64 %rd4, %rd4; st.u32 [%rd4], %r1; "
		 "ld.shared.u32 %r0, [smem];",
		 9, 0, 0, 9},
		{'d',
		 "mov.u64 %rd4, smem; cvta.shared.u64 %rd5, %rd4; cvta.to.shared.u64 %rd6, %rd5; "
		 "sub.s64 %rd0, %rd6, %rd4;",
		 0, 0, 0, 0},
		{'r', "st.local.v2.u32 [lmem+8], {%r1, %r2}; ld.local.u32 %r0, [lmem+12];", 1, 2, 0,
		 2},
		{'r',
		 "mov.u64 %rd4, lmem; cvta.local.u64 %rd4, %rd4; st.u8 [%rd4+1], %r1; ld.local.u32 "
		 "%r0, [lmem];",
		 0x1ff, 0, 0, 0xff00},
		{'r',
		 "mov.u64 %rd4, lmem; cvta.local.u64 %rd4, %rd4; isspacep.local %p0, %rd4; "
		 "selp.u32 %r0, 1, 0, %p0;",
		 0, 0, 0, 1},
		{'r', "mov.u64 %rd4, gmem; isspacep.global %p0, %rd4; selp.u32 %r0, 1, 0, %p0;", 0,
		 0, 0, 1},
		{'r', "mov.u64 %rd4, gmem; isspacep.shared %p0, %rd4; selp.u32 %r0, 1, 0, %p0;", 0,
		 0, 0, 0},
		{'d', "mov.b64 %rd4, b; ld.param.u64 %rd0, [%rd4+8];", 1, 2, 3, 3},
		{'d', "mov.b64 %rd4, b; cvta.param.u64 %rd4, %rd4; ld.u64 %rd0, [%rd4];", 1, 2, 3,
		 2},
		{'r', "ld.param.u32 %r0, [a+4];", UINT64_C(7) << 32, 0, 0, 7},
		{'d',
		 "{ .reg .b128 %q; st.local.v2.u64 [lmem], {%rd1, %rd2}; ld.local.b128 %q, [lmem];"
		 "mov.b128 {%rd0, %rd4}, %q; add.u64 %rd0, %rd0, %rd4; }",
		 5, 6, 0, 11},
		{'r',
		 "cp.async.ca.shared.global [smem], [gmem], 8; cp.async.commit_group; "
		 "cp.async.wait_group 0;"
		 "ld.shared.u32 %r0, [smem+4];",
		 0, 0, 0, 0x08070605},
		{'r',
		 "st.shared.u32 [smem+4], 99; cp.async.cg.shared.global [smem], [gmem], 16, 4; "
		 "cp.async.wait_all;"
		 "ld.shared.u32 %r0, [smem+4];",
		 0, 0, 0, 0},
		{'r',
		 "st.shared.u32 [smem], 0; atom.shared.add.u32 %r4, [smem], %r1; "
		 "atom.shared.add.u32 %r0, [smem], 1;",
		 5, 0, 0, 5},
		{'r',
		 "st.shared.u32 [smem], %r1; atom.shared.cas.b32 %r0, [smem], %r1, %r2; "
		 "ld.shared.u32 %r0, [smem];",
		 5, 6, 0, 6},
		{'r',
		 "st.shared.u32 [smem], %r1; atom.shared.inc.u32 %r4, [smem], 5; ld.shared.u32 "
		 "%r0, [smem];",
		 5, 0, 0, 0},
		{'r',
		 "st.shared.u32 [smem], %r1; atom.shared.dec.u32 %r4, [smem], 5; ld.shared.u32 "
		 "%r0, [smem];",
		 9, 0, 0, 5},
		{'r',
		 "st.shared.u32 [smem], %r1; red.shared.min.s32 [smem], %r2; ld.shared.u32 %r0, "
		 "[smem];",
		 3, M1, 0, M1},
		{'r',
		 "st.shared.u32 [smem], %r1; red.shared.min.u32 [smem], %r2; ld.shared.u32 %r0, "
		 "[smem];",
		 3, M1, 0, 3},
		{'d', "st.shared.u64 [smem], %rd1; atom.shared.exch.b64 %rd0, [smem], %rd2;", 3, 4,
		 0, 3},
		{'d',
		 "st.shared.u64 [smem], %rd1; atom.shared.max.s64 %rd4, [smem], %rd2; "
		 "ld.shared.u64 %rd0, [smem];",
		 (uint64_t)-3, 4, 0, 4},
		{'f',
		 "st.shared.f32 [smem], %f1; red.shared.add.f32 [smem], %f2; ld.shared.f32 %f0, "
		 "[smem];",
		 F(1.5f), F(2.0f), 0, F(3.5f)},
		{'F',
		 "st.shared.f64 [smem], %fd1; atom.shared.add.f64 %fd4, [smem], %fd2; "
		 "ld.shared.f64 %fd0, [smem];",
		 D(1.5), D(2.0), 0, D(3.5)},
		{'r',
		 "st.shared.u32 [smem], %r1; atom.shared.add.noftz.f16x2 %r4, [smem], %r2; "
		 "ld.shared.u32 %r0, [smem];",
		 0x3c003c00, 0x40003c00, 0, 0x42004000},
		{'h',
		 "st.shared.u16 [smem], %h1; atom.shared.cas.b16 %h4, [smem], %h1, %h2; "
		 "ld.shared.u16 %h0, [smem];",
		 5, 6, 0, 6},
	};

	fn("memory", rows, sizeof(rows) / sizeof(rows[0]));
}

static inline void rows_control(rows_fn *fn)
{
	const struct row rows[] = {
		{'r',
		 "mov.u32 %r0, 0; mov.u32 %r4, 0; L: add.u32 %r0, %r0, %r4; add.u32 %r4, %r4, 1;"
		 "setp.lt.u32 %p2, %r4, %r1; @%p2 bra L;",
		 10, 0, 0, 45},
		{'r', "bra.uni OUT; mov.u32 %r0, 1; OUT: mov.u32 %r0, 2;", 0, 0, 0, 2},
		{'r',
		 "{ bra L; mov.u32 %r0, 1; bra M; L: mov.u32 %r0, 2; M: } { bra L; L: add.u32 %r0, "
		 "%r0, 5; }",
		 0, 0, 0, 7},
		{'r',
		 "T: .branchtargets A, B, C; brx.idx %r1, T; A: mov.u32 %r0, 10; bra E; B: mov.u32 "
		 "%r0, 20; bra E;"
		 "C: mov.u32 %r0, 30; E:",
		 1, 0, 0, 20},
		{'r',
		 "mov.u32 %r4, %tid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %nctaid.x; add.u32 %r0, "
		 "%r4, %r5;"
		 "mad.lo.u32 %r0, %r6, 10, %r0;",
		 0, 0, 0, 11},
		{'r', "{ .reg .v4 .u32 %v; mov.v4.u32 %v, %ntid; mov.u32 %r0, %v.y; }", 0, 0, 0, 1},
		{'r', "mov.u32 %r0, %lanemask_ge;", 0, 0, 0, M1},
		{'r', "mov.u32 %r0, %lanemask_gt;", 0, 0, 0, 0xfffffffe},
		{'r', "mov.u32 %r0, WARP_SZ; mov.u32 %r4, (1 << 3) | 2; sub.u32 %r0, %r0, %r4;", 0,
		 0, 0, 22},
		{'r',
		 "fence.acq_rel.gpu; membar.gl; nanosleep.u32 100; griddepcontrol.wait; mov.u32 "
		 "%r0, 1;"
		 "@!%p1 trap; @!%p1 exit;",
		 1, 0, 0, 1},
		{'r', "elect.sync %r4|%p2, 1; selp.u32 %r0, 5, 6, %p2;", 0, 0, 0, 5},
		{'d',
		 "{ .reg .u64 %sp, %x; stacksave.u64 %sp; alloca.u64 %x, 64, 16; st.local.u64 "
		 "[%x+8], %rd1;"
		 "ld.local.u64 %rd0, [%x+8]; stackrestore.u64 %sp; }",
		 12, 0, 0, 12},
	};

	fn("control", rows, sizeof(rows) / sizeof(rows[0]));
}

#define ROW_GROUPS(X)                                                                              \
	X(integer_arithmetic)                                                                      \
	X(carries) X(bits) X(compare_and_select) X(floats) X(conversions) X(memory) X(control)

#endif
