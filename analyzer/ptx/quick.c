/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX parser: labels and instructions of the usual form, read straight from the
 * text: a mnemonic, then registers of a range, literals, [register + literal] and
 * {registers}, or a label.  A large body is nearly all of that, and tokens would
 * cost several times as much.
 *
 * Whatever is not of this form, right or wrong, is left to inst.c and the rest
 * of the parser, which would read the usual form in the same way.  Nothing fails
 * here but memory.
 */
#include "parse.h"
#include <string.h>

#define MAX_OPS	   8u
#define MAX_DIGITS 7u /* of a register's number; as in pp_find_reg() */

struct cursor {
	const char *at, *end;
	uint32_t line;
};

static inline char now(const struct cursor *c)
{
	return c->at < c->end ? *c->at : '\0';
}

static inline void blanks(struct cursor *c)
{
	while (c->at < c->end && ptx_is_blank(*c->at)) {
		c->line += *c->at == '\n' || *c->at == '\0';
		c->at++;
	}
}

static inline bool take(struct cursor *c, char ch)
{
	if (c->at >= c->end || *c->at != ch)
		return false;
	c->at++;
	return true;
}

/* The first and last bytes of a word, up to 8 each: all of it up to 16. */
static void ends_of(const char *s, size_t n, uint64_t *first, uint64_t *last)
{
	*first = *last = 0;
	if (n >= 8) {
		memcpy(first, s, 8);
		memcpy(last, s + n - 8, 8);
	} else {
		for (size_t i = 0; i < n; i++)
			*first = *first << 8 | (unsigned char)s[i];
	}
}

/* ---- mnemonics ---- */

/* One blank-free text with an opcode that has plain operands; NULL: another. */
static const struct quick_op *mnemonic(struct parser *p, struct cursor *c)
{
	const char *s = c->at;
	uint64_t first, last;
	struct quick_op *q;
	struct ptx_lex lx;
	size_t n;

	while (c->at < c->end && ptx_is(*c->at, PTX_C_WORD | PTX_C_JOINS))
		c->at++;
	n = (size_t)(c->at - s);
	if (n < 2 || n >= MAX_MNEMONIC || !ptx_is_blank(now(c)))
		return NULL;
	ends_of(s, n, &first, &last);
	q = &p->quick_ops[((first ^ (last << 1 | last >> 63)) * 0x9e3779b97f4a7c15u + n) >> 56];
	if (q->mn && q->len == n && q->first == first && q->last == last &&
	    (n <= 16 || !memcmp(q->name->text + 8, s + 8, n - 16)))
		return q;
	if (!ptx_is_word(*s) || ptx_is_digit(*s))
		return NULL;
	/* Its words as the lexer sees them. */
	lx = (struct ptx_lex){.at = s, .end = c->at};
	while (lx.at < lx.end && ptx_is_word(*lx.at))
		lx.at++;
	if (lx.at < lx.end) {
		char rest[MAX_MNEMONIC];

		(void)ptx_lex_mods(&lx, rest, 0, sizeof(rest));
		if (lx.at < lx.end)
			return NULL;
	}
	*q = (struct quick_op){.name = pp_intern(p, s, n), .len = n, .first = first, .last = last};
	q->mn = pp_mnemonic(p, q->name);
	switch ((enum ptx_op)q->mn->op) {
	case PTX_OP_UNKNOWN:
	case PTX_OP_CALL:
	case PTX_OP_BRX:
		q->mn = NULL;
		return NULL;
	default:
		return q;
	}
}

/* ---- operands ---- */

/* A register of a range, its '%' current. */
static bool reg(struct parser *p, struct cursor *c, uint32_t *out)
{
	const char *s = c->at, *digits;
	const struct ptx_symbol *sym;
	struct quick_prefix *q;
	uint64_t key = 0;
	uint32_t k = 0;

	c->at++;
	while (c->at < c->end && ptx_is_word(*c->at) && !ptx_is_digit(*c->at))
		key = key << 8 | (unsigned char)*c->at++;
	digits = c->at;
	while (c->at < c->end && ptx_is_digit(*c->at) && c->at - digits < (ptrdiff_t)MAX_DIGITS)
		k = k * 10 + (uint32_t)(*c->at++ - '0');
	if (digits - s > 8 || c->at == digits || (*digits == '0' && c->at - digits > 1) ||
	    ptx_is(now(c), PTX_C_WORD | PTX_C_JOINS))
		return false;
	q = &p->quick_prefixes[key * 0x9e3779b97f4a7c15u >> 60];
	if (!q->name || q->key != key) {
		struct ptx_name *n = pp_find_name(p->m, s, (size_t)(digits - s));

		if (!n)
			return false;
		*q = (struct quick_prefix){.name = n, .key = key};
	}
	sym = q->name->sym;
	if (!sym || sym->kind != SYM_REGS || sym->vec != 1 || k >= sym->count)
		return false;
	*out = sym->index + k;
	return true;
}

/* A decimal number that surely fits, or a hexadecimal one. */
static bool number(struct cursor *c, int64_t *out)
{
	bool minus = take(c, '-');
	const char *s = c->at;
	uint64_t v = 0;

	if (now(c) == '0' && c->end - c->at > 1 && (c->at[1] == 'x' || c->at[1] == 'X')) {
		s = c->at += 2;
		for (int d; c->at < c->end && (d = ptx_hex_digit(*c->at)) >= 0; c->at++)
			v = v << 4 | (unsigned)d;
		if (c->at - s > 15)
			return false;
	} else {
		for (; c->at < c->end && ptx_is_digit(*c->at); c->at++)
			v = v * 10 + (unsigned)(*c->at - '0');
		if (c->at - s > 18 || (*s == '0' && c->at - s > 1))
			return false;
	}
	*out = minus ? -(int64_t)v : (int64_t)v;
	return c->at > s && !ptx_is(now(c), PTX_C_WORD | PTX_C_JOINS);
}

/* 0f3F800000, 0d3FF0000000000000: its bits. */
static bool real(struct cursor *c, struct ptx_operand *o)
{
	unsigned n = c->at[1] == 'f' || c->at[1] == 'F' ? 8 : 16;
	uint64_t v = 0;

	if (c->end - c->at < 19)
		return false;
	c->at += 2;
	for (unsigned i = 0; i < n; i++) {
		int d = ptx_hex_digit(*c->at++);

		if (d < 0)
			return false;
		v = v << 4 | (unsigned)d;
	}
	o->kind = n == 8 ? PTX_O_F32 : PTX_O_F64;
	o->imm = (int64_t)v;
	return !ptx_is(*c->at, PTX_C_WORD | PTX_C_JOINS);
}

/* [register], [register + number] */
static bool address(struct parser *p, struct cursor *c, struct ptx_operand *o)
{
	struct ptx_operand *e;
	uint32_t r;

	if (now(c) != '%' || !reg(p, c, &r))
		return false;
	if ((take(c, '+') || now(c) == '-') && !number(c, &o->imm))
		return false;
	if (!take(c, ']'))
		return false;
	o->kind = PTX_O_ADDR;
	o->n = 1;
	o->elem = e = pp_alloc(p, sizeof(*e));
	e->kind = PTX_O_REG;
	e->reg = r;
	return true;
}

static bool vector(struct parser *p, struct cursor *c, struct ptx_operand *o)
{
	uint32_t r[MAX_OPS];
	struct ptx_operand *e;
	unsigned n = 0;

	do {
		blanks(c);
		if (n == MAX_OPS || now(c) != '%' || !reg(p, c, &r[n++]))
			return false;
		blanks(c);
	} while (take(c, ','));
	if (!take(c, '}'))
		return false;
	o->kind = PTX_O_VEC;
	o->n = (uint16_t)n;
	o->elem = e = pp_alloc(p, n * sizeof(*e));
	for (unsigned i = 0; i < n; i++) {
		e[i].kind = PTX_O_REG;
		e[i].reg = r[i];
	}
	return true;
}

static bool operand(struct parser *p, struct cursor *c, struct ptx_operand *o)
{
	char ch = now(c);

	*o = (struct ptx_operand){0};
	if (ch == '%') {
		o->kind = PTX_O_REG;
		return reg(p, c, &o->reg);
	}
	if (take(c, '['))
		return address(p, c, o);
	if (take(c, '{'))
		return vector(p, c, o);
	if (ch != '-' && !ptx_is_digit(ch))
		return false;
	if (ch == '0' && c->end - c->at > 1 && memchr("fFdD", c->at[1], 4))
		return real(c, o);
	o->kind = PTX_O_INT;
	return number(c, &o->imm);
}

static bool operands(struct parser *p, struct cursor *c, struct ptx_inst *in)
{
	struct ptx_operand ops[MAX_OPS], *to;
	unsigned n = 0;

	blanks(c);
	do {
		blanks(c);
		if (n == MAX_OPS || !operand(p, c, &ops[n++]))
			return false;
		blanks(c);
	} while (take(c, ','));
	if (!take(c, ';'))
		return false;
	in->ops = to = pp_alloc(p, n * sizeof(*to));
	memcpy(to, ops, n * sizeof(*to));
	in->nops = (uint16_t)n;
	return true;
}

static bool branch(struct parser *p, struct cursor *c, struct ptx_inst *in)
{
	const char *s;
	struct ptx_operand *o;
	struct ptx_name *name;

	blanks(c);
	s = c->at;
	while (c->at < c->end && ptx_is_word(*c->at))
		c->at++;
	if (c->at == s || ptx_is_digit(*s) || now(c) != ';')
		return false;
	name = pp_intern(p, s, (size_t)(c->at - s));
	c->at++;
	in->ops = o = pp_alloc(p, sizeof(*o));
	in->nops = 1;
	o->kind = PTX_O_LABEL;
	pp_pend(p, name, SYM_LABEL, &o->reg, in->line);
	return true;
}

/* ---- statements ---- */

static bool instruction(struct parser *p, struct cursor *c)
{
	struct ptx_inst in = {.pred = PTX_NO_REG};
	const struct ptx_mnemonic *mn;
	const struct quick_op *q;

	if (take(c, '@')) {
		in.pred_not = take(c, '!');
		if (now(c) != '%' || !reg(p, c, &in.pred))
			return false;
		blanks(c);
	}
	in.line = c->line;
	q = mnemonic(p, c);
	if (!q)
		return false;
	mn = q->mn;
	in.mn = mn;
	in.op = mn->op;
	in.vec = mn->vec;
	in.odd = mn->odd;
	if (!(mn->op == PTX_OP_BRA ? branch(p, c, &in) : operands(p, c, &in)))
		return false;
	*(struct ptx_inst *)pp_vec_room(p, &p->insts, sizeof(in)) = in;
	return true;
}

/* "name:", but for a table's. */
static bool label(struct parser *p, struct cursor *c)
{
	const char *s = c->at;
	struct ptx_label *l;
	struct ptx_name *name;
	size_t n;

	while (c->at < c->end && ptx_is_word(*c->at))
		c->at++;
	n = (size_t)(c->at - s);
	if (!n || ptx_is_digit(*s) || !take(c, ':'))
		return false;
	blanks(c);
	if (now(c) == ':' || now(c) == '.' || now(c) == '/' || c->at == c->end)
		return false;
	name = pp_intern(p, s, n);
	if (name->sym && name->sym->depth == p->depth)
		return false; /* twice */
	pp_declare(p, name, SYM_LABEL)->index = (uint32_t)p->labels.n;
	l = pp_vec_push(p, &p->labels, sizeof(*l));
	l->name = name->text;
	l->inst = (uint32_t)p->insts.n;
	l->line = c->line;
	return true;
}

bool pp_quick(struct parser *p)
{
	struct ptx_lex lx = p->lx;
	bool any = false;

	if (p->digit_names || (p->tok.kind != PTX_TOK_IDENT && !pp_is_punct(p, '@')))
		return false;
	lx.at = p->tok.text;
	lx.line = p->tok.line;
	for (;;) {
		struct cursor c = {.at = lx.at, .end = lx.end, .line = lx.line};

		if (!instruction(p, &c)) {
			c = (struct cursor){.at = lx.at, .end = lx.end, .line = lx.line};
			if (!label(p, &c))
				break;
		}
		any = true;
		lx.at = c.at;
		lx.line = c.line;
		if (!ptx_lex_space(&lx))
			break;
	}
	if (any) {
		p->lx = lx;
		pp_next(p);
	}
	return any;
}
