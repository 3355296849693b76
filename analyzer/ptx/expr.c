/* SPDX-License-Identifier: Apache-2.0 */
/* PTX parser: constant expressions, in 64-bit integers and doubles.  See parse.h. */
#include "parse.h"
#include <string.h>

double pp_value_double(struct value v)
{
	switch (v.kind) {
	case V_INT:
		return (double)v.i;
	case V_UINT:
		return (double)v.u;
	case V_F32: {
		uint32_t bits = (uint32_t)v.u;
		float f;

		memcpy(&f, &bits, sizeof(f));
		return f;
	}
	case V_F64:
		break;
	}
	return v.d;
}

bool pp_is_real(struct value v)
{
	return v.kind == V_F32 || v.kind == V_F64;
}

static struct value unary(struct parser *p, unsigned depth)
{
	struct value v = { .kind = V_INT };

	if (depth > MAX_DEPTH)
		pp_fail(p, "expression nested too deep");
	switch (p->tok.kind) {
	case PTX_TOK_INT:
		v.kind = p->tok.uns ? V_UINT : V_INT;
		v.u = p->tok.value;
		pp_next(p);
		return v;
	case PTX_TOK_F32:
		v.kind = V_F32;
		v.u = p->tok.value;
		pp_next(p);
		return v;
	case PTX_TOK_F64:
		v.kind = V_F64;
		memcpy(&v.d, &p->tok.value, sizeof(v.d));
		pp_next(p);
		return v;
	case PTX_TOK_IDENT:
		if (pp_is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
			v.i = 32;
			pp_next(p);
			return v;
		}
		break;
	case PTX_TOK_PUNCT:
		if (p->tok.ch2)
			break;
		switch (p->tok.ch) {
		case '(':
			pp_next(p);
			if (pp_is_dot(p, "s64") || pp_is_dot(p, "u64")) {
				bool uns = pp_is_dot(p, "u64");

				pp_next(p);
				pp_expect(p, ')');
				v = unary(p, depth + 1);
				if (pp_is_real(v)) {
					double d = pp_value_double(v);

					/* C leaves what does not fit undefined. */
					v.i = d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : 0;
				}
				v.kind = uns ? V_UINT : V_INT;
				return v;
			}
			v = pp_expr(p, depth + 1);
			pp_expect(p, ')');
			return v;
		case '-':
			pp_next(p);
			v = unary(p, depth + 1);
			if (v.kind == V_F32)
				v.u ^= UINT64_C(1) << 31;
			else if (v.kind == V_F64)
				v.d = -v.d;
			else
				v.u = 0 - v.u;
			if (v.kind == V_UINT && v.i < 0)
				v.kind = V_INT;
			return v;
		case '+':
			pp_next(p);
			return unary(p, depth + 1);
		case '!':
			pp_next(p);
			v = unary(p, depth + 1);
			v.i = pp_is_real(v) ? pp_value_double(v) == 0 : !v.u;
			v.kind = V_INT;
			return v;
		case '~':
			pp_next(p);
			v = unary(p, depth + 1);
			if (pp_is_real(v))
				pp_fail(p, "'~' needs an integer");
			v.u = ~v.u;
			return v;
		default:
			break;
		}
		break;
	default:
		break;
	}
	pp_fail(p, p->f ? "expected an operand but found" : "expected a constant but found");
}

static int precedence(const struct ptx_tok *t)
{
	static const struct {
		char a, b;
		int prec;
	} ops[] = {
		{'|', '|', 1}, {'&', '&', 2}, {'|', 0, 3},   {'^', 0, 4}, {'&', 0, 5},
		{'=', '=', 6}, {'!', '=', 6}, {'<', 0, 7},   {'>', 0, 7}, {'<', '=', 7},
		{'>', '=', 7}, {'<', '<', 8}, {'>', '>', 8}, {'+', 0, 9}, {'-', 0, 9},
		{'*', 0, 10},  {'/', 0, 10},  {'%', 0, 10},
	};

	if (t->kind != PTX_TOK_PUNCT)
		return 0;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].a == t->ch && ops[i].b == t->ch2)
			return ops[i].prec;
	return 0;
}

static struct value real_op(struct parser *p, char c, char c2, double a, double b)
{
	struct value v = { .kind = V_F64 };

	switch (c) {
	case '+':
		v.d = a + b;
		return v;
	case '-':
		v.d = a - b;
		return v;
	case '*':
		v.d = a * b;
		return v;
	case '/':
		v.d = a / b;
		return v;
	default:
		break;
	}
	v.kind = V_INT;
	if (c == '<' && !c2)
		v.i = a < b;
	else if (c == '>' && !c2)
		v.i = a > b;
	else if (c == '<' && c2 == '=')
		v.i = a <= b;
	else if (c == '>' && c2 == '=')
		v.i = a >= b;
	else if (c == '=')
		v.i = a == b;
	else if (c == '!')
		v.i = a != b;
	else
		pp_fail(p, "operator needs integers");
	return v;
}

static struct value int_op(struct parser *p, char c, char c2, struct value a, struct value b)
{
	bool uns = a.kind == V_UINT || b.kind == V_UINT;
	struct value v = { .kind = uns ? V_UINT : V_INT };
	bool less = uns ? a.u < b.u : a.i < b.i;

	switch (c) {
	case '+':
		v.u = a.u + b.u;
		return v;
	case '-':
		v.u = a.u - b.u;
		return v;
	case '*':
		v.u = a.u * b.u;
		return v;
	case '/':
	case '%':
		if (!b.u)
			pp_fail(p, "division by zero in a constant");
		if (uns)
			v.u = c == '/' ? a.u / b.u : a.u % b.u;
		else if (b.i == -1)
			v.u = c == '/' ? 0 - a.u : 0;
		else
			v.i = c == '/' ? a.i / b.i : a.i % b.i;
		return v;
	case '^':
		v.u = a.u ^ b.u;
		return v;
	case '&':
	case '|':
		if (!c2) {
			v.u = c == '&' ? a.u & b.u : a.u | b.u;
			return v;
		}
		v.i = c == '&' ? a.u && b.u : a.u || b.u;
		break;
	case '<':
		if (c2 == '<') {
			v.kind = a.kind;
			v.u = b.u < 64 ? a.u << b.u : 0;
			return v;
		}
		v.i = c2 ? less || a.u == b.u : less;
		break;
	case '>':
		if (c2 == '>') {
			v.kind = a.kind;
			if (a.kind == V_UINT)
				v.u = b.u < 64 ? a.u >> b.u : 0;
			else
				v.i = a.i >> (b.u < 63 ? b.u : 63);
			return v;
		}
		v.i = c2 ? !less : !less && a.u != b.u;
		break;
	case '=':
		v.i = a.u == b.u;
		break;
	default:
		v.i = a.u != b.u;
		break;
	}
	v.kind = V_INT;
	return v;
}

static struct value binary(struct parser *p, int min, unsigned depth)
{
	struct value a;

	if (depth > MAX_DEPTH)
		pp_fail(p, "expression nested too deep");
	a = unary(p, depth);
	for (;;) {
		int prec = precedence(&p->tok);
		char c = p->tok.ch, c2 = p->tok.ch2;
		struct value b;

		if (!prec || prec < min)
			return a;
		pp_next(p);
		b = binary(p, prec + 1, depth + 1);
		if (pp_is_real(a) || pp_is_real(b))
			a = real_op(p, c, c2, pp_value_double(a), pp_value_double(b));
		else
			a = int_op(p, c, c2, a, b);
	}
}

struct value pp_expr(struct parser *p, unsigned depth)
{
	struct value c = binary(p, 1, depth), a, b;

	if (!pp_accept(p, '?'))
		return c;
	a = pp_expr(p, depth + 1);
	pp_expect(p, ':');
	b = pp_expr(p, depth + 1);
	return (pp_is_real(c) ? pp_value_double(c) != 0 : c.u != 0) ? a : b;
}

int64_t pp_int_expr(struct parser *p)
{
	struct value v = pp_expr(p, 0);

	if (pp_is_real(v))
		pp_fail(p, "expected an integer constant before");
	return v.i;
}

static uint64_t uint_value(struct parser *p, struct value v, uint32_t line, uint64_t max,
			   const char *what)
{
	if (pp_is_real(v) || (v.kind == V_INT && v.i < 0) || v.u > max)
		pp_fail_at(p, line, what, NULL, 0);
	return v.u;
}

uint64_t pp_uint_expr(struct parser *p, uint64_t max, const char *what)
{
	uint32_t line = p->tok.line;

	return uint_value(p, pp_expr(p, 0), line, max, what);
}

/* In "<4>" the bracket ends the number. */
uint64_t pp_range_count(struct parser *p, uint64_t max)
{
	uint32_t line = p->tok.line;

	return uint_value(p, binary(p, 9, 0), line, max, "count out of range");
}
