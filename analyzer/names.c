/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walker of mangled names: types and substitutions, no text.
 *
 * Types are nodes of a fixed pool.  The substitution table gets its entries in
 * the order of the ABI; one too many would change the meaning of all that
 * follow, so whatever is not sure fails (w->bad).
 */
#include "names.h"
#include <string.h>

#define MAX_NODES 600
#define MAX_SUBS  300
#define MAX_ARGS  64
#define MAX_DEPTH 60

enum kind {
	T_VOID,
	T_BUILTIN,  /* size */
	T_CLASS,
	T_POINTER,  /* sub */
	T_REF,
	T_FUNCTION,
	T_MEMBER,
	T_ARRAY,    /* sub: element */
	T_CONST,    /* sub */
	T_PARAM,    /* of a template: number size */
	T_PACK,     /* sub, n: first and number of a list */
	T_EXPAND,   /* sub: pattern */
	T_VALUE,    /* no type: a literal among template arguments */
	T_VARARGS,
};

struct type {
	uint8_t kind, size;
	uint16_t sub, n;
};

struct walk {
	const char *at, *end;
	struct type node[MAX_NODES];
	uint16_t nnodes;
	uint16_t sub[MAX_SUBS];
	uint16_t nsubs;
	uint16_t list[MAX_NODES]; /* elements of packs */
	uint16_t nlist;
	uint16_t arg[MAX_ARGS];   /* template arguments of the function */
	uint16_t nargs;
	bool bad, plain_return;
	unsigned depth, inner;    /* inner: names within the name */
};

static uint16_t make(struct walk *w, enum kind k, unsigned size, unsigned sub)
{
	if (w->nnodes == MAX_NODES) {
		w->bad = true;
		return 0;
	}
	w->node[w->nnodes] = (struct type){
		.kind = (uint8_t)k, .size = (uint8_t)size, .sub = (uint16_t)sub};
	return w->nnodes++;
}

static void remember(struct walk *w, uint16_t t)
{
	if (w->nsubs == MAX_SUBS)
		w->bad = true;
	else
		w->sub[w->nsubs++] = t;
}

static char peek(const struct walk *w)
{
	return w->at < w->end && !w->bad ? *w->at : 0;
}

static char peek2(const struct walk *w)
{
	return w->at + 1 < w->end && !w->bad ? w->at[1] : 0;
}

static bool eat(struct walk *w, char c)
{
	if (peek(w) != c)
		return false;
	w->at++;
	return true;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static unsigned long number(struct walk *w)
{
	unsigned long n = 0;

	if (!digit(peek(w)))
		w->bad = true;
	while (digit(peek(w)) && n < 100000)
		n = n * 10 + (unsigned long)(*w->at++ - '0');
	if (n >= 100000)
		w->bad = true;
	return n;
}

static void source_name(struct walk *w)
{
	unsigned long n = number(w);

	if (w->bad || !n || n > (unsigned long)(w->end - w->at))
		w->bad = true;
	else
		w->at += n;
}

static uint16_t type(struct walk *w);
static void encoding(struct walk *w, bool outer);

/* S_, S0_, S1A_: an index; after the S. */
static unsigned long sequence(struct walk *w)
{
	unsigned long n = 0;

	if (eat(w, '_'))
		return 0;
	while (peek(w) && *w->at != '_') {
		char c = *w->at++;

		if (digit(c))
			n = n * 36 + (unsigned long)(c - '0');
		else if (c >= 'A' && c <= 'Z')
			n = n * 36 + (unsigned long)(c - 'A') + 10;
		else
			w->bad = true;
		if (n > 10000)
			w->bad = true;
	}
	if (!eat(w, '_'))
		w->bad = true;
	return n + 1;
}

static uint16_t substitution(struct walk *w)
{
	unsigned long n = sequence(w);

	if (w->bad || n >= w->nsubs) {
		w->bad = true;
		return 0;
	}
	return w->sub[n];
}

/* A literal: L TYPE VALUE E, L _Z ENCODING E. */
static void literal(struct walk *w)
{
	if (peek(w) == '_' && peek2(w) == 'Z') {
		w->at += 2;
		encoding(w, false);
	} else if (peek(w) == 'Z') {
		w->at++;
		encoding(w, false);
	} else {
		type(w);
		while (peek(w) && peek(w) != 'E') {
			char c = *w->at++;

			if (!digit(c) && c != 'n' && c != '_' && !(c >= 'a' && c <= 'f'))
				w->bad = true;
		}
	}
	if (!eat(w, 'E'))
		w->bad = true;
}

/* X ad L _Z ... E E: the address of a function; X T_ E; others are not understood. */
static void expression(struct walk *w)
{
	if (peek(w) == 'X' && peek2(w) == 'T') {
		w->at += 2;
		(void)sequence(w);
		if (!eat(w, 'E'))
			w->bad = true;
		return;
	}
	if (!eat(w, 'X') || !eat(w, 'a') || !eat(w, 'd') || !eat(w, 'L')) {
		w->bad = true;
		return;
	}
	literal(w);
	if (!eat(w, 'E'))
		w->bad = true;
}

/* Arguments up to the E that ends them, to the list; returns how many, the first one in *first. */
static uint16_t template_args(struct walk *w, uint16_t *first)
{
	uint16_t got[MAX_ARGS], n = 0, in, m;

	*first = 0;
	if (++w->depth > MAX_DEPTH)
		w->bad = true;
	if (!eat(w, 'I') && !eat(w, 'J'))
		w->bad = true;
	while (!w->bad && !eat(w, 'E')) {
		uint16_t t;

		if (n == MAX_ARGS) {
			w->bad = true;
			break;
		}
		if (eat(w, 'L')) {
			literal(w);
			t = make(w, T_VALUE, 0, 0);
		} else if (peek(w) == 'X') {
			expression(w);
			t = make(w, T_VALUE, 0, 0);
		} else if (peek(w) == 'J') {
			m = template_args(w, &in);
			t = make(w, T_PACK, 0, in);
			w->node[t].n = m;
		} else {
			t = type(w);
		}
		got[n++] = t;
	}
	w->depth--;
	*first = w->nlist;
	if (w->nlist + n > MAX_NODES)
		w->bad = true;
	for (uint16_t k = 0; k < n && !w->bad; k++)
		w->list[w->nlist++] = got[k];
	return w->bad ? 0 : n;
}

/* Ul TYPES E [n] _, Ut [n] _; after the U. */
static void unnamed(struct walk *w)
{
	if (eat(w, 'l')) {
		while (!w->bad && !eat(w, 'E')) {
			if (peek(w) == 'T' && (peek2(w) == 'y' || peek2(w) == 'n' || peek2(w) == 't' ||
					       peek2(w) == 'p'))
				w->bad = true; /* template parameters of the lambda */
			type(w);
		}
	} else if (!eat(w, 't')) {
		w->bad = true;
	}
	if (digit(peek(w)))
		(void)number(w);
	if (!eat(w, '_'))
		w->bad = true;
}

/* One component without its template arguments. */
static void unqualified(struct walk *w)
{
	char a, b;

	(void)eat(w, 'L');
	a = peek(w);
	b = peek2(w);
	if (digit(a)) {
		source_name(w);
	} else if (a == 'U') {
		w->at++;
		unnamed(w);
	} else if ((a == 'C' || a == 'D') && digit(b)) {
		w->at += 2;
		w->plain_return = true;
	} else if (a == 'c' && b == 'v') {
		w->bad = true;
	} else if (a >= 'a' && a <= 'z' && b >= 'a' && b <= 'z') {
		w->at += 2; /* an operator */
	} else if (a >= 'a' && a <= 'z' && b >= 'A' && b <= 'Z') {
		w->at += 2;
	} else {
		w->bad = true;
	}
	while (eat(w, 'B'))
		source_name(w);
}

static void take_args(struct walk *w, uint16_t first, uint16_t n)
{
	w->nargs = 0;
	if (n > MAX_ARGS)
		w->bad = true;
	for (uint16_t i = 0; i < n && !w->bad; i++)
		w->arg[w->nargs++] = w->list[first + i];
}

/*
 * N [qualifiers] prefix E, after the N.  *templated: the last component has
 * arguments.  outer: the function's own name, whose arguments count.
 */
static uint16_t nested(struct walk *w, bool outer, bool *templated)
{
	uint16_t so_far = 0, first, n;
	bool any = false;

	*templated = false;
	while (peek(w) == 'r' || peek(w) == 'V' || peek(w) == 'K')
		w->at++;
	if (peek(w) == 'R' || peek(w) == 'O')
		w->at++;
	if (++w->depth > MAX_DEPTH)
		w->bad = true;
	while (!w->bad && !eat(w, 'E')) {
		bool pushed = true;

		if (peek(w) == 'S' && peek2(w) == 't') {
			if (any)
				w->bad = true;
			w->at += 2;
			pushed = false; /* std alone is none */
			so_far = make(w, T_CLASS, 0, 0);
		} else if (peek(w) == 'S') {
			char c = peek2(w);

			if (any)
				w->bad = true;
			w->at++;
			if (c >= 'a' && c <= 'z') {
				w->at++;
				so_far = make(w, T_CLASS, 0, 0);
			} else {
				so_far = substitution(w);
			}
			pushed = false;
			*templated = false;
		} else if (peek(w) == 'T') {
			w->bad = true; /* a member of a template parameter */
		} else if (peek(w) == 'I') {
			if (!any)
				w->bad = true;
			n = template_args(w, &first);
			if (outer && w->nargs)
				w->bad = true; /* two lists: whose parameter would T_ be? */
			if (outer)
				take_args(w, first, n);
			so_far = make(w, T_CLASS, 0, 0);
			*templated = true;
		} else if (peek(w) == 'D' && (peek2(w) == 't' || peek2(w) == 'T' || peek2(w) == 'C')) {
			w->bad = true;
		} else if (eat(w, 'M')) {
			continue; /* the scope of an initialiser */
		} else {
			unqualified(w);
			so_far = make(w, T_CLASS, 0, 0);
			*templated = false;
		}
		any = true;
		if (pushed && peek(w) != 'E')
			remember(w, so_far);
	}
	w->depth--;
	if (!any)
		w->bad = true;
	return so_far;
}

/* Z encoding E entity, after the Z. */
static void local(struct walk *w, bool *templated)
{
	*templated = false;
	encoding(w, false);
	if (!eat(w, 'E'))
		w->bad = true;
	if (eat(w, 's')) {
		;
	} else if (peek(w) == 'd') {
		w->bad = true; /* in a default argument */
	} else if (eat(w, 'N')) {
		(void)nested(w, false, templated);
	} else {
		unqualified(w);
		if (peek(w) == 'I') {
			uint16_t first;

			remember(w, make(w, T_CLASS, 0, 0));
			(void)template_args(w, &first);
			*templated = true;
		}
	}
	if (eat(w, '_')) {
		if (eat(w, '_')) {
			(void)number(w);
			if (!eat(w, '_'))
				w->bad = true;
		} else {
			if (!digit(peek(w)))
				w->bad = true;
			else
				w->at++;
		}
	}
}

static uint16_t builtin(struct walk *w, char c)
{
	static const char codes[] = "wbcahstijlmxynofdegz";
	static const uint8_t sizes[] = {4, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 16, 16, 4, 8, 0, 0, 0};
	const char *p = c ? strchr(codes, c) : NULL; /* 0: the name is over */

	w->at++;
	if (c == 'v')
		return make(w, T_VOID, 0, 0);
	if (c == 'z')
		return make(w, T_VARARGS, 0, 0);
	if (!p) {
		w->bad = true;
		return 0;
	}
	return make(w, T_BUILTIN, sizes[p - codes], 0);
}

static uint16_t named(struct walk *w)
{
	uint16_t first, t = make(w, T_CLASS, 0, 0);

	remember(w, t);
	if (peek(w) == 'I') {
		(void)template_args(w, &first);
		t = make(w, T_CLASS, 0, 0);
		remember(w, t);
	}
	return t;
}

static uint16_t inner_type(struct walk *w)
{
	char c = peek(w), d = peek2(w);
	uint16_t t, first;
	bool templated, is_const = false;

	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		while (peek(w) == 'r' || peek(w) == 'V' || peek(w) == 'K') {
			is_const |= peek(w) == 'K';
			w->at++;
		}
		t = type(w);
		if (!w->bad && w->node[t].kind == T_FUNCTION)
			return t; /* of a member: qualifiers are part of the function's type */
		if (is_const)
			t = make(w, T_CONST, 0, t);
		remember(w, t);
		return t;
	case 'P':
		w->at++;
		t = type(w);
		t = make(w, T_POINTER, 8, t);
		remember(w, t);
		return t;
	case 'R':
	case 'O':
		w->at++;
		t = type(w);
		t = make(w, T_REF, 8, t);
		remember(w, t);
		return t;
	case 'F':
		w->at++;
		(void)eat(w, 'Y');
		while (!w->bad && peek(w) != 'E') {
			if ((peek(w) == 'R' || peek(w) == 'O') && peek2(w) == 'E') {
				w->at++;
				break;
			}
			(void)type(w);
		}
		if (!eat(w, 'E'))
			w->bad = true;
		t = make(w, T_FUNCTION, 0, 0);
		remember(w, t);
		return t;
	case 'A':
		w->at++;
		if (digit(peek(w)))
			(void)number(w);
		if (!eat(w, '_'))
			w->bad = true; /* an expression as length */
		t = type(w);
		t = make(w, T_ARRAY, 0, t);
		remember(w, t);
		return t;
	case 'M':
		w->at++;
		(void)type(w);
		(void)type(w);
		t = make(w, T_MEMBER, 0, 0);
		remember(w, t);
		return t;
	case 'T':
		if (d == 's' || d == 'u' || d == 'e') {
			w->at += 2;
			return inner_type(w);
		}
		w->at++;
		{
			unsigned long n = sequence(w);

			if (n >= MAX_ARGS)
				w->bad = true;
			/* Those of inner names are others. */
			t = make(w, T_PARAM, w->inner ? MAX_ARGS : (unsigned)n, 0);
		}
		remember(w, t);
		if (peek(w) == 'I')
			w->bad = true; /* a template as parameter */
		return t;
	case 'S':
		if (d == 't') {
			w->at += 2;
			unqualified(w);
			return named(w);
		}
		w->at++;
		if (d >= 'a' && d <= 'z') {
			w->at++;
			t = make(w, T_CLASS, 0, 0);
		} else {
			t = substitution(w);
		}
		if (peek(w) == 'I') {
			(void)template_args(w, &first);
			t = make(w, T_CLASS, 0, 0);
			remember(w, t);
		}
		return t;
	case 'N':
		w->at++;
		t = nested(w, false, &templated);
		t = make(w, T_CLASS, 0, 0);
		remember(w, t);
		return t;
	case 'Z':
		w->at++;
		local(w, &templated);
		t = make(w, T_CLASS, 0, 0);
		remember(w, t);
		return t;
	case 'u':
		w->at++;
		source_name(w);
		t = make(w, T_BUILTIN, 0, 0);
		remember(w, t);
		return t;
	case 'U':
		w->at++;
		if (peek(w) == 'l' || peek(w) == 't') {
			unnamed(w);
			return named(w);
		}
		w->bad = true;
		return 0;
	case 'D':
		w->at += 2;
		switch (d) {
		case 'p':
			t = type(w);
			t = make(w, T_EXPAND, 0, t);
			remember(w, t);
			return t;
		case 'n':
			return make(w, T_BUILTIN, 8, 0);
		case 'i':
			return make(w, T_BUILTIN, 4, 0);
		case 's':
		case 'h':
			return make(w, T_BUILTIN, 2, 0);
		case 'u':
			return make(w, T_BUILTIN, 1, 0);
		case 'F':
			(void)number(w);
			if (!eat(w, '_') && !eat(w, 'b') && !eat(w, 'x'))
				w->bad = true;
			return make(w, T_BUILTIN, 0, 0);
		case 'v':
			(void)number(w);
			if (!eat(w, '_'))
				w->bad = true;
			(void)type(w);
			t = make(w, T_CLASS, 0, 0);
			remember(w, t);
			return t;
		default:
			w->bad = true; /* decltype, noexcept functions, ... */
			return 0;
		}
	case 'C':
	case 'G':
		w->at++;
		(void)type(w);
		t = make(w, T_CLASS, 0, 0);
		remember(w, t);
		return t;
	default:
		if (digit(c)) {
			source_name(w);
			while (eat(w, 'B'))
				source_name(w);
			return named(w);
		}
		return builtin(w, c);
	}
}

static uint16_t type(struct walk *w)
{
	uint16_t t;

	if (w->bad || w->at >= w->end || ++w->depth > MAX_DEPTH) {
		w->bad = true;
		return 0;
	}
	t = inner_type(w);
	w->depth--;
	return w->bad ? 0 : t;
}

/*
 * NAME TYPES.  Of the outer one the types are left to the caller; inner ones
 * (what a local class or a literal lies in) are read to their end.
 */
static void encoding(struct walk *w, bool outer)
{
	bool templated = false;
	uint16_t first, n;

	if (++w->depth > MAX_DEPTH)
		w->bad = true;
	w->inner += !outer;
	w->plain_return = false;
	if (eat(w, 'N')) {
		(void)nested(w, outer, &templated);
	} else if (eat(w, 'Z')) {
		if (outer)
			w->bad = true; /* kernels are no local names */
		local(w, &templated);
	} else if (peek(w) == 'G' || (peek(w) == 'T' && !outer)) {
		w->bad = true; /* special names */
	} else {
		bool subst = false;

		if (peek(w) == 'S' && peek2(w) == 't') {
			w->at += 2;
			unqualified(w);
		} else if (peek(w) == 'S') {
			w->at++;
			(void)substitution(w);
			subst = true;
		} else {
			unqualified(w);
		}
		if (peek(w) == 'I') {
			if (!subst)
				remember(w, make(w, T_CLASS, 0, 0));
			n = template_args(w, &first);
			if (outer)
				take_args(w, first, n);
			templated = true;
		} else if (subst) {
			w->bad = true;
		}
	}
	/* Functions that a template makes have their result in front. */
	if (!w->bad && templated && !w->plain_return)
		(void)type(w);
	if (!outer)
		while (!w->bad && peek(w) && peek(w) != 'E' && peek(w) != '.')
			(void)type(w);
	w->inner -= !outer;
	w->depth--;
}

/* ---- parameters ---- */

/* Puts the elements of a pack in place of the parameters that name it. */
struct bind {
	int pack;         /* which argument is a pack; -1: none */
	uint16_t element; /* node */
};

static uint16_t resolved(struct walk *w, uint16_t t, const struct bind *b)
{
	for (unsigned i = 0; i < 8; i++) {
		const struct type *n = &w->node[t];

		if (n->kind != T_PARAM)
			return t;
		if (b && b->pack == n->size)
			t = b->element;
		else if (n->size < w->nargs)
			t = w->arg[n->size];
		else
			break;
		if (w->node[t].kind == T_PACK || w->node[t].kind == T_VALUE)
			break;
	}
	w->bad = true;
	return 0;
}

/* Without const around it. */
static uint16_t bare(struct walk *w, uint16_t t, const struct bind *b, bool *is_const)
{
	*is_const = false;
	t = resolved(w, t, b);
	for (unsigned i = 0; i < 8 && !w->bad && w->node[t].kind == T_CONST; i++) {
		*is_const = true;
		t = resolved(w, w->node[t].sub, b);
	}
	return t;
}

static void classify(struct walk *w, uint16_t t, const struct bind *b, struct krt_name_param *out)
{
	bool is_const, inner;
	uint16_t p;

	memset(out, 0, sizeof(*out));
	t = bare(w, t, b, &is_const);
	if (w->bad)
		return;
	switch ((enum kind)w->node[t].kind) {
	case T_BUILTIN:
		out->type = KRT_NAME_SCALAR;
		out->size = w->node[t].size;
		return;
	case T_CLASS:
		out->type = KRT_NAME_STRUCT;
		return;
	case T_MEMBER:
		out->type = KRT_NAME_OTHER_POINTER;
		return;
	case T_POINTER:
	case T_REF:
		break;
	default:
		w->bad = true;
		return;
	}
	out->size = 8;
	p = bare(w, w->node[t].sub, b, &is_const);
	/* T && with a reference for T is that reference. */
	for (unsigned i = 0; i < 8 && !w->bad && w->node[t].kind == T_REF &&
			     w->node[p].kind == T_REF; i++) {
		t = p;
		p = bare(w, w->node[t].sub, b, &is_const);
	}
	/* const int (*)[4]: the elements are what is const */
	for (unsigned i = 0; i < 8 && !w->bad && w->node[p].kind == T_ARRAY; i++) {
		p = bare(w, w->node[p].sub, b, &inner);
		is_const |= inner;
	}
	if (w->bad)
		return;
	switch ((enum kind)w->node[p].kind) {
	case T_FUNCTION:
	case T_MEMBER:
		out->type = KRT_NAME_OTHER_POINTER;
		return;
	case T_POINTER:
	case T_REF:
		out->type = KRT_NAME_TABLE;
		p = bare(w, w->node[p].sub, b, &inner);
		out->table_const = inner && !w->bad && w->node[p].kind != T_POINTER;
		return;
	case T_CLASS:
		out->class_data = true;
		/* fall through */
	case T_BUILTIN:
	case T_VOID:
		out->type = is_const ? KRT_NAME_CONST_POINTER : KRT_NAME_POINTER;
		return;
	default:
		w->bad = true;
		return;
	}
}

/* Which pack does a pattern name?  -1: none; -2: several. */
static int pack_of(const struct walk *w, uint16_t t, unsigned depth)
{
	const struct type *n = &w->node[t];

	if (depth > 20)
		return -2;
	switch ((enum kind)n->kind) {
	case T_PARAM:
		return n->size < w->nargs && w->node[w->arg[n->size]].kind == T_PACK ? n->size : -1;
	case T_POINTER:
	case T_REF:
	case T_CONST:
	case T_ARRAY:
		return pack_of(w, n->sub, depth + 1);
	case T_BUILTIN:
	case T_VOID:
		return -1;
	default:
		return -2; /* a class made of the pack, perhaps */
	}
}

static bool one_param(struct walk *w, uint16_t t, struct krt_name_param *out, size_t max, int *n)
{
	struct bind b;

	if (w->node[t].kind != T_EXPAND) {
		if ((size_t)*n == max)
			return false;
		classify(w, t, NULL, &out[(*n)++]);
		return !w->bad;
	}
	b.pack = pack_of(w, w->node[t].sub, 0);
	if (b.pack < 0)
		return false;
	const struct type pack = w->node[w->arg[b.pack]];

	for (uint16_t i = 0; i < pack.n; i++) {
		if ((size_t)*n == max)
			return false;
		b.element = w->list[pack.sub + i];
		classify(w, w->node[t].sub, &b, &out[(*n)++]);
		if (w->bad)
			return false;
	}
	return true;
}

int krt_names_params(const char *name, struct krt_name_param *out, size_t max)
{
	struct walk w;
	size_t len = name ? strnlen(name, 65536) : 0;
	int n = 0;

	if (!len || len == 65536)
		return -1;
	w.at = name;
	w.end = name + len;
	w.nnodes = w.nsubs = w.nlist = w.nargs = 0;
	w.bad = w.plain_return = false;
	w.depth = w.inner = 0;
	if (!strncmp(name, "__nv_static_", 12)) {
		/* A kernel of one object of several: "__nv_static_LEN__HASH__Z..." */
		const char *z = strstr(name, "__Z");

		if (!z)
			return -1;
		w.at = z + 1;
	}
	if (w.end - w.at < 3 || w.at[0] != '_' || w.at[1] != 'Z')
		return -1;
	w.at += 2;
	(void)make(&w, T_VALUE, 0, 0); /* node 0 is none */
	encoding(&w, true);
	if (w.bad || w.at == w.end)
		return -1;
	if (peek(&w) == 'v' && w.end - w.at == 1)
		return 0;
	while (!w.bad && w.at < w.end) {
		uint16_t t = type(&w);

		if (w.bad || w.node[t].kind == T_VOID || !one_param(&w, t, out, max, &n))
			return -1;
	}
	return w.bad ? -1 : n;
}

int krt_names_checked(const char *name, const uint32_t *sizes, size_t n, struct krt_name_param *out)
{
	int got = krt_names_params(name, out, n);

	if (got < 0 || (size_t)got != n)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (out[i].size && out[i].size != sizes[i])
			return -1;
	return got;
}
