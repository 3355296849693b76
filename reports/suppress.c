/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suppressions (suppress.h): the language, what fits, the lines for findings.
 * Names of a finding are untrusted; so is a file of suppressions.
 */
#define _GNU_SOURCE
#include "suppress.h"
#include "../analyzer/demangle.h"
#include "report.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a pattern is held against. */
#define KEYS(X)                                                                                    \
	X(FUNC, "func")                                                                            \
	X(FILE, "file")                                                                            \
	X(MODULE, "module")                                                                        \
	X(KERNEL, "kernel")                                                                        \
	X(BUFFER, "buffer")                                                                        \
	X(STREAM, "stream")                                                                        \
	X(API, "api")                                                                              \
	X(NVTX, "nvtx")                                                                            \
	X(FINGERPRINT, "fingerprint")                                                              \
	X(REASON, "reason")                                                                        \
	X(EXPIRES, "expires")
enum key {
#define X(name, text) KEY_##name,
	KEYS(X)
#undef X
		NR_KEYS,
	KEY_PLAIN = NR_KEYS
};
static const char *const key_text[] = {
#define X(name, text) text,
	KEYS(X)
#undef X
};

/* Before a key: of the other operation. */
#define OTHER "other_"

struct term {
	struct term *next;
	enum key key;
	bool other;
	const char *glob;
};

struct line {
	struct line *next;
	const char *file, *text;
	unsigned number;
	bool rule[KRT_NR_RULES];
	struct term *terms;
	bool both; /* some terms are of the other operation */
	const char *reason;
	int expires; /* 20301231, or 0 */
	bool expired;
	uint64_t hits;
};

struct krt_suppressions {
	struct krt_arena *arena;
	struct line *first, **end;
};

struct krt_suppressions *krt_suppressions_new(void)
{
	struct krt_suppressions *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->end = &s->first;
	s->arena = krt_arena_new();
	if (!s->arena) {
		free(s);
		return NULL;
	}
	return s;
}

void krt_suppressions_free(struct krt_suppressions *s)
{
	if (!s)
		return;
	krt_arena_destroy(s->arena);
	free(s);
}

int krt_today(void)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	return (tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday;
}

/* --- the language ------------------------------------------------------------------ */

struct parser {
	struct krt_suppressions *s;
	struct line *line;
	int today;
	char *err;
	size_t errlen;
};

static int bad(const struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int bad(const struct parser *p, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(p->err, p->errlen, "suppressions: %s:%u: ", p->line->file,
			 p->line->number);

	if (n >= 0 && (size_t)n < p->errlen) {
		va_start(ap, fmt);
		vsnprintf(p->err + n, p->errlen - (size_t)n, fmt, ap);
		va_end(ap);
	}
	return -1;
}

/* Is the word of len characters one of those of the id, which `-` separates? */
static bool has_word(const char *id, const char *word, size_t len)
{
	for (;;) {
		size_t n = strcspn(id, "-");

		if (n == len && !strncasecmp(id, word, n))
			return true;
		if (!id[n])
			return false;
		id += n + 1;
	}
}

static bool has_words(const char *id, const char *words)
{
	for (;;) {
		size_t n = strcspn(words, "-");

		if (!has_word(id, words, n))
			return false;
		if (!words[n])
			return true;
		words += n + 1;
	}
}

static const char *without_krt(const char *id)
{
	return strncasecmp(id, "KRT-", 4) ? id : id + 4;
}

static int parse_class(const struct parser *p, const char *class)
{
	const char *words = without_krt(class);
	bool some = false;
	char list[1024] = "";
	size_t n = 0;

	for (unsigned i = 0; i < KRT_NR_RULES; i++)
		if (!strcasecmp(without_krt(krt_rules[i].id), words)) {
			p->line->rule[i] = true;
			return 0;
		}
	for (unsigned i = 0; i < KRT_NR_RULES && words == class; i++) {
		bool *fits = &p->line->rule[i];

		*fits = !strcmp(class, "*") || has_words(without_krt(krt_rules[i].id), words);
		some |= *fits;
	}
	if (some)
		return 0;
	for (unsigned i = 0; i < KRT_NR_RULES && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, " %s", krt_rules[i].id);
	return bad(p, "%.60s: no such rule; known are *, words of ids as race, and%s", class, list);
}

static bool of_operation(enum key key)
{
	return key == KEY_FUNC || key == KEY_FILE || key == KEY_MODULE || key == KEY_KERNEL ||
	       key == KEY_STREAM || key == KEY_API || key == KEY_NVTX;
}

/* Length of the key and its `=`, 0: none begins here.  *key NR_KEYS: an unknown one. */
static size_t key_at(const char *s, enum key *key, bool *other)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz_"), skip;

	if (!n || s[n] != '=' || s[n + 1] == '=')
		return 0;
	*other = !strncmp(s, OTHER, sizeof(OTHER) - 1);
	skip = *other ? sizeof(OTHER) - 1 : 0;
	for (*key = 0; *key < NR_KEYS; (*key)++)
		if ((!*other || of_operation(*key)) && strlen(key_text[*key]) == n - skip &&
		    !strncmp(key_text[*key], s + skip, n - skip))
			break;
	return n + 1;
}

/* A value in quotes: *s behind them.  NULL: they do not end. */
static char *quoted(struct parser *p, const char **s)
{
	char *value = krt_arena_alloc(p->s->arena, strlen(*s) + 1), *to = value;
	const char *c = *s + 1;

	for (; value && *c && *c != '"'; c++) {
		if (*c == '\\' && (c[1] == '"' || c[1] == '\\'))
			c++;
		*to++ = *c;
	}
	if (!value || !*c)
		return NULL;
	*s = c + 1;
	return value;
}

/* Up to the next key, a comment or the end; blanks at its end do not count. */
static char *unquoted(struct parser *p, const char **s)
{
	const char *from = *s, *to = from;
	enum key key;
	bool other;

	for (; *to; to++) {
		if (*to == ',' && key_at(to + 1 + strspn(to + 1, " \t"), &key, &other))
			break;
		if (*to == '#' && isblank((unsigned char)to[-1]))
			break;
	}
	*s = to;
	while (to > from && isblank((unsigned char)to[-1]))
		to--;
	return krt_arena_printf(p->s->arena, "%.*s", (int)(to - from), from);
}

/* 2030-12-31 as 20301231; 0: it is no day. */
static int day(const char *s)
{
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int y, m, d, n = 0;

	if (strlen(s) != 10 || sscanf(s, "%4d-%2d-%2d%n", &y, &m, &d, &n) != 3 || n != 10)
		return 0;
	if (y < 1 || m < 1 || m > 12 || d < 1 || d > days[m - 1])
		return 0;
	return y * 10000 + m * 100 + d;
}

/* ^ and $ tie it to the ends of a name, else any text may come before and behind. */
static const char *glob_of(const struct parser *p, const char *value)
{
	size_t n = strlen(value);
	bool begins = *value == '^', ends = n && value[n - 1] == '$';

	if (begins + ends >= (int)n)
		return NULL;
	return krt_arena_printf(p->s->arena, "%s%.*s%s", begins ? "" : "*", (int)n - begins - ends,
				value + begins, ends ? "" : "*");
}

static int add_term(const struct parser *p, enum key key, bool other, const char *value)
{
	struct line *l = p->line;
	struct term *t, **end = &l->terms;

	if (key == KEY_REASON) {
		l->reason = value;
		return 0;
	}
	if (key == KEY_EXPIRES) {
		l->expires = day(value);
		l->expired = l->expires < p->today;
		return l->expires ? 0 : bad(p, "expires=%.40s: wants a day as 2030-12-31", value);
	}
	t = krt_arena_alloc(p->s->arena, sizeof(*t));
	if (!t)
		return bad(p, "no memory");
	t->key = key;
	t->other = other;
	l->both |= other;
	t->glob = glob_of(p, value);
	if (!t->glob)
		return bad(p, "%s%s%swants a pattern", other ? OTHER : "",
			   key == KEY_PLAIN ? "" : key_text[key], key == KEY_PLAIN ? "" : "= ");
	while (*end)
		end = &(*end)->next;
	*end = t;
	return 0;
}

static int parse_terms(struct parser *p, const char *s)
{
#define X(name, text) ", " text
	static const char known[] = KEYS(X);
#undef X

	for (bool first = true;; first = false) {
		enum key key = KEY_PLAIN;
		bool other = false;
		size_t n;
		char *value;

		s += strspn(s, " \t");
		n = key_at(s, &key, &other);
		if (n && key == NR_KEYS)
			return bad(p,
				   "%.*s: unknown key; known are%s, and " OTHER "func and the like "
				   "(quote what is part of a pattern)",
				   (int)n - 1, s, known + 1);
		if (!n && !first)
			return bad(p, "%.40s: wants KEY=PATTERN", s);
		s += n;
		value = *s == '"' ? quoted(p, &s) : unquoted(p, &s);
		if (!value)
			return bad(p, "a quote does not end");
		if (add_term(p, n ? key : KEY_PLAIN, other, value))
			return -1;
		s += strspn(s, " \t");
		if (!*s || *s == '#')
			break;
		if (*s++ != ',')
			return bad(p, "%.40s: wants a comma behind the quotes", s - 1);
	}
	return p->line->terms ? 0 : bad(p, "wants a pattern");
}

static int parse_line(struct parser *p, const char *text)
{
	const char *colon = strchr(text, ':');
	char *class;

	if (!colon || colon == text)
		return bad(p, "%.40s: wants RULE:PATTERN or RULE:KEY=PATTERN", text);
	class = krt_arena_printf(p->s->arena, "%.*s", (int)(colon - text), text);
	if (!class)
		return bad(p, "no memory");
	while (*class && isblank((unsigned char)class[strlen(class) - 1]))
		class[strlen(class) - 1] = 0;
	return parse_class(p, class) ? -1 : parse_terms(p, colon + 1);
}

int krt_suppressions_parse(struct krt_suppressions *s, const char *text, const char *name,
			   int today, char *err, size_t errlen)
{
	struct parser p = {.s = s, .today = today, .err = err, .errlen = errlen};
	const char *file = krt_arena_strdup(s->arena, name);
	static const char mark[] = "\xef\xbb\xbf"; /* that editors put before UTF-8 */
	unsigned number = 0;

	if (!strncmp(text, mark, sizeof(mark) - 1))
		text += sizeof(mark) - 1;
	while (*text) {
		size_t n = strcspn(text, "\n"), len = n;
		const char *from = text;

		text += n + (text[n] == '\n');
		number++;
		while (len && isspace((unsigned char)*from)) {
			from++;
			len--;
		}
		while (len && isspace((unsigned char)from[len - 1]))
			len--;
		if (!len || *from == '#')
			continue;
		p.line = krt_arena_alloc(s->arena, sizeof(*p.line));
		if (!p.line || !file) {
			snprintf(err, errlen, "suppressions: %s: no memory", name);
			return -1;
		}
		p.line->file = file;
		p.line->number = number;
		p.line->text = krt_arena_printf(s->arena, "%.*s", (int)len, from);
		if (!p.line->text || parse_line(&p, p.line->text))
			return -1;
		*s->end = p.line;
		s->end = &p.line->next;
	}
	return 0;
}

int krt_suppressions_load(struct krt_suppressions *s, const char *path, int today, char *err,
			  size_t errlen)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t n;
	int r = -1;
	FILE *f = fopen(path, "re");

	errno = f ? 0 : errno;
	n = f ? getdelim(&text, &size, 0, f) : -1;
	if (!f || (n < 0 && !feof(f)))
		snprintf(err, errlen, "suppressions: %s: cannot be read: %s", path,
			 strerror(errno));
	else if (n > 0 && !text[n - 1])
		snprintf(err, errlen, "suppressions: %s: a byte of zero: not a text", path);
	else
		r = krt_suppressions_parse(s, n > 0 ? text : "", path, today, err, errlen);
	free(text);
	if (f)
		fclose(f);
	return r;
}

/* --- what fits --------------------------------------------------------------------- */

static bool in(const char *glob, const char *s)
{
	return s && krt_glob(glob, s);
}

static bool function_fits(const char *glob, const struct krt_frame *f)
{
	char plain[KRT_SHORT_NAME];

	if (!f->function)
		return false;
	krt_frame_function(f, plain);
	return krt_glob(glob, plain) || krt_glob(glob, f->function);
}

static bool frame_fits(const struct term *t, const struct krt_frame *f)
{
	bool plain = t->key == KEY_PLAIN;

	return ((plain || t->key == KEY_FUNC) && function_fits(t->glob, f)) ||
	       ((plain || t->key == KEY_FILE) && in(t->glob, f->file)) ||
	       ((plain || t->key == KEY_MODULE) && in(t->glob, f->module));
}

static bool stack_fits(const struct term *t, const struct krt_stack *s)
{
	for (unsigned i = 0; i < s->depth; i++)
		if (frame_fits(t, &s->frame[i]))
			return true;
	return false;
}

/* As the driver has it, readable, and short as reports show it. */
static bool kernel_fits(const char *glob, const char *kernel)
{
	char name[KRT_SHORT_NAME], *whole;
	bool fits;

	if (!kernel)
		return false;
	krt_demangle_short(kernel, name);
	if (krt_glob(glob, kernel) || krt_glob(glob, name))
		return true;
	whole = krt_demangle(kernel);
	fits = in(glob, whole);
	free(whole);
	return fits;
}

static bool operation_fits(const struct term *t, const struct krt_operation *o)
{
	switch (t->key) {
	case KEY_KERNEL:
		return kernel_fits(t->glob, o->kernel);
	case KEY_STREAM:
		return in(t->glob, o->stream);
	case KEY_API:
		return in(t->glob, o->api);
	case KEY_NVTX:
		return in(t->glob, o->nvtx);
	case KEY_PLAIN:
		if (kernel_fits(t->glob, o->kernel))
			return true;
		/* fall through */
	default:
		return stack_fits(t, &o->stack);
	}
}

static bool term_fits(const struct term *t, const struct krt_finding *f)
{
	char id[17];

	if (t->key == KEY_FINGERPRINT) {
		snprintf(id, sizeof(id), "%016" PRIx64, f->fingerprint);
		return krt_glob(t->glob, id);
	}
	if ((t->key == KEY_BUFFER || t->key == KEY_PLAIN) && in(t->glob, f->buffer.name))
		return true;
	return operation_fits(t, &f->current) || operation_fits(t, &f->previous) ||
	       stack_fits(t, &f->buffer.allocated_at) || stack_fits(t, &f->buffer.freed_at);
}

/* one, other: the operations that a line which tells them apart is held against; else NULL */
static bool terms_fit(const struct line *l, const struct krt_finding *f,
		      const struct krt_operation *one, const struct krt_operation *other)
{
	for (const struct term *t = l->terms; t; t = t->next)
		if (one && of_operation(t->key) ? !operation_fits(t, t->other ? other : one)
						: !term_fits(t, f))
			return false;
	return true;
}

static bool line_fits(const struct line *l, const struct krt_finding *f)
{
	if (l->expired || !l->rule[f->rule])
		return false;
	if (!l->both)
		return terms_fit(l, f, NULL, NULL);
	return f->current.api && f->previous.api &&
	       (terms_fit(l, f, &f->current, &f->previous) ||
		terms_fit(l, f, &f->previous, &f->current));
}

bool krt_suppressions_fit(const struct krt_suppressions *s, const struct krt_finding *f)
{
	for (const struct line *l = s->first; l; l = l->next)
		if (line_fits(l, f))
			return true;
	return false;
}

/* The first line that fits, and hits for all: none of them is useless. */
static const struct line *hit(struct krt_suppressions *s, const struct krt_finding *f)
{
	const struct line *first = NULL;

	for (struct line *l = s->first; l; l = l->next)
		if (line_fits(l, f)) {
			l->hits++;
			first = first ? first : l;
		}
	return first;
}

void krt_suppressions_apply(struct krt_suppressions *s, struct krt_report *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->nfindings; i++) {
		struct krt_finding *f = &r->finding[i];
		const struct line *l = hit(s, f);
		struct krt_finding *moved = l ? krt_report_add_suppressed(r) : NULL;

		if (!moved) { /* nothing fits it, or no memory: it stays */
			r->finding[kept++] = *f;
			continue;
		}
		*moved = *f;
		moved->suppressed_by = krt_arena_printf(r->arena, "%s:%u", l->file, l->number);
		moved->suppressed_why = krt_arena_strdup(r->arena, l->reason);
		if (!moved->suppressed_by)
			moved->suppressed_by = "?";
	}
	r->nfindings = kept;
}

void krt_suppressions_tell(const struct krt_suppressions *s, bool all, FILE *out)
{
	for (const struct line *l = s->first; l; l = l->next) {
		if (l->expired)
			fprintf(out,
				"krtsan: suppressions: %s:%u: EXPIRED on %04d-%02d-%02d, it "
				"suppresses "
				"nothing any more: %s\n",
				l->file, l->number, l->expires / 10000, l->expires / 100 % 100,
				l->expires % 100, l->text);
		else if (all && l->hits)
			fprintf(out,
				"krtsan: suppressions: %s:%u: fits %" PRIu64 " finding%s: %s\n",
				l->file, l->number, l->hits, l->hits == 1 ? "" : "s", l->text);
	}
	for (const struct line *l = s->first; all && l; l = l->next)
		if (!l->expired && !l->hits)
			fprintf(out, "krtsan: suppressions: %s:%u: unused: %s\n", l->file,
				l->number, l->text);
}

/* --- lines for findings ------------------------------------------------------------ */

/* A line in the making. */
struct draft {
	const struct krt_report *r;
	const bool *chosen;
	const struct krt_finding *f;
	char *text; /* malloc'd */
};

/* How many findings that are not chosen a line fits; -1: it does not fit the finding itself. */
static long width(const struct draft *d, const char *text)
{
	struct krt_suppressions *s = krt_suppressions_new();
	long n = -1;
	char err[64];

	if (s && !krt_suppressions_parse(s, text, "", 0, err, sizeof(err)) &&
	    krt_suppressions_fit(s, d->f)) {
		n = 0;
		for (size_t i = 0; i < d->r->nfindings; i++)
			n += !d->chosen[i] && krt_suppressions_fit(s, &d->r->finding[i]);
	}
	krt_suppressions_free(s);
	return n;
}

/* A reader's word for bytes that are no UTF-8: they may be any. */
static size_t no_utf8(const char *c)
{
	return strncmp(c, "\xef\xbf\xbd", 3) ? 0 : 3;
}

static void put_value(FILE *out, const char *c, bool quotes)
{
	while (*c) {
		size_t n = no_utf8(c);

		if (n)
			fputc('*', out);
		else
			fprintf(out, "%s%c", quotes && (*c == '"' || *c == '\\') ? "\\" : "", *c);
		c += n ? n : 1;
	}
}

/* key=^value$, in quotes, where a line can say it. */
static char *term_text(const struct draft *d, enum key key, bool other, const char *value)
{
	char *text = NULL;
	size_t len;
	FILE *out;
	bool quotes;

	for (const char *c = value; *c; c += krt_printable_length(c))
		if (!krt_printable_length(c))
			return NULL;
	out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	fprintf(out, "%s%c%s%s=", d->text, strchr(d->text, '=') ? ',' : ':', other ? OTHER : "",
		key_text[key]);
	quotes = strpbrk(value, "\",#") || isblank((unsigned char)*value);
	fputs(quotes ? "\"^" : "^", out);
	put_value(out, value, quotes);
	fputs(quotes ? "$\"" : "$", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Adds a term where there is such a name; `more`: only one that keeps others out. */
static void add(struct draft *d, enum key key, bool other, const char *value, bool more)
{
	char *text = value && *value ? term_text(d, key, other, value) : NULL;
	long before = width(d, d->text), after = text ? width(d, text) : -1;

	if (after < 0 || (more && before >= 0 && after >= before)) {
		free(text);
		return;
	}
	free(d->text);
	d->text = text;
}

static bool same_call(const struct krt_frame *a, const struct krt_frame *b)
{
	char one[KRT_SHORT_NAME], two[KRT_SHORT_NAME];

	if (!a || !b || a->line != b->line || a->pc != b->pc || a->offset != b->offset)
		return false;
	krt_frame_function(a, one);
	krt_frame_function(b, two);
	return !strcmp(one, two);
}

#define CALLERS 3 /* functions for an operation that its site does not tell from the other */

/* Its site's function; `callers`: also those that called it, as a fingerprint has them. */
static void add_functions(struct draft *d, const struct krt_operation *o, bool other,
			  const struct krt_frame *site, bool callers)
{
	enum krt_frame_kind kind = site ? krt_frame_kind(site) : KRT_FRAME_USER;
	char name[KRT_SHORT_NAME], last[KRT_SHORT_NAME] = "";
	unsigned n = callers ? CALLERS : 1;

	for (const struct krt_frame *f = site; f && n && f < o->stack.frame + o->stack.depth; f++) {
		if (!f->function || krt_frame_kind(f) != kind)
			continue;
		krt_frame_function(f, name);
		n--;
		if (strcmp(name, last))
			add(d, KEY_FUNC, other, name, false);
		strcpy(last, name);
	}
}

/* The kernel, or the call. */
static void add_kernel(struct draft *d, const struct krt_operation *o, bool other)
{
	char name[KRT_SHORT_NAME];

	if (!o->kernel) {
		add(d, KEY_API, other, o->api, false);
		return;
	}
	krt_demangle_short(o->kernel, name);
	add(d, KEY_KERNEL, other, name, false);
}

/*
 * Does a line with all names of an operation tell it from others of its program?  The
 * outermost function of a stack (main, a script's <module>) is in the stacks of them all,
 * and a kernel may be in them all that go through one function.
 */
static bool names_tell(const struct krt_operation *o, const struct krt_frame *site)
{
	bool direct = site == krt_stack_site(&o->stack);

	if (!o->api || (o->kernel && direct))
		return true;
	for (unsigned i = o->stack.depth; site && i > 0 && &o->stack.frame[i - 1] > site; i--)
		if (krt_frame_kind(&o->stack.frame[i - 1]) == KRT_FRAME_USER)
			return true;
	return false;
}

char *krt_suppression_of(const struct krt_report *r, const bool *chosen, size_t i)
{
	const struct krt_finding *f = &r->finding[i];
	struct draft d = {.r = r, .chosen = chosen, .f = f, .text = strdup(krt_rules[f->rule].id)};
	bool both = f->current.api && f->previous.api;
	const struct krt_frame *cur, *prev;
	bool callers;
	char id[17];

	if (!d.text)
		return NULL;
	snprintf(id, sizeof(id), "%016" PRIx64, f->fingerprint);
	krt_finding_sites(f, &cur, &prev);
	/* nothing tells the operations apart: one function, maybe one that all launch through */
	callers = !both || same_call(cur, prev);
	/* By names that last; a number only where these fit another finding too, or any. */
	add_functions(&d, &f->current, false, cur, callers);
	add_kernel(&d, &f->current, false);
	if (both) {
		add_functions(&d, &f->previous, true, prev, callers);
		add_kernel(&d, &f->previous, true);
	}
	add(&d, KEY_BUFFER, false, f->buffer.name, false);
	if (width(&d, d.text))
		add(&d, KEY_API, false, f->current.api, true);
	if (!names_tell(&f->current, cur) || !names_tell(&f->previous, prev))
		add(&d, KEY_FINGERPRINT, false, id, false);
	else if (width(&d, d.text))
		add(&d, KEY_FINGERPRINT, false, id, true);
	return d.text;
}
