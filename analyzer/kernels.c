/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels file: see kernels.h for the language.
 *
 * A line is parsed into accesses whose bounds are short programs for a stack
 * machine.  Limits are checked by the parser, so that the evaluator needs none:
 * a program is at most ITEMS long and never needs more stack than that.
 */
#include "kernels.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS     64            /* of one expression */
#define DEPTH     32            /* nested parentheses */
#define ACCESSES  64            /* of one line */
#define MAX_ARG   4095u         /* parameters are at most 32,764 bytes */
#define MAX_OFF   32767u
#define MAX_BYTES (16u << 20)   /* of a file */

enum item_kind { VALUE, ARG, WORD, DIM, ADD, SUB, MUL, DIV };

struct item {
	uint8_t kind;  /* enum item_kind */
	uint8_t width; /* WORD: bytes; DIM: 0..2 grid, 3..5 block */
	uint16_t arg;
	uint32_t off;
	uint64_t value;
};

struct program {
	unsigned n; /* 0: not given */
	struct item *item;
};

struct access {
	uint16_t arg;
	bool inside;   /* the pointer is inside the parameter, at off */
	uint8_t role;
	uint32_t off;
	struct program from, to;
};

struct krt_kernels_line {
	struct krt_kernels_line *next;
	unsigned number, n;
	bool found, synchronises;
	char *pattern;
	struct krt_kernels_file *file;
	struct access *access;
};

struct krt_kernels_file {
	struct krt_kernels_line *first, **end;
	char *name;
};

/* --- parser --------------------------------------------------------------------------- */

struct parser {
	const char *name, *p, *end;
	unsigned line;
	char *err;
	size_t errlen;
	/* the line being read */
	struct access access[ACCESSES];
	/* the expression being read */
	struct item item[ITEMS];
	unsigned n, depth;
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

/* Blanks, comments, and line ends that a backslash hides; not the line end. */
static void skip(struct parser *p)
{
	for (; p->p < p->end; p->p++) {
		if (*p->p == '\\' && p->p + 1 < p->end && p->p[1] == '\n') {
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

/* N or N.OFF, behind "arg" */
static bool parameter(struct parser *p, uint16_t *arg, bool *inside, uint32_t *off)
{
	uint64_t v;

	*inside = false;
	*off = 0;
	if (!integer(p, &v))
		return false;
	if (v > MAX_ARG)
		return fail(p, "parameter %llu: numbers go up to %u", (unsigned long long)v,
			    MAX_ARG);
	*arg = (uint16_t)v;
	if (p->p == p->end || *p->p != '.')
		return true;
	p->p++;
	if (!integer(p, &v))
		return false;
	if (v > MAX_OFF)
		return fail(p, "offset %llu: parameters end at %u", (unsigned long long)v, MAX_OFF);
	*inside = true;
	*off = (uint32_t)v;
	return true;
}

static bool emit(struct parser *p, struct item i)
{
	if (p->n == ITEMS)
		return fail(p, "the expression is too long (more than %u terms and operators)",
			    ITEMS);
	p->item[p->n++] = i;
	return true;
}

static bool sum(struct parser *p);

static bool factor(struct parser *p)
{
	static const char *const dims[] = {"gridx", "gridy", "gridz", "blockx", "blocky", "blockz"};
	struct item i = { 0 };
	bool inside;
	uint64_t v;
	char buf[32];

	if (symbol(p, '(')) {
		if (++p->depth > DEPTH)
			return fail(p, "parentheses are nested too deep (more than %u)", DEPTH);
		if (!sum(p))
			return false;
		p->depth--;
		return symbol(p, ')') || fail(p, ") is expected, not %s", here(p, buf));
	}
	if (word(p, "arg")) {
		if (!parameter(p, &i.arg, &inside, &i.off))
			return false;
		i.kind = inside ? WORD : ARG;
		i.width = 8;
		if (inside && p->p < p->end && *p->p == ':') {
			p->p++;
			if (!integer(p, &v))
				return false;
			if (v != 1 && v != 2 && v != 4 && v != 8)
				return fail(p, "width %llu: 1, 2, 4 or 8 bytes",
					    (unsigned long long)v);
			i.width = (uint8_t)v;
		}
		return emit(p, i);
	}
	for (unsigned d = 0; d < 6; d++)
		if (word(p, dims[d])) {
			i.kind = DIM;
			i.width = (uint8_t)d;
			return emit(p, i);
		}
	if (at_end(p) || !digit(*p->p))
		return fail(p, "a number, argN, gridx..z, blockx..z or ( is expected, not %s",
			    here(p, buf));
	i.kind = VALUE;
	return integer(p, &i.value) && emit(p, i);
}

static bool product(struct parser *p)
{
	if (!factor(p))
		return false;
	for (;;) {
		struct item i = { .kind = MUL };

		if (symbol(p, '/'))
			i.kind = DIV;
		else if (!symbol(p, '*'))
			return true;
		if (!factor(p) || !emit(p, i))
			return false;
	}
}

static bool sum(struct parser *p)
{
	if (!product(p))
		return false;
	for (;;) {
		struct item i = { .kind = ADD };

		if (symbol(p, '-'))
			i.kind = SUB;
		else if (!symbol(p, '+'))
			return true;
		if (!product(p) || !emit(p, i))
			return false;
	}
}

static bool expression(struct parser *p, struct program *out)
{
	p->n = p->depth = 0;
	if (!sum(p))
		return false;
	out->item = malloc(p->n * sizeof(*out->item));
	if (!out->item)
		return fail(p, "out of memory");
	memcpy(out->item, p->item, p->n * sizeof(*out->item));
	out->n = p->n;
	return true;
}

static bool access_of(struct parser *p, struct access *a)
{
	static const struct { const char *name; unsigned role; } roles[] = {
		{ "read", KRT_KERNELS_READ }, { "write", KRT_KERNELS_WRITE },
		{ "atomic", KRT_KERNELS_ATOMIC },
	};
	char buf[32];

	part(p, "arg");
	if (!parameter(p, &a->arg, &a->inside, &a->off))
		return false;
	if (a->inside)
		part(p, "arg %u.%u", a->arg, a->off);
	else
		part(p, "arg %u", a->arg);
	for (unsigned i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (word(p, roles[i].name)) {
			a->role = (uint8_t)roles[i].role;
			break;
		}
	if (!a->role)
		return fail(p, "read, write or atomic is expected, not %s", here(p, buf));
	if (!symbol(p, '['))
		return true;
	if (!expression(p, &a->from))
		return false;
	if (!symbol(p, ','))
		return fail(p, "a range is [FROM, TO): a comma is expected, not %s", here(p, buf));
	if (!expression(p, &a->to))
		return false;
	return symbol(p, ')') ||
	       fail(p, "a range is [FROM, TO): ) is expected, not %s", here(p, buf));
}

static bool pattern_of(struct parser *p, char **out)
{
	const char *from;
	size_t n;
	char buf[32];

	part(p, "kernel");
	if (at_end(p))
		return fail(p, "a name is missing");
	if (*p->p == '"') {
		from = ++p->p;
		while (p->p < p->end && *p->p != '"' && *p->p != '\n')
			p->p++;
		if (p->p == p->end || *p->p == '\n')
			return fail(p, "the name lacks its closing quote");
		n = (size_t)(p->p++ - from);
	} else {
		from = p->p;
		while (p->p < p->end && (unsigned char)*p->p > ' ' && *p->p != ':' &&
		       *p->p != '#' && *p->p != '"')
			p->p++;
		n = (size_t)(p->p - from);
	}
	if (!n)
		return fail(p, "a name is expected, not %s", here(p, buf));
	*out = strndup(from, n);
	if (!*out)
		return fail(p, "out of memory");
	part(p, "kernel %s", *out);
	return symbol(p, ':') || fail(p, ": is expected behind the name, not %s", here(p, buf));
}

static void free_accesses(struct access *a, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		free(a[i].from.item);
		free(a[i].to.item);
	}
}

/* Reads a line; on failure l owns what was read so far (its accesses: p). */
static bool line_of(struct parser *p, struct krt_kernels_line *l)
{
	bool ignore = false;
	char buf[32];

	l->number = p->line;
	if (!word(p, "kernel")) {
		part(p, "line");
		return fail(p, "\"kernel NAME: ...\" is expected, not %s", here(p, buf));
	}
	if (!pattern_of(p, &l->pattern))
		return false;
	do {
		if (word(p, "ignore")) {
			ignore = true;
		} else if (word(p, "arg")) {
			if (l->n == ACCESSES) {
				part(p, "kernel");
				return fail(p, "more than %u accesses", ACCESSES);
			}
			memset(&p->access[l->n], 0, sizeof(p->access[0]));
			if (!access_of(p, &p->access[l->n++]))
				return false;
		} else {
			return fail(p,
				    "\"arg N read|write|atomic\" or \"ignore\" is expected, not %s",
				    here(p, buf));
		}
	} while (!ignore && symbol(p, ','));
	if (!at_end(p)) {
		if (ignore)
			return fail(p, "nothing follows ignore, but there is %s", here(p, buf));
		return fail(p, "a comma or the end of the line is expected, not %s", here(p, buf));
	}
	l->access = l->n ? malloc(l->n * sizeof(*l->access)) : NULL;
	if (l->n && !l->access)
		return fail(p, "out of memory");
	if (l->n)
		memcpy(l->access, p->access, l->n * sizeof(*l->access));
	return true;
}

static void free_line(struct krt_kernels_line *l)
{
	if (l->access)
		free_accesses(l->access, l->n);
	free(l->access);
	free(l->pattern);
	free(l);
}

void krt_kernels_free(struct krt_kernels_file *f)
{
	if (!f)
		return;
	while (f->first) {
		struct krt_kernels_line *l = f->first;

		f->first = l->next;
		free_line(l);
	}
	free(f->name);
	free(f);
}

struct krt_kernels_file *krt_kernels_parse(const char *name, const char *text, size_t len,
					   char *err, size_t errlen)
{
	struct parser p = { .name = name, .p = text, .end = text + len, .line = 1,
			    .err = err, .errlen = errlen, .what = "file" };
	struct krt_kernels_file *f = calloc(1, sizeof(*f));

	if (!f) {
		fail(&p, "out of memory");
		return NULL;
	}
	f->end = &f->first;
	f->name = strdup(name);
	if (!f->name) {
		fail(&p, "out of memory");
		goto bad;
	}
	while (p.p < p.end) {
		struct krt_kernels_line *l;

		if (at_end(&p)) {
			if (p.p < p.end)
				p.p++;
			p.line++;
			continue;
		}
		l = calloc(1, sizeof(*l));
		if (!l) {
			fail(&p, "out of memory");
			goto bad;
		}
		l->file = f;
		*f->end = l;
		f->end = &l->next;
		if (!line_of(&p, l)) {
			free_accesses(p.access, l->n);
			goto bad;
		}
	}
	return f;
bad:
	krt_kernels_free(f);
	return NULL;
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
			more = room <= MAX_BYTES ? realloc(text, room) : NULL;
			if (!more) {
				snprintf(err, errlen, "%s: cannot be read: %s", path,
					 room <= MAX_BYTES ? "out of memory" : "more than 16 MiB");
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

/* --- use -------------------------------------------------------------------------------- */

/* * and ?; linear in practice: only the latest * is tried again. */
bool krt_kernels_glob(const char *pattern, const char *name)
{
	const char *star = NULL, *again = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			again = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++again;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

const struct krt_kernels_line *krt_kernels_find(struct krt_kernels_file *f, const char *name,
						const struct krt_param *param, uint32_t nparams)
{
	(void)param;
	(void)nparams;
	if (!f || !name)
		return NULL;
	for (struct krt_kernels_line *l = f->first; l; l = l->next)
		if (krt_kernels_glob(l->pattern, name)) {
			l->found = true;
			return l;
		}
	return NULL;
}

const struct krt_kernels_line *krt_kernels_unused(const struct krt_kernels_file *f,
						  const struct krt_kernels_line *after)
{
	const struct krt_kernels_line *l = after ? after->next : f->first;

	while (l && l->found)
		l = l->next;
	return l;
}

unsigned krt_kernels_number(const struct krt_kernels_line *line)
{
	return line->number;
}

bool krt_kernels_synchronises(const struct krt_kernels_line *line)
{
	return line->synchronises;
}

const char *krt_kernels_source(const struct krt_kernels_line *line)
{
	return line->file->name;
}

/* width bytes at off of a parameter, little endian; NULL or why not. */
static const char *fetch(const struct krt_kernels_launch *l, unsigned arg, uint32_t off,
			 uint32_t width, uint64_t *v)
{
	const struct krt_param *p;

	if (l->nparams == KRT_PARAMS_UNKNOWN || !l->param || !l->params)
		return "the parameters of the kernel are not known";
	if (arg >= l->nparams)
		return "the kernel has fewer parameters";
	p = &l->param[arg];
	if (!width)
		width = p->size;
	if (!width || width > 8)
		return "a parameter of more than 8 bytes is no number: use argN.OFF";
	if (off > p->size || width > p->size - off)
		return "the offset lies beyond the parameter";
	if (p->offset > l->len || off + width > l->len - p->offset)
		return "the parameter buffer is too short";
	*v = 0;
	memcpy(v, (const char *)l->params + p->offset + off, width);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "parameter words are taken as little endian"
#endif
	return NULL;
}

static const char *compute(const struct program *prog, const struct krt_kernels_launch *l,
			   uint64_t *result)
{
	uint64_t stack[ITEMS] = { 0 };
	unsigned n = 0;
	const char *why;

	for (unsigned i = 0; i < prog->n; i++) {
		const struct item *it = &prog->item[i];

		switch ((enum item_kind)it->kind) {
		case VALUE:
			stack[n++] = it->value;
			continue;
		case ARG:
			why = fetch(l, it->arg, 0, 0, &stack[n++]);
			if (why)
				return why;
			continue;
		case WORD:
			why = fetch(l, it->arg, it->off, it->width, &stack[n++]);
			if (why)
				return why;
			continue;
		case DIM:
			stack[n++] = it->width < 3 ? l->grid[it->width] : l->block[it->width - 3];
			continue;
		case ADD:
			if (__builtin_add_overflow(stack[n - 2], stack[n - 1], &stack[n - 2]))
				return "a sum does not fit 64 bits";
			break;
		case SUB:
			if (__builtin_sub_overflow(stack[n - 2], stack[n - 1], &stack[n - 2]))
				return "a difference is below 0";
			break;
		case MUL:
			if (__builtin_mul_overflow(stack[n - 2], stack[n - 1], &stack[n - 2]))
				return "a product does not fit 64 bits";
			break;
		case DIV:
			if (!stack[n - 1])
				return "a division by 0";
			stack[n - 2] /= stack[n - 1];
			break;
		}
		n--;
	}
	*result = stack[0];
	return NULL;
}

/* One access of the line; len UINT64_MAX: none. */
static const char *resolve(const struct access *a, const struct krt_kernels_launch *l,
			   struct krt_kernels_access *out)
{
	uint64_t from, to;
	const char *why;

	why = fetch(l, a->arg, a->off, a->inside ? 8 : 0, &out->addr);
	if (why)
		return why;
	if (!a->inside && l->param[a->arg].size != 8)
		return "the parameter is no pointer";
	out->base = out->addr;
	out->role = a->role;
	out->arg = a->arg;
	out->offset = a->off;
	out->sure = KRT_SURE_FROM;
	out->len = out->addr ? 0 : UINT64_MAX;
	if (!a->to.n)
		return NULL;
	why = compute(&a->from, l, &from);
	if (!why)
		why = compute(&a->to, l, &to);
	if (why)
		return why;
	if (from > to)
		return "a range ends before it begins";
	if (!out->addr || from == to) {
		out->len = UINT64_MAX;
		return NULL;
	}
	if (to > UINT64_MAX - out->addr)
		return "a range ends beyond 64 bits";
	out->addr += from;
	out->len = to - from;
	out->sure = KRT_SURE_ALL;
	return NULL;
}

static const char *resolve_all(const struct krt_kernels_line *line,
			       const struct krt_kernels_launch *l,
			       struct krt_kernels_access out[ACCESSES])
{
	for (unsigned i = 0; i < line->n; i++) {
		const char *why = resolve(&line->access[i], l, &out[i]);

		if (why)
			return why;
	}
	return NULL;
}

const char *krt_kernels_why(const struct krt_kernels_line *line,
			    const struct krt_kernels_launch *launch)
{
	struct krt_kernels_access a[ACCESSES] = {0};

	return resolve_all(line, launch, a);
}

enum krt_kernels_result krt_kernels_eval(const struct krt_kernels_line *line,
					 const struct krt_kernels_launch *launch,
					 krt_kernels_fn *fn, void *user)
{
	struct krt_kernels_access a[ACCESSES] = {0};

	if (resolve_all(line, launch, a))
		return KRT_KERNELS_USELESS;
	for (unsigned i = 0; i < line->n; i++)
		if (a[i].len != UINT64_MAX)
			fn(user, &a[i]);
	return KRT_KERNELS_DECLARED;
}

enum krt_kernels_result krt_kernels_match(struct krt_kernels_file *f, const char *name,
					  const struct krt_kernels_launch *launch,
					  krt_kernels_fn *fn, void *user)
{
	const struct krt_kernels_line *line = krt_kernels_find(f, name, launch->param, launch->nparams);

	return line ? krt_kernels_eval(line, launch, fn, user) : KRT_KERNELS_NO_LINE;
}
