/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels drawn at random, for oracle --random: integer arithmetic on ids,
 * parameters and loaded values, guards, selections and loops, and accesses to
 * two buffers of RANDOM_WORDS words that never leave them.
 */
#include "oracle.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TEXT 60000u

struct gen {
	uint64_t rng;
	char *text;
	size_t len;
	unsigned regs; /* %r0 .. are defined */
	unsigned most; /* registers in use at once */
	unsigned preds, labels, depth, wides;
};

static unsigned draw(struct gen *g, unsigned n)
{
	uint64_t z = g->rng += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (unsigned)((z ^ (z >> 31)) >> 20) % n;
}

static void __attribute__((format(printf, 2, 3))) out(struct gen *g, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(g->text + g->len, MAX_TEXT - g->len, fmt, ap);
	va_end(ap);
	if (n > 0 && g->len + (size_t)n < MAX_TEXT)
		g->len += (size_t)n;
}

/* A register that is defined, the later ones more often. */
static unsigned reg(struct gen *g)
{
	return draw(g, 3) ? g->regs - 1 - draw(g, g->regs < 4 ? g->regs : 4) : draw(g, g->regs);
}

static int constant(struct gen *g)
{
	static const int c[] = {0,    1,  2,  3,  4,   5,   7,	   8,	      16,
				31,   32, 63, 64, 100, 127, 128,   255,	      256,
				1000, -1, -2, -4, -7,  -64, 65535, 0x7fffffff};

	return c[draw(g, sizeof(c) / sizeof(c[0]))];
}

static const char *const cmps[] = {"lt", "le", "gt", "ge", "eq", "ne"};

static unsigned predicate(struct gen *g)
{
	const char *type = draw(g, 2) ? "s32" : "u32";

	if (draw(g, 2))
		out(g, "setp.%s.%s %%p%u, %%r%u, %d;\n", cmps[draw(g, 6)], type, g->preds, reg(g),
		    constant(g));
	else
		out(g, "setp.%s.%s %%p%u, %%r%u, %%r%u;\n", cmps[draw(g, 6)], type, g->preds,
		    reg(g), reg(g));
	if (g->preds && !draw(g, 4)) {
		g->preds++;
		out(g, "%s.pred %%p%u, %%p%u, %%p%u;\n", draw(g, 2) ? "and" : "or", g->preds,
		    g->preds - 1, draw(g, g->preds));
	}
	return g->preds++;
}

static unsigned arithmetic(struct gen *g)
{
	static const char *const two[] = {"add.s32", "sub.s32", "mul.lo.s32", "and.b32",
					  "or.b32",  "xor.b32", "min.s32",    "max.s32",
					  "min.u32", "max.u32", "add.s32",    "add.s32"};
	static const char *const scaled[] = {"shl.b32", "shr.u32", "shr.s32"};
	static const char *const divided[] = {"div.s32", "div.u32", "rem.s32", "rem.u32"};
	/* by 3, 5, 6, 7 and 100, and what is no division */
	static const int factors[] = {1431655766, 1717986919,  715827883, -1840700269,
				      1374389535, -2004318071, 65536,	  -5};
	static const char *const narrow[] = {"cvt.u32.u8", "cvt.s32.s8", "cvt.u32.u16",
					     "cvt.s32.s16"};
	unsigned a = reg(g), b = reg(g), d, p;

	switch (draw(g, 11)) {
	case 9:
		d = g->regs + 2;
		out(g, "mul.hi.%s %%r%u, %%r%u, %d;\n", draw(g, 4) ? "s32" : "u32", d - 2, a,
		    factors[draw(g, 8)]);
		out(g, draw(g, 2) ? "add.s32 %%r%u, %%r%u, %%r%u;\n" : "mov.u32 %%r%u, %%r%u;\n",
		    d - 1, d - 2, a);
		out(g, "shr.%s %%r%u, %%r%u, %u;\n", draw(g, 2) ? "s32" : "u32", d, d - 1,
		    draw(g, 4) ? draw(g, 7) : 31);
		break;
	case 0:
	case 1:
	case 2:
		d = g->regs;
		out(g, "%s %%r%u, %%r%u, %%r%u;\n", two[draw(g, 12)], d, a, b);
		break;
	case 3:
	case 4:
		d = g->regs;
		out(g, "%s %%r%u, %%r%u, %d;\n", two[draw(g, 12)], d, a, constant(g));
		break;
	case 5:
		d = g->regs;
		out(g, "%s %%r%u, %%r%u, %u;\n", scaled[draw(g, 3)], d, a, draw(g, 8));
		break;
	case 6:
		d = g->regs;
		out(g, "%s %%r%u, %%r%u, %u;\n", divided[draw(g, 4)], d, a, 1 + draw(g, 20));
		break;
	case 7:
		d = g->regs;
		out(g, "mad.lo.s32 %%r%u, %%r%u, %d, %%r%u;\n", d, a, constant(g), b);
		break;
	case 8:
		p = predicate(g);
		d = g->regs;
		out(g, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n", d, a, b, p);
		break;
	default:
		d = g->regs + 1;
		if (draw(g, 2)) { /* narrow registers hold 16 bits: through the low half */
			out(g, "%s %%r%u, %%r%u;\n", narrow[draw(g, 4)], d, a);
		} else {
			out(g, "mov.u32 %%r%u, %%r%u;\n", d, a);
			p = predicate(g);
			out(g, "@%s%%p%u add.s32 %%r%u, %%r%u, %d;\n", draw(g, 2) ? "!" : "", p, d,
			    d, constant(g));
		}
		out(g, "mov.u32 %%r%u, %%r%u;\n", d - 1, d);
		break;
	}
	g->regs = d + 1;
	return d;
}

/* An access whose index is kept within the buffer in one of many ways. */
static void access(struct gen *g)
{
	static const unsigned widths[] = {4, 4, 4, 8, 16};
	unsigned at = reg(g), w = widths[draw(g, 5)], n = RANDOM_WORDS * 4 / w, i = g->regs++,
		 p = 0;
	unsigned base = draw(g, 2), wide = g->wides++;
	bool guarded = false;

	switch (draw(g, 6)) {
	case 0:
		out(g, "and.b32 %%r%u, %%r%u, %u;\n", i, at, n - 1);
		break;
	case 1:
		out(g, "rem.u32 %%r%u, %%r%u, %u;\n", i, at, n - 3);
		break;
	case 2:
		out(g, "max.s32 %%r%u, %%r%u, 0;\nmin.s32 %%r%u, %%r%u, %u;\n", i, at, i, i, n - 1);
		break;
	case 3:
		out(g, "mov.u32 %%r%u, %%r%u;\nsetp.lt.u32 %%p%u, %%r%u, %u;\n", i, at, g->preds, i,
		    n - draw(g, 9));
		p = g->preds++;
		guarded = true;
		break;
	case 4:
		out(g, "mov.u32 %%r%u, %%r%u;\nsetp.ge.s32 %%p%u, %%r%u, %u;\n", i, at, g->preds, i,
		    draw(g, 20));
		out(g, "setp.lt.and.s32 %%p%u, %%r%u, %u, %%p%u;\n", g->preds + 1, i, n, g->preds);
		p = g->preds + 1;
		g->preds += 2;
		guarded = true;
		break;
	default:
		out(g, "setp.lt.u32 %%p%u, %%r%u, %u;\nselp.b32 %%r%u, %%r%u, %u, %%p%u;\n",
		    g->preds, at, n, i, at, draw(g, n), g->preds);
		g->preds++;
		break;
	}
	if (guarded && draw(g, 2)) {
		out(g, "@!%%p%u bra L%u;\n", p, g->labels);
		guarded = false;
		p = g->labels++ + 1;
	} else if (!guarded) {
		p = 0;
	}
	out(g, "mul.wide.%s %%x%u, %%r%u, %u;\nadd.s64 %%x%u, %%%s, %%x%u;\n",
	    draw(g, 2) ? "u32" : "s32", wide, i, w, wide, base ? "b" : "a", wide);
	if (guarded)
		out(g, "@%%p%u ", p);
	switch (draw(g, w == 4 ? 4 : 2)) {
	case 0:
		out(g,
		    w == 16  ? "st.global.v4.b32 [%%x%u], {%%r0, %%r1, %%r2, %%r3};\n"
		    : w == 8 ? "st.global.v2.b32 [%%x%u], {%%r0, %%r1};\n"
			     : "st.global.b32 [%%x%u], %%r0;\n",
		    wide);
		break;
	case 1:
		out(g,
		    w == 16  ? "ld.global.v4.b32 {%%t0, %%t1, %%t2, %%t3}, [%%x%u];\n"
		    : w == 8 ? "ld.global.v2.b32 {%%t0, %%t1}, [%%x%u];\n"
			     : "ld.global.b32 %%t0, [%%x%u];\n",
		    wide);
		break;
	case 2:
		out(g, "red.global.add.u32 [%%x%u], 1;\n", wide);
		break;
	default:
		out(g, "atom.global.max.u32 %%t0, [%%x%u], %%r1;\n", wide);
		break;
	}
	if (!guarded && p) {
		out(g, "L%u:\n", p - 1);
		return;
	}
	if (!draw(g, 4)) {
		out(g, "mov.u32 %%r%u, %%t0;\n", g->regs);
		g->regs++;
	}
}

static void statements(struct gen *g, unsigned n);

/* A loop of few rounds: tested at its end, counting down, ended by "!=", or of a moving pointer. */
static void other_loop(struct gen *g)
{
	unsigned v = g->regs++, bound = g->regs++, label = g->labels, step = 1 + draw(g, 5), regs,
		 x;
	unsigned kind = draw(g, 5), p = g->preds++;

	g->labels += 2;
	g->depth++;
	out(g, "min.s32 %%r%u, %%r%u, 40;\nmax.s32 %%r%u, %%r%u, -20;\n", v, draw(g, v), v, v);
	out(g, "min.s32 %%r%u, %%r%u, 50;\nmax.s32 %%r%u, %%r%u, -30;\n", bound, draw(g, v), bound,
	    bound);
	switch (kind) {
	case 0: /* guarded, and tested at its end */
		out(g, "setp.ge.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra L%u;\n", p, v, bound, p,
		    label + 1);
		/* fall through */
	case 1:
		out(g, "L%u:\n", label);
		regs = g->regs;
		statements(g, 1 + draw(g, 4));
		g->regs = regs;
		out(g,
		    "add.s32 %%r%u, %%r%u, %u;\nsetp.lt.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra "
		    "L%u;\n",
		    v, v, step, p, v, bound, p, label);
		break;
	case 2:
		out(g, "L%u:\nsetp.%s.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra L%u;\n", label,
		    draw(g, 2) ? "le" : "lt", p, v, bound, p, label + 1);
		regs = g->regs;
		statements(g, 1 + draw(g, 4));
		g->regs = regs;
		out(g, "sub.s32 %%r%u, %%r%u, %u;\nbra L%u;\n", v, v, step, label);
		break;
	case 3:
		out(g, "mad.lo.s32 %%r%u, %u, %u, %%r%u;\nL%u:\n", bound, draw(g, 20), step, v,
		    label);
		out(g, "setp.eq.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra L%u;\n", p, v, bound, p,
		    label + 1);
		regs = g->regs;
		statements(g, 1 + draw(g, 4));
		g->regs = regs;
		out(g, "add.s32 %%r%u, %%r%u, %u;\nbra L%u;\n", v, v, step, label);
		break;
	default:
		x = g->wides++;
		out(g, "and.b32 %%r%u, %%r%u, 511;\nmul.wide.u32 %%x%u, %%r%u, 4;\n", v, v, x, v);
		out(g, "add.s64 %%x%u, %%x%u, %%%s;\nand.b32 %%r%u, %%r%u, 15;\nL%u:\n", x, x,
		    draw(g, 2) ? "a" : "b", bound, bound, label);
		out(g, "setp.eq.s32 %%p%u, %%r%u, 0;\n@%%p%u bra L%u;\n", p, bound, p, label + 1);
		out(g,
		    draw(g, 2) ? "st.global.b32 [%%x%u+4], %%r0;\n"
			       : "ld.global.b32 %%t0, [%%x%u+4];\n",
		    x);
		out(g, "add.s64 %%x%u, %%x%u, %u;\nadd.s32 %%r%u, %%r%u, -1;\nbra L%u;\n", x, x,
		    4 * step, bound, bound, label);
		break;
	}
	out(g, "L%u:\n", label + 1);
	g->regs = v + 2;
	g->depth--;
}

static void touch(struct gen *g, unsigned wide, unsigned off)
{
	out(g,
	    draw(g, 2) ? "st.global.b32 [%%x%u+%u], %%r0;\n" : "ld.global.b32 %%t0, [%%x%u+%u];\n",
	    wide, off);
}

/*
 * Elements from some start on, `step` apart, below a bound: as compilers unroll
 * such a loop.  A few rounds until the rest is a multiple, then several elements
 * a round; or the other way round.
 */
static void unrolled(struct gen *g)
{
	unsigned v = g->regs++, bound = g->regs++, rest = g->regs++, k = g->regs++, x = g->wides++;
	unsigned p = g->preds++, label = g->labels, log = draw(g, 6), step = 1u << log,
		 times = draw(g, 2) ? 4 : 2, skip;
	bool before = draw(g, 2), few = g->depth > 0;
	const char *base = draw(g, 2) ? "a" : "b";

	g->labels += 6;
	if (draw(g, 2))
		out(g, "and.b32 %%r%u, %%r%u, %u;\n", v, draw(g, 2), draw(g, 2) ? step - 1 : 31);
	else
		out(g, "min.u32 %%r%u, %%r%u, 100;\n", v, draw(g, v));
	out(g, "min.s32 %%r%u, %%r%u, %u;\n", bound, draw(g, 3) ? 4 + draw(g, 3) : draw(g, v),
	    few ? 40 : 400);
	out(g, "setp.ge.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra L%u;\n", p, v, bound, p, label);
	/* rest: how many rounds there are */
	out(g, "not.b32 %%r%u, %%r%u;\nadd.s32 %%r%u, %%r%u, %%r%u;\n", rest, v, rest, rest, bound);
	out(g, "shr.u32 %%r%u, %%r%u, %u;\nadd.s32 %%r%u, %%r%u, 1;\n", rest, rest, log, rest,
	    rest);
	out(g, "mul.wide.s32 %%x%u, %%r%u, 4;\nadd.s64 %%x%u, %%x%u, %%%s;\n", x, v, x, x, base);
	for (unsigned i = 0; i < 2; i++) {
		if (before == !i) {
			/* one by one */
			out(g, "and.b32 %%r%u, %%r%u, %u;\nsetp.eq.s32 %%p%u, %%r%u, 0;\n", k, rest,
			    times - 1, p, k);
			out(g, "@%%p%u bra L%u;\nL%u:\n", p, label + 2 * i + 2, label + 2 * i + 1);
			touch(g, x, 0);
			out(g, "add.s32 %%r%u, %%r%u, %u;\nadd.s64 %%x%u, %%x%u, %u;\n", v, v, step,
			    x, x, 4 * step);
			out(g, "add.s32 %%r%u, %%r%u, -1;\nsetp.ne.s32 %%p%u, %%r%u, 0;\n", k, k, p,
			    k);
			out(g, "@%%p%u bra L%u;\n", p, label + 2 * i + 1);
		} else {
			out(g, "setp.lt.u32 %%p%u, %%r%u, %u;\n@%%p%u bra L%u;\n", p, rest, times,
			    p, label + 2 * i + 2);
			out(g, "and.b32 %%r%u, %%r%u, %d;\nL%u:\n", k, rest, -(int)times,
			    label + 2 * i + 1);
			skip = draw(g, 8); /* one of them is left out */
			for (unsigned q = 0; q < times; q++)
				if (q != skip)
					touch(g, x, 4 * step * q);
			out(g, "add.s32 %%r%u, %%r%u, %u;\nadd.s64 %%x%u, %%x%u, %u;\n", v, v,
			    times * step, x, x, 4 * times * step);
			if (draw(g, 2) && before)
				out(g, "setp.lt.s32 %%p%u, %%r%u, %%r%u;\n", p, v, bound);
			else
				out(g, "add.s32 %%r%u, %%r%u, -%u;\nsetp.ne.s32 %%p%u, %%r%u, 0;\n",
				    k, k, times, p, k);
			out(g, "@%%p%u bra L%u;\n", p, label + 2 * i + 1);
		}
		out(g, "L%u:\n", label + 2 * i + 2);
	}
	out(g, "L%u:\n", label);
}

/* Of 64 bits, of which the low 32 count: the threads of a grid, one by one, as cooperative groups.
 */
static void ranked(struct gen *g)
{
	unsigned w = g->wides, v = g->regs++, bound = g->regs++, p = g->preds++, label = g->labels;
	bool end = draw(g, 2);

	g->wides += 4;
	g->labels += 2;
	out(g, "min.u32 %%r%u, %%r%u, %u;\n", bound, draw(g, v), RANDOM_WORDS);
	out(g, "cvt.u64.u32 %%x%u, %%r3;\nmov.u32 %%r%u, %%nctaid.x;\n", w, v);
	out(g, "mul.lo.s32 %%r%u, %%r%u, %%r2;\ncvt.u64.u32 %%x%u, %%r%u;\n", v, v, w + 1, v);
	if (end)
		out(g,
		    "cvt.u32.u64 %%r%u, %%x%u;\nsetp.ge.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra "
		    "L%u;\n",
		    v, w, p, v, bound, p, label + 1);
	out(g, "L%u:\n", label);
	if (!end)
		out(g,
		    "cvt.u32.u64 %%r%u, %%x%u;\nsetp.ge.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra "
		    "L%u;\n",
		    v, w, p, v, bound, p, label + 1);
	if (draw(g, 2))
		out(g, "shl.b64 %%x%u, %%x%u, 32;\nshr.%s64 %%x%u, %%x%u, 30;\n", w + 2, w,
		    draw(g, 2) ? "s" : "u", w + 2, w + 2);
	else
		out(g, "cvt.u32.u64 %%r%u, %%x%u;\nmul.wide.s32 %%x%u, %%r%u, 4;\n", v, w, w + 2,
		    v);
	out(g, "add.s64 %%x%u, %%x%u, %%%s;\n", w + 2, w + 2, draw(g, 2) ? "a" : "b");
	touch(g, w + 2, 0);
	out(g, "cvt.s64.s32 %%x%u, %%x%u;\nadd.s64 %%x%u, %%x%u, %%x%u;\n", w + 3, w, w, w + 3,
	    w + 1);
	if (end)
		out(g,
		    "cvt.u32.u64 %%r%u, %%x%u;\nsetp.lt.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra "
		    "L%u;\n",
		    v, w, p, v, bound, p, label);
	else
		out(g, "bra L%u;\n", label);
	out(g, "L%u:\n", label + 1);
}

/* A vector copied to shared memory, all of it, some of it, or none. */
static void copied(struct gen *g)
{
	unsigned from = reg(g), much = reg(g), i = g->regs++, size = g->regs++, p;
	unsigned x = g->wides++, full = draw(g, 2) ? 16 : 4;

	out(g, "and.b32 %%r%u, %%r%u, %u;\n", i, from, RANDOM_WORDS / 4 - 1);
	out(g, "mul.wide.u32 %%x%u, %%r%u, 16;\nadd.s64 %%x%u, %%x%u, %%%s;\n", x, i, x, x,
	    draw(g, 2) ? "a" : "b");
	out(g, "mov.u32 %%r%u, %%laneid;\n", size);
	p = predicate(g);
	switch (draw(g, 4)) {
	case 0:
		out(g, "cp.async.ca.shared.global [stage], [%%x%u], %u, %%p%u;\n", x, full, p);
		break;
	case 1:
		out(g, "selp.b32 %%r%u, %u, 0, %%p%u;\n", size, full, p);
		out(g, "cp.async.ca.shared.global [stage], [%%x%u], %u, %%r%u;\n", x, full, size);
		break;
	case 2:
		out(g, "min.u32 %%r%u, %%r%u, %u;\n", size, much, full);
		out(g, "cp.async.ca.shared.global [stage], [%%x%u], %u, %%r%u;\n", x, full, size);
		break;
	default:
		out(g, "@%%p%u cp.async.ca.shared.global [stage], [%%x%u], %u;\n", p, x, full);
		break;
	}
	out(g, "mov.u32 %%r%u, %%laneid;\n", size);
}

/* Conditions of other sorts: of both being 0, of constants, and what never happens. */
static void condition(struct gen *g)
{
	unsigned a = reg(g), b = reg(g), v = g->regs++, p = g->preds++, label = g->labels++;

	switch (draw(g, 4)) {
	case 0:
		out(g, "or.b32 %%r%u, %%r%u, %%r%u;\nsetp.%s.s32 %%p%u, %%r%u, 0;\n", v, a, b,
		    draw(g, 2) ? "ne" : "eq", p, v);
		break;
	case 1:
		out(g, "mov.pred %%p%u, %d;\nmov.u32 %%r%u, %%laneid;\n", p, -(int)draw(g, 2), v);
		break;
	case 2:
		out(g, "setp.gt.u32 %%p%u, %%r0, 5000;\n@%%p%u trap;\nmov.u32 %%r%u, 1;\n", p, p,
		    v);
		break;
	default:
		out(g, "shl.b32 %%r%u, %%r%u, 2;\nxor.b32 %%r%u, %%r%u, -4;\n", v, a, v, v);
		out(g, "setp.gt.s32 %%p%u, %%r%u, -40;\n", p, v);
		break;
	}
	out(g, "@%%p%u bra L%u;\n", p, label);
	access(g);
	out(g, "L%u:\n", label);
	g->regs = v + 1;
}

static void statements(struct gen *g, unsigned n)
{
	unsigned regs, label, v, p, bound;

	while (n-- && g->len < MAX_TEXT / 2) {
		g->most = g->regs > g->most ? g->regs : g->most;
		switch (draw(g, g->depth < 3 ? 14 : 6)) {
		case 0:
		case 1:
		case 2:
		case 3:
			(void)arithmetic(g);
			break;
		case 4:
		case 5:
			access(g);
			break;
		case 6: /* if, with or without else */
			p = predicate(g);
			label = g->labels;
			g->labels += 2;
			regs = g->regs;
			g->depth++;
			v = g->regs++;
			out(g, "mov.u32 %%r%u, %%r%u;\n@%s%%p%u bra L%u;\n", v, draw(g, regs),
			    draw(g, 2) ? "!" : "", p, label);
			statements(g, 1 + draw(g, 4));
			out(g, "mov.u32 %%r%u, %%r%u;\n", v, reg(g));
			if (draw(g, 2)) {
				out(g, "bra L%u;\nL%u:\n", label + 1, label);
				g->regs = v + 1;
				statements(g, 1 + draw(g, 4));
				out(g, "add.s32 %%r%u, %%r%u, 1;\nL%u:\n", v, reg(g), label + 1);
			} else {
				out(g, "L%u:\n", label);
			}
			g->regs = v + 1;
			g->depth--;
			break;
		case 7: /* a counted loop, of at most 40 rounds */
			v = g->regs++;
			bound = g->regs++;
			label = g->labels;
			g->labels += 2;
			g->depth++;
			out(g, "mov.u32 %%r%u, %%r%u;\n", v, draw(g, v));
			out(g, "min.s32 %%r%u, %%r%u, %u;\n", bound, draw(g, v), 40 + draw(g, 20));
			out(g, "max.s32 %%r%u, %%r%u, -20;\nL%u:\n", v, v, label);
			p = g->preds++;
			out(g, "setp.%s.s32 %%p%u, %%r%u, %%r%u;\n@%%p%u bra L%u;\n",
			    draw(g, 3) ? "ge" : "gt", p, v, bound, p, label + 1);
			regs = g->regs;
			statements(g, 1 + draw(g, 4));
			g->regs = regs;
			out(g, "add.s32 %%r%u, %%r%u, %u;\nbra L%u;\nL%u:\n", v, v, 1 + draw(g, 5),
			    label, label + 1);
			g->regs = v + 2;
			g->depth--;
			break;
		case 8:
			other_loop(g);
			break;
		case 9:
			unrolled(g);
			break;
		case 10:
			ranked(g);
			break;
		case 11:
			copied(g);
			break;
		case 12:
			condition(g);
			break;
		default: /* an early end */
			if (g->depth || draw(g, 3))
				break;
			p = predicate(g);
			out(g, "@%%p%u ret;\n", p);
			break;
		}
	}
}

char *oracle_random_ptx(uint64_t seed)
{
	struct gen body = {.rng = seed, .text = malloc(MAX_TEXT), .regs = 9};
	struct gen g = {.text = malloc(MAX_TEXT + 4000)};

	if (!body.text || !g.text)
		abort();
	statements(&body, 12 + draw(&body, 20));
	g.len = (size_t)snprintf(
		g.text, MAX_TEXT + 4000,
		".version 8.4\n.target sm_90\n.address_size 64\n"
		".visible .entry drawn(.param .u64 pa, .param .u64 pb, .param .u32 pn, .param .u32 "
		"pm,\n"
		"\t.param .u32 pk)\n{\n"
		".reg .b32 %%r<%u>;\n.reg .b32 %%t<4>;\n.reg .b64 %%x<%u>;\n.reg .b64 %%a, %%b;\n"
		".reg .pred %%p<%u>;\n.shared .align 16 .b8 stage[16];\n"
		"ld.param.u64 %%a, [pa];\nld.param.u64 %%b, [pb];\n"
		"mov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%ctaid.x;\nmov.u32 %%r2, %%ntid.x;\n"
		"mad.lo.s32 %%r3, %%r1, %%r2, %%r0;\nld.param.u32 %%r4, [pn];\n"
		"ld.param.u32 %%r5, [pm];\nld.param.u32 %%r6, [pk];\nmov.u32 %%r7, %%tid.y;\n"
		"mov.u32 %%r8, %%ctaid.y;\nmov.u32 %%t0, 0;\n%s\nret;\n}\n",
		body.most + 60, body.wides + 1, body.preds + 2, body.text);
	free(body.text);
	return g.text;
}
