/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels and patterns (kernels.h has the language).
 *
 * A pattern between two `*` has one way to match at a given place: `$X` takes
 * what is balanced up to the next comma or closing bracket, `@SET` a whole
 * identifier.  So only the latest `*` is ever tried again and time is bounded.
 */
#include "kernels_int.h"

#include <stdlib.h>
#include <string.h>

static bool ident(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

bool krt_k_glob(const char *pattern, const char *name, size_t len)
{
	const char *end = name + len, *star = NULL, *again = NULL;

	while (name < end) {
		if (*pattern == '*') {
			star = ++pattern;
			again = name;
		} else if (*pattern && (*pattern == '?' || *pattern == *name)) {
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

/* What is balanced from here; list: commas belong to it. */
static size_t balanced(const char *p, const char *end, bool list)
{
	const char *from = p;
	unsigned depth = 0;

	for (; p < end; p++) {
		switch (*p) {
		case '(':
		case '<':
		case '[':
		case '{':
			depth++;
			break;
		case ',':
			if (!depth && !list)
				return (size_t)(p - from);
			break;
		case ')':
		case '>':
		case ']':
		case '}':
			/* a type that ends in > is written "> >": the blank is not its */
			if (!depth)
				return (size_t)(p - from) - (p > from && p[-1] == ' ');
			depth--;
			break;
		}
	}
	return (size_t)(p - from);
}

static const struct krt_k_set *set_of(const struct krt_k_source *src, const char *name, size_t len)
{
	for (const struct krt_k_set *s = src->sets; s; s = s->next)
		if (strlen(s->name) == len && !memcmp(s->name, name, len))
			return s;
	return NULL;
}

/* Length of $NAME or $NAME... at p, of the name in *n; 0: no capture. */
static size_t capture_at(const char *p, size_t *n, bool *list)
{
	const char *from = ++p;

	while (ident(*p))
		p++;
	*n = (size_t)(p - from);
	*list = !strncmp(p, "...", 3);
	return *n ? *n + 1 + (*list ? 3 : 0) : 0;
}

/*
 * What stands between a capture and the comma or bracket that ends it ("$T const\\*,")
 * belongs to the pattern: how much of the text that is, SIZE_MAX: it is not there.
 */
static size_t ending(const char *pat, const char *text, size_t len)
{
	char end[32];
	size_t n = 0;

	for (; *pat && !strchr(",)>]}", *pat); pat++) {
		if (strchr("*?$@", *pat) || n == sizeof(end))
			return 0;
		if (*pat == '\\' && pat[1])
			pat++;
		end[n++] = *pat;
	}
	if (!*pat || !n)
		return 0;
	return n < len && !memcmp(text + len - n, end, n) ? n : SIZE_MAX;
}

static int capture_named(const struct krt_k_pattern *p, const char *name, size_t n)
{
	for (unsigned i = 0; i < p->n; i++)
		if (strlen(p->capture[i].name) == n && !memcmp(p->capture[i].name, name, n))
			return (int)i;
	return -1;
}

const char *krt_k_captures(struct krt_k_pattern *p, const struct krt_k_source *src)
{
	if (!p->readable)
		return NULL;
	for (const char *c = p->text; *c; c++) {
		size_t n, len;
		bool list;

		if (*c == '\\' && c[1]) {
			c++;
			continue;
		}
		if (*c == '@') {
			for (n = 0; ident(c[1 + n]); n++)
				;
			if (!n || !set_of(src, c + 1, n))
				return "a set of names that is not known stands in the name";
		}
		if (*c != '$')
			continue;
		len = capture_at(c, &n, &list);
		if (!len)
			return "a name is expected behind $";
		if (!(n == 1 && c[1] == '_') && capture_named(p, c + 1, n) < 0) {
			if (p->n == KRT_K_CAPTURES)
				return "too many captures";
			p->capture[p->n].list = list;
			p->capture[p->n].name = strndup(c + 1, n);
			if (!p->capture[p->n++].name)
				return "out of memory";
		}
		c += len - 1;
	}
	return NULL;
}

bool krt_k_match(const struct krt_k_pattern *p, const struct krt_k_source *src, const char *name,
		 size_t len, struct krt_k_text *out)
{
	const char *pat = p->text, *at = name, *end = name + len, *star = NULL, *again = NULL;
	bool bound[KRT_K_CAPTURES] = {false}, kept[KRT_K_CAPTURES] = {false};

	if (!p->readable)
		return krt_k_glob(p->text, name, len);
	for (;;) {
		bool fits = false;

		if (*pat == '*') {
			star = ++pat;
			again = at;
			memcpy(kept, bound, sizeof(kept));
			continue;
		}
		if (!*pat) {
			if (at == end || (star && star == pat))
				return true;
		} else if (*pat == '$') {
			size_t n, l;
			bool list;
			size_t w = capture_at(pat, &n, &list);
			int i = capture_named(p, pat + 1, n);

			if (i >= 0 && bound[i]) { /* the same name twice: the same text */
				l = out[i].len;
				fits = (size_t)(end - at) >= l && !memcmp(out[i].p, at, l);
			} else {
				size_t rest;

				l = balanced(at, end, list);
				rest = ending(pat + w, at, l);
				fits = rest != SIZE_MAX && (l || list);
				l -= fits ? rest : 0;
			}
			if (fits && i >= 0 && !bound[i]) {
				out[i] = (struct krt_k_text){at, l};
				bound[i] = true;
			}
			if (fits) {
				at += l;
				pat += w;
			}
		} else if (*pat == '@') {
			size_t n = 0, l = 0;
			const struct krt_k_set *s;

			while (ident(pat[1 + n]))
				n++;
			while (at + l < end && ident(at[l]))
				l++;
			s = l && (at == name || !ident(at[-1])) ? set_of(src, pat + 1, n) : NULL;
			for (unsigned i = 0; s && i < s->n && !fits; i++)
				fits = krt_k_glob(s->word[i], at, l);
			if (fits) {
				at += l;
				pat += n + 1;
			}
		} else if (at < end && *pat == '\\' && pat[1]) {
			fits = pat[1] == *at++;
			pat += 2;
		} else if (*pat == '>' && end - at >= 2 && at[0] == ' ' && at[1] == '>') {
			fits = true; /* behind a type that ends in one */
			pat++;
			at += 2;
		} else if (at < end && (*pat == '?' || *pat == *at)) {
			fits = true;
			pat++;
			at++;
		}
		if (fits)
			continue;
		if (!star || again >= end)
			return false;
		pat = star;
		at = ++again;
		memcpy(bound, kept, sizeof(bound));
	}
}

/* --- types ----------------------------------------------------------------------------- */

static void trim(struct krt_k_text *t)
{
	while (t->len && *t->p == ' ') {
		t->p++;
		t->len--;
	}
	while (t->len && t->p[t->len - 1] == ' ')
		t->len--;
}

static bool ends_in(const struct krt_k_text *t, const char *what)
{
	size_t n = strlen(what);

	return t->len > n && !memcmp(t->p + t->len - n, what, n);
}

uint64_t krt_k_size_of(const struct krt_kernels_file *f, struct krt_k_text t)
{
	static const struct {
		const char *type;
		unsigned bytes;
	} types[] = {
		{"bool", 1},	    {"char", 1},
		{"signed char", 1}, {"unsigned char", 1},
		{"short", 2},	    {"unsigned short", 2},
		{"int", 4},	    {"unsigned int", 4},
		{"long", 8},	    {"unsigned long", 8},
		{"long long", 8},   {"unsigned long long", 8},
		{"__int128", 16},   {"unsigned __int128", 16},
		{"float", 4},	    {"double", 8},
		{"__half", 2},	    {"__nv_bfloat16", 2},
		{"float2", 8},	    {"float4", 16},
		{"double2", 16},    {"int2", 8},
		{"int4", 16},
	};

	trim(&t);
	while (ends_in(&t, " const") || ends_in(&t, " volatile"))
		t.len -= ends_in(&t, " const") ? 6 : 9;
	if (ends_in(&t, "*") || ends_in(&t, "&"))
		return 8;
	for (const struct krt_k_size *s = f->sizes; s; s = s->next)
		if (strlen(s->type) == t.len && !memcmp(s->type, t.p, t.len))
			return s->bytes;
	for (unsigned i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].type) == t.len && !memcmp(types[i].type, t.p, t.len))
			return types[i].bytes;
	return 0;
}

/* 3ul, -2, true, (ns::Enum)1 */
static bool number_of(struct krt_k_text t, uint64_t *v)
{
	size_t i = 0;

	trim(&t);
	if (t.len == 4 && !memcmp(t.p, "true", 4)) {
		*v = 1;
		return true;
	}
	if (t.len == 5 && !memcmp(t.p, "false", 5)) {
		*v = 0;
		return true;
	}
	if (t.len && *t.p == '(') {
		size_t n = 1 + balanced(t.p + 1, t.p + t.len, true);

		if (n >= t.len || t.p[n] != ')')
			return false;
		i = n + 1;
	}
	*v = 0;
	if (i == t.len || t.p[i] < '0' || t.p[i] > '9')
		return false;
	for (; i < t.len && t.p[i] >= '0' && t.p[i] <= '9'; i++)
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (unsigned)(t.p[i] - '0'), v))
			return false;
	for (; i < t.len; i++)
		if (t.p[i] != 'u' && t.p[i] != 'l')
			return false;
	return true;
}

static void learn_list(const struct krt_kernels_file *f, struct krt_k_text t,
		       struct krt_k_capture *out)
{
	const char *p = t.p, *end = t.p + t.len;

	while (p < end && out->n < KRT_K_TYPES) {
		struct krt_k_text one = {p, balanced(p, end, false)};
		uint64_t size = krt_k_size_of(f, one);

		out->size[out->n] = (struct krt_k_val){size, size};
		out->known[out->n++] = size != 0;
		p += one.len;
		if (p < end)
			p++;
	}
	out->size_known = out->n && out->known[0];
}

static void learn_text(const struct krt_kernels_file *f, struct krt_k_text t, bool list,
		       struct krt_k_capture *out)
{
	uint64_t size;

	if (list) {
		learn_list(f, t, out);
		return;
	}
	out->number_known = number_of(t, &out->number);
	size = krt_k_size_of(f, t);
	out->size[0] = (struct krt_k_val){size, size};
	out->size_known = out->known[0] = size != 0;
	out->n = size != 0;
}

static void learn_functor(const struct krt_kernels_file *f, const struct krt_k_functor *d,
			  const struct krt_k_text *text, struct krt_k_capture *out)
{
	struct krt_k_capture *own = calloc(KRT_K_CAPTURES, sizeof(*own));
	struct krt_k_context c = {.source = d->source, .capture = own};

	if (!own)
		return;
	for (unsigned i = 0; i < d->pattern.n; i++)
		learn_text(f, text[i], d->pattern.capture[i].list, &own[i]);
	out->functor_known = true;
	out->result_known = d->result.n && !krt_k_compute(&d->result, &c, &out->result);
	out->n = d->list >= 0 ? own[d->list].n : d->n;
	for (unsigned i = 0; i < out->n; i++)
		if (d->list >= 0) {
			out->size[i] = own[d->list].size[i];
			out->known[i] = own[d->list].known[i];
		} else {
			out->known[i] = !krt_k_compute(&d->arg[i], &c, &out->size[i]);
		}
	free(own);
}

void krt_k_learn(const struct krt_kernels_file *f, struct krt_k_text text, bool list,
		 struct krt_k_capture *out)
{
	struct krt_k_text got[KRT_K_CAPTURES];

	learn_text(f, text, list, out);
	if (list || out->number_known || out->size_known)
		return;
	for (const struct krt_k_functor *d = f->functors; d; d = d->next)
		if (krt_k_match(&d->pattern, d->source, text.p, text.len, got)) {
			learn_functor(f, d, got, out);
			return;
		}
}

bool krt_kernels_glob(const char *pattern, const char *name)
{
	return krt_k_glob(pattern, name, strlen(name));
}
