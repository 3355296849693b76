/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels file: from text to lines.  kernels.h has the language, kernels_int.h the form. */
#include "kernels_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *name, *p, *end;
	unsigned line;
	char *err;
	size_t errlen;
	struct krt_k_source *source;
	/* the line being read */
	const struct krt_k_pattern *pattern;
	struct krt_k_stmt stmt[KRT_K_STMTS];
	unsigned nstmt, naccesses, blocks;
	struct {
		const char *name;
		size_t len;
	} var[KRT_K_VARS];
	unsigned nvars;
	/* the expression being read */
	struct krt_k_item item[KRT_K_ITEMS];
	unsigned n, depth;
	unsigned open; /* other parentheses */
	char what[48]; /* which part of the line */
};

static bool fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(struct parser *p, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	for (char *c = p->what; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	snprintf(p->err, p->errlen, "%s:%u: %s: %s", p->name, p->line, p->what, why);
	return false;
}

static void part(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void part(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->what, sizeof(p->what), fmt, ap);
	va_end(ap);
}

/* Blanks, comments, and line ends that a backslash, a block or ( ) hide; no other line end. */
static void skip(struct parser *p)
{
	for (; p->p < p->end; p->p++) {
		if (*p->p == '\n' && (p->blocks || p->depth || p->open)) {
			p->line++;
		} else if (*p->p == '\\' && p->p + 1 < p->end && p->p[1] == '\n') {
			p->p++;
			p->line++;
		} else if (*p->p == '\\' && p->p + 2 < p->end && p->p[1] == '\r' &&
			   p->p[2] == '\n') {
			p->p += 2;
			p->line++;
		} else if (*p->p == '#') {
			while (p->p + 1 < p->end && p->p[1] != '\n')
				p->p++;
		} else if (*p->p != ' ' && *p->p != '\t' && *p->p != '\r') {
			return;
		}
	}
}

static bool at_end(struct parser *p)
{
	skip(p);
	return p->p == p->end || *p->p == '\n';
}

/* What stands at the cursor, for messages. */
static const char *here(struct parser *p, char buf[32])
{
	int n = 0;

	if (at_end(p))
		return "the end of the line";
	while (n < 20 && p->p + n < p->end && (unsigned char)p->p[n] > ' ' &&
	       (unsigned char)p->p[n] < 127)
		n++;
	if (!n)
		snprintf(buf, 32, "byte 0x%02x", (unsigned char)*p->p);
	else
		snprintf(buf, 32, "\"%.*s\"", n, p->p);
	return buf;
}

static bool symbol(struct parser *p, char c)
{
	if (at_end(p) || *p->p != c)
		return false;
	p->p++;
	return true;
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A word of letters, exactly; digits may follow it. */
static bool word(struct parser *p, const char *w)
{
	size_t n = strlen(w);

	if (at_end(p) || (size_t)(p->end - p->p) < n || memcmp(p->p, w, n))
		return false;
	if ((size_t)(p->end - p->p) > n && letter(p->p[n]))
		return false;
	p->p += n;
	return true;
}

static bool integer(struct parser *p, uint64_t *v)
{
	unsigned base = 10;
	bool any = false;
	char buf[32];

	*v = 0;
	if (at_end(p) || !digit(*p->p))
		return fail(p, "a number is expected, not %s", here(p, buf));
	if (*p->p == '0' && p->p + 1 < p->end && (p->p[1] == 'x' || p->p[1] == 'X')) {
		base = 16;
		p->p += 2;
	}
	for (; p->p < p->end; p->p++) {
		char c = *p->p;
		unsigned d;

		if (digit(c))
			d = (unsigned)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			d = (unsigned)(c - 'a') + 10;
		else if (base == 16 && c >= 'A' && c <= 'F')
			d = (unsigned)(c - 'A') + 10;
		else
			break;
		if (__builtin_mul_overflow(*v, base, v) || __builtin_add_overflow(*v, d, v))
			return fail(p, "the number does not fit 64 bits");
		any = true;
	}
	if (!any || (p->p < p->end && letter(*p->p)))
		return fail(p, "a number is expected, not %s", here(p, buf));
	return true;
}

/* Behind a comma, a colon or a brace the line may go on below, unless the text ends. */
static void lines(struct parser *p)
{
	const char *from;
	unsigned at;

	skip(p);
	from = p->p;
	at = p->line;
	while (p->p < p->end && *p->p == '\n') {
		p->p++;
		p->line++;
		skip(p);
	}
	if (p->p == p->end) {
		p->p = from;
		p->line = at;
	}
}

/* A word, here or at the beginning of the next line. */
static bool below(struct parser *p, const char *w)
{
	const char *from = p->p;
	unsigned at = p->line;

	lines(p);
	if (word(p, w))
		return true;
	p->p = from;
	p->line = at;
	return false;
}

static bool identifier(struct parser *p, const char **s, size_t *n)
{
	if (at_end(p) || !letter(*p->p))
		return false;
	*s = p->p;
	while (p->p < p->end && (letter(*p->p) || digit(*p->p)))
		p->p++;
	*n = (size_t)(p->p - *s);
	return true;
}

static bool emit(struct parser *p, struct krt_k_item i)
{
	if (p->n == KRT_K_ITEMS)
		return fail(p, "the expression is too long (more than %u terms and operators)",
			    KRT_K_ITEMS);
	p->item[p->n++] = i;
	return true;
}

static bool expr(struct parser *p);

/* The number of a parameter, behind "arg". */
static bool parameter(struct parser *p, uint16_t *arg)
{
	uint64_t v;

	if (!integer(p, &v))
		return false;
	if (v > KRT_K_ARG)
		return fail(p, "parameter %llu: numbers go up to %u", (unsigned long long)v,
			    KRT_K_ARG);
	*arg = (uint16_t)v;
	return true;
}

/* Is there an .OFFSET (and no ..)? */
static bool offset_follows(struct parser *p)
{
	if (p->p == p->end || *p->p != '.' || (p->p + 1 < p->end && p->p[1] == '.'))
		return false;
	p->p++;
	return true;
}

/* .OFF as a number; .(EXPR) leaves it on the stack. */
static bool offset(struct parser *p, bool *computed, uint32_t *off)
{
	uint64_t v;
	char buf[32];

	*computed = p->p < p->end && *p->p == '(';
	if (*computed) {
		p->p++;
		if (++p->depth > KRT_K_DEPTH)
			return fail(p, "parentheses are nested too deep (more than %u)",
				    KRT_K_DEPTH);
		if (!expr(p))
			return false;
		p->depth--;
		return symbol(p, ')') || fail(p, "\")\" is expected, not %s", here(p, buf));
	}
	if (!integer(p, &v))
		return false;
	if (v > KRT_K_OFF)
		return fail(p, "offset %llu: parameters end at %u", (unsigned long long)v,
			    KRT_K_OFF);
	*off = (uint32_t)v;
	return true;
}

static bool word_of_parameter(struct parser *p)
{
	struct krt_k_item i = {.op = KRT_K_ARGN};
	bool computed;
	uint64_t v;

	if (!parameter(p, &i.arg))
		return false;
	if (!offset_follows(p))
		return emit(p, i);
	if (!offset(p, &computed, &i.off))
		return false;
	i.op = computed ? KRT_K_AT : KRT_K_WORD;
	i.width = 8;
	if (p->p < p->end && *p->p == ':') {
		p->p++;
		if (!integer(p, &v))
			return false;
		if (v != 1 && v != 2 && v != 4 && v != 8)
			return fail(p, "width %llu: 1, 2, 4 or 8 bytes", (unsigned long long)v);
		i.width = (uint8_t)v;
	}
	return emit(p, i);
}

static bool expect(struct parser *p, char c)
{
	char buf[32];

	return symbol(p, c) || fail(p, "\"%c\" is expected, not %s", c, here(p, buf));
}

/* $X of the pattern. */
static bool captured(struct parser *p, uint16_t *which)
{
	const char *s;
	size_t n;
	char buf[32];

	if (!symbol(p, '$') || !identifier(p, &s, &n))
		return fail(p, "$NAME is expected, not %s", here(p, buf));
	for (unsigned i = 0; p->pattern && i < p->pattern->n; i++)
		if (strlen(p->pattern->capture[i].name) == n &&
		    !memcmp(p->pattern->capture[i].name, s, n)) {
			*which = (uint16_t)i;
			return true;
		}
	return fail(p, "the name holds no $%.*s", n > 20 ? 20 : (int)n, s);
}

/* sizeof($T), sizeof($L, N) of a list, sizeof(argN) */
static bool size_of(struct parser *p)
{
	struct krt_k_item i = {.op = KRT_K_SIZEOF};
	uint64_t v = 0;

	if (!expect(p, '('))
		return false;
	if (word(p, "arg")) {
		i.op = KRT_K_PSIZE;
		return parameter(p, &i.arg) && expect(p, ')') && emit(p, i);
	}
	if (!captured(p, &i.arg))
		return false;
	if (symbol(p, ',')) {
		if (!integer(p, &v))
			return false;
		if (v >= KRT_K_TYPES)
			return fail(p, "type %llu of a list: they go up to %u",
				    (unsigned long long)v, KRT_K_TYPES - 1);
	}
	i.off = (uint32_t)v;
	return expect(p, ')') && emit(p, i);
}

/* f($X) or f($X, EXPR) */
static bool of_functor(struct parser *p, enum krt_k_op op)
{
	struct krt_k_item i = {.op = (uint8_t)op};

	if (!expect(p, '(') || !captured(p, &i.arg))
		return false;
	if (op == KRT_K_ARGUMENT && (!expect(p, ',') || !expr(p)))
		return false;
	return expect(p, ')') && emit(p, i);
}

static bool two(struct parser *p, enum krt_k_op op)
{
	struct krt_k_item i = {.op = (uint8_t)op};

	if (++p->depth > KRT_K_DEPTH)
		return fail(p, "parentheses are nested too deep (more than %u)", KRT_K_DEPTH);
	if (!expect(p, '(') || !expr(p) || !expect(p, ',') || !expr(p) || !expect(p, ')'))
		return false;
	p->depth--;
	return emit(p, i);
}

/* A variable, or an entry of a table. */
static bool named(struct parser *p, const char *s, size_t n)
{
	struct krt_k_item i = {.op = KRT_K_VAR};
	const struct krt_k_table *t = p->source->tables;

	for (unsigned v = p->nvars; v--;)
		if (p->var[v].len == n && !memcmp(p->var[v].name, s, n)) {
			i.arg = (uint16_t)v;
			return emit(p, i);
		}
	for (; t; t = t->next, i.arg++)
		if (strlen(t->name) == n && !memcmp(t->name, s, n)) {
			i.op = KRT_K_TABLE;
			if (++p->depth > KRT_K_DEPTH)
				return fail(p, "parentheses are nested too deep (more than %u)",
					    KRT_K_DEPTH);
			if (!expect(p, '[') || !expr(p) || !expect(p, ']'))
				return false;
			p->depth--;
			return emit(p, i);
		}
	return fail(p, "nothing is called \"%.*s\"", n > 20 ? 20 : (int)n, s);
}

static bool factor(struct parser *p)
{
	static const char *const dims[] = {"gridx", "gridy", "gridz", "blockx", "blocky", "blockz"};
	struct krt_k_item i = {0};
	const char *s;
	size_t n;
	char buf[32];

	if (symbol(p, '(')) {
		if (++p->depth > KRT_K_DEPTH)
			return fail(p, "parentheses are nested too deep (more than %u)",
				    KRT_K_DEPTH);
		if (!expr(p))
			return false;
		p->depth--;
		return expect(p, ')');
	}
	if (word(p, "arg"))
		return word_of_parameter(p);
	for (unsigned d = 0; d < 6; d++)
		if (word(p, dims[d])) {
			i.op = KRT_K_DIM;
			i.width = (uint8_t)d;
			return emit(p, i);
		}
	if (symbol(p, '?')) {
		i.op = KRT_K_SOME;
		return emit(p, i);
	}
	if (!at_end(p) && *p->p == '$') {
		i.op = KRT_K_NUMBER;
		return captured(p, &i.arg) && emit(p, i);
	}
	if (word(p, "sizeof"))
		return size_of(p);
	if (word(p, "result"))
		return of_functor(p, KRT_K_RESULT);
	if (word(p, "arity"))
		return of_functor(p, KRT_K_ARITY);
	if (word(p, "argument"))
		return of_functor(p, KRT_K_ARGUMENT);
	if (word(p, "min"))
		return two(p, KRT_K_MIN);
	if (word(p, "max"))
		return two(p, KRT_K_MAX);
	if (identifier(p, &s, &n))
		return named(p, s, n);
	if (at_end(p) || !digit(*p->p))
		return fail(p, "a number, argN, gridx..z, blockx..z or \"(\" is expected, not %s",
			    here(p, buf));
	i.op = KRT_K_VALUE;
	return integer(p, &i.value) && emit(p, i);
}

static bool product(struct parser *p)
{
	if (!factor(p))
		return false;
	for (;;) {
		struct krt_k_item i = {.op = KRT_K_MUL};

		if (symbol(p, '/'))
			i.op = KRT_K_DIV;
		else if (symbol(p, '%'))
			i.op = KRT_K_MOD;
		else if (!symbol(p, '*'))
			return true;
		lines(p);
		if (!factor(p) || !emit(p, i))
			return false;
	}
}

static bool sum(struct parser *p)
{
	if (!product(p))
		return false;
	for (;;) {
		struct krt_k_item i = {.op = KRT_K_ADD};

		if (symbol(p, '-'))
			i.op = KRT_K_SUB;
		else if (!symbol(p, '+'))
			return true;
		lines(p);
		if (!product(p) || !emit(p, i))
			return false;
	}
}

static bool expr(struct parser *p)
{
	static const struct {
		const char *text;
		enum krt_k_op op;
	} compare[] = {
		{"==", KRT_K_EQ}, {"!=", KRT_K_NE}, {"<=", KRT_K_LE},
		{">=", KRT_K_GE}, {"<", KRT_K_LT},  {">", KRT_K_GT},
	};

	if (!sum(p))
		return false;
	for (unsigned i = 0; i < sizeof(compare) / sizeof(*compare) && !at_end(p); i++) {
		size_t n = strlen(compare[i].text);

		if ((size_t)(p->end - p->p) < n || memcmp(p->p, compare[i].text, n))
			continue;
		p->p += n;
		lines(p);
		return sum(p) && emit(p, (struct krt_k_item){.op = (uint8_t)compare[i].op});
	}
	return true;
}

/* What was emitted becomes a program. */
static bool keep(struct parser *p, struct krt_k_prog *out)
{
	out->item = malloc(p->n * sizeof(*out->item));
	if (!out->item)
		return fail(p, "out of memory");
	memcpy(out->item, p->item, p->n * sizeof(*out->item));
	out->n = p->n;
	return true;
}

static bool expression(struct parser *p, struct krt_k_prog *out)
{
	p->n = p->depth = 0;
	return expr(p) && keep(p, out);
}

static bool range(struct parser *p, struct krt_k_prog *from, struct krt_k_prog *to)
{
	char buf[32];

	if (!expression(p, from))
		return false;
	if (!symbol(p, ','))
		return fail(p, "a range is [FROM, TO): a comma is expected, not %s", here(p, buf));
	lines(p);
	if (!expression(p, to))
		return false;
	return symbol(p, ')') ||
	       fail(p, "a range is [FROM, TO): \")\" is expected, not %s", here(p, buf));
}

/* VAR in FROM..TO */
static bool loop(struct parser *p, struct krt_k_prog *from, struct krt_k_prog *to, uint16_t *var)
{
	const char *s;
	size_t n;
	char buf[32];

	if (!identifier(p, &s, &n))
		return fail(p, "a name is expected, not %s", here(p, buf));
	if (p->nvars == KRT_K_VARS)
		return fail(p, "more than %u names", KRT_K_VARS);
	if (!word(p, "in"))
		return fail(p, "\"in\" is expected, not %s", here(p, buf));
	if (!expression(p, from))
		return false;
	if (!symbol(p, '.') || !symbol(p, '.'))
		return fail(p, "\"..\" is expected, not %s", here(p, buf));
	if (!expression(p, to))
		return false;
	*var = (uint16_t)p->nvars;
	p->var[p->nvars].name = s;
	p->var[p->nvars++].len = n;
	return true;
}

static bool role_of(struct parser *p, struct krt_k_stmt *s)
{
	static const struct {
		const char *name;
		unsigned role;
	} roles[] = {
		{"read+write", KRT_KERNELS_READ | KRT_KERNELS_WRITE},
		{"read", KRT_KERNELS_READ},
		{"write", KRT_KERNELS_WRITE},
		{"atomic", KRT_KERNELS_ATOMIC},
	};
	char buf[32];

	s->may = word(p, "may");
	for (unsigned i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (word(p, roles[i].name)) {
			s->role = (uint8_t)roles[i].role;
			return true;
		}
	return fail(p, "read, write or atomic is expected, not %s", here(p, buf));
}

static bool access_of(struct parser *p, struct krt_k_stmt *s)
{
	bool computed = false;
	uint32_t off = 0;

	part(p, "arg");
	if (++p->naccesses > KRT_K_ACCESSES) {
		part(p, "kernel");
		return fail(p, "more than %u accesses", KRT_K_ACCESSES);
	}
	if (!parameter(p, &s->arg))
		return false;
	s->inside = offset_follows(p);
	p->n = p->depth = 0;
	if (s->inside && !offset(p, &computed, &off))
		return false;
	if (s->inside && !computed)
		emit(p, (struct krt_k_item){.op = KRT_K_VALUE, .value = off});
	if (s->inside && !keep(p, &s->e[KRT_K_PTR]))
		return false;
	if (s->inside && !computed)
		part(p, "arg %u.%u", s->arg, off);
	else
		part(p, "arg %u", s->arg);
	if (!role_of(p, s))
		return false;
	if (!symbol(p, '['))
		return true;
	s->ranged = true;
	if (!range(p, &s->e[KRT_K_A], &s->e[KRT_K_B]))
		return false;
	s->within = below(p, "within");
	if (s->within && (!expect(p, '[') || !range(p, &s->e[KRT_K_C], &s->e[KRT_K_D])))
		return false;
	while (below(p, "each")) {
		struct krt_k_prog *e = &s->e[KRT_K_EACH + 4 * s->each];

		if (s->each == 2)
			return fail(p, "more than two each");
		s->each++;
		p->open++;
		if (!loop(p, &e[0], &e[1], &s->var) || !expect(p, '(') || !expression(p, &e[2]))
			return false;
		if (!word(p, "by"))
			return fail(p, "\"by\" is expected behind a count");
		if (!expression(p, &e[3]) || !expect(p, ')'))
			return false;
		p->open--;
		p->nvars--;
	}
	return !s->each || !below(p, "times") || expression(p, &s->e[KRT_K_TIMES]);
}

/* A name in quotes; malloc'd. */
static bool quoted(struct parser *p, char **out)
{
	const char *from;
	char buf[32];

	if (!symbol(p, '"'))
		return fail(p, "a name in quotes is expected, not %s", here(p, buf));
	from = p->p;
	while (p->p < p->end && *p->p != '"' && *p->p != '\n')
		p->p++;
	if (p->p == p->end || *p->p == '\n')
		return fail(p, "the name lacks its closing quote");
	if (p->p == from)
		return fail(p, "a name is expected, not %s", here(p, buf));
	*out = strndup(from, (size_t)(p->p++ - from));
	return *out || fail(p, "out of memory");
}

static bool pattern_of(struct parser *p, struct krt_k_pattern *out, bool readable)
{
	const char *from, *why;
	size_t n;
	char buf[32];

	if (at_end(p))
		return fail(p, "a name is missing");
	if (*p->p == '"') {
		if (!quoted(p, &out->text))
			return false;
		out->readable = readable || strpbrk(out->text, "(< ");
	} else {
		from = p->p;
		while (p->p < p->end && (unsigned char)*p->p > ' ' && *p->p != ':' &&
		       *p->p != '#' && *p->p != '"')
			p->p++;
		n = (size_t)(p->p - from);
		if (!n)
			return fail(p, "a name is expected, not %s", here(p, buf));
		out->text = strndup(from, n);
		if (!out->text)
			return fail(p, "out of memory");
	}
	why = krt_k_captures(out, p->source);
	p->pattern = out;
	return !why || fail(p, "%s", why);
}

static bool clauses(struct parser *p, struct krt_k_line *l, bool inside);

/* { CLAUSES } of the statement s, whose variables end with it. */
static bool body(struct parser *p, struct krt_k_line *l, unsigned s, unsigned nvars)
{
	char buf[32];

	if (!symbol(p, '{'))
		return fail(p, "\"{\" is expected, not %s", here(p, buf));
	if (++p->blocks > KRT_K_BLOCKS)
		return fail(p, "more than %u blocks in each other", KRT_K_BLOCKS);
	if (!clauses(p, l, true))
		return false;
	if (!symbol(p, '}'))
		return fail(p, "\"}\" is expected, not %s", here(p, buf));
	p->blocks--;
	p->nvars = nvars;
	p->stmt[s].end = (uint16_t)p->nstmt;
	return true;
}

static bool let_of(struct parser *p, struct krt_k_stmt *s)
{
	const char *name;
	size_t n;
	char buf[32];

	part(p, "let");
	if (!identifier(p, &name, &n))
		return fail(p, "a name is expected, not %s", here(p, buf));
	if (p->nvars == KRT_K_VARS)
		return fail(p, "more than %u names", KRT_K_VARS);
	if (!expect(p, '=') || !expression(p, &s->e[KRT_K_A]))
		return false;
	s->var = (uint16_t)p->nvars;
	p->var[p->nvars].name = name;
	p->var[p->nvars++].len = n;
	return true;
}

/* One statement; *block: it ended in a brace. */
static bool statement(struct parser *p, struct krt_k_line *l, bool *block)
{
	static const struct {
		const char *word;
		enum krt_k_stmt_kind kind;
	} kinds[] = {
		{"arg", KRT_K_ACCESS}, {"for", KRT_K_FOR},	   {"if", KRT_K_IF},
		{"let", KRT_K_LET},    {"require", KRT_K_REQUIRE},
	};
	unsigned at = p->nstmt, nvars = p->nvars;
	struct krt_k_stmt *s = &p->stmt[at];
	char buf[32];
	unsigned i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (word(p, kinds[i].word))
			break;
	if (i == sizeof(kinds) / sizeof(*kinds))
		return fail(p, "\"arg N read|write|atomic\" or \"ignore\" is expected, not %s",
			    here(p, buf));
	if (at == KRT_K_STMTS)
		return fail(p, "the line is too long (more than %u clauses)", KRT_K_STMTS);
	memset(s, 0, sizeof(*s));
	s->kind = (uint8_t)kinds[i].kind;
	s->end = (uint16_t)++p->nstmt;
	switch (kinds[i].kind) {
	case KRT_K_ACCESS:
		return access_of(p, s);
	case KRT_K_LET:
		return let_of(p, s);
	case KRT_K_REQUIRE:
		part(p, "require");
		return expression(p, &s->e[KRT_K_A]);
	case KRT_K_FOR:
		part(p, "for");
		*block = true;
		return loop(p, &s->e[KRT_K_A], &s->e[KRT_K_B], &s->var) && body(p, l, at, nvars);
	default:
		break;
	}
	part(p, "if");
	*block = true;
	if (!expression(p, &s->e[KRT_K_A]) || !body(p, l, at, nvars))
		return false;
	if (!word(p, "else"))
		return true;
	if (p->nstmt == KRT_K_STMTS)
		return fail(p, "the line is too long (more than %u clauses)", KRT_K_STMTS);
	at = p->nstmt++;
	memset(&p->stmt[at], 0, sizeof(*s));
	p->stmt[at].kind = KRT_K_ELSE;
	part(p, "else");
	return body(p, l, at, nvars);
}

static bool clauses(struct parser *p, struct krt_k_line *l, bool inside)
{
	for (;;) {
		bool block = false;

		if (!inside && word(p, "ignore")) {
			l->ignore = true;
			return true;
		}
		if (!inside && word(p, "atomic-ok"))
			l->atomic_ok = true;
		else if (!inside && word(p, "sync-by-memory"))
			l->synchronises = true;
		else if (!statement(p, l, &block))
			return false;
		if (symbol(p, ',')) {
			lines(p);
			if (inside && !at_end(p) && *p->p == '}')
				return true;
		} else if (!block || at_end(p) || *p->p == '}') {
			return true;
		}
	}
}

/* (SIZE, *, ...) behind the name */
static bool layout_of(struct parser *p, struct krt_k_line *l)
{
	struct krt_k_prog size;
	void *more;

	l->nlayout = 0;
	while (!symbol(p, ')')) {
		if (l->nlayout && !expect(p, ','))
			return false;
		if (!at_end(p) && p->end - p->p >= 3 && !memcmp(p->p, "...", 3)) {
			p->p += 3;
			l->layout_more = true;
			return expect(p, ')');
		}
		size = (struct krt_k_prog){0};
		if (!symbol(p, '*') && !expression(p, &size))
			return false;
		more = realloc(l->layout, ((unsigned)l->nlayout + 1u) * sizeof(size));
		if (!more) {
			free(size.item);
			return fail(p, "out of memory");
		}
		l->layout = more;
		l->layout[l->nlayout++] = size;
	}
	return true;
}

/* Reads a line; on failure l owns its pattern and layout, p its statements. */
static bool line_of(struct parser *p, struct krt_k_line *l)
{
	const char *from;
	unsigned at;
	char buf[32];

	part(p, "kernel");
	if (!pattern_of(p, &l->pattern, false))
		return false;
	part(p, "kernel %s", l->pattern.text);
	/* the rest of a long one may begin below */
	from = p->p;
	at = p->line;
	lines(p);
	if (p->p == p->end || (*p->p != '(' && *p->p != ':')) {
		p->p = from;
		p->line = at;
	}
	if (symbol(p, '(') && !layout_of(p, l))
		return false;
	if (!symbol(p, ':'))
		return fail(p, "\":\" is expected behind the name, not %s", here(p, buf));
	lines(p);
	if (!clauses(p, l, false))
		return false;
	if (!at_end(p)) {
		if (l->ignore)
			return fail(p, "nothing follows ignore, but there is %s", here(p, buf));
		return fail(p, "a comma or the end of the line is expected, not %s", here(p, buf));
	}
	l->stmt = p->nstmt ? malloc(p->nstmt * sizeof(*l->stmt)) : NULL;
	if (p->nstmt && !l->stmt)
		return fail(p, "out of memory");
	if (p->nstmt)
		memcpy(l->stmt, p->stmt, p->nstmt * sizeof(*l->stmt));
	l->n = p->nstmt;
	p->nstmt = 0;
	for (unsigned i = 0; i < l->n; i++)
		l->vague |= l->stmt[i].kind == KRT_K_ACCESS && !l->stmt[i].ranged;
	return true;
}

static void free_stmts(struct krt_k_stmt *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned e = 0; e < KRT_K_PROGS; e++)
			free(s[i].e[e].item);
}

static void free_pattern(struct krt_k_pattern *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->capture[i].name);
	free(p->text);
}

void krt_k_free_line(struct krt_k_line *l)
{
	free_stmts(l->stmt, l->n);
	free(l->stmt);
	for (int i = 0; i < l->nlayout; i++)
		free(l->layout[i].item);
	free(l->layout);
	free_pattern(&l->pattern);
	free(l);
}

void krt_k_free_functor(struct krt_k_functor *f)
{
	free(f->result.item);
	for (unsigned i = 0; i < KRT_K_TYPES; i++)
		free(f->arg[i].item);
	free_pattern(&f->pattern);
	free(f);
}

void krt_k_free_source(struct krt_k_source *s)
{
	while (s->sets) {
		struct krt_k_set *x = s->sets;

		s->sets = x->next;
		for (unsigned i = 0; i < x->n; i++)
			free(x->word[i]);
		free(x->word);
		free(x->name);
		free(x);
	}
	while (s->tables) {
		struct krt_k_table *t = s->tables;

		s->tables = t->next;
		free(t->value);
		free(t->name);
		free(t);
	}
	free(s->name);
	free(s);
}

/* --- what is no kernel ---------------------------------------------------------------- */

static bool kernel(struct parser *p, struct krt_kernels_file *f)
{
	struct krt_k_line *l = calloc(1, sizeof(*l));

	if (!l)
		return fail(p, "out of memory");
	l->number = p->line;
	l->source = p->source;
	l->plain.line = l;
	l->nlayout = -1;
	*f->end = l;
	f->end = &l->next;
	p->nstmt = p->naccesses = p->blocks = p->nvars = p->depth = p->open = 0;
	if (line_of(p, l))
		return true;
	free_stmts(p->stmt, p->nstmt);
	return false;
}

/* functor "NAME": RESULT (ARGUMENT, ...) */
static bool functor(struct parser *p, struct krt_kernels_file *f)
{
	struct krt_k_functor *d = calloc(1, sizeof(*d));
	const char *from;
	uint16_t which;
	char buf[32];

	if (!d)
		return fail(p, "out of memory");
	d->list = -1;
	d->source = p->source;
	*f->functors_end = d;
	f->functors_end = &d->next;
	part(p, "functor");
	if (!pattern_of(p, &d->pattern, true))
		return false;
	part(p, "functor %s", d->pattern.text);
	if (!expect(p, ':') || !expression(p, &d->result) || !expect(p, '('))
		return false;
	if (symbol(p, ')'))
		return true;
	from = p->p;
	if (!at_end(p) && *p->p == '$' && captured(p, &which) && p->end - p->p >= 3 &&
	    !memcmp(p->p, "...", 3)) {
		p->p += 3;
		if (!d->pattern.capture[which].list)
			return fail(p, "what was captured is no list");
		d->list = which;
		return expect(p, ')');
	}
	p->p = from;
	do {
		if (d->n == KRT_K_TYPES)
			return fail(p, "more than %u arguments", KRT_K_TYPES);
		if (!expression(p, &d->arg[d->n]))
			return false;
		d->n++;
	} while (symbol(p, ','));
	return symbol(p, ')') || fail(p, "\")\" is expected, not %s", here(p, buf));
}

/* size "TYPE", ...: BYTES */
static bool size(struct parser *p, struct krt_kernels_file *f)
{
	struct krt_k_size **first = f->sizes_end;
	uint64_t v;

	part(p, "size");
	do {
		struct krt_k_size *s = calloc(1, sizeof(*s));

		if (!s)
			return fail(p, "out of memory");
		*f->sizes_end = s;
		f->sizes_end = &s->next;
		lines(p);
		if (!quoted(p, &s->type))
			return false;
	} while (symbol(p, ','));
	if (!expect(p, ':') || !integer(p, &v))
		return false;
	for (struct krt_k_size *s = *first; s; s = s->next)
		s->bytes = v;
	return v > 0 || fail(p, "a type has at least one byte");
}

static bool grow(struct parser *p, void **list, unsigned n, size_t one)
{
	void *more = n & (n - 1) ? *list : realloc(*list, (n ? 2 * (size_t)n : 1) * one);

	if (!more)
		return fail(p, "out of memory");
	*list = more;
	return true;
}

/* names SET: WORD, ... */
static bool names(struct parser *p)
{
	struct krt_k_set *s;
	const char *name, *from;
	size_t n;
	char buf[32];

	part(p, "names");
	if (!identifier(p, &name, &n))
		return fail(p, "a name is expected, not %s", here(p, buf));
	s = calloc(1, sizeof(*s));
	if (!s)
		return fail(p, "out of memory");
	s->next = p->source->sets;
	p->source->sets = s;
	s->name = strndup(name, n);
	if (!s->name)
		return fail(p, "out of memory");
	if (!expect(p, ':'))
		return false;
	lines(p);
	for (;;) {
		if (at_end(p))
			return s->n || fail(p, "a word is missing");
		from = p->p;
		while (p->p < p->end &&
		       (letter(*p->p) || digit(*p->p) || *p->p == '*' || *p->p == '?'))
			p->p++;
		if (p->p == from)
			return fail(p, "a word is expected, not %s", here(p, buf));
		if (!grow(p, (void **)&s->word, s->n, sizeof(*s->word)))
			return false;
		s->word[s->n] = strndup(from, (size_t)(p->p - from));
		if (!s->word[s->n])
			return fail(p, "out of memory");
		s->n++;
		if (symbol(p, ','))
			lines(p);
	}
}

/* table NAME: N, ... */
static bool table(struct parser *p)
{
	struct krt_k_table **end = &p->source->tables, *t;
	const char *name;
	size_t n;
	char buf[32];

	part(p, "table");
	if (!identifier(p, &name, &n))
		return fail(p, "a name is expected, not %s", here(p, buf));
	if (p->source->ntables == UINT16_MAX)
		return fail(p, "too many tables");
	t = calloc(1, sizeof(*t));
	if (!t)
		return fail(p, "out of memory");
	while (*end)
		end = &(*end)->next;
	*end = t;
	p->source->ntables++;
	t->name = strndup(name, n);
	if (!t->name)
		return fail(p, "out of memory");
	if (!expect(p, ':'))
		return false;
	do {
		lines(p);
		if (!grow(p, (void **)&t->value, t->n, sizeof(*t->value)) ||
		    !integer(p, &t->value[t->n]))
			return false;
		t->n++;
	} while (symbol(p, ','));
	return true;
}

static bool line(struct parser *p, struct krt_kernels_file *f)
{
	char buf[32];
	bool ok;

	p->pattern = NULL;
	if (word(p, "kernel"))
		return kernel(p, f);
	if (word(p, "functor"))
		ok = functor(p, f);
	else if (word(p, "size"))
		ok = size(p, f);
	else if (word(p, "names"))
		ok = names(p);
	else if (word(p, "table"))
		ok = table(p);
	else {
		part(p, "line");
		return fail(p, "\"kernel NAME: ...\" is expected, not %s", here(p, buf));
	}
	if (!ok)
		return false;
	return at_end(p) || fail(p, "the end of the line is expected, not %s", here(p, buf));
}

struct krt_kernels_file *krt_kernels_parse(const char *name, const char *text, size_t len,
					   char *err, size_t errlen)
{
	struct parser *p = calloc(1, sizeof(*p));
	struct krt_kernels_file *f = calloc(1, sizeof(*f));

	if (!f || !p || !(f->sources = calloc(1, sizeof(*f->sources))) ||
	    !(f->sources->name = strdup(name))) {
		snprintf(err, errlen, "%s: out of memory", name);
		if (f)
			free(f->sources);
		free(f);
		free(p);
		return NULL;
	}
	f->sources_end = &f->sources->next;
	f->end = &f->first;
	f->sizes_end = &f->sizes;
	f->functors_end = &f->functors;
	*p = (struct parser){.name = name,
			     .p = text,
			     .end = text + len,
			     .line = 1,
			     .err = err,
			     .errlen = errlen,
			     .source = f->sources,
			     .what = "file"};
	while (p->p < p->end) {
		if (at_end(p)) {
			if (p->p < p->end)
				p->p++;
			p->line++;
			continue;
		}
		if (!line(p, f)) {
			free(p);
			krt_kernels_free(f);
			return NULL;
		}
	}
	free(p);
	return f;
}

struct krt_kernels_file *krt_kernels_load(const char *path, char *err, size_t errlen)
{
	struct krt_kernels_file *f = NULL;
	char *text = NULL, *more;
	size_t len = 0, room = 0, n;
	FILE *in = fopen(path, "re");

	if (!in) {
		snprintf(err, errlen, "%s: cannot be opened: %s", path, strerror(errno));
		return NULL;
	}
	do {
		if (len == room) {
			room = room ? room * 2 : 4096;
			more = room <= KRT_K_BYTES ? realloc(text, room) : NULL;
			if (!more) {
				snprintf(err, errlen, "%s: cannot be read: %s", path,
					 room <= KRT_K_BYTES ? "out of memory"
							     : "more than 16 MiB");
				goto out;
			}
			text = more;
		}
		n = fread(text + len, 1, room - len, in);
		len += n;
	} while (n);
	if (ferror(in)) {
		snprintf(err, errlen, "%s: cannot be read: %s", path, strerror(errno));
		goto out;
	}
	f = krt_kernels_parse(path, text, len, err, errlen);
out:
	free(text);
	fclose(in);
	return f;
}
