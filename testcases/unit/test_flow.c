/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the analysis says of kernels: roles, flags, ranges, proofs; the same
 * against what the interpreter really does; and that no text makes it crash or
 * hang.
 */
#define _GNU_SOURCE
#include "../../analyzer/ptx/flow.h"
#include "../sim/exec.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"
#define REGS ".reg .pred %p<16>; .reg .b32 %r<32>; .reg .f32 %f<16>; .reg .b64 %rd<32>;\n"
/* The thread's index in %r1. */
#define INDEX "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n" \
	      "mad.lo.s32 %r1, %r2, %r3, %r4;\n"

struct got {
	struct krt_flow_range r[4096];
	unsigned n;
};

static struct got got;

static void put(void *user, const struct krt_flow_range *r)
{
	struct got *g = user;

	cr_assert_lt(g->n, 4096);
	g->r[g->n++] = *r;
}

struct kernel {
	struct ptx_module *m;
	struct krt_kernel_flow *f;
	const struct krt_flow_info *i;
};

static struct kernel make3(const char *a, const char *b, const char *c)
{
	struct kernel k;
	struct ptx_error e;
	char *text = NULL;

	cr_assert(asprintf(&text, HEAD "%s%s%s", a, b, c) > 0);
	k.m = ptx_parse(text, strlen(text), &e);
	cr_assert(k.m, "line %u: %s", e.line, e.what);
	free(text);
	k.f = krt_flow_new(k.m, "k", NULL);
	cr_assert(k.f);
	k.i = krt_flow_info(k.f);
	return k;
}

static struct kernel make(const char *body)
{
	return make3(body, "", "");
}

static void drop(struct kernel *k)
{
	krt_flow_free(k->f);
	ptx_free(k->m);
}

static const struct krt_flow_slot *slot(const struct kernel *k, uint32_t param, uint32_t offset)
{
	for (uint32_t i = 0; i < k->i->nslots; i++)
		if (k->i->slots[i].param == param && k->i->slots[i].offset == offset)
			return &k->i->slots[i];
	return NULL;
}

static unsigned role(const struct kernel *k, uint32_t param)
{
	const struct krt_flow_slot *s = slot(k, param, 0);

	return s ? s->role : 0;
}

struct words {
	uint64_t w[8];
};

static struct got *eval(const struct kernel *k, unsigned gx, unsigned gy, unsigned bx, unsigned by,
			struct words w)
{
	struct krt_flow_launch l = {
		.grid = {gx, gy, 1}, .block = {bx, by, 1}, .params = &w, .len = sizeof(w)};

	got.n = 0;
	cr_assert(krt_flow_eval(k->f, &l, put, &got));
	return &got;
}

#define A UINT64_C(0x7f0000000000)
#define B UINT64_C(0x7f0100000000)

/* The only range of this kind. */
static const struct krt_flow_range *only(const struct got *g, unsigned kind)
{
	const struct krt_flow_range *r = NULL;

	for (unsigned i = 0; i < g->n; i++) {
		if (g->r[i].kind != kind)
			continue;
		cr_assert(!r, "two ranges");
		r = &g->r[i];
	}
	cr_assert(r, "no range");
	return r;
}

#define IS(R, LO, HI, MUST)                                                                       \
	do {                                                                                      \
		const struct krt_flow_range *r_ = (R);                                            \
                                                                                                  \
		cr_assert(!r_->whole && r_->lo == (LO) && r_->hi == (HI) && r_->must == (MUST),    \
			  "%s [%llx, %llx) %s", r_->whole ? "whole" : "",                         \
			  (unsigned long long)r_->lo, (unsigned long long)r_->hi,                 \
			  r_->must ? "must" : "may");                                             \
	} while (0)

/* ---- ranges ---- */

#define GUARDED                                                                                   \
	".visible .entry k(.param .u64 y, .param .u64 x, .param .u32 n)\n{\n" REGS                \
	"ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x]; ld.param.u32 %r5, [n];\n" INDEX          \
	"setp.ge.s32 %p1, %r1, %r5; @%p1 bra END;\n"                                              \
	"cvta.to.global.u64 %rd1, %rd1; mul.wide.s32 %rd3, %r1, 4;\n"                             \
	"add.s64 %rd4, %rd2, %rd3; ld.global.f32 %f1, [%rd4];\n"                                  \
	"add.s64 %rd5, %rd1, %rd3; st.global.f32 [%rd5], %f1;\nEND: ret;\n}\n"

Test(flow, guard)
{
	struct kernel k = make(GUARDED);
	struct got *g;

	cr_assert_eq(role(&k, 0), KRT_FLOW_WRITE);
	cr_assert_eq(role(&k, 1), KRT_FLOW_READ);
	cr_assert_eq(k.i->flags, 0);
	cr_assert_eq(k.i->any, 0);
	cr_assert(k.i->accesses == 2 && k.i->ranged == 2);
	g = eval(&k, 4, 1, 128, 1, (struct words){{A, B, 500}});
	IS(only(g, KRT_FLOW_WRITE), A, A + 2000, true);
	IS(only(g, KRT_FLOW_READ), B, B + 2000, true);
	cr_assert_eq(only(g, KRT_FLOW_READ)->base, B);
	/* fewer threads than elements */
	g = eval(&k, 2, 1, 128, 1, (struct words){{A, B, 500}});
	IS(only(g, KRT_FLOW_WRITE), A, A + 1024, true);
	/* none at all, and a negative number */
	cr_assert_eq(eval(&k, 4, 1, 128, 1, (struct words){{A, B, 0}})->n, 0);
	cr_assert_eq(eval(&k, 4, 1, 128, 1, (struct words){{A, B, 0xffffffff}})->n, 0);
	/* an index that overflows: negative numbers, too, pass the test */
	g = eval(&k, 1u << 30, 1, 1024, 1, (struct words){{A, B, 500}});
	cr_assert_eq(g->n, 4); /* too much is left to know more than some of it */
	for (unsigned i = 0; i < g->n; i++)
		if (g->r[i].kind == KRT_FLOW_WRITE && g->r[i].must)
			IS(&g->r[i], A - (UINT64_C(1) << 33), A + 2000, true);
	/* too few parameters */
	struct krt_flow_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .params = &l, .len = 8};

	cr_assert(!krt_flow_eval(k.f, &l, put, &got));
	drop(&k);
}

/* Lanes go on from row to row of a block, whatever the grid is. */
Test(flow, lanes)
{
	struct kernel k = make(".visible .entry k(.param .u64 y)\n{\n" REGS
			       "ld.param.u64 %rd1, [y]; mov.u32 %r1, %laneid; mov.u32 %r2, %ctaid.x;\n"
			       "shl.b32 %r2, %r2, 5; add.s32 %r1, %r1, %r2; mul.wide.u32 %rd2, %r1, 4;\n"
			       "add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r1;\nret;\n}\n");

	for (unsigned grid = 1; grid <= 3; grid++)
		for (unsigned rows = 1; rows <= 4; rows++) {
			struct got *g = eval(&k, grid, 1, 8, rows, (struct words){{A}});
			uint64_t lo = UINT64_MAX, hi = 0, sure = 0;

			for (unsigned i = 0; i < g->n; i++) {
				lo = g->r[i].lo < lo ? g->r[i].lo : lo;
				hi = g->r[i].hi > hi ? g->r[i].hi : hi;
				if (g->r[i].must && g->r[i].hi > sure)
					sure = g->r[i].hi;
			}
			/* all that is written, and no more than that for sure */
			cr_assert(lo <= A && hi >= A + 128 * (grid - 1) + 32 * rows, "grid %u, %u rows", grid, rows);
			cr_assert(sure <= A + 128 * (grid - 1) + 32 * rows, "grid %u, %u rows", grid, rows);
		}
	drop(&k);
}

Test(flow, grid_stride)
{
	/* tested at the head, and at the end as compilers do */
	static const char *const loops[] = {
		"LOOP: setp.ge.u32 %p1, %r1, %r5; @%p1 bra END;\n"
		"mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r1;\n"
		"add.s32 %r1, %r1, %r6; bra LOOP;\n",
		"setp.ge.u32 %p1, %r1, %r5; @%p1 bra END;\n"
		"LOOP: mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3;\n"
		"st.global.u32 [%rd4], %r1; add.s32 %r1, %r1, %r6;\n"
		"setp.lt.u32 %p2, %r1, %r5; @%p2 bra LOOP;\n",
	};

	for (unsigned i = 0; i < 2; i++) {
		struct kernel k;
		struct got *g;

		k = make3(".visible .entry k(.param .u64 y, .param .u32 n)\n{\n" REGS
				   "ld.param.u64 %rd1, [y]; ld.param.u32 %r5, [n];\n"
				   "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
				   "mov.u32 %r4, %tid.x; mad.lo.s32 %r1, %r2, %r3, %r4;\n"
				   "mov.u32 %r7, %nctaid.x; mul.lo.s32 %r6, %r7, %r3;\n"
				   "",
			  loops[i],
			  "\nEND: ret;\n}\n");
		g = eval(&k, 2, 1, 64, 1, (struct words){{A, 1000}});
		IS(only(g, KRT_FLOW_WRITE), A, A + 4000, true);
		g = eval(&k, 2, 1, 64, 1, (struct words){{A, 70}});
		IS(only(g, KRT_FLOW_WRITE), A, A + 280, true);
		g = eval(&k, 2, 1, 64, 1, (struct words){{A, 0}});
		cr_assert_eq(g->n, 0);
		drop(&k);
	}
}

#define ROWS                                                                                      \
	".visible .entry k(.param .u64 y, .param .u32 w, .param .u32 h, .param .u32 first)\n{\n"   \
	REGS "ld.param.u64 %rd1, [y]; ld.param.u32 %r10, [w]; ld.param.u32 %r11, [h];\n"          \
	"ld.param.u32 %r12, [first];\n" INDEX                                                     \
	"mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ntid.y; mov.u32 %r7, %tid.y;\n"                     \
	"mad.lo.s32 %r8, %r5, %r6, %r7; shl.b32 %r8, %r8, 1; add.s32 %r8, %r8, %r12;\n"           \
	"setp.ge.s32 %p1, %r1, %r10; setp.ge.s32 %p2, %r8, %r11; or.pred %p3, %p1, %p2;\n"        \
	"@%p3 bra END; mad.lo.s32 %r9, %r8, %r10, %r1; mul.wide.s32 %rd2, %r9, 4;\n"              \
	"add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r1;\nEND: ret;\n}\n"

Test(flow, rows)
{
	struct kernel k = make(ROWS);
	struct krt_flow_range even, odd, half = { 0 };

	even = *only(eval(&k, 4, 4, 32, 4, (struct words){{A, 100 | 32ull << 32, 0}}), 2);
	odd = *only(eval(&k, 4, 4, 32, 4, (struct words){{A, 100 | 32ull << 32, 1}}), 2);
	IS(&even, A, A + 400 * 31, true);
	cr_assert(even.pitch == 800 && even.row == 400 && even.rows == 16);
	IS(&odd, A + 400, A + 400 * 32, true);
	cr_assert(!krt_flow_overlap(&even, &odd));
	cr_assert(krt_flow_overlap(&even, &even));
	half = even;
	half.lo = A + 400;
	half.hi = A + 500;
	half.row = half.pitch = 100;
	half.rows = 1;
	cr_assert(!krt_flow_overlap(&even, &half) && krt_flow_overlap(&odd, &half));
	half.lo += 350;
	half.hi += 350;
	cr_assert(krt_flow_overlap(&even, &half));
	half.whole = true;
	cr_assert(krt_flow_overlap(&half, &odd));
	drop(&k);
}

/* What lies apart in more places than are told one by one. */
Test(flow, scattered)
{
	char body[8192];
	size_t n = (size_t)sprintf(
		body, "%s", ".visible .entry k(.param .u64 y)\n{\n" REGS INDEX
			    "ld.param.u64 %rd1, [y]; mul.wide.s32 %rd2, %r1, 12;\n"
			    "add.s64 %rd3, %rd1, %rd2; and.b32 %r5, %r1, 3;\n"
			    "setp.eq.s32 %p1, %r5, 1; @%p1 st.global.u32 [%rd3], %r1;\n");
	struct kernel k;
	struct got *g;

	for (unsigned i = 0; i < 24; i++)
		n += (size_t)sprintf(body + n, "st.global.u32 [%%rd1+%u], %%r1;\n",
				     100000 + 4096 * i + 64 * i * i * i);
	sprintf(body + n, "ret;\n}\n");
	k = make(body);
	g = eval(&k, 2, 1, 32, 1, (struct words){{A}});
	for (unsigned i = 0; i < 24; i++) {
		uint64_t at = A + 100000 + 4096 * i + 64 * i * i * i;
		bool seen = false;

		for (unsigned q = 0; q < g->n; q++)
			seen |= g->r[q].lo <= at && at + 4 <= g->r[q].hi;
		cr_assert(seen, "%u", i);
	}
	drop(&k);
}

Test(flow, columns)
{
	/* structures of 12 bytes, of which one word is written */
	struct kernel k = make(".visible .entry k(.param .u64 y)\n{\n" REGS INDEX
			       "ld.param.u64 %rd1, [y]; mul.wide.s32 %rd2, %r1, 12;\n"
			       "add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3+4], %r1; ret;\n}\n");
	struct krt_flow_range a = *only(eval(&k, 2, 1, 32, 1, (struct words){{A}}), 2), b;

	IS(&a, A + 4, A + 8 + 63 * 12, true);
	b = *only(eval(&k, 2, 1, 32, 1, (struct words){{A + 4}}), 2);
	cr_assert(!krt_flow_overlap(&a, &b));
	b = *only(eval(&k, 2, 1, 32, 1, (struct words){{A + 12}}), 2);
	cr_assert(krt_flow_overlap(&a, &b));
	drop(&k);
}

Test(flow, one_thread_and_loop)
{
	struct kernel k = make(
		".visible .entry k(.param .u64 y, .param .u32 n, .param .u64 x)\n{\n" REGS
		"ld.param.u64 %rd1, [y]; ld.param.u32 %r5, [n]; ld.param.u64 %rd2, [x];\n"
		"mov.u32 %r4, %tid.x; setp.ne.s32 %p1, %r4, 0; @%p1 bra END;\n"
		"mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd3, %r1, 8; add.s64 %rd4, %rd1, %rd3;\n"
		"st.global.u64 [%rd4], %rd1;\n"
		"mov.u32 %r2, %r5; setp.eq.s32 %p2, %r5, 0; @%p2 bra END;\n"
		/* a pointer that moves along with a counter */
		"LOOP: ld.global.v2.u32 {%r6, %r7}, [%rd2]; add.s64 %rd2, %rd2, 8;\n"
		"add.s32 %r2, %r2, -1; setp.ne.s32 %p3, %r2, 0; @%p3 bra LOOP;\n"
		"END: ret;\n}\n");
	struct got *g = eval(&k, 10, 1, 64, 1, (struct words){{A, 25, B}});

	IS(only(g, KRT_FLOW_WRITE), A, A + 80, true);
	IS(only(g, KRT_FLOW_READ), B, B + 200, true);
	g = eval(&k, 10, 1, 64, 1, (struct words){{A, 0, B}});
	cr_assert_eq(g->n, 1);
	drop(&k);
}

Test(flow, data_decides)
{
	/* a guard on what was loaded: may, never must; an index that was loaded: bounded */
	struct kernel k = make(
		".visible .entry k(.param .u64 y, .param .u64 x, .param .u32 n)\n{\n" REGS INDEX
		"ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x]; ld.param.u32 %r5, [n];\n"
		"mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3; ld.global.u32 %r6, [%rd4];\n"
		"setp.ge.u32 %p1, %r6, %r5; @%p1 bra END;\n"
		"mul.wide.u32 %rd5, %r6, 4; add.s64 %rd6, %rd1, %rd5; red.global.add.u32 [%rd6], 1;\n"
		"END: ret;\n}\n");
	struct got *g = eval(&k, 1, 1, 64, 1, (struct words){{A, B, 100}});

	cr_assert_eq(role(&k, 0), KRT_FLOW_ATOMIC);
	IS(only(g, KRT_FLOW_ATOMIC), A, A + 400, false);
	IS(only(g, KRT_FLOW_READ), B, B + 256, true);
	drop(&k);
}

Test(flow, predicated)
{
	/* nothing branches, as in kernels of tile compilers */
	struct kernel k = make(
		".visible .entry k(.param .u64 y, .param .u32 n)\n{\n" REGS INDEX
		"ld.param.u64 %rd1, [y]; ld.param.u32 %r5, [n]; shl.b32 %r6, %r1, 2;\n"
		"setp.lt.s32 %p1, %r6, %r5; mul.wide.s32 %rd3, %r6, 4; add.s64 %rd4, %rd1, %rd3;\n"
		"mov.u32 %r7, 0; @%p1 st.global.v4.b32 [%rd4+0], {%r7, %r7, %r7, %r7}; ret;\n}\n");
	struct got *g = eval(&k, 2, 1, 128, 1, (struct words){{A, 512}});

	IS(only(g, KRT_FLOW_WRITE), A, A + 2048, true);
	g = eval(&k, 2, 1, 128, 1, (struct words){{A, 511}});
	IS(only(g, KRT_FLOW_WRITE), A, A + 2048, true);
	drop(&k);
}

Test(flow, negative_step)
{
	/* a step that is negative as a number, and huge as it is read */
	struct kernel k = make(
		".visible .entry k(.param .u64 y, .param .u32 n, .param .u32 step)\n{\n" REGS
		"ld.param.u64 %rd1, [y]; ld.param.u32 %r5, [n]; ld.param.u32 %r6, [step];\n"
		"mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, %ntid.x;\n"
		"setp.ge.s32 %p1, %r1, %r5; @%p1 bra END;\n"
		"LOOP: add.s32 %r7, %r1, %r2; mul.wide.s32 %rd2, %r7, 4; add.s64 %rd3, %rd1, %rd2;\n"
		"st.global.u32 [%rd3], %r5; add.s32 %r2, %r2, %r6; add.s32 %r1, %r1, %r3;\n"
		"setp.lt.s32 %p2, %r1, %r5; @%p2 bra LOOP;\nEND: ret;\n}\n");
	struct got *g = eval(&k, 1, 1, 1, 1, (struct words){{A, 30 | 0xfffffffeull << 32}});

	IS(only(g, KRT_FLOW_WRITE), A - 4 * 29, A + 4, true);
	drop(&k);
}

Test(flow, boxes)
{
	/* p[z * 4096 + y * 256 + x], of which two of three rounds of z are the kernel's and data decide */
	struct kernel k = make(
		".visible .entry k(.param .u64 y, .param .u64 x, .param .u32 d)\n{\n" REGS
		"ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x]; ld.param.u32 %r5, [d];\n"
		"mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x;\n"
		"ld.global.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0; @%p1 bra END;\n"
		"LOOP: setp.ge.u32 %p2, %r3, %r5; @%p2 bra END;\n"
		"shl.b32 %r7, %r3, 12; mad.lo.u32 %r7, %r2, 256, %r7; mad.lo.u32 %r7, %r1, 4, %r7;\n"
		"cvt.u64.u32 %rd3, %r7; add.s64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r6;\n"
		"add.s32 %r3, %r3, 2; bra LOOP; END: ret;\n}\n");
	struct got *g = eval(&k, 2, 1, 16, 4, (struct words){{A, B, 5}});
	const struct krt_flow_range *r = only(g, KRT_FLOW_WRITE);

	IS(r, A, A + 4 * 4096 + 3 * 256 + 64, false);
	cr_assert(r->pitch == 4096 && r->row == 3 * 256 + 64);
	cr_assert(r->stride == 256 && r->width == 64 && !r->loose);
	drop(&k);
	/* four bytes, gaps between them, and rows of rows: more than can be shown */
	k = make(".visible .entry k(.param .u64 y, .param .u64 x)\n{\n" REGS
		 "ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x];\n"
		 "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x;\n"
		 "ld.global.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0; @%p1 bra END;\n"
		 "shl.b32 %r7, %r3, 12; mad.lo.u32 %r7, %r2, 256, %r7; mad.lo.u32 %r7, %r1, 16, %r7;\n"
		 "cvt.u64.u32 %rd3, %r7; add.s64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r6;\n"
		 "END: ret;\n}\n");
	g = eval(&k, 3, 1, 4, 4, (struct words){{A, B}});
	r = only(g, KRT_FLOW_WRITE);
	IS(r, A, A + 2 * 4096 + 3 * 256 + 3 * 16 + 4, false);
	cr_assert(r->loose);
	drop(&k);
}

Test(flow, guards)
{
	/* What is left out is the kernel's choice (loose), or the data's, or is followed. */
	static const struct {
		const char *guard;
		bool loose;
	} t[] = {
		{ "setp.le.u32 %p1, %r1, %r2; @%p1 bra END;\n", true },
		{ "setp.gt.f32 %p1, %f1, 0f3f000000; @!%p1 bra END;\n", true },
		{ "mul.f32 %f2, %f1, %f1; setp.gt.f32 %p1, %f2, 0f3f000000; @!%p1 bra END;\n", true },
		{ "shr.u32 %r6, %r5, %r1; and.b32 %r6, %r6, 1; setp.eq.u32 %p1, %r6, 0;\n"
		  "@%p1 bra END;\n", true },
		{ "shr.u32 %r6, %r5, %r1; popc.b32 %r8, %r6; setp.gt.u32 %p1, %r8, 2;\n"
		  "@%p1 bra END;\n", true },
		{ "setp.gt.u32 %p1, %r1, %r2; setp.gt.u32 %p2, %r5, 40; or.pred %p1, %p1, %p2;\n"
		  "@%p1 bra END;\n", true },
		/* data, by itself, in a sum, through a branch */
		{ "ld.global.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0; @%p1 bra END;\n", false },
		{ "ld.global.f32 %f2, [%rd2]; add.f32 %f2, %f1, %f2;\n"
		  "setp.gt.f32 %p1, %f2, 0f3f000000; @%p1 bra END;\n", false },
		{ "ld.global.u32 %r6, [%rd2]; setp.le.u32 %p1, %r1, %r6; @%p1 bra END;\n", false },
		{ "setp.le.u32 %p1, %r1, %r2; @%p1 bra END;\n"
		  "ld.global.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0; @%p1 bra END;\n", false },
		{ "ld.global.u32 %r6, [%rd2]; mov.u32 %r8, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra ON;\n"
		  "mov.u32 %r8, 2; ON: setp.le.u32 %p1, %r1, %r8; @%p1 bra END;\n", false },
		{ "ld.shared.u32 %r6, [s]; setp.eq.u32 %p1, %r6, 0; @%p1 bra END;\n", false },
	};

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct kernel k = make3(
			".visible .entry k(.param .u64 y, .param .u64 x, .param .u32 m, .param .f32 f)\n"
			"{\n.shared .u32 s;\n" REGS
			"ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x]; ld.param.u32 %r5, [m];\n"
			"ld.param.f32 %f1, [f]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;\n", t[i].guard,
			"mad.lo.u32 %r7, %r2, 64, %r1; mul.wide.u32 %rd3, %r7, 4; add.s64 %rd3, %rd1, %rd3;\n"
			"st.global.u32 [%rd3], %r5; END: ret;\n}\n");
		struct got *g = eval(&k, 1, 1, 64, 64, (struct words){{A, B, 37}});
		unsigned open = 0;

		for (unsigned q = 0; q < g->n; q++) {
			if (g->r[q].kind != KRT_FLOW_WRITE || g->r[q].must)
				continue; /* known to the byte, in pieces */
			cr_assert(g->r[q].loose == t[i].loose, "%u", i);
			open++;
		}
		cr_assert(open == 1, "%u", i);
		drop(&k);
	}
}

Test(flow, bits)
{
	/* an address whose bits are turned stays a multiple of what it was; as does one with bits set */
	struct kernel k = make(
		".visible .entry k(.param .u64 y, .param .u64 z, .param .u32 m)\n{\n" REGS
		"ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [z]; ld.param.u32 %r5, [m];\n"
		"mov.u32 %r1, %tid.x; mul.wide.s32 %rd3, %r1, 4; xor.b64 %rd4, %rd3, 4;\n"
		"add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r1;\n"
		"or.b64 %rd6, %rd3, 20; add.s64 %rd6, %rd2, %rd6; st.global.u32 [%rd6], %r1;\n"
		"and.b64 %rd7, %rd3, 40; add.s64 %rd7, %rd2, %rd7; red.global.add.u32 [%rd7], 1;\n"
		"ret;\n}\n");
	struct got *g = eval(&k, 1, 1, 64, 1, (struct words){{A, B}});

	cr_assert_eq(g->n, 3);
	for (unsigned i = 0; i < 3; i++)
		if (g->r[i].base == A)
			IS(&g->r[i], A, A + 256, false);
		else if (g->r[i].kind == KRT_FLOW_WRITE)
			IS(&g->r[i], B + 20, B + 256, false);
		else
			IS(&g->r[i], B, B + 44, false);
	drop(&k);
}

Test(flow, turned_predicates)
{
	/* if (m & 1), as nvcc makes it: by a predicate that is never true */
	struct kernel k = make(
		".visible .entry k(.param .u64 y, .param .u64 z, .param .u32 m)\n{\n" REGS
		"ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [z]; ld.param.u32 %r5, [m];\n"
		"and.b32 %r6, %r5, 1; setp.eq.b32 %p1, %r6, 1; mov.pred %p2, 0;\n"
		"xor.pred %p3, %p1, %p2; not.pred %p4, %p3; @%p4 bra L;\n"
		"st.global.u32 [%rd1], %r5; L:\n"
		"setp.gt.u32 %p1, %r5, 1; mov.pred %p2, -1; xor.pred %p3, %p2, %p1;\n"
		"setp.lt.xor.u32 %p1|%p2, %r5, 3, %p3; @%p1 st.global.u32 [%rd2], %r5;\n"
		"@%p2 st.global.u32 [%rd2+8], %r5; ret;\n}\n");

	for (uint32_t m = 0; m < 6; m++) {
		struct got *g = eval(&k, 1, 1, 1, 1, (struct words){{A, B, m}});
		/* m < 3 unless m is 0 or 1 */
		uint64_t at = (m < 3) != !(m > 1) ? B : B + 8;

		cr_assert_eq(g->n, 1 + (m & 1), "%u: %u", m, g->n);
		for (unsigned i = 0; i < g->n; i++)
			if (g->r[i].base == A)
				IS(&g->r[i], A, A + 4, true);
			else
				IS(&g->r[i], at, at + 4, true);
	}
	drop(&k);
}

Test(flow, unrolled)
{
	/* for (i = tid; i < n; i += 32), unrolled twice as compilers do: a round, then pairs */
	struct kernel k = make(
		".visible .entry k(.param .u64 y, .param .u32 n)\n{\n" REGS
		"ld.param.u64 %rd1, [y]; ld.param.u32 %r5, [n]; mov.u32 %r1, %tid.x;\n"
		"setp.ge.s32 %p1, %r1, %r5; @%p1 bra END;\n"
		"not.b32 %r2, %r1; add.s32 %r3, %r2, %r5; shr.u32 %r4, %r3, 5; add.s32 %r6, %r4, 1;\n"
		"and.b32 %r7, %r6, 1; mov.u32 %r8, %r1; setp.eq.s32 %p2, %r7, 0; @%p2 bra PAIRS;\n"
		"ONE: mul.wide.s32 %rd2, %r8, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5;\n"
		"add.s32 %r8, %r8, 32; add.s32 %r7, %r7, -1; setp.ne.s32 %p3, %r7, 0; @%p3 bra ONE;\n"
		"PAIRS: setp.lt.u32 %p4, %r3, 32; @%p4 bra END;\n"
		"PAIR: mul.wide.s32 %rd4, %r8, 4; add.s64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r5;\n"
		"st.global.u32 [%rd5+128], %r5; add.s32 %r8, %r8, 64; setp.lt.s32 %p5, %r8, %r5;\n"
		"@%p5 bra PAIR;\nEND: ret;\n}\n");

	for (unsigned n = 0; n < 300; n++) {
		struct got *g = eval(&k, 1, 1, 32, 1, (struct words){{A, n}});
		uint64_t hi = A;

		for (unsigned i = 0; i < g->n; i++) {
			cr_assert(!g->r[i].whole && g->r[i].lo >= A, "%u", n);
			hi = g->r[i].hi > hi ? g->r[i].hi : hi;
		}
		cr_assert_eq(hi, A + 4 * n, "%u: to %llu", n, (unsigned long long)(hi - A));
	}
	drop(&k);
}

/* ---- roles ---- */

Test(flow, selected_pointers)
{
	struct kernel k = make(
		".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{\n" REGS INDEX
		"ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r5, [n];\n"
		"setp.lt.s32 %p1, %r4, 7; selp.b64 %rd3, %rd1, %rd2, %p1;\n"
		"mul.wide.s32 %rd4, %r4, 4; add.s64 %rd5, %rd3, %rd4; st.global.u32 [%rd5], %r5;\n"
		"ret;\n}\n");
	struct got *g = eval(&k, 1, 1, 32, 1, (struct words){{A, B, 1}});

	cr_assert(role(&k, 0) == KRT_FLOW_WRITE && role(&k, 1) == KRT_FLOW_WRITE);
	cr_assert_eq(g->n, 2);
	for (unsigned i = 0; i < 2; i++)
		if (g->r[i].base == A)
			IS(&g->r[i], A, A + 28, true);
		else
			IS(&g->r[i], B + 28, B + 128, true);
	drop(&k);
}

Test(flow, structs_and_addresses_of_parameters)
{
	struct kernel k = make(
		".visible .entry k(.param .align 8 .b8 s[40], .param .u32 i)\n{\n" REGS
		"ld.param.u64 %rd1, [s+8]; ld.param.v2.u64 {%rd2, %rd3}, [s+16];\n"
		"mov.b64 %rd4, s; add.s64 %rd6, %rd4, 24; ld.param.u64 %rd5, [%rd6+8];\n"
		"st.global.u32 [%rd1], 1; ld.global.u32 %r1, [%rd2]; red.global.add.u32 [%rd5], 1;\n"
		"ret;\n}\n");
	struct got *g = eval(&k, 1, 1, 1, 1, (struct words){{1, A, B, 3, A + 100, 0}});

	cr_assert_eq(slot(&k, 0, 8)->role, KRT_FLOW_WRITE);
	cr_assert_eq(slot(&k, 0, 16)->role, KRT_FLOW_READ);
	cr_assert(!slot(&k, 0, 24) || !slot(&k, 0, 24)->role);
	cr_assert_eq(slot(&k, 0, 32)->role, KRT_FLOW_ATOMIC);
	IS(only(g, KRT_FLOW_WRITE), A, A + 4, true);
	IS(only(g, KRT_FLOW_READ), B, B + 4, true);
	IS(only(g, KRT_FLOW_ATOMIC), A + 100, A + 104, true);
	drop(&k);

	/* at an index that is not known: any word of it */
	k = make(".visible .entry k(.param .align 8 .b8 s[40], .param .u32 i)\n{\n" REGS
		 "ld.param.u32 %r1, [i]; mul.wide.u32 %rd1, %r1, 8; mov.b64 %rd2, s;\n"
		 "cvta.param.u64 %rd2, %rd2; add.s64 %rd3, %rd2, %rd1; ld.u64 %rd4, [%rd3];\n"
		 "st.global.u32 [%rd4], 1; ret;\n}\n");
	cr_assert_eq(slot(&k, 0, KRT_FLOW_ANY)->role, KRT_FLOW_WRITE);
	drop(&k);
}

Test(flow, calls)
{
	static const char helpers[] =
		".func (.param .b32 r) get(.param .b64 p, .param .b32 i)\n{\n" REGS
		"ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [i]; mul.wide.s32 %rd2, %r1, 4;\n"
		"add.s64 %rd3, %rd1, %rd2; ld.u32 %r2, [%rd3]; st.param.b32 [r], %r2; ret;\n}\n"
		".func (.param .b64 r) same(.param .b64 p)\n{\n" REGS
		"ld.param.u64 %rd1, [p]; st.param.b64 [r], %rd1; ret;\n}\n"
		".func deep(.param .b64 p, .param .b32 n)\n{\n" REGS
		"ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; setp.eq.s32 %p1, %r1, 0;\n"
		"@%p1 bra END; st.u32 [%rd1], %r1; add.s32 %r2, %r1, -1; add.s64 %rd2, %rd1, 4;\n"
		"{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd2; st.param.b32 [b], %r2;\n"
		"call.uni deep, (a, b); }\nEND: ret;\n}\n";
	struct kernel k;
	struct got *g;

	k = make3("",
			  helpers,
			  ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 z)\n{\n" REGS
			   "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"
			   "ld.param.u64 %rd3, [z]; mov.u32 %r4, %tid.x;\n"
			   "{ .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %rd1;\n"
			   "st.param.b32 [b], %r4; call.uni (c), get, (a, b);\n"
			   "ld.param.b32 %r5, [c]; }\n"
			   "{ .param .b64 a; .param .b64 c; st.param.b64 [a], %rd2;\n"
			   "call.uni (c), same, (a); ld.param.b64 %rd4, [c]; }\n"
			   "mul.wide.u32 %rd5, %r4, 4; add.s64 %rd6, %rd4, %rd5;\n"
			   "st.u32 [%rd6], %r5;\n"
			   "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd3;\n"
			   "st.param.b32 [b], %r4; call.uni deep, (a, b); }\nret;\n}\n");
	cr_assert_eq(role(&k, 0), KRT_FLOW_READ);
	cr_assert_eq(role(&k, 1), KRT_FLOW_WRITE);
	cr_assert_eq(role(&k, 2), KRT_FLOW_WRITE);
	cr_assert_eq(k.i->any, 0);
	g = eval(&k, 1, 1, 32, 1, (struct words){{A, B, A + 4096}});
	IS(only(g, KRT_FLOW_READ), A, A + 128, false);
	for (unsigned i = 0; i < g->n; i++) {
		if (g->r[i].base == B)
			IS(&g->r[i], B, B + 128, false);
		if (g->r[i].base == A + 4096)
			cr_assert(g->r[i].whole || g->r[i].lo == A + 4096);
	}
	drop(&k);
}

Test(flow, tables_and_globals)
{
	struct kernel k = make(
		".visible .global .align 4 .u32 counter;\n.visible .global .u64 head;\n"
		".visible .entry k(.param .u64 t, .param .u32 n)\n{\n" REGS INDEX
		"ld.param.u64 %rd1, [t]; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd3, %rd1, %rd2;\n"
		"ld.global.u64 %rd4, [%rd3]; st.u32 [%rd4], %r1; atom.global.add.u32 %r5, [counter], 1;\n"
		"ld.global.u64 %rd5, [head]; ld.u32 %r6, [%rd5]; ret;\n}\n");
	struct got *g = eval(&k, 1, 1, 32, 1, (struct words){{A}});

	cr_assert_eq(role(&k, 0), KRT_FLOW_READ);
	cr_assert_eq(slot(&k, 0, 0)->through, KRT_FLOW_WRITE);
	cr_assert_eq(k.i->flags, KRT_FLOW_LOADS_POINTERS);
	cr_assert_eq(k.i->nglobals, 2);
	for (unsigned i = 0; i < 2; i++) {
		if (!strcmp(k.i->globals[i].name, "counter"))
			cr_assert(k.i->globals[i].role == KRT_FLOW_ATOMIC && k.i->globals[i].size == 4);
		else
			cr_assert(k.i->globals[i].role == KRT_FLOW_READ &&
				  k.i->globals[i].through == KRT_FLOW_READ);
	}
	IS(only(g, KRT_FLOW_ATOMIC), 0, 4, true);
	cr_assert_eq(only(g, KRT_FLOW_ATOMIC)->slot, KRT_FLOW_NO_SLOT);
	drop(&k);
}

/* Which words of a table are loaded, and what is done behind each. */
Test(flow, places_that_load_pointers)
{
	/* struct { in, out, count, next } t[]: in[0] is read, out[0] written, next->in[0] written */
	struct kernel k = make(
		".visible .entry k(.param .u64 t)\n{\n" REGS INDEX
		"ld.param.u64 %rd1, [t]; mul.wide.u32 %rd2, %r1, 32; add.s64 %rd3, %rd1, %rd2;\n"
		"ld.global.v2.u64 {%rd4, %rd5}, [%rd3]; ld.global.u64 %rd6, [%rd3+16];\n"
		"ld.global.u64 %rd7, [%rd3+24]; ld.global.u32 %r5, [%rd4]; st.global.u32 [%rd5], %r5;\n"
		"ld.global.u64 %rd8, [%rd7]; st.global.u32 [%rd8], %r6; ret;\n}\n");
	struct got *g = eval(&k, 1, 1, 4, 1, (struct words){{A}});
	const struct krt_flow_load *in = NULL, *out = NULL, *next = NULL;

	cr_assert_eq(slot(&k, 0, 0)->through, KRT_FLOW_READ | KRT_FLOW_WRITE);
	cr_assert_eq(slot(&k, 0, 0)->rest, KRT_FLOW_WRITE, "further on");
	cr_assert_eq(k.i->nloads, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct krt_flow_load *l = &k.i->loads[i];

		cr_assert_eq(&k.i->slots[l->slot], slot(&k, 0, 0));
		*(l->words == 1 ? &next : l->word ? &out : &in) = l;
	}
	cr_assert(in && out && next);
	cr_assert(in->words == 2 && out->words == 2 && in->site == out->site);
	cr_assert_eq(in->role, KRT_FLOW_READ);
	cr_assert_eq(out->role, KRT_FLOW_WRITE);
	cr_assert_eq(next->role, KRT_FLOW_READ);
	for (unsigned i = 0, found = 0; i < g->n; i++) {
		const struct krt_flow_range *r = &g->r[i];

		if (r->site == in->site) {
			cr_assert(r->lo >= A && r->hi <= A + 3 * 32 + 16 && r->lo % 32 == 0 && r->width == 16,
				  "%lx %lx %lu", r->lo, r->hi, r->width);
			found |= 1;
		} else if (r->site == next->site) {
			cr_assert(r->lo >= A + 24 && r->hi <= A + 128 && r->lo % 32 == 24);
			found |= 2;
		} else {
			cr_assert_eq(r->site, 0, "what is loaded there is no address");
		}
		cr_assert(i + 1 < g->n || found == 3);
	}
	drop(&k);
}

/* One register for a pointer and for what it leads to: which of them is written is not known. */
Test(flow, pointer_that_is_followed_in_place)
{
	struct kernel k = make(".visible .entry k(.param .u64 t)\n{\n" REGS
			       "ld.param.u64 %rd1, [t]; ld.global.u64 %rd2, [%rd1];\n"
			       "ld.global.u64 %rd2, [%rd2]; st.global.u32 [%rd2], 1; ret;\n}\n");

	cr_assert_eq(slot(&k, 0, 0)->through, KRT_FLOW_READ | KRT_FLOW_WRITE);
	cr_assert_eq(slot(&k, 0, 0)->rest, KRT_FLOW_READ | KRT_FLOW_WRITE);
	cr_assert_eq(k.i->nloads, 0);
	drop(&k);
}

/* More of them than are told apart. */
Test(flow, many_places_that_load_pointers)
{
	static char body[65536];
	size_t at = 0;
	struct kernel k;

	for (unsigned i = 0; i < 200; i++)
		at += (size_t)snprintf(body + at, sizeof(body) - at,
				       "ld.global.u64 %%rd2, [%%rd1+%u]; st.global.u32 [%%rd2], 1;\n", 8 * i);
	k = make3(".visible .entry k(.param .u64 t)\n{\n" REGS "ld.param.u64 %rd1, [t];\n", body,
		  "ret;\n}\n");
	cr_assert_eq(slot(&k, 0, 0)->through, KRT_FLOW_WRITE);
	cr_assert_eq(slot(&k, 0, 0)->rest, KRT_FLOW_WRITE);
	cr_assert_leq(k.i->nloads, 64);
	drop(&k);
}

Test(flow, not_understood)
{
	static const struct {
		const char *body;
		unsigned any, flags;
	} rows[] = {
		{"future.thing.u32 %r1, [%rd1];", KRT_FLOW_ALL,
		 KRT_FLOW_UNKNOWN_INST | KRT_FLOW_NO_RANGES},
		{"mov.u64 %rd2, f; call (), %rd2, (), p;", KRT_FLOW_ALL, KRT_FLOW_UNKNOWN_CALL},
		{"call.uni outside, ();", KRT_FLOW_ALL, KRT_FLOW_UNKNOWN_CALL},
		{"mul.lo.u64 %rd2, %rd1, 3; ld.global.u32 %r1, [%rd2];", KRT_FLOW_READ, 0},
		{"ld.acquire.gpu.global.u32 %r1, [%rd1];", 0, KRT_FLOW_ORDERED},
		{"L: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L;", 0,
		 KRT_FLOW_SPINS},
		/* a lock; a sum that is put back; a lock that is tried once */
		{"L: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra L;", 0,
		 KRT_FLOW_SPINS | KRT_FLOW_LOCKS},
		{"L: atom.global.exch.b32 %r1, [%rd1], 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra L;", 0,
		 KRT_FLOW_SPINS | KRT_FLOW_LOCKS},
		{"L: add.u32 %r3, %r2, 1; atom.global.cas.b32 %r1, [%rd1], %r2, %r3;\n"
		 "setp.ne.s32 %p1, %r1, %r2; mov.u32 %r2, %r1; @%p1 bra L;", 0, KRT_FLOW_SPINS},
		{"atom.global.cas.b32 %r1, [%rd1], 0, 1;", 0, 0},
		{"griddepcontrol.wait; griddepcontrol.launch_dependents;", 0,
		 KRT_FLOW_PDL_WAIT | KRT_FLOW_PDL_LAUNCH},
		/* textures: a handle that was loaded, a pointer's word, half of a word */
		{"ld.global.u64 %rd2, [%rd1]; tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd2, {%r1}];", 0,
		 KRT_FLOW_TEXTURES},
		{"ld.global.u32 %r2, [%rd1]; suld.b.1d.b32.trap {%r2}, [%rd1, {%r1}];", 0,
		 KRT_FLOW_TEXTURES},
		{"mov.u64 %rd2, 1; sust.b.1d.b32.trap [%rd2, {%r1}], {%r2};", 0, KRT_FLOW_TEXTURES},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kernel k;

		k = make3(".extern .func outside();\n.func f() { ret; }\n"
				   ".visible .entry k(.param .u64 a)\n{\n" REGS
				   "p: .callprototype ()_ ();\nld.param.u64 %rd1, [a];\n",
			  rows[i].body,
			  "\nret;\n}\n");
		cr_assert(k.i->any == rows[i].any && k.i->flags == rows[i].flags,
			  "%s: any %x flags %x", rows[i].body, k.i->any, k.i->flags);
		drop(&k);
	}
}

Test(flow, handles)
{
	struct kernel k = make(
		".visible .entry k(.param .u64 t, .param .u64 s, .param .align 8 .b8 m[24], .param .u64 x)\n{\n"
		REGS "ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [s]; ld.param.u64 %rd3, [m+16];\n"
		"ld.param.u64 %rd4, [x]; setp.eq.s64 %p1, %rd4, 0;\n"
		"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];\n"
		"tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];\n"
		"sust.b.2d.b32.trap [%rd2, {%r1, %r2}], {%r3};\n"
		"sured.b.add.2d.u32.trap [%rd2, {%r1, %r2}], %r3;\n"
		"selp.b64 %rd5, %rd3, %rd2, %p1;\n"
		"suld.b.2d.b32.trap {%r3}, [%rd5, {%r1, %r2}];\n"
		"txq.width.b32 %r1, [%rd4]; ret;\n}\n");

	cr_assert(slot(&k, 0, 0)->texture && !slot(&k, 0, 0)->surface);
	cr_assert_eq(role(&k, 0), KRT_FLOW_READ);
	cr_assert(slot(&k, 1, 0)->surface && !slot(&k, 1, 0)->texture);
	cr_assert_eq(role(&k, 1), KRT_FLOW_ALL);
	cr_assert(slot(&k, 2, 16)->surface && slot(&k, 2, 16)->role == KRT_FLOW_READ);
	cr_assert_eq(role(&k, 3), 0); /* only asked how wide it is */
	cr_assert_eq(k.i->flags, 0);
	cr_assert_eq(k.i->any, 0);
	drop(&k);
}

Test(flow, copies)
{
	struct kernel k = make(
		".visible .entry k(.param .u64 a, .param .u64 b, .param .align 64 .b8 map[128])\n{\n"
		REGS ".shared .align 128 .b8 s[1024];\n.shared .align 8 .b64 bar;\n"
		"ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, s; mov.u32 %r2, bar;\n"
		"mov.u32 %r4, %tid.x; mul.wide.u32 %rd5, %r4, 16; add.s64 %rd6, %rd1, %rd5;\n"
		"cp.async.cg.shared.global [%r1], [%rd6], 16;\n"
		"cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 256;\n"
		"mov.b64 %rd3, map; cvta.param.u64 %rd4, %rd3;\n"
		"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
		"[%r1], [%rd4, {%r4, %r4}], [%r2]; ret;\n}\n");

	cr_assert_eq(role(&k, 0), KRT_FLOW_READ);
	cr_assert_eq(role(&k, 1), KRT_FLOW_WRITE);
	cr_assert(slot(&k, 2, 0) && slot(&k, 2, 0)->tensor_map &&
		  slot(&k, 2, 0)->role == KRT_FLOW_READ);
	struct words w[3] = { { { A, B } } };
	struct krt_flow_launch l = {
		.grid = {1, 1, 1}, .block = {32, 1, 1}, .params = w, .len = sizeof(w)};

	got.n = 0;
	cr_assert(krt_flow_eval(k.f, &l, put, &got));
	IS(only(&got, KRT_FLOW_READ), A, A + 512, true);
	drop(&k);
}

/* ---- against the interpreter ---- */

#define BUFFERS 12
#define SIZE	((size_t)1 << 16)

static struct {
	uint8_t *mem, seen[BUFFERS][SIZE];
	const struct exec_module *em;
	unsigned outside;
} run;

static bool touched(void *user, uint64_t addr, size_t size, unsigned access)
{
	uint64_t at = addr - (uint64_t)(uintptr_t)run.mem;
	unsigned kind = access & EXEC_ATOMIC ? KRT_FLOW_ATOMIC
			: access & EXEC_WRITE ? KRT_FLOW_WRITE
					      : KRT_FLOW_READ;

	(void)user;
	if (at < BUFFERS * SIZE && size <= SIZE && at % SIZE + size <= SIZE) {
		for (size_t i = 0; i < size; i++)
			run.seen[at / SIZE][at % SIZE + i] |= (uint8_t)kind;
		return true;
	}
	for (unsigned i = 0; i < exec_globals(run.em); i++) {
		uint64_t base;
		const struct ptx_var *v = exec_global_at(run.em, i, &base);

		if (addr >= base && addr - base + size <= v->size)
			return true;
	}
	run.outside++;
	return false;
}

static bool inside(const struct krt_flow_range *r, uint64_t at)
{
	uint64_t in;

	if (at < r->lo || at >= r->hi)
		return false;
	in = r->rows > 1 ? (at - r->lo) % r->pitch : at - r->lo;
	return in < r->row && (r->stride <= r->width || in % r->stride < r->width);
}

static void no_print(void *user, const char *text, size_t len)
{
	(void)user;
	(void)text;
	(void)len;
}

/* One launch of any kernel with arguments that are made up; returns whether it ended well. */
static bool judge(struct exec_module *em, struct krt_kernel_flow *f, const struct ptx_func *p,
		  unsigned shape)
{
	const struct krt_flow_info *info = krt_flow_info(f);
	struct exec_hooks hooks = { .mem_check = touched, .print = no_print };
	struct exec_config c = { .seed = shape };
	struct krt_flow_launch l = { 0 };
	uint8_t params[4096] = { 0 };
	uint32_t next = 0, w;
	struct exec_launch *x;
	enum exec_state s = EXEC_RUNNING;
	char err[256];

	srand(shape * 77 + 1);
	memset(run.seen, 0, sizeof(run.seen));
	for (size_t i = 0; i < BUFFERS * SIZE; i += 4) {
		w = (uint32_t)rand() % 50;
		memcpy(run.mem + i, &w, 4);
	}
	for (size_t i = 0; i + 4 <= p->param_bytes; i += 4) {
		w = (uint32_t)rand() % 200;
		memcpy(params + i, &w, 4);
	}
	for (uint32_t i = 0; i < info->nslots; i++) {
		const struct krt_flow_slot *sl = &info->slots[i];
		uint64_t v = (uint64_t)(uintptr_t)run.mem + next * SIZE + SIZE / 4;

		if (!(sl->role | sl->through) || sl->offset == KRT_FLOW_ANY || next == BUFFERS - 1)
			continue;
		memcpy(params + sl->at, &v, 8);
		if (sl->through) {
			uint64_t to = (uint64_t)(uintptr_t)run.mem + (BUFFERS - 1) * SIZE + SIZE / 4;

			for (size_t k = 0; k < SIZE; k += 8)
				memcpy(run.mem + next * SIZE + k, &to, 8);
		}
		next++;
	}
	c.grid[0] = l.grid[0] = 1 + (unsigned)rand() % 3;
	c.grid[1] = l.grid[1] = 1 + (unsigned)rand() % 2;
	c.grid[2] = l.grid[2] = 1;
	c.block[0] = l.block[0] = 1 + (unsigned)rand() % 64;
	c.block[1] = l.block[1] = 1 + (unsigned)rand() % 2;
	c.block[2] = l.block[2] = 1;
	if (p->reqntid[0] || p->maxntid[0])
		for (unsigned i = 0; i < 3; i++)
			c.block[i] = l.block[i] = p->reqntid[0] ? p->reqntid[i] : p->maxntid[i];
	c.shared = 4096;
	c.params = l.params = params;
	c.params_size = l.len = p->param_bytes;
	got.n = 0;
	cr_assert(krt_flow_eval(f, &l, put, &got));
	x = exec_begin(exec_function(em, p->name), &c, &hooks, err, sizeof(err));
	if (!x)
		return false;
	while (s == EXEC_RUNNING && exec_instructions(x) < 300000)
		s = exec_step(x, 1000);
	exec_end(x);
	for (unsigned b = 0; b < BUFFERS; b++) {
		for (unsigned kind = 1; kind <= KRT_FLOW_ATOMIC; kind *= 2) {
			bool any = info->any & kind;
			uint64_t base = (uint64_t)(uintptr_t)run.mem + b * SIZE;

			for (unsigned i = 0; i < info->nslots; i++)
				any |= info->slots[i].through & kind ||
				       (info->slots[i].offset == KRT_FLOW_ANY &&
					info->slots[i].role & kind);
			for (unsigned i = 0; i < info->nglobals; i++)
				any |= (info->globals[i].through & kind) != 0;
			for (unsigned i = 0; i < got.n; i++)
				any |= got.r[i].whole && got.r[i].kind == kind &&
				       got.r[i].base >= base && got.r[i].base < base + SIZE;
			for (size_t at = 0; at < SIZE && !any; at++) {
				bool ok = !(run.seen[b][at] & kind);

				for (unsigned i = 0; i < got.n && !ok; i++)
					ok = got.r[i].kind == kind && inside(&got.r[i], base + at);
				cr_assert(ok, "%s: kind %u at byte %zu of buffer %u (launch %u)",
					  p->name, kind, at, b, shape);
			}
		}
	}
	for (unsigned i = 0; i < got.n && s == EXEC_DONE; i++) {
		const struct krt_flow_range *r = &got.r[i];

		if (!r->must || r->slot == KRT_FLOW_NO_SLOT)
			continue;
		for (uint64_t at = r->lo; at < r->hi; at++) {
			uint64_t off = at - (uint64_t)(uintptr_t)run.mem;

			if (!inside(r, at))
				continue;
			cr_assert(off < BUFFERS * SIZE && run.seen[off / SIZE][off % SIZE] & r->kind,
				  "%s: byte %llu of slot %u was not touched (launch %u)", p->name,
				  (unsigned long long)(at - r->base), r->slot, shape);
		}
	}
	return s == EXEC_DONE;
}

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text = malloc(1 << 20);

	cr_assert(f && text, "%s", path);
	*len = fread(text, 1, 1 << 20, f);
	fclose(f);
	return text;
}

Test(flow, interpreter)
{
	static const char *const files[] = {PTX_DIR "/basic.ptx", PTX_DIR "/warp.ptx",
					    PTX_DIR "/small.ptx"};
	unsigned done = 0, kernels = 0;

	run.mem = aligned_alloc(4096, BUFFERS * SIZE);
	cr_assert(run.mem);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t len;
		char *text = slurp(files[i], &len), err[256];
		struct ptx_module *m = ptx_parse(text, len, NULL);
		struct exec_module *em = exec_load(&m, 1, NULL, err, sizeof(err));

		cr_assert(em, "%s", err);
		run.em = em;
		for (uint32_t k = 0; k < ptx_module_funcs(m); k++) {
			const struct ptx_func *p = ptx_module_func(m, k);
			struct krt_kernel_flow *f;

			if (!p->entry)
				continue;
			f = krt_flow_new(m, p->name, NULL);
			cr_assert(f, "%s", p->name);
			for (unsigned s = 0; s < 6; s++)
				done += judge(em, f, p, s);
			kernels++;
			krt_flow_free(f);
		}
		exec_unload(em);
		ptx_free(m);
		free(text);
	}
	free(run.mem);
	cr_assert_gt(kernels, 20);
	cr_assert_gt(done, 60);
}

/* ---- any text ---- */

static void all_kernels(const char *text, size_t len)
{
	struct ptx_module *m = ptx_parse_lazy(text, len, NULL);
	uint64_t w[512];
	struct krt_flow_launch l = {
		.grid = {3, 2, 1}, .block = {33, 2, 1}, .params = w, .len = sizeof(w)};

	if (!m)
		return;
	for (unsigned i = 0; i < 512; i++)
		w[i] = A + i * 1000;
	for (uint32_t k = 0; k < ptx_module_funcs(m); k++) {
		struct krt_kernel_flow *f = krt_flow_new(m, ptx_module_func(m, k)->name, NULL);

		if (!f)
			continue;
		got.n = 0;
		(void)krt_flow_eval(f, &l, put, &got);
		krt_flow_free(f);
	}
	ptx_free(m);
}

Test(flow, mutations, .timeout = 300)
{
	size_t len;
	char *text = slurp(PTX_DIR "/basic.ptx", &len), *copy;
	unsigned rounds = RUNNING_ON_VALGRIND ? 20 : 300;

	srand(7);
	if (len > 60000)
		len = 60000;
	copy = malloc(len + 1);
	for (unsigned i = 0; i < rounds; i++) {
		memcpy(copy, text, len);
		copy[len] = 0;
		for (unsigned k = 0; k < 1 + i % 5; k++) {
			size_t a = (size_t)rand() % len, b = (size_t)rand() % len;

			switch (rand() % 3) {
			case 0: /* another digit: registers, labels, offsets */
				while (a < len && (copy[a] < '0' || copy[a] > '9'))
					a++;
				if (a < len)
					copy[a] = (char)('0' + rand() % 10);
				break;
			case 1: { /* a line from elsewhere */
				size_t n = 0;

				while (a < len && copy[a] != '\n')
					a++;
				while (b < len && copy[b] != '\n')
					b++;
				while (b + n + 1 < len && copy[b + n + 1] != '\n')
					n++;
				if (a + n + 1 < len)
					memmove(copy + a, copy + b, n + 1);
				break;
			}
			default:
				copy[a] = (char)(rand() % 96 + 32);
				break;
			}
		}
		all_kernels(copy, len);
	}
	free(copy);
	free(text);
}

Test(flow, strange_control_flow)
{
	/* into a loop from both sides; no way out; jumps in rows; a function without an end */
	static const char *const bodies[] = {
		"setp.eq.s32 %p1, %r1, 0; @%p1 bra B; A: add.s32 %r1, %r1, 1; B: add.s32 %r1, %r1, 2;\n"
		"setp.lt.s32 %p2, %r1, 9; @%p2 bra A; st.global.u32 [%rd1], %r1;",
		"L: bra L; st.global.u32 [%rd1], 0;",
		"L: st.global.u32 [%rd1], 0; add.s64 %rd1, %rd1, 4; bra L;",
		"@%p1 bra X; X: @%p2 bra X; st.global.u32 [%rd1], 0;",
		"@%p1 exit; @%p2 ret; @%p3 trap; st.global.u32 [%rd1], 0;",
		"L: add.s64 %rd1, %rd1, %rd1; setp.lt.u64 %p1, %rd1, 1000; @%p1 bra L;\n"
		"st.global.u32 [%rd1], 0;",
	};

	for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct kernel k;
		struct got *g;

		k = make3(".visible .entry k(.param .u64 a)\n{\n" REGS
				   "ld.param.u64 %rd1, [a];\n",
			  bodies[i],
			  "\n}\n");
		cr_assert_eq(role(&k, 0), KRT_FLOW_WRITE);
		g = eval(&k, 1, 1, 1, 1, (struct words){{A}});
		for (unsigned n = 0; n < g->n; n++)
			cr_assert(!g->r[n].must || i == 3); /* there the loop just ends */
		drop(&k);
	}
}

Test(flow, operands_missing)
{
	static const char *const ops[] = {
		"ld.global.u32", "st.global.u32", "add.s32", "mov.u32", "mov.b64", "setp.lt.s32",
		"selp.b32", "cvt.u64.u32", "cvt", "ld", "ld.param.u32", "st.param.u32", "cp.async.ca",
		"atom.global.add.u32", "red.global.add.u32", "mad.lo.s32", "shl", "and.pred", "tex",
		"cp.async.bulk.tensor.2d.global.shared::cta", "tensormap.replace", "discard.global.L2",
	};
	static const char *const args[] = {"", " %r1", " %r1, %r2", " %rd1, 0", " [%rd1]",
					   " %p1, %r1", " {%r1, %r2}, %rd1"};

	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (unsigned k = 0; k < sizeof(args) / sizeof(args[0]); k++) {
			char *text = NULL;

			cr_assert(asprintf(&text, "%s%s;\n", ops[i], args[k]) > 0);
			struct kernel x = make3(".visible .entry k(.param .u64 a)\n{\n" REGS, text,
						"ret;\n}\n");

			(void)eval(&x, 1, 1, 1, 1, (struct words){{A}});
			drop(&x);
			free(text);
		}
}

/* Of many accesses the first have ranges, of too many none.  The rest is whole, never missing. */
Test(flow, many_accesses)
{
	static const unsigned counts[] = {400, 700, 2100};

	for (unsigned c = 0; c < 3; c++) {
		unsigned n = counts[c], ranges = 0, whole = 0;
		char *text = malloc((size_t)n * 100 + 1000);
		size_t len =
			(size_t)sprintf(text, "%s",
					".visible .entry k(.param .u64 y, .param .u64 x)\n{\n" REGS
					"ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x];\n");
		struct kernel k;
		struct got *g;

		for (unsigned i = 0; i < n; i++)
			len += (size_t)sprintf(text + len, "st.global.u32 [%%rd1+%u], %%r1;\n",
					       4 * i);
		sprintf(text + len, "ld.global.u32 %%r1, [%%rd2];\nret;\n}\n");
		k = make(text);
		free(text);
		cr_assert_eq(k.i->accesses, n + 1);
		cr_assert(role(&k, 0) == KRT_FLOW_WRITE && role(&k, 1) == KRT_FLOW_READ);
		cr_assert_eq(!!(k.i->flags & KRT_FLOW_NO_RANGES), c == 2);
		g = eval(&k, 1, 1, 1, 1, (struct words){{A, B}});
		for (unsigned i = 0; i < g->n; i++) {
			whole += g->r[i].whole;
			if (!g->r[i].whole && g->r[i].base == A) {
				cr_assert(g->r[i].must && g->r[i].hi <= A + 4 * n);
				ranges += (unsigned)(g->r[i].hi - g->r[i].lo) / 4;
			}
		}
		cr_assert_eq(ranges, c == 0 ? 400 : c == 1 ? 512 : 0, "%u", ranges);
		cr_assert_eq(whole, c == 0 ? 0 : 2, "%u", whole); /* one a slot and kind */
		drop(&k);
	}
}

/* Parameters that are data alone do not tell launches apart. */
Test(flow, used_parameters)
{
	struct kernel k =
		make(".visible .entry k(.param .u64 y, .param .f32 factor, .param .u32 n, .param "
		     ".u64 seed)\n"
		     "{\n" REGS INDEX "ld.param.u64 %rd1, [y]; ld.param.f32 %f1, [factor];\n"
		     "ld.param.u32 %r5, [n]; ld.param.u64 %rd5, [seed]; cvt.u32.u64 %r6, %rd5;\n"
		     "setp.ge.s32 %p1, %r1, %r5; @%p1 ret; mul.wide.s32 %rd2, %r1, 8;\n"
		     "add.s64 %rd3, %rd1, %rd2; st.global.v2.b32 [%rd3], {%r6, %r6};\n"
		     "st.global.f32 [%rd3+4], %f1; ret;\n}\n");

	cr_assert_eq(k.i->nused, 2);
	cr_assert(k.i->used[0].at == 0 && k.i->used[0].len == 8);
	cr_assert(k.i->used[1].at == 12 && k.i->used[1].len == 4);
	drop(&k);
}

/* The bytes of one kind that surely are touched, or that may be, as far as they are hulls. */
static uint64_t covered(const struct got *g, bool must)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < g->n; i++)
		if (g->r[i].must == must)
			n += g->r[i].hi - g->r[i].lo;
	return n;
}

/*
 * A kernel whose launches are cut into many pieces, evaluated again and again: at first
 * exact, later with less work.  Then less is sure, and nothing is missing.
 */
Test(flow, many_launches)
{
	size_t len;
	char *text = slurp(PTX_DIR "/../kernels/edges.90.ptx", &len);
	struct ptx_module *m = ptx_parse_lazy(text, len, NULL);
	struct kernel k = {.m = m, .f = krt_flow_new(m, "nested_triangle", NULL)};
	struct got first, *last = &got;
	unsigned coarse = 0;

	cr_assert(k.f);
	first = *eval(&k, 8, 1, 128, 1, (struct words){{A, 1000}});
	cr_assert_gt(covered(&first, true), 0);
	for (unsigned i = 0; i < 400; i++) {
		uint64_t lo = UINT64_MAX, hi = 0;

		last = eval(&k, 8, 1, 128, 1, (struct words){{A, 1000}});
		for (unsigned r = 0; r < last->n; r++) {
			lo = last->r[r].lo < lo ? last->r[r].lo : lo;
			hi = last->r[r].hi > hi ? last->r[r].hi : hi;
		}
		for (unsigned r = 0; r < first.n; r++)
			cr_assert(first.r[r].lo >= lo && first.r[r].hi <= hi);
		cr_assert_leq(covered(last, true), covered(&first, true));
		coarse += covered(last, true) < covered(&first, true);
	}
	cr_assert(coarse > 200 && coarse < 390, "%u", coarse);
	drop(&k);
	free(text);
}

/* A kernel of about 1 MB: 4,000 guarded pieces. */
Test(flow, large, .timeout = 120)
{
	size_t cap = 2 << 20, n = 0;
	char *text = malloc(cap);
	struct timespec a, b;
	struct krt_kernel_flow *f;
	struct ptx_module *m;

	n += (size_t)sprintf(text + n, HEAD ".visible .entry k(.param .u64 y, .param .u32 n)\n{\n"
				       ".reg .pred %%p<5000>; .reg .b32 %%r<20000>;\n"
				       ".reg .b64 %%rd<20000>;\n"
				       "ld.param.u64 %%rd1, [y]; ld.param.u32 %%r5, [n];\n"
				       "mov.u32 %%r1, %%tid.x;\n");
	for (unsigned i = 0; n < 1000000; i++)
		n += (size_t)sprintf(
			text + n,
			"add.s32 %%r%u, %%r1, %u;\nsetp.ge.s32 %%p%u, %%r%u, %%r5;\n@%%p%u bra L%u;\n"
			"mul.wide.s32 %%rd%u, %%r%u, 4;\nadd.s64 %%rd%u, %%rd1, %%rd%u;\n"
			"ld.global.u32 %%r%u, [%%rd%u];\nadd.s32 %%r%u, %%r%u, 1;\n"
			"st.global.u32 [%%rd%u], %%r%u;\nL%u:\n",
			10 + 3 * i, i, i, 10 + 3 * i, i, i, 10 + 2 * i, 10 + 3 * i, 11 + 2 * i,
			10 + 2 * i, 11 + 3 * i, 11 + 2 * i, 12 + 3 * i, 11 + 3 * i, 11 + 2 * i,
			12 + 3 * i, i);
	n += (size_t)sprintf(text + n, "ret;\n}\n");
	m = ptx_parse(text, n, NULL);
	cr_assert(m);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	f = krt_flow_new(m, "k", NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	cr_assert(f);
	cr_assert_eq(krt_flow_info(f)->slots[0].role, KRT_FLOW_READ | KRT_FLOW_WRITE);
	cr_assert_lt(krt_flow_memory(f), 16u << 20);
	fprintf(stderr, "flow: %zu bytes of PTX in %.1f ms\n", n,
		(double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
	krt_flow_free(f);
	ptx_free(m);
	free(text);
}
