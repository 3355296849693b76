/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX parser: recursive descent over the tokens of lex.c, one pass, no
 * backtracking except for statements whose opcode the table does not know.
 *
 * Errors leave by longjmp to the entry function: everything that was allocated
 * belongs to the module's arena or to the parser's scratch buffers, both freed
 * there.  Recursion (scopes, expressions, nested operands) is bounded by MAX_DEPTH.
 */
#include "lex.h"
#include "module.h"
#include "table.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH    64
#define MAX_REGS     (1u << 20)
#define MAX_OPERANDS 1024u
#define MAX_PARAMS   4096u
#define MAX_DIMS     8u
#define MAX_VAR_SIZE (UINT64_C(1) << 40)
#define MAX_MNEMONIC 512u
#define MAX_INIT     (UINT64_C(1) << 30)

enum sym_kind { SYM_VAR, SYM_FUNC, SYM_REG, SYM_REGS, SYM_LABEL, SYM_TABLE };

struct ptx_symbol {
	struct ptx_symbol *outer;  /* the same name's meaning further out */
	struct ptx_symbol *sibling; /* declared before it in the same scope */
	struct ptx_name *name;
	uint8_t kind;
	uint8_t vec;
	uint32_t depth;
	uint32_t index;            /* register, label, table */
	uint32_t count;            /* SYM_REGS */
	union {
		struct ptx_var *var;
		struct ptx_func *func;
	};
};

/* A label or table that is named before it is defined. */
struct pending {
	struct ptx_name *name;
	uint32_t *where;
	uint32_t line;
	uint8_t kind;              /* SYM_LABEL or SYM_TABLE */
};

struct vec {                       /* scratch array, malloc'd */
	char *data;
	size_t n, cap, elem;
};

struct parser {
	struct ptx_module *m;
	struct ptx_lex lx;
	struct ptx_tok tok;
	struct ptx_error *err;
	jmp_buf *jmp;
	/* function under way */
	struct ptx_func *f;
	struct ptx_symbol *scope[MAX_DEPTH + 1];   /* newest symbol of each open scope */
	size_t pending_at[MAX_DEPTH + 1];          /* where each scope's pending ones start */
	uint32_t depth;
	bool digit_names;          /* a single register's name ends in digits: may hide one of a range */
	struct vec insts, regtypes, regdecls, vars, labels, tables, pendings, ops, bytes, relocs, params;
};

/* ---- errors ---- */

static _Noreturn void fail_at(struct parser *p, uint32_t line, const char *what, const char *name, size_t len)
{
	struct ptx_error *e = p->err;
	size_t n = 0;

	e->line = line;
	while (*what && n < sizeof(e->what) - 1)
		e->what[n++] = *what++;
	if (name) {
		static const char sep[] = ": '";

		for (size_t i = 0; sep[i] && n < sizeof(e->what) - 1; i++)
			e->what[n++] = sep[i];
		for (size_t i = 0; i < len && n < sizeof(e->what) - 2; i++)
			e->what[n++] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
		if (n < sizeof(e->what) - 1)
			e->what[n++] = '\'';
	}
	e->what[n] = '\0';
	longjmp(*p->jmp, 1);
}

static _Noreturn void fail(struct parser *p, const char *what)
{
	if (p->tok.kind == PTX_TOK_BAD)
		fail_at(p, p->tok.line, p->tok.why, NULL, 0);
	if (p->tok.kind == PTX_TOK_EOF)
		fail_at(p, p->tok.line, what, "end of text", 11);
	fail_at(p, p->tok.line, what, p->tok.text, p->tok.len ? p->tok.len : 1);
}

static _Noreturn void fail_memory(struct parser *p)
{
	fail_at(p, 0, "out of memory", NULL, 0);
}

/* ---- memory ---- */

static void *alloc(struct parser *p, size_t size)
{
	void *q = ptx_arena_alloc(&p->m->arena, size);

	if (!q)
		fail_memory(p);
	return q;
}

static void *vec_push(struct parser *p, struct vec *v, size_t elem)
{
	void *q;

	v->elem = elem;
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 64;
		char *data = realloc(v->data, cap * elem);

		if (!data)
			fail_memory(p);
		v->data = data;
		v->cap = cap;
	}
	q = v->data + v->n++ * elem;
	memset(q, 0, elem);
	return q;
}

/* Moves elements from index `from` on into the arena; NULL for none. */
static void *vec_take(struct parser *p, struct vec *v, size_t from, uint32_t *count)
{
	size_t n = v->n - from;
	void *q = NULL;

	if (n) {
		q = alloc(p, n * v->elem);
		memcpy(q, v->data + from * v->elem, n * v->elem);
	}
	v->n = from;
	*count = (uint32_t)n;
	return q;
}

/* ---- names ---- */

static uint32_t hash_of(const char *s, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h ^ h >> 15;
}

static struct ptx_name *find_name(const struct ptx_module *m, const char *s, size_t len)
{
	uint32_t h = hash_of(s, len);
	struct ptx_name *n;

	if (!m->names)
		return NULL;
	for (n = m->names[h & m->names_mask]; n; n = n->next)
		if (n->hash == h && n->len == len && !memcmp(n->text, s, len))
			return n;
	return NULL;
}

static void grow_names(struct parser *p)
{
	struct ptx_module *m = p->m;
	uint32_t mask = m->names ? m->names_mask * 2 + 1 : 255;
	struct ptx_name **names = calloc((size_t)mask + 1, sizeof(*names));

	if (!names)
		fail_memory(p);
	for (uint32_t i = 0; m->names && i <= m->names_mask; i++) {
		struct ptx_name *n = m->names[i], *next;

		for (; n; n = next) {
			next = n->next;
			n->next = names[n->hash & mask];
			names[n->hash & mask] = n;
		}
	}
	free(m->names);
	m->names = names;
	m->names_mask = mask;
}

static struct ptx_name *intern(struct parser *p, const char *s, size_t len)
{
	struct ptx_module *m = p->m;
	struct ptx_name *n = find_name(m, s, len);

	if (n)
		return n;
	if (!m->names || m->nnames > m->names_mask)
		grow_names(p);
	n = alloc(p, sizeof(*n) + len + 1);
	n->hash = hash_of(s, len);
	n->len = (uint32_t)len;
	memcpy(n->text, s, len);
	n->next = m->names[n->hash & m->names_mask];
	m->names[n->hash & m->names_mask] = n;
	m->nnames++;
	return n;
}

/* ---- scopes ---- */

static struct ptx_symbol *declare(struct parser *p, struct ptx_name *name, enum sym_kind kind)
{
	struct ptx_symbol *s;

	if (name->sym && name->sym->depth == p->depth)
		fail_at(p, p->tok.line, "declared twice", name->text, name->len);
	s = alloc(p, sizeof(*s));
	s->kind = kind;
	s->vec = 1;
	s->depth = p->depth;
	s->name = name;
	s->outer = name->sym;
	name->sym = s;
	s->sibling = p->scope[p->depth];
	p->scope[p->depth] = s;
	return s;
}

static void scope_open(struct parser *p)
{
	if (p->depth >= MAX_DEPTH)
		fail(p, "braces nested too deep");
	p->depth++;
	p->scope[p->depth] = NULL;
	p->pending_at[p->depth] = p->pendings.n;
}

static void scope_forget(struct parser *p)
{
	struct ptx_symbol *s;

	for (s = p->scope[p->depth]; s; s = s->sibling)
		s->name->sym = s->outer;
	p->scope[p->depth] = NULL;
	p->depth--;
}

static void scope_close(struct parser *p)
{
	size_t keep = p->pending_at[p->depth];
	struct pending *list = (struct pending *)p->pendings.data;

	/* What this scope defines is bound now; the rest may be defined further out. */
	for (size_t i = keep; i < p->pendings.n; i++) {
		const struct ptx_symbol *s = list[i].name->sym;

		if (s && s->depth == p->depth && s->kind == list[i].kind)
			*list[i].where = s->index;
		else if (p->depth == 1)
			fail_at(p, list[i].line, list[i].kind == SYM_LABEL ? "label is not defined" :
				"target list or prototype is not defined", list[i].name->text, list[i].name->len);
		else
			list[keep++] = list[i];
	}
	p->pendings.n = keep;
	scope_forget(p);
}

/* ---- tokens ---- */

static void next(struct parser *p)
{
	ptx_lex_next(&p->lx, &p->tok);
	if (p->tok.kind == PTX_TOK_BAD)
		fail_at(p, p->tok.line, p->tok.why, NULL, 0);
}

static bool is_punct(const struct parser *p, char c)
{
	return p->tok.kind == PTX_TOK_PUNCT && p->tok.ch == c && !p->tok.ch2;
}

static bool is_word(const struct parser *p, enum ptx_tok_kind kind, const char *s)
{
	return p->tok.kind == kind && p->tok.len == strlen(s) && !memcmp(p->tok.text, s, p->tok.len);
}

static bool is_dot(const struct parser *p, const char *s)
{
	return is_word(p, PTX_TOK_DOT, s);
}

static bool accept(struct parser *p, char c)
{
	if (!is_punct(p, c))
		return false;
	next(p);
	return true;
}

static bool accept_dot(struct parser *p, const char *s)
{
	if (!is_dot(p, s))
		return false;
	next(p);
	return true;
}

static void expect(struct parser *p, char c)
{
	static const char *const msgs[128] = {
		['('] = "expected '(' but found", [')'] = "expected ')' but found",
		['{'] = "expected '{' but found", ['}'] = "expected '}' but found",
		['['] = "expected '[' but found", [']'] = "expected ']' but found",
		['<'] = "expected '<' but found", ['>'] = "expected '>' but found",
		[','] = "expected ',' but found", [';'] = "expected ';' but found",
		[':'] = "expected ':' but found",
	};

	if (!is_punct(p, c))
		fail(p, msgs[(unsigned char)c]);
	next(p);
}

static struct ptx_name *ident(struct parser *p, const char *what)
{
	struct ptx_name *n;

	if (p->tok.kind != PTX_TOK_IDENT)
		fail(p, what);
	n = intern(p, p->tok.text, p->tok.len);
	next(p);
	return n;
}

/* ---- constant expressions ---- */

struct value {
	enum { V_INT, V_UINT, V_F32, V_F64 } kind;
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
};

static struct value expr(struct parser *p, unsigned depth);

static double value_double(struct value v)
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

static bool is_real(struct value v)
{
	return v.kind == V_F32 || v.kind == V_F64;
}

static struct value unary(struct parser *p, unsigned depth)
{
	struct value v = { .kind = V_INT };

	if (depth > MAX_DEPTH)
		fail(p, "expression nested too deep");
	switch (p->tok.kind) {
	case PTX_TOK_INT:
		v.kind = p->tok.uns ? V_UINT : V_INT;
		v.u = p->tok.value;
		next(p);
		return v;
	case PTX_TOK_F32:
		v.kind = V_F32;
		v.u = p->tok.value;
		next(p);
		return v;
	case PTX_TOK_F64:
		v.kind = V_F64;
		memcpy(&v.d, &p->tok.value, sizeof(v.d));
		next(p);
		return v;
	case PTX_TOK_IDENT:
		if (is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
			v.i = 32;
			next(p);
			return v;
		}
		break;
	case PTX_TOK_PUNCT:
		if (p->tok.ch2)
			break;
		switch (p->tok.ch) {
		case '(':
			next(p);
			if (is_dot(p, "s64") || is_dot(p, "u64")) {
				bool uns = is_dot(p, "u64");

				next(p);
				expect(p, ')');
				v = unary(p, depth + 1);
				if (is_real(v)) {
					double d = value_double(v);

					/* C leaves what does not fit undefined. */
					v.i = d >= -0x1p63 && d < 0x1p63 ? (int64_t)d : 0;
				}
				v.kind = uns ? V_UINT : V_INT;
				return v;
			}
			v = expr(p, depth + 1);
			expect(p, ')');
			return v;
		case '-':
			next(p);
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
			next(p);
			return unary(p, depth + 1);
		case '!':
			next(p);
			v = unary(p, depth + 1);
			v.i = is_real(v) ? value_double(v) == 0 : !v.u;
			v.kind = V_INT;
			return v;
		case '~':
			next(p);
			v = unary(p, depth + 1);
			if (is_real(v))
				fail(p, "'~' needs an integer");
			v.u = ~v.u;
			return v;
		default:
			break;
		}
		break;
	default:
		break;
	}
	fail(p, p->f ? "expected an operand but found" : "expected a constant but found");
}

static int precedence(const struct ptx_tok *t)
{
	static const struct {
		char a, b;
		int prec;
	} ops[] = {
		{ '|', '|', 1 }, { '&', '&', 2 }, { '|', 0, 3 }, { '^', 0, 4 }, { '&', 0, 5 },
		{ '=', '=', 6 }, { '!', '=', 6 }, { '<', 0, 7 }, { '>', 0, 7 }, { '<', '=', 7 }, { '>', '=', 7 },
		{ '<', '<', 8 }, { '>', '>', 8 }, { '+', 0, 9 }, { '-', 0, 9 }, { '*', 0, 10 }, { '/', 0, 10 },
		{ '%', 0, 10 },
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
		fail(p, "operator needs integers");
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
			fail(p, "division by zero in a constant");
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
		fail(p, "expression nested too deep");
	a = unary(p, depth);
	for (;;) {
		int prec = precedence(&p->tok);
		char c = p->tok.ch, c2 = p->tok.ch2;
		struct value b;

		if (!prec || prec < min)
			return a;
		next(p);
		b = binary(p, prec + 1, depth + 1);
		if (is_real(a) || is_real(b))
			a = real_op(p, c, c2, value_double(a), value_double(b));
		else
			a = int_op(p, c, c2, a, b);
	}
}

static struct value expr(struct parser *p, unsigned depth)
{
	struct value c = binary(p, 1, depth), a, b;

	if (!accept(p, '?'))
		return c;
	a = expr(p, depth + 1);
	expect(p, ':');
	b = expr(p, depth + 1);
	return (is_real(c) ? value_double(c) != 0 : c.u != 0) ? a : b;
}

static int64_t int_expr(struct parser *p)
{
	struct value v = expr(p, 0);

	if (is_real(v))
		fail(p, "expected an integer constant before");
	return v.i;
}

static uint64_t uint_value(struct parser *p, struct value v, uint32_t line, uint64_t max, const char *what)
{
	if (is_real(v) || (v.kind == V_INT && v.i < 0) || v.u > max)
		fail_at(p, line, what, NULL, 0);
	return v.u;
}

static uint64_t uint_expr(struct parser *p, uint64_t max, const char *what)
{
	uint32_t line = p->tok.line;

	return uint_value(p, expr(p, 0), line, max, what);
}

/* In "<4>" the bracket ends the number. */
static uint64_t range_count(struct parser *p, uint64_t max)
{
	uint32_t line = p->tok.line;

	return uint_value(p, binary(p, 9, 0), line, max, "count out of range");
}

/* ---- declarations ---- */

static enum ptx_type type_of(const struct parser *p)
{
	if (p->tok.kind != PTX_TOK_DOT)
		return PTX_NONE;
	for (unsigned i = PTX_NONE + 1; i < PTX_TYPE_COUNT; i++)
		if (is_dot(p, ptx_type_text(i)))
			return i;
	return PTX_NONE;
}

static enum ptx_type need_type(struct parser *p)
{
	enum ptx_type t = type_of(p);

	if (!t)
		fail(p, "expected a type but found");
	next(p);
	return t;
}

static void attributes(struct parser *p, struct ptx_var *v)
{
	/* .attribute(.managed, .unified(1, 2)) */
	expect(p, '(');
	do {
		if (p->tok.kind != PTX_TOK_DOT)
			fail(p, "expected an attribute but found");
		if (is_dot(p, "managed"))
			v->managed = true;
		next(p);
		if (accept(p, '(')) {
			do
				(void)expr(p, 0);
			while (accept(p, ','));
			expect(p, ')');
		}
	} while (accept(p, ','));
	expect(p, ')');
}

static uint32_t alignment(struct parser *p)
{
	uint32_t line = p->tok.line;
	uint64_t a = uint_expr(p, 1u << 20, "alignment is not a power of two up to 1048576");

	if (!a || a & (a - 1))
		fail_at(p, line, "alignment is not a power of two up to 1048576", NULL, 0);
	return (uint32_t)a;
}

/* Everything between the space and the name: .align, .v4, .attribute(), .ptr, the type. */
static void var_head(struct parser *p, struct ptx_var *v)
{
	v->vec = 1;
	for (;;) {
		enum ptx_type t;

		if (p->tok.kind != PTX_TOK_DOT) {
			if (!v->type)
				fail(p, "expected a type but found");
			break;
		}
		if (accept_dot(p, "align")) {
			v->align = alignment(p);
		} else if (accept_dot(p, "v2")) {
			v->vec = 2;
		} else if (accept_dot(p, "v4")) {
			v->vec = 4;
		} else if (accept_dot(p, "v8")) {
			v->vec = 8;
		} else if (accept_dot(p, "attribute")) {
			attributes(p, v);
		} else if (accept_dot(p, "ptr")) {
			v->is_ptr = true;
			for (;;) {
				if (accept_dot(p, "align"))
					v->ptr_align = alignment(p);
				else if (accept_dot(p, "global"))
					v->ptr_space = PTX_SPACE_GLOBAL;
				else if (accept_dot(p, "const"))
					v->ptr_space = PTX_SPACE_CONST;
				else if (accept_dot(p, "shared"))
					v->ptr_space = PTX_SPACE_SHARED;
				else if (accept_dot(p, "local"))
					v->ptr_space = PTX_SPACE_LOCAL;
				else if (accept_dot(p, "generic"))
					v->ptr_space = PTX_SPACE_NONE;
				else
					break;
			}
		} else {
			t = type_of(p);
			if (!t)
				fail(p, "expected a type but found");
			if (v->type)
				fail(p, "second type");
			v->type = t;
			next(p);
		}
	}
	if (!v->align)
		v->align = ptx_type_size(v->type) * v->vec;
	/* .b1 .b4 and such have no memory of their own; three-element vectors do not exist. */
	if (!v->align || v->align & (v->align - 1))
		v->align = 1;
}

struct dims {
	uint64_t dim[MAX_DIMS];
	unsigned n;
};

/* [2][3], [] first; sets size and the array flags. */
static void var_dims(struct parser *p, struct ptx_var *v, struct dims *d)
{
	uint64_t size = (uint64_t)ptx_type_size(v->type) * v->vec;

	d->n = 0;
	while (accept(p, '[')) {
		uint64_t n = 0;

		v->array = true;
		if (d->n == MAX_DIMS)
			fail(p, "too many dimensions");
		if (is_punct(p, ']')) {
			if (d->n)
				fail(p, "only the first dimension may be open");
			v->unsized = true;
		} else {
			n = uint_expr(p, MAX_VAR_SIZE, "array size out of range");
			if (n && size > MAX_VAR_SIZE / n)
				fail(p, "variable too large");
			size *= n;
		}
		d->dim[d->n++] = n;
		expect(p, ']');
	}
	v->size = v->unsized ? 0 : size;
}

/* ---- initialisers ---- */

static uint16_t half_bits(double d)
{
	_Float16 h = (_Float16)d;
	uint16_t bits;

	memcpy(&bits, &h, sizeof(bits));
	return bits;
}

static uint16_t bf16_bits(double d)
{
	float f = (float)d;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	if (f != f)
		return 0x7fff;
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void put_bytes(struct parser *p, uint64_t at, uint64_t value, unsigned size)
{
	if (at + size > MAX_INIT)
		fail(p, "initialiser too large");
	while (p->bytes.n < at + size)
		vec_push(p, &p->bytes, 1);
	for (unsigned i = 0; i < size; i++)
		p->bytes.data[at + i] = (char)(i < 8 ? value >> 8 * i : 0);
}

static void put_value(struct parser *p, const struct ptx_var *v, uint64_t at, struct value x)
{
	unsigned size = ptx_type_size(v->type);
	uint64_t bits = x.u;

	if (ptx_type_kind(v->type) == PTX_KIND_FLOAT) {
		double d = value_double(x);
		float f = (float)d;

		switch ((enum ptx_type)v->type) {
		case PTX_F16:
			bits = half_bits(d);
			break;
		case PTX_BF16:
			bits = bf16_bits(d);
			break;
		case PTX_F32:
		case PTX_TF32:
			bits = 0;
			memcpy(&bits, &f, sizeof(f));
			if (x.kind == V_F32)
				bits = x.u;
			break;
		default:
			memcpy(&bits, &d, sizeof(bits));
			break;
		}
	} else if (is_real(x)) {
		/* Raw bits into .b32 and .b64. */
		bits = x.u;
	}
	put_bytes(p, at, bits, size);
}

/* sym, sym+4, generic(sym)+4, func; the name is the current token. */
static void put_address(struct parser *p, const struct ptx_var *v, uint64_t at, unsigned shift, bool masked)
{
	struct ptx_reloc *r = vec_push(p, &p->relocs, sizeof(*r));
	struct ptx_name *name;
	bool paren = false;

	r->offset = at;
	r->size = (uint8_t)ptx_type_size(v->type);
	r->shift = (uint8_t)shift;
	if (is_word(p, PTX_TOK_IDENT, "generic")) {
		next(p);
		expect(p, '(');
		paren = true;
		r->generic = true;
	}
	name = ident(p, "expected a symbol but found");
	r->name = name->text;
	if (name->sym && name->sym->kind == SYM_VAR)
		r->var = name->sym->var;
	else if (name->sym && name->sym->kind == SYM_FUNC)
		r->func = name->sym->func;
	else if (p->f || name->sym)
		fail_at(p, p->tok.line, "no variable or function of this name", name->text, name->len);
	/* At module scope it may be declared later; ptx_parse() looks again. */
	if (is_punct(p, '[')) {
		uint64_t n;

		next(p);
		n = uint_expr(p, MAX_VAR_SIZE, "index out of range");
		expect(p, ']');
		r->addend = (int64_t)(n * (r->var ? ptx_type_size(r->var->type) * r->var->vec : 1));
	}
	if (paren)
		expect(p, ')');
	if (is_punct(p, '+') || is_punct(p, '-'))
		r->addend += int_expr(p);
	if (!masked && ptx_type_bits(v->type) < 32)
		fail_at(p, p->tok.line, "an address does not fit this type", name->text, name->len);
	put_bytes(p, at, 0, r->size);
}

static void put_element(struct parser *p, const struct ptx_var *v, uint64_t at)
{
	if (p->tok.kind == PTX_TOK_IDENT && !is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
		put_address(p, v, at, 0, false);
		return;
	}
	struct value x = expr(p, 0);

	if (!is_real(x) && is_punct(p, '(')) {
		/* 0xFF00(symbol): one byte of an address */
		unsigned shift = x.u ? (unsigned)__builtin_ctzll(x.u) & ~7u : 0;

		next(p);
		put_address(p, v, at, shift, true);
		expect(p, ')');
		return;
	}
	put_value(p, v, at, x);
}

/* One level of braces: elements of size `step`, scalars at the innermost. */
static void init_level(struct parser *p, struct ptx_var *v, const struct dims *d, unsigned level, uint64_t at,
		       unsigned depth)
{
	uint64_t step = ptx_type_size(v->type);

	if (depth > MAX_DEPTH)
		fail(p, "initialiser nested too deep");
	if (level < d->n && v->vec > 1)
		step *= v->vec;
	for (unsigned i = level + 1; i < d->n; i++)
		step *= d->dim[i];
	if (accept(p, '}'))
		return;
	for (;;) {
		if (!v->unsized && at >= v->size)
			fail(p, "more initial values than elements, at");
		if (accept(p, '{')) {
			init_level(p, v, d, level + 1, at, depth + 1);
			at += step;
			if (v->unsized && at > v->init_len)
				v->init_len = at;
		} else {
			/* Braces may be left out inside: then scalars follow each other. */
			put_element(p, v, at);
			at += ptx_type_size(v->type);
			if (at > v->init_len)
				v->init_len = at;
		}
		if (accept(p, '}'))
			break;
		expect(p, ',');
		if (accept(p, '}'))
			break;
	}
}

static void initialiser(struct parser *p, struct ptx_var *v, const struct dims *d)
{
	uint32_t n;

	p->bytes.n = 0;
	p->relocs.n = 0;
	v->init_len = 0;
	if (ptx_type_kind(v->type) == PTX_KIND_OPAQUE) {
		/* Texture and sampler settings by name: nothing here asks for them. */
		if (!is_punct(p, '{'))
			fail(p, "expected '{' but found");
		if (!ptx_lex_block(&p->lx))
			fail_at(p, p->tok.line, "brace without an end", NULL, 0);
		next(p);
		return;
	}
	if (!ptx_type_size(v->type) || ptx_type_kind(v->type) == PTX_KIND_PRED)
		fail(p, "this type has no initial value");
	if (accept(p, '{'))
		init_level(p, v, d, 0, 0, 0);
	else
		put_element(p, v, 0);
	if (v->unsized) {
		uint64_t row = (uint64_t)ptx_type_size(v->type) * v->vec;

		for (unsigned i = 1; i < d->n; i++)
			row *= d->dim[i];
		v->size = row ? (p->bytes.n + row - 1) / row * row : 0;
		v->unsized = false;
	}
	if (p->bytes.n > v->size)
		p->bytes.n = v->size;
	v->init_len = p->bytes.n;
	p->bytes.elem = 1;
	v->init = vec_take(p, &p->bytes, 0, &n);
	p->relocs.elem = sizeof(struct ptx_reloc);
	v->relocs = vec_take(p, &p->relocs, 0, &v->nrelocs);
}

/* ---- variables and registers ---- */

static void add_module_var(struct parser *p, struct ptx_var *v)
{
	struct ptx_module *m = p->m;

	if (m->nvars == m->cap_vars) {
		uint32_t cap = m->cap_vars ? m->cap_vars * 2 : 16;
		struct ptx_var **vars = realloc(m->vars, cap * sizeof(*vars));

		if (!vars)
			fail_memory(p);
		m->vars = vars;
		m->cap_vars = cap;
	}
	v->index = m->nvars;
	m->vars[m->nvars++] = v;
}

/* .space already taken; handles the comma list and the semicolon. */
static void variables(struct parser *p, enum ptx_space space, enum ptx_linkage linkage)
{
	struct ptx_var head = { .space = (uint8_t)space, .linkage = (uint8_t)linkage, .line = p->tok.line };

	/* .const[3]: banks of PTX before 2.2 */
	if (space == PTX_SPACE_CONST && accept(p, '[')) {
		(void)uint_expr(p, 10, "constant bank out of range");
		expect(p, ']');
	}
	head.module = p->m;
	head.func = p->f;
	var_head(p, &head);
	do {
		struct ptx_name *name;
		struct ptx_var *v, *old = NULL;
		struct dims d;
		uint64_t count = 1;

		if (p->tok.kind != PTX_TOK_IDENT)
			fail(p, "expected a variable name but found");
		name = intern(p, p->tok.text, p->tok.len);
		v = alloc(p, sizeof(*v));
		*v = head;
		v->name = name->text;
		v->line = p->tok.line;
		next(p);
		if (accept(p, '<')) {
			/* .param .b32 p<4>: p0 p1 p2 p3 */
			count = range_count(p, MAX_PARAMS);
			expect(p, '>');
		}
		var_dims(p, v, &d);
		if (is_punct(p, '=')) {
			if (linkage == PTX_LINK_EXTERN)
				fail(p, "an extern variable has no initial value");
			next(p);
			initialiser(p, v, &d);
		} else if (v->unsized && linkage != PTX_LINK_EXTERN && linkage != PTX_LINK_COMMON &&
			   space != PTX_SPACE_PARAM) {
			fail_at(p, v->line, "array without a size", name->text, name->len);
		}
		if (count != 1 || name->len == 0) {
			for (uint64_t i = 0; i < count; i++) {
				char buf[MAX_MNEMONIC], digits[24];
				size_t len = name->len, nd = 0;
				uint64_t k = i;
				struct ptx_var *w = alloc(p, sizeof(*w));

				do
					digits[nd++] = (char)('0' + k % 10);
				while (k /= 10);
				if (len + nd >= sizeof(buf))
					fail_at(p, v->line, "name too long", NULL, 0);
				memcpy(buf, name->text, len);
				while (nd)
					buf[len++] = digits[--nd];
				*w = *v;
				struct ptx_name *wn = intern(p, buf, len);

				w->name = wn->text;
				if (p->f) {
					w->index = (uint32_t)p->vars.n;
					*(struct ptx_var **)vec_push(p, &p->vars, sizeof(v)) = w;
				} else {
					add_module_var(p, w);
				}
				declare(p, wn, SYM_VAR)->var = w;
			}
			continue;
		}
		if (name->sym && name->sym->depth == p->depth && name->sym->kind == SYM_VAR && !p->f)
			old = name->sym->var;
		if (old) {
			/* A declaration and a definition, or two declarations, of one variable. */
			bool def = linkage != PTX_LINK_EXTERN;

			if (def && old->linkage != PTX_LINK_EXTERN && linkage != PTX_LINK_COMMON &&
			    linkage != PTX_LINK_WEAK)
				fail_at(p, v->line, "declared twice", name->text, name->len);
			if (old->linkage == PTX_LINK_EXTERN && def) {
				v->index = old->index;
				*old = *v;
			}
			continue;
		}
		declare(p, name, SYM_VAR)->var = v;
		if (p->f) {
			v->index = (uint32_t)p->vars.n;
			*(struct ptx_var **)vec_push(p, &p->vars, sizeof(v)) = v;
		} else {
			add_module_var(p, v);
		}
	} while (accept(p, ','));
	expect(p, ';');
}

static uint32_t new_regs(struct parser *p, enum ptx_type type, uint64_t count)
{
	uint32_t first = (uint32_t)p->regtypes.n;

	if (count > MAX_REGS - first)
		fail(p, "too many registers in a function, at");
	for (uint64_t i = 0; i < count; i++)
		*(uint8_t *)vec_push(p, &p->regtypes, 1) = (uint8_t)type;
	return first;
}

static bool ends_in_digit(const struct ptx_name *n)
{
	return n->len && n->text[n->len - 1] >= '0' && n->text[n->len - 1] <= '9';
}

static uint32_t add_register(struct parser *p, struct ptx_name *name, enum ptx_type type, unsigned vec)
{
	uint32_t first = new_regs(p, type, vec);
	struct ptx_symbol *s = declare(p, name, SYM_REG);
	struct ptx_regs *decl = vec_push(p, &p->regdecls, sizeof(*decl));

	s->index = first;
	s->vec = (uint8_t)vec;
	*decl = (struct ptx_regs){ .name = name->text, .first = first, .count = 1, .type = (uint8_t)type,
				   .vec = (uint8_t)vec };
	if (ends_in_digit(name))
		p->digit_names = true;
	return first;
}

static void registers(struct parser *p)
{
	unsigned vec = 1;
	enum ptx_type type;

	if (!p->f)
		fail(p, "registers outside a function");
	if (accept_dot(p, "v2"))
		vec = 2;
	else if (accept_dot(p, "v4"))
		vec = 4;
	if (accept_dot(p, "align"))
		(void)alignment(p);
	type = need_type(p);
	do {
		struct ptx_name *name = ident(p, "expected a register name but found");

		if (accept(p, '<')) {
			uint64_t count = range_count(p, MAX_REGS);
			struct ptx_regs *decl;
			struct ptx_symbol *s;
			uint32_t first;

			expect(p, '>');
			first = new_regs(p, type, count * vec);
			/* "%r<4>" must not be mistaken for a register called "%r". */
			s = declare(p, name, SYM_REGS);
			s->index = first;
			s->count = (uint32_t)count;
			s->vec = (uint8_t)vec;
			decl = vec_push(p, &p->regdecls, sizeof(*decl));
			*decl = (struct ptx_regs){ .name = name->text, .first = first, .count = (uint32_t)count,
						   .type = (uint8_t)type, .vec = (uint8_t)vec, .range = true };
		} else {
			add_register(p, name, type, vec);
		}
	} while (accept(p, ','));
	expect(p, ';');
}

struct found_reg {
	uint32_t index;
	uint8_t vec;
};

/* A register by name, single or of a range. */
static bool find_reg(struct parser *p, const char *s, size_t len, struct found_reg *out)
{
	const struct ptx_symbol *range = NULL, *single = NULL;
	size_t digits = 0;
	uint32_t k = 0;
	const struct ptx_name *n;

	while (digits < 7 && digits < len && s[len - 1 - digits] >= '0' && s[len - 1 - digits] <= '9')
		digits++;
	/* %r1 is %r<..> with 1, %f1_<..> with a number after; no leading zeros. */
	while (digits > 1 && s[len - digits] == '0')
		digits--;
	if (digits) {
		for (size_t i = len - digits; i < len; i++)
			k = k * 10 + (uint32_t)(s[i] - '0');
		/* Digits may belong to the name: the longest number that fits a range wins. */
		for (size_t d = digits; d; d--) {
			uint32_t low = k;

			if (d < digits) {
				if (d > 1 && s[len - d] == '0')
					continue;
				low = 0;
				for (size_t i = len - d; i < len; i++)
					low = low * 10 + (uint32_t)(s[i] - '0');
			}
			n = find_name(p->m, s, len - d);
			if (n && n->sym && n->sym->kind == SYM_REGS && low < n->sym->count) {
				range = n->sym;
				k = low;
				break;
			}
		}
	}
	if (!range || p->digit_names) {
		n = find_name(p->m, s, len);
		if (n && n->sym && n->sym->kind == SYM_REG)
			single = n->sym;
	}
	if (range && (!single || single->depth < range->depth)) {
		out->index = range->index + k * range->vec;
		out->vec = range->vec;
		return true;
	}
	if (!single)
		return false;
	out->index = single->index;
	out->vec = single->vec;
	return true;
}

/* ---- mnemonics ---- */

static uint16_t mod_id(struct parser *p, const char *s, size_t len)
{
	struct ptx_module *m = p->m;

	for (unsigned i = 1; i < PTX_M_COUNT; i++)
		if (ptx_mods[i].text[0] == s[0] && !strncmp(ptx_mods[i].text, s, len) && !ptx_mods[i].text[len])
			return (uint16_t)i;
	for (uint32_t i = 0; i < m->nother_mods; i++)
		if (!strncmp(m->other_mods[i], s, len) && !m->other_mods[i][len])
			return (uint16_t)(PTX_M_COUNT + i);
	if (m->nother_mods == 256)
		return UINT16_MAX; /* one text for all the rest: this is no PTX of ours */
	if (m->nother_mods == m->cap_other_mods) {
		uint32_t cap = m->cap_other_mods ? m->cap_other_mods * 2 : 8;
		const char **mods = alloc(p, cap * sizeof(*mods));

		if (m->nother_mods)
			memcpy(mods, m->other_mods, m->nother_mods * sizeof(*mods));
		m->other_mods = mods;
		m->cap_other_mods = cap;
	}
	m->other_mods[m->nother_mods] = intern(p, s, len)->text;
	return (uint16_t)(PTX_M_COUNT + m->nother_mods++);
}

/* m16n8k16, m8n8: too many to list. */
static bool is_shape(const char *s, size_t len)
{
	static const char letters[] = "mnk";
	size_t i = 0;

	for (unsigned k = 0; k < 3 && i < len; k++) {
		size_t from = i;

		if (s[i++] != letters[k])
			return false;
		while (i < len && s[i] >= '0' && s[i] <= '9')
			i++;
		if (i == from + 1)
			return false;
	}
	return i == len;
}

static struct ptx_mnemonic *mnemonic(struct parser *p, struct ptx_name *name)
{
	struct ptx_mnemonic *mn = name->mnemonic;
	const char *s = name->text, *end = s + name->len;
	uint16_t mods[MAX_MNEMONIC / 2], *out;
	size_t best = 0, first;
	unsigned n = 0;

	if (mn)
		return mn;
	mn = alloc(p, sizeof(*mn));
	first = strcspn(s, ".");
	for (unsigned i = 1; i < PTX_OP_COUNT; i++) {
		size_t len;

		if (ptx_ops[i].text[0] != s[0])
			continue;
		len = strlen(ptx_ops[i].text);
		if (len <= name->len && len > best && !memcmp(ptx_ops[i].text, s, len) && (!s[len] || s[len] == '.')) {
			best = len;
			mn->op = (uint16_t)i;
		}
	}
	s += best ? best : first;
	mn->vec = 1;
	while (s < end && *s == '.') {
		size_t len;
		uint16_t id;

		s++;
		len = strcspn(s, ".");
		id = mod_id(p, s, len);
		s += len;
		mods[n++] = id;
		if (id >= PTX_M_COUNT) {
			if (!is_shape(s - len, len))
				mn->odd = true;
			continue;
		}
		if (ptx_mods[id].type && mn->ntypes < PTX_MAX_TYPES)
			mn->types[mn->ntypes++] = ptx_mods[id].type;
		if (ptx_mods[id].space && mn->nspaces < PTX_MAX_SPACES)
			mn->spaces[mn->nspaces++] = ptx_mods[id].space;
		if (id == PTX_M_V2)
			mn->vec = 2;
		else if (id == PTX_M_V4)
			mn->vec = 4;
		else if (id == PTX_M_V8)
			mn->vec = 8;
	}
	out = n ? alloc(p, n * sizeof(*out)) : NULL;
	if (n)
		memcpy(out, mods, n * sizeof(*out));
	mn->mods = out;
	mn->nmods = (uint16_t)n;
	name->mnemonic = mn;
	return mn;
}

/* ---- operands ---- */

static void operand(struct parser *p, struct ptx_operand *o, enum ptx_op op, unsigned depth);

static void pend(struct parser *p, struct ptx_name *name, enum sym_kind kind, uint32_t *where, uint32_t line)
{
	const struct ptx_symbol *s = name->sym;
	struct pending *pd;

	if (s && s->kind == kind && s->depth == p->depth) {
		*where = s->index;
		return;
	}
	pd = vec_push(p, &p->pendings, sizeof(*pd));
	pd->name = name;
	pd->where = where;
	pd->line = line;
	pd->kind = (uint8_t)kind;
}

/* Elements up to the closing character, into o. */
static void elements(struct parser *p, struct ptx_operand *o, enum ptx_op op, char close, unsigned depth)
{
	size_t from = p->ops.n;
	uint32_t n;

	if (depth > 8)
		fail(p, "operands nested too deep");
	p->ops.elem = sizeof(struct ptx_operand);
	if (!is_punct(p, close)) {
		do {
			struct ptx_operand e = { 0 };

			if (p->ops.n - from >= MAX_OPERANDS)
				fail(p, "too many operands");
			operand(p, &e, op, depth + 1);
			*(struct ptx_operand *)vec_push(p, &p->ops, sizeof(e)) = e;
		} while (accept(p, ','));
	}
	expect(p, close);
	o->elem = vec_take(p, &p->ops, from, &n);
	o->n = (uint16_t)n;
}

static void immediate(struct parser *p, struct ptx_operand *o)
{
	struct value v;

	/* Nearly always a lone literal. */
	if (p->tok.kind == PTX_TOK_INT) {
		struct ptx_tok t = p->tok;

		next(p);
		if (is_punct(p, ',') || is_punct(p, ';') || is_punct(p, ']')) {
			o->kind = PTX_O_INT;
			o->imm = (int64_t)t.value;
			o->flags = t.uns ? PTX_OF_UNSIGNED : 0;
			return;
		}
		/* An expression after all: go back to its start. */
		p->lx.at = t.text;
		p->lx.line = t.line;
		next(p);
	}
	v = expr(p, 0);
	switch (v.kind) {
	case V_INT:
		o->kind = PTX_O_INT;
		break;
	case V_UINT:
		o->kind = PTX_O_INT;
		o->flags |= PTX_OF_UNSIGNED;
		break;
	case V_F32:
		o->kind = PTX_O_F32;
		break;
	case V_F64:
		o->kind = PTX_O_F64;
		break;
	}
	o->imm = v.i;
}

static enum ptx_sel selector(struct parser *p)
{
	static const struct {
		const char *text;
		enum ptx_sel sel;
	} sels[] = {
		{ "x", PTX_SEL_X }, { "y", PTX_SEL_Y }, { "z", PTX_SEL_Z }, { "w", PTX_SEL_W }, { "r", PTX_SEL_X },
		{ "g", PTX_SEL_Y }, { "b", PTX_SEL_Z }, { "a", PTX_SEL_W }, { "b0", PTX_SEL_B0 },
		{ "b1", PTX_SEL_B1 }, { "b2", PTX_SEL_B2 }, { "b3", PTX_SEL_B3 }, { "h0", PTX_SEL_H0 },
		{ "h1", PTX_SEL_H1 },
	};

	for (size_t i = 0; i < sizeof(sels) / sizeof(sels[0]); i++) {
		if (is_dot(p, sels[i].text)) {
			next(p);
			return sels[i].sel;
		}
	}
	next(p);
	return PTX_SEL_OTHER;
}

/* A name in operand position. */
static void name_operand(struct parser *p, struct ptx_operand *o, enum ptx_op op)
{
	const struct ptx_tok t = p->tok;
	struct found_reg reg;
	struct ptx_name *n;

	if (t.len == 1 && t.text[0] == '_') {
		next(p);
		o->kind = PTX_O_SINK;
		return;
	}
	if (find_reg(p, t.text, t.len, &reg)) {
		next(p);
		o->kind = PTX_O_REG;
		o->reg = reg.index;
		if (p->tok.kind == PTX_TOK_DOT) {
			o->sel = (uint8_t)selector(p);
			if (reg.vec > 1 && o->sel >= PTX_SEL_X && o->sel <= PTX_SEL_W) {
				if (o->sel - PTX_SEL_X >= reg.vec)
					fail_at(p, t.line, "vector register has no such element", t.text, t.len);
				o->reg += o->sel - PTX_SEL_X;
				o->sel = PTX_SEL_NONE;
			}
		} else if (reg.vec > 1) {
			/* The whole vector: as if written {v.x, v.y, ...}. */
			struct ptx_operand *e = alloc(p, reg.vec * sizeof(*e));

			for (unsigned i = 0; i < reg.vec; i++)
				e[i] = (struct ptx_operand){ .kind = PTX_O_REG, .reg = reg.index + i };
			o->kind = PTX_O_VEC;
			o->n = reg.vec;
			o->elem = e;
		}
		return;
	}
	n = find_name(p->m, t.text, t.len);
	if (n && n->sym && n->sym->kind == SYM_VAR) {
		struct ptx_var *v = n->sym->var;

		next(p);
		if (v->space == PTX_SPACE_REG) {
			o->kind = PTX_O_REG;
			o->reg = v->reg;
			return;
		}
		o->kind = PTX_O_VAR;
		o->var = v;
		return;
	}
	if (n && n->sym && n->sym->kind == SYM_FUNC) {
		next(p);
		o->kind = PTX_O_FUNC;
		o->func = n->sym->func;
		return;
	}
	if (is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
		immediate(p, o);
		return;
	}
	if (t.text[0] == '%') {
		for (unsigned i = 1; i < PTX_SREG_COUNT; i++) {
			if (strlen(ptx_sregs[i].text) != t.len || memcmp(ptx_sregs[i].text, t.text, t.len))
				continue;
			next(p);
			o->kind = PTX_O_SREG;
			o->reg = i;
			if (p->tok.kind == PTX_TOK_DOT)
				o->sel = (uint8_t)selector(p);
			if (ptx_sregs[i].dims && !o->sel) {
				struct ptx_operand *e = alloc(p, 4 * sizeof(*e));

				for (unsigned k = 0; k < 4; k++)
					e[k] = (struct ptx_operand){ .kind = PTX_O_SREG, .reg = i,
								     .sel = (uint8_t)(PTX_SEL_X + k) };
				o->kind = PTX_O_VEC;
				o->n = 4;
				o->elem = e;
			}
			return;
		}
		if (op == PTX_OP_MOV) {
			/* A special register of a PTX newer than the table. */
			o->kind = PTX_O_SREG;
			o->reg = PTX_SREG_OTHER;
			o->text = intern(p, t.text, t.len)->text;
			next(p);
			if (p->tok.kind == PTX_TOK_DOT)
				o->sel = (uint8_t)selector(p);
			return;
		}
		fail_at(p, t.line, "register is not declared", t.text, t.len);
	}
	if (n && n->sym && (n->sym->kind == SYM_LABEL || n->sym->kind == SYM_TABLE)) {
		next(p);
		o->kind = n->sym->kind == SYM_LABEL ? PTX_O_LABEL : PTX_O_TABLE;
		o->reg = n->sym->index;
		return;
	}
	fail_at(p, t.line, "name is not declared", t.text, t.len);
}

/* After a variable's name: "[2]", "+4". */
static void var_suffix(struct parser *p, struct ptx_operand *o, enum ptx_op op, bool in_address)
{
	if (is_punct(p, '[')) {
		struct ptx_operand index = { 0 };
		unsigned size = ptx_type_size(o->var->type) * o->var->vec;

		next(p);
		if (p->tok.kind == PTX_TOK_IDENT && !is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
			struct ptx_operand *e = alloc(p, 2 * sizeof(*e));

			name_operand(p, &index, op);
			if (index.kind != PTX_O_REG)
				fail(p, "expected a register as index before");
			if (is_punct(p, '+') || is_punct(p, '-'))
				index.imm = int_expr(p);
			e[0] = *o;
			e[1] = index;
			*o = (struct ptx_operand){ .kind = PTX_O_ADDR, .n = 2, .flags = PTX_OF_SCALED, .elem = e };
		} else {
			o->imm += (int64_t)((uint64_t)int_expr(p) * size);
		}
		expect(p, ']');
	}
	if (o->kind == PTX_O_VAR && (is_punct(p, '+') || is_punct(p, '-')))
		o->imm += int_expr(p);
	if (o->kind == PTX_O_VAR && !in_address && ptx_op_mem(op) != PTX_MEM_NONE && op != PTX_OP_CALL) {
		/* ld.global.u32 r, a[0]; */
		struct ptx_operand *e = alloc(p, sizeof(*e));

		*e = *o;
		*o = (struct ptx_operand){ .kind = PTX_O_ADDR, .n = 1, .imm = e->imm, .elem = e };
		e->imm = 0;
	}
}

static void address(struct parser *p, struct ptx_operand *o, enum ptx_op op, unsigned depth)
{
	size_t from = p->ops.n;
	struct ptx_operand base = { 0 };
	uint32_t n;

	o->kind = PTX_O_ADDR;
	if (p->tok.kind == PTX_TOK_IDENT && !is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
		name_operand(p, &base, op);
		if (base.kind == PTX_O_VAR) {
			var_suffix(p, &base, op, true);
			if (base.kind == PTX_O_ADDR) {
				if (!is_punct(p, ']'))
					fail(p, "expected ']' but found");
				next(p);
				*o = base;
				return;
			}
			o->imm = base.imm;
			base.imm = 0;
		} else if (is_punct(p, '+') || is_punct(p, '-')) {
			o->imm = int_expr(p);
		}
	} else {
		operand(p, &base, op, depth + 1);
	}
	p->ops.elem = sizeof(struct ptx_operand);
	*(struct ptx_operand *)vec_push(p, &p->ops, sizeof(base)) = base;
	while (accept(p, ',')) {
		struct ptx_operand e = { 0 };

		if (p->ops.n - from >= MAX_OPERANDS)
			fail(p, "too many operands");
		operand(p, &e, op, depth + 1);
		*(struct ptx_operand *)vec_push(p, &p->ops, sizeof(e)) = e;
	}
	expect(p, ']');
	o->elem = vec_take(p, &p->ops, from, &n);
	o->n = (uint16_t)n;
}

static void operand(struct parser *p, struct ptx_operand *o, enum ptx_op op, unsigned depth)
{
	if (depth > 8)
		fail(p, "operands nested too deep");
	if (p->tok.kind == PTX_TOK_IDENT) {
		name_operand(p, o, op);
		if (o->kind == PTX_O_VAR)
			var_suffix(p, o, op, false);
	} else if (is_punct(p, '[')) {
		next(p);
		address(p, o, op, depth);
	} else if (is_punct(p, '{')) {
		next(p);
		o->kind = PTX_O_VEC;
		elements(p, o, op, '}', depth);
	} else if (is_punct(p, '!') || is_punct(p, '-')) {
		struct ptx_lex save = p->lx;
		struct ptx_tok sign = p->tok;

		next(p);
		if (p->tok.kind == PTX_TOK_IDENT && !is_word(p, PTX_TOK_IDENT, "WARP_SZ")) {
			name_operand(p, o, op);
			if (o->kind != PTX_O_REG)
				fail_at(p, sign.line, "'!' or '-' in front of what is no register", NULL, 0);
			o->flags |= sign.ch == '!' ? PTX_OF_NOT : PTX_OF_NEG;
		} else {
			p->lx = save;
			p->tok = sign;
			immediate(p, o);
		}
	} else {
		immediate(p, o);
	}
	if (is_punct(p, '|') && (o->kind == PTX_O_REG || o->kind == PTX_O_SINK || o->kind == PTX_O_VEC)) {
		struct ptx_operand *e = alloc(p, 2 * sizeof(*e));

		next(p);
		e[0] = *o;
		operand(p, &e[1], op, depth + 1);
		*o = (struct ptx_operand){ .kind = PTX_O_PAIR, .n = 2, .elem = e };
	}
}

/* ---- instructions ---- */

static void call_operands(struct parser *p, struct ptx_operand *ops)
{
	if (accept(p, '(')) {
		ops[0].kind = PTX_O_LIST;
		elements(p, &ops[0], PTX_OP_CALL, ')', 1);
		expect(p, ',');
	}
	if (p->tok.kind != PTX_TOK_IDENT)
		fail(p, "expected a function but found");
	name_operand(p, &ops[1], PTX_OP_CALL);
	if (ops[1].kind != PTX_O_FUNC && ops[1].kind != PTX_O_REG)
		fail(p, "call of what is no function, before");
	if (!accept(p, ','))
		return;
	if (accept(p, '(')) {
		ops[2].kind = PTX_O_LIST;
		elements(p, &ops[2], PTX_OP_CALL, ')', 1);
		if (!accept(p, ','))
			return;
	}
	if (p->tok.kind != PTX_TOK_IDENT)
		fail(p, "expected a prototype but found");
	struct ptx_name *n = intern(p, p->tok.text, p->tok.len);

	if (n->sym && n->sym->kind == SYM_FUNC) {
		ops[3].kind = PTX_O_FUNC;
		ops[3].func = n->sym->func;
		next(p);
		return;
	}
	ops[3].kind = PTX_O_TABLE;
	pend(p, n, SYM_TABLE, &ops[3].reg, p->tok.line);
	next(p);
}

static void label_operand(struct parser *p, struct ptx_operand *o, enum sym_kind kind)
{
	struct ptx_name *n;
	uint32_t line = p->tok.line;

	n = ident(p, kind == SYM_LABEL ? "expected a label but found" : "expected a target list but found");
	o->kind = kind == SYM_LABEL ? PTX_O_LABEL : PTX_O_TABLE;
	pend(p, n, kind, &o->reg, line);
}

/* The operands of a statement, up to and with its semicolon. */
static void operands(struct parser *p, struct ptx_inst *in)
{
	struct ptx_operand *ops;
	size_t from = p->ops.n;
	uint32_t n;

	switch ((enum ptx_op)in->op) {
	case PTX_OP_BRA:
		in->nops = 1;
		in->ops = ops = alloc(p, sizeof(*ops));
		label_operand(p, ops, SYM_LABEL);
		expect(p, ';');
		return;
	case PTX_OP_BRX:
		in->nops = 2;
		in->ops = ops = alloc(p, 2 * sizeof(*ops));
		operand(p, &ops[0], in->op, 1);
		expect(p, ',');
		label_operand(p, &ops[1], SYM_TABLE);
		expect(p, ';');
		return;
	case PTX_OP_CALL:
		in->nops = 4;
		in->ops = ops = alloc(p, 4 * sizeof(*ops));
		call_operands(p, ops);
		expect(p, ';');
		return;
	default:
		break;
	}
	p->ops.elem = sizeof(struct ptx_operand);
	if (!is_punct(p, ';')) {
		do {
			struct ptx_operand o = { 0 };

			if (p->ops.n - from >= MAX_OPERANDS)
				fail(p, "too many operands");
			operand(p, &o, in->op, 1);
			*(struct ptx_operand *)vec_push(p, &p->ops, sizeof(o)) = o;
		} while (accept(p, ','));
	}
	if (!is_punct(p, ';'))
		fail(p, "expected ';' but found");
	in->ops = vec_take(p, &p->ops, from, &n);
	in->nops = (uint16_t)n;
	next(p);
}

/* A statement with an opcode of no table: its operands if they can be read, its text in any case. */
static void unknown_inst(struct parser *p, struct ptx_inst *in, const char *start)
{
	struct ptx_lex save = p->lx;
	struct ptx_tok tok = p->tok;
	size_t nops = p->ops.n, npend = p->pendings.n;
	jmp_buf here, *outer = p->jmp;
	const char *end;
	size_t len;

	p->jmp = &here;
	if (!setjmp(here)) {
		operands(p, in);
		p->jmp = outer;
	} else {
		p->jmp = outer;
		if (!p->err->line)
			longjmp(*outer, 1); /* no memory */
		p->ops.n = nops;
		p->pendings.n = npend;
		p->lx = save;
		p->tok = tok;
		while (!is_punct(p, ';')) {
			if (p->tok.kind == PTX_TOK_EOF)
				fail(p, "statement without an end");
			next(p);
		}
		struct ptx_operand *o = alloc(p, sizeof(*o));

		o->kind = PTX_O_TEXT;
		len = (size_t)(p->tok.text - tok.text);
		o->text = intern(p, tok.text, len > 4096 ? 4096 : len)->text;
		in->ops = o;
		in->nops = 1;
		next(p);
	}
	p->err->line = 0;
	p->err->what[0] = '\0';
	for (end = start; end < p->lx.end && *end != ';'; end++)
		;
	len = (size_t)(end - start);
	in->text = intern(p, start, len > 4096 ? 4096 : len)->text;
}

static void instruction(struct parser *p)
{
	struct ptx_inst in = { .pred = PTX_NO_REG, .line = p->tok.line };
	char buf[MAX_MNEMONIC];
	struct ptx_mnemonic *mn;
	struct ptx_name *name;
	const char *start;
	size_t len;

	if (accept(p, '@')) {
		struct found_reg reg;

		in.pred_not = accept(p, '!');
		if (p->tok.kind != PTX_TOK_IDENT || !find_reg(p, p->tok.text, p->tok.len, &reg))
			fail(p, "expected a predicate register but found");
		in.pred = reg.index;
		next(p);
	}
	if (p->tok.kind != PTX_TOK_IDENT)
		fail(p, "expected an instruction but found");
	start = p->tok.text;
	in.line = p->tok.line;
	len = p->tok.len;
	if (len >= sizeof(buf) || p->tok.text[0] == '%')
		fail(p, "expected an instruction but found");
	memcpy(buf, start, len);
	len = ptx_lex_mods(&p->lx, buf, len, sizeof(buf));
	if (!len)
		fail(p, "instruction name too long");
	next(p);
	name = intern(p, buf, len);
	mn = mnemonic(p, name);
	in.op = mn->op;
	in.mods = mn->mods;
	in.nmods = mn->nmods;
	memcpy(in.types, mn->types, sizeof(in.types));
	memcpy(in.spaces, mn->spaces, sizeof(in.spaces));
	in.ntypes = mn->ntypes;
	in.nspaces = mn->nspaces;
	in.vec = mn->vec;
	in.odd = mn->odd;
	in.text = name->text;
	if (in.op == PTX_OP_UNKNOWN)
		unknown_inst(p, &in, start);
	else
		operands(p, &in);
	*(struct ptx_inst *)vec_push(p, &p->insts, sizeof(in)) = in;
}

/* ---- functions ---- */

/* One list of parameters or results, its parenthesis open. */
static struct ptx_var **params(struct parser *p, struct ptx_func *f, uint32_t *count, uint64_t *bytes)
{
	size_t from = p->params.n;
	uint64_t offset = 0;

	p->params.elem = sizeof(struct ptx_var *);
	if (!is_punct(p, ')')) {
		do {
			struct ptx_var *v = alloc(p, sizeof(*v));
			struct dims d;

			if (p->params.n - from >= MAX_PARAMS)
				fail(p, "too many parameters");
			v->module = p->m;
			v->func = f;
			if (accept_dot(p, "reg"))
				v->space = PTX_SPACE_REG;
			else if (accept_dot(p, "param"))
				v->space = PTX_SPACE_PARAM;
			else
				fail(p, "expected .param or .reg but found");
			v->line = p->tok.line;
			var_head(p, v);
			v->name = ident(p, "expected a parameter name but found")->text;
			var_dims(p, v, &d);
			v->index = (uint32_t)(p->params.n - from);
			offset = (offset + v->align - 1) & ~(uint64_t)(v->align - 1);
			v->offset = offset;
			if (v->size > (1u << 20) || offset + v->size > (1u << 20))
				fail(p, "parameters too large, at");
			offset += v->size;
			*(struct ptx_var **)vec_push(p, &p->params, sizeof(v)) = v;
		} while (accept(p, ','));
	}
	expect(p, ')');
	*bytes = offset;
	return vec_take(p, &p->params, from, count);
}

static void three(struct parser *p, uint32_t v[3])
{
	v[0] = v[1] = v[2] = 1;
	for (unsigned i = 0; i < 3; i++) {
		v[i] = (uint32_t)uint_expr(p, UINT32_MAX, "number out of range");
		if (!accept(p, ','))
			break;
	}
}

/* Performance and ABI directives between a signature and its body; unknown ones are skipped. */
static void directives(struct parser *p, struct ptx_func *f)
{
	while (p->tok.kind == PTX_TOK_DOT) {
		if (accept_dot(p, "maxntid")) {
			three(p, f->maxntid);
		} else if (accept_dot(p, "reqntid")) {
			three(p, f->reqntid);
		} else if (accept_dot(p, "reqnctapercluster")) {
			three(p, f->reqcluster);
		} else if (accept_dot(p, "maxnreg")) {
			f->maxnreg = (uint32_t)uint_expr(p, UINT32_MAX, "number out of range");
		} else if (accept_dot(p, "minnctapersm")) {
			f->minnctapersm = (uint32_t)uint_expr(p, UINT32_MAX, "number out of range");
		} else if (accept_dot(p, "maxclusterrank")) {
			f->maxclusterrank = (uint32_t)uint_expr(p, UINT32_MAX, "number out of range");
		} else if (accept_dot(p, "explicitcluster")) {
			f->explicitcluster = true;
		} else if (accept_dot(p, "noreturn")) {
			f->noreturn = true;
		} else {
			/* .pragma "...";  .abi_preserve 3, and what may come */
			bool pragma = is_dot(p, "pragma");

			next(p);
			while (p->tok.kind != PTX_TOK_EOF && p->tok.kind != PTX_TOK_DOT && !is_punct(p, ';') &&
			       !is_punct(p, '{'))
				next(p);
			if (pragma)
				expect(p, ';');
		}
	}
}

static void add_func(struct parser *p, struct ptx_func *f)
{
	struct ptx_module *m = p->m;

	if (m->nfuncs == m->cap_funcs) {
		uint32_t cap = m->cap_funcs ? m->cap_funcs * 2 : 16;
		struct ptx_func **funcs = realloc(m->funcs, cap * sizeof(*funcs));
		struct ptx_body *bodies;

		if (!funcs)
			fail_memory(p);
		m->funcs = funcs;
		if (m->lazy) {
			bodies = realloc(m->bodies, cap * sizeof(*bodies));
			if (!bodies)
				fail_memory(p);
			memset(bodies + m->nfuncs, 0, (cap - m->nfuncs) * sizeof(*bodies));
			m->bodies = bodies;
		}
		m->cap_funcs = cap;
	}
	f->index = m->nfuncs;
	m->funcs[m->nfuncs++] = f;
}

static void add_table(struct parser *p, struct ptx_name *name)
{
	struct ptx_table t = { .name = name->text, .line = p->tok.line };
	struct ptx_symbol *s = declare(p, name, SYM_TABLE);

	s->index = (uint32_t)p->tables.n;
	if (accept_dot(p, "branchtargets")) {
		size_t n = 0, cap = 0;
		uint32_t *labels = NULL;
		struct ptx_name **names = NULL;

		t.kind = PTX_TABLE_BRANCH;
		do {
			struct ptx_name *label = ident(p, "expected a label but found");

			if (n == cap) {
				struct ptx_name **grown = alloc(p, (cap ? cap * 2 : 8) * sizeof(*grown));

				if (n)
					memcpy(grown, names, n * sizeof(*grown));
				names = grown;
				cap = cap ? cap * 2 : 8;
			}
			names[n++] = label;
			/* L<4>: L0 L1 L2 L3, of old compilers */
			if (is_punct(p, '<'))
				fail(p, "label ranges are not supported, at");
		} while (accept(p, ','));
		labels = alloc(p, n * sizeof(*labels));
		for (size_t i = 0; i < n; i++)
			pend(p, names[i], SYM_LABEL, &labels[i], t.line);
		t.labels = labels;
		t.n = (uint32_t)n;
	} else if (accept_dot(p, "calltargets")) {
		size_t from = p->params.n;

		t.kind = PTX_TABLE_CALL;
		p->params.elem = sizeof(void *);
		do {
			struct ptx_name *fn = ident(p, "expected a function but found");

			if (!fn->sym || fn->sym->kind != SYM_FUNC)
				fail_at(p, p->tok.line, "function is not declared", fn->text, fn->len);
			*(const struct ptx_func **)vec_push(p, &p->params, sizeof(void *)) = fn->sym->func;
		} while (accept(p, ','));
		t.funcs = vec_take(p, &p->params, from, &t.n);
	} else {
		uint64_t bytes;

		next(p);
		t.kind = PTX_TABLE_PROTOTYPE;
		if (accept(p, '('))
			t.rets = params(p, p->f, &t.nrets, &bytes);
		(void)ident(p, "expected '_' but found");
		if (accept(p, '('))
			t.params = params(p, p->f, &t.nparams, &bytes);
		/* .noreturn, .abi_preserve n */
		while (p->tok.kind == PTX_TOK_DOT) {
			next(p);
			while (p->tok.kind == PTX_TOK_INT || is_punct(p, ','))
				next(p);
		}
	}
	expect(p, ';');
	*(struct ptx_table *)vec_push(p, &p->tables, sizeof(t)) = t;
}

/* .loc and .file have no semicolon: what belongs to them is told by its shape. */
static void loc(struct parser *p)
{
	while (p->tok.kind == PTX_TOK_INT)
		next(p);
	while (accept(p, ',')) {
		while (p->tok.kind == PTX_TOK_IDENT && (is_word(p, PTX_TOK_IDENT, "function_name") ||
							 is_word(p, PTX_TOK_IDENT, "inlined_at"))) {
			bool name = is_word(p, PTX_TOK_IDENT, "function_name");

			next(p);
			if (name) {
				if (p->tok.kind == PTX_TOK_IDENT)
					next(p);
				if (accept(p, '+') && p->tok.kind == PTX_TOK_INT)
					next(p);
			}
		}
		while (p->tok.kind == PTX_TOK_INT)
			next(p);
	}
}

static void file(struct parser *p)
{
	while (p->tok.kind == PTX_TOK_INT)
		next(p);
	if (p->tok.kind == PTX_TOK_STRING)
		next(p);
	while (accept(p, ','))
		(void)expr(p, 0);
}

static void section(struct parser *p)
{
	/* .section .debug_info { ... } */
	while (p->tok.kind == PTX_TOK_DOT || p->tok.kind == PTX_TOK_IDENT || p->tok.kind == PTX_TOK_STRING)
		next(p);
	if (!is_punct(p, '{'))
		fail(p, "expected '{' but found");
	if (!ptx_lex_block(&p->lx))
		fail_at(p, p->tok.line, "brace without an end", NULL, 0);
	next(p);
}

static void body_directive(struct parser *p)
{
	if (accept_dot(p, "loc")) {
		loc(p);
	} else if (accept_dot(p, "file")) {
		file(p);
	} else if (accept_dot(p, "section")) {
		section(p);
	} else if (accept_dot(p, "pragma")) {
		while (p->tok.kind == PTX_TOK_STRING || is_punct(p, ','))
			next(p);
		expect(p, ';');
	} else if (accept_dot(p, "reg")) {
		registers(p);
	} else if (accept_dot(p, "local")) {
		variables(p, PTX_SPACE_LOCAL, PTX_LINK_LOCAL);
	} else if (accept_dot(p, "shared")) {
		variables(p, PTX_SPACE_SHARED, PTX_LINK_LOCAL);
	} else if (accept_dot(p, "param")) {
		variables(p, PTX_SPACE_PARAM, PTX_LINK_LOCAL);
	} else if (accept_dot(p, "const")) {
		variables(p, PTX_SPACE_CONST, PTX_LINK_LOCAL);
	} else if (accept_dot(p, "global")) {
		variables(p, PTX_SPACE_GLOBAL, PTX_LINK_LOCAL);
	} else if (accept_dot(p, "tex")) {
		variables(p, PTX_SPACE_TEX, PTX_LINK_LOCAL);
	} else if (accept_dot(p, "extern")) {
		if (accept_dot(p, "shared"))
			variables(p, PTX_SPACE_SHARED, PTX_LINK_EXTERN);
		else if (accept_dot(p, "global"))
			variables(p, PTX_SPACE_GLOBAL, PTX_LINK_EXTERN);
		else if (accept_dot(p, "const"))
			variables(p, PTX_SPACE_CONST, PTX_LINK_EXTERN);
		else
			fail(p, "expected a variable after .extern but found");
	} else {
		fail(p, "directive that has no place in a function");
	}
}

static void body_statement(struct parser *p)
{
	if (p->tok.kind == PTX_TOK_DOT) {
		body_directive(p);
		return;
	}
	if (accept(p, ';'))
		return;
	if (p->tok.kind == PTX_TOK_IDENT) {
		/* A label has a colon, and not two, right after. */
		struct ptx_lex ahead = p->lx;

		if (ptx_lex_space(&ahead) && ahead.at < ahead.end && *ahead.at == ':' &&
		    !(ahead.at + 1 < ahead.end && ahead.at[1] == ':')) {
			struct ptx_name *name = ident(p, "expected a label but found");
			struct ptx_label *l;

			expect(p, ':');
			if (is_dot(p, "branchtargets") || is_dot(p, "calltargets") || is_dot(p, "callprototype")) {
				add_table(p, name);
				return;
			}
			declare(p, name, SYM_LABEL)->index = (uint32_t)p->labels.n;
			l = vec_push(p, &p->labels, sizeof(*l));
			l->name = name->text;
			l->inst = (uint32_t)p->insts.n;
			l->line = p->tok.line;
			return;
		}
	}
	if (is_punct(p, '@')) {
		/* "@@DWARF ..." of old compilers: a line of debug information */
		if (p->lx.at < p->lx.end && *p->lx.at == '@') {
			ptx_lex_line(&p->lx);
			next(p);
			return;
		}
	}
	instruction(p);
}

/* The body, its first token current; takes the closing brace but not the token after. */
static void body(struct parser *p, struct ptx_func *f)
{
	uint32_t n;

	p->f = f;
	p->digit_names = false;
	scope_open(p);
	for (unsigned k = 0; k < 2; k++) {
		struct ptx_var *const *list = k ? f->params : f->rets;
		uint32_t count = k ? f->nparams : f->nrets;

		for (uint32_t i = 0; i < count; i++) {
			struct ptx_name *name = intern(p, list[i]->name, strlen(list[i]->name));

			if (name->len == 1 && name->text[0] == '_')
				continue;
			if (list[i]->space == PTX_SPACE_REG)
				list[i]->reg = add_register(p, name, list[i]->type, list[i]->vec);
			else
				declare(p, name, SYM_VAR)->var = list[i];
		}
	}
	for (;;) {
		if (p->tok.kind == PTX_TOK_EOF)
			fail(p, "function without an end");
		if (is_punct(p, '{')) {
			next(p);
			scope_open(p);
		} else if (is_punct(p, '}')) {
			if (p->depth == 1)
				break;
			scope_close(p);
			next(p);
		} else {
			body_statement(p);
		}
	}
	scope_close(p);
	p->regtypes.elem = 1;
	p->regdecls.elem = sizeof(struct ptx_regs);
	p->vars.elem = sizeof(struct ptx_var *);
	p->labels.elem = sizeof(struct ptx_label);
	p->tables.elem = sizeof(struct ptx_table);
	p->insts.elem = sizeof(struct ptx_inst);
	f->reg_types = vec_take(p, &p->regtypes, 0, &f->nregs);
	f->regdecls = vec_take(p, &p->regdecls, 0, &f->nregdecls);
	f->vars = vec_take(p, &p->vars, 0, &f->nvars);
	f->labels = vec_take(p, &p->labels, 0, &f->nlabels);
	f->tables = vec_take(p, &p->tables, 0, &f->ntables);
	f->insts = vec_take(p, &p->insts, 0, &n);
	f->ninsts = n;
	f->parsed = true;
	p->f = NULL;
}

/* What a declaration and a definition of one function both say must agree in number. */
static void merge_func(struct parser *p, struct ptx_func *old, struct ptx_func *f, bool body_follows)
{
	if (old->body && body_follows)
		fail_at(p, f->line, "function defined twice", f->name, strlen(f->name));
	if (old->nparams != f->nparams || old->nrets != f->nrets)
		fail_at(p, f->line, "declared with other parameters before", f->name, strlen(f->name));
	if (old->body)
		return;
	f->index = old->index;
	if (f->linkage == PTX_LINK_LOCAL && old->linkage != PTX_LINK_EXTERN)
		f->linkage = old->linkage;
	*old = *f;
	for (uint32_t i = 0; i < old->nparams; i++)
		old->params[i]->func = old;
	for (uint32_t i = 0; i < old->nrets; i++)
		old->rets[i]->func = old;
}

static void function(struct parser *p, bool entry, enum ptx_linkage linkage)
{
	struct ptx_func *f = alloc(p, sizeof(*f));
	struct ptx_name *name;
	uint64_t bytes;
	bool has_body;

	f->module = p->m;
	f->entry = entry;
	f->linkage = (uint8_t)linkage;
	f->line = p->tok.line;
	while (accept_dot(p, "attribute")) {
		struct ptx_var unused = { 0 };

		attributes(p, &unused);
	}
	if (!entry && accept(p, '('))
		f->rets = params(p, f, &f->nrets, &bytes);
	name = ident(p, "expected a function name but found");
	f->name = name->text;
	if (accept(p, '('))
		f->params = params(p, f, &f->nparams, &f->param_bytes);
	directives(p, f);
	has_body = is_punct(p, '{');
	if (name->sym && name->sym->kind != SYM_FUNC)
		fail_at(p, f->line, "declared as a variable before", name->text, name->len);
	if (name->sym) {
		struct ptx_func *old = name->sym->func;

		merge_func(p, old, f, has_body);
		f = old;
	} else {
		declare(p, name, SYM_FUNC)->func = f;
		add_func(p, f);
	}
	if (!has_body) {
		expect(p, ';');
		return;
	}
	f->body = true;
	if (p->m->lazy) {
		p->m->bodies[f->index] = (struct ptx_body){ .at = p->lx.at, .line = p->lx.line };
		if (!ptx_lex_block(&p->lx))
			fail_at(p, f->line, "function without an end", f->name, strlen(f->name));
	} else {
		next(p);
		body(p, f);
	}
	next(p);
}

/* ---- module ---- */

static void version(struct parser *p)
{
	const char *s = p->tok.text, *end = s + p->tok.len;
	unsigned major = 0, minor = 0;

	if (p->tok.kind != PTX_TOK_F64)
		fail(p, "expected a version such as 8.0 but found");
	while (s < end && *s >= '0' && *s <= '9' && major < 1000)
		major = major * 10 + (unsigned)(*s++ - '0');
	if (s < end && *s == '.')
		s++;
	while (s < end && *s >= '0' && *s <= '9' && minor < 1000)
		minor = minor * 10 + (unsigned)(*s++ - '0');
	p->m->version = major * 10 + minor;
	next(p);
}

static void target(struct parser *p)
{
	bool first = true;

	do {
		struct ptx_name *n = ident(p, "expected a target but found");

		if (first) {
			p->m->target = n->text;
			if (!strncmp(n->text, "sm_", 3) || !strncmp(n->text, "compute_", 8)) {
				const char *s = strchr(n->text, '_') + 1;

				for (; *s >= '0' && *s <= '9' && p->m->sm < 10000; s++)
					p->m->sm = p->m->sm * 10 + (unsigned)(*s - '0');
			}
		}
		first = false;
	} while (accept(p, ','));
}

static void alias(struct parser *p)
{
	struct ptx_name *a = ident(p, "expected a function name but found"), *b;

	expect(p, ',');
	b = ident(p, "expected a function name but found");
	if (!b->sym || b->sym->kind != SYM_FUNC)
		fail_at(p, p->tok.line, "alias of a function that is not declared", b->text, b->len);
	if (!a->sym) {
		struct ptx_func *f = alloc(p, sizeof(*f));

		*f = *b->sym->func;
		f->name = a->text;
		f->body = false;
		declare(p, a, SYM_FUNC)->func = f;
		add_func(p, f);
	}
	if (a->sym->kind != SYM_FUNC || a->sym->func == b->sym->func || a->sym->func->body)
		fail_at(p, p->tok.line, "alias needs a function without a body", a->text, a->len);
	for (const struct ptx_func *f = b->sym->func; f; f = f->alias)
		if (f == a->sym->func)
			fail_at(p, p->tok.line, "alias of itself", a->text, a->len);
	a->sym->func->alias = b->sym->func;
	expect(p, ';');
}

static void module_statement(struct parser *p)
{
	enum ptx_linkage linkage = PTX_LINK_LOCAL;

	if (accept(p, ';'))
		return;
	if (is_punct(p, '@') && p->lx.at < p->lx.end && *p->lx.at == '@') {
		ptx_lex_line(&p->lx);
		next(p);
		return;
	}
	if (p->tok.kind != PTX_TOK_DOT)
		fail(p, "expected a directive but found");
	if (accept_dot(p, "version")) {
		version(p);
		return;
	}
	if (accept_dot(p, "target")) {
		target(p);
		return;
	}
	if (accept_dot(p, "address_size")) {
		uint64_t v = uint_expr(p, 64, "address size is neither 32 nor 64");

		if (v != 32 && v != 64)
			fail(p, "address size is neither 32 nor 64, before");
		p->m->address_size = (unsigned)v;
		return;
	}
	if (accept_dot(p, "file")) {
		file(p);
		return;
	}
	if (accept_dot(p, "loc")) {
		loc(p);
		return;
	}
	if (accept_dot(p, "section")) {
		section(p);
		return;
	}
	if (accept_dot(p, "alias")) {
		alias(p);
		return;
	}
	if (accept_dot(p, "pragma")) {
		while (p->tok.kind == PTX_TOK_STRING || is_punct(p, ','))
			next(p);
		expect(p, ';');
		return;
	}
	for (;;) {
		if (accept_dot(p, "extern"))
			linkage = PTX_LINK_EXTERN;
		else if (accept_dot(p, "visible"))
			linkage = PTX_LINK_VISIBLE;
		else if (accept_dot(p, "weak"))
			linkage = PTX_LINK_WEAK;
		else if (accept_dot(p, "common"))
			linkage = PTX_LINK_COMMON;
		else
			break;
	}
	if (accept_dot(p, "entry"))
		function(p, true, linkage);
	else if (accept_dot(p, "func"))
		function(p, false, linkage);
	else if (accept_dot(p, "global"))
		variables(p, PTX_SPACE_GLOBAL, linkage);
	else if (accept_dot(p, "const"))
		variables(p, PTX_SPACE_CONST, linkage);
	else if (accept_dot(p, "shared"))
		variables(p, PTX_SPACE_SHARED, linkage);
	else if (accept_dot(p, "local"))
		variables(p, PTX_SPACE_LOCAL, linkage);
	else if (accept_dot(p, "tex"))
		variables(p, PTX_SPACE_TEX, linkage);
	else if (accept_dot(p, "reg"))
		registers(p);
	else
		fail(p, "unknown directive");
}

/* Initialisers may name what comes later. */
static void resolve_relocs(struct parser *p)
{
	struct ptx_module *m = p->m;

	for (uint32_t i = 0; i < m->nvars; i++) {
		for (uint32_t k = 0; k < m->vars[i]->nrelocs; k++) {
			struct ptx_reloc *r = (struct ptx_reloc *)&m->vars[i]->relocs[k];
			const struct ptx_name *n;

			if (r->var || r->func)
				continue;
			n = find_name(m, r->name, strlen(r->name));
			if (n && n->sym && n->sym->kind == SYM_VAR)
				r->var = n->sym->var;
			else if (n && n->sym && n->sym->kind == SYM_FUNC)
				r->func = n->sym->func;
			else
				fail_at(p, m->vars[i]->line, "initial value names what is not declared", r->name,
					strlen(r->name));
		}
	}
}

static void parser_free(struct parser *p)
{
	struct vec *all[] = { &p->insts, &p->regtypes, &p->regdecls, &p->vars, &p->labels, &p->tables, &p->pendings,
			      &p->ops, &p->bytes, &p->relocs, &p->params };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->data);
}

static void module_text(struct parser *p)
{
	next(p);
	if (!is_dot(p, "version"))
		fail(p, "PTX starts with .version, not with");
	while (p->tok.kind != PTX_TOK_EOF)
		module_statement(p);
	resolve_relocs(p);
}

/* Runs fn; false if it left by an error. */
static bool guarded(struct parser *p, void (*fn)(struct parser *))
{
	jmp_buf jmp;

	p->jmp = &jmp;
	if (setjmp(jmp))
		return false;
	fn(p);
	return true;
}

static struct ptx_module *parse(const char *text, size_t len, bool lazy, struct ptx_error *err)
{
	struct ptx_error own;
	struct ptx_module *m;
	struct parser *p;

	if (!err)
		err = &own;
	*err = (struct ptx_error){ 0 };
	m = calloc(1, sizeof(*m));
	p = calloc(1, sizeof(*p));
	if (!m || !p) {
		memcpy(err->what, "out of memory", 14);
		goto out;
	}
	/* The IR is a few times the text; far more than that is an attack. */
	ptx_arena_init(&m->arena, len > SIZE_MAX / 128 ? SIZE_MAX / 2 : len * 64 + ((size_t)16 << 20));
	m->lazy = lazy;
	m->text = text;
	m->end = text + len;
	m->address_size = 32;
	m->target = "";
	p->m = m;
	p->err = err;
	p->lx = (struct ptx_lex){ .at = text, .end = text + len, .line = 1 };
	if (guarded(p, module_text)) {
		if (!lazy)
			m->text = m->end = NULL;
		parser_free(p);
		free(p);
		return m;
	}
	parser_free(p);
out:
	ptx_free(m);
	free(p);
	return NULL;
}

struct ptx_module *ptx_parse(const char *text, size_t len, struct ptx_error *err)
{
	return parse(text, len, false, err);
}

struct ptx_module *ptx_parse_lazy(const char *text, size_t len, struct ptx_error *err)
{
	return parse(text, len, true, err);
}

static void one_body(struct parser *p)
{
	next(p);
	body(p, p->f);
}

int ptx_func_parse(struct ptx_module *m, struct ptx_func *f, struct ptx_error *err)
{
	struct ptx_error own;
	struct parser *p;
	int ret = 0;

	if (f->parsed || !f->body)
		return 0;
	if (!err)
		err = &own;
	*err = (struct ptx_error){ 0 };
	p = calloc(1, sizeof(*p));
	if (!p) {
		memcpy(err->what, "out of memory", 14);
		return -1;
	}
	p->m = m;
	p->err = err;
	p->f = f;
	p->lx = (struct ptx_lex){ .at = m->bodies[f->index].at, .end = m->end, .line = m->bodies[f->index].line };
	if (!guarded(p, one_body)) {
		/* Names mean what they meant before. */
		while (p->depth)
			scope_forget(p);
		ret = -1;
	}
	parser_free(p);
	free(p);
	return ret;
}

void ptx_free(struct ptx_module *m)
{
	if (!m)
		return;
	ptx_arena_free(&m->arena);
	free(m->names);
	free(m->funcs);
	free(m->bodies);
	free(m->vars);
	free(m);
}

/* ---- questions ---- */

bool ptx_is_text(const void *data, size_t len)
{
	struct ptx_lex lx = { .at = data, .end = (const char *)data + len, .line = 1 };

	return ptx_lex_space(&lx) && lx.end - lx.at > 8 && !memcmp(lx.at, ".version", 8);
}

unsigned ptx_version(const struct ptx_module *m)
{
	return m->version;
}

const char *ptx_target(const struct ptx_module *m)
{
	return m->target;
}

unsigned ptx_target_sm(const struct ptx_module *m)
{
	return m->sm;
}

unsigned ptx_address_size(const struct ptx_module *m)
{
	return m->address_size;
}

size_t ptx_memory(const struct ptx_module *m)
{
	return m->arena.total + ((size_t)m->names_mask + 1) * sizeof(*m->names) + m->cap_funcs * sizeof(*m->funcs) +
	       m->cap_vars * sizeof(*m->vars) + sizeof(*m);
}

uint32_t ptx_module_funcs(const struct ptx_module *m)
{
	return m->nfuncs;
}

struct ptx_func *ptx_module_func(const struct ptx_module *m, uint32_t i)
{
	return i < m->nfuncs ? m->funcs[i] : NULL;
}

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name)
{
	const struct ptx_name *n = find_name(m, name, strlen(name));

	return n && n->sym && n->sym->kind == SYM_FUNC ? n->sym->func : NULL;
}

uint32_t ptx_module_vars(const struct ptx_module *m)
{
	return m->nvars;
}

struct ptx_var *ptx_module_var(const struct ptx_module *m, uint32_t i)
{
	return i < m->nvars ? m->vars[i] : NULL;
}

struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name)
{
	const struct ptx_name *n = find_name(m, name, strlen(name));

	return n && n->sym && n->sym->kind == SYM_VAR ? n->sym->var : NULL;
}

const char *ptx_mod_text(const struct ptx_module *m, unsigned id)
{
	if (id < PTX_M_COUNT)
		return ptx_mods[id].text;
	if (id - PTX_M_COUNT < m->nother_mods)
		return m->other_mods[id - PTX_M_COUNT];
	return "?";
}

size_t ptx_reg_name(const struct ptx_func *f, uint32_t reg, char *buf, size_t len)
{
	const char lanes[] = "xyzw";
	char tail[24];
	size_t n = 0, nt = 0;

	for (uint32_t i = 0; i < f->nregdecls; i++) {
		const struct ptx_regs *d = &f->regdecls[i];

		if (reg < d->first || reg - d->first >= d->count * d->vec)
			continue;
		if (d->vec > 1) {
			tail[nt++] = lanes[(reg - d->first) % d->vec & 3];
			tail[nt++] = '.';
		}
		if (d->range) {
			uint32_t k = (reg - d->first) / d->vec;

			do
				tail[nt++] = (char)('0' + k % 10);
			while (k /= 10);
		}
		for (const char *s = d->name; *s; s++, n++)
			if (n + 1 < len)
				buf[n] = *s;
		for (; nt; nt--, n++)
			if (n + 1 < len)
				buf[n] = tail[nt - 1];
		break;
	}
	if (len)
		buf[n < len ? n : len - 1] = '\0';
	return n;
}
