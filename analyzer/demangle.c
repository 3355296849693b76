/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mangled names to readable ones (demangle.h).  This form of the demangler takes
 * no memory from the heap, so that its callback may leave it: a short name can
 * stand for one of many gigabytes.
 */
#define _GNU_SOURCE
#include "demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST (64u << 10) /* of a readable name */

extern int __gcclibcxx_demangle_callback(const char *mangled,
					 void (*fn)(const char *, size_t, void *), void *user);

struct readable {
	char *out;
	size_t len, room;
	jmp_buf full;
};

static void more(const char *s, size_t n, void *user)
{
	struct readable *r = user;
	char *bigger;

	while (n >= r->room - r->len) {
		bigger = r->room < LONGEST ? realloc(r->out, r->room * 2) : NULL;
		if (!bigger)
			longjmp(r->full, 1);
		r->out = bigger;
		r->room *= 2;
	}
	memcpy(r->out + r->len, s, n);
	r->len += n;
}

/* Apart from its caller, whose variables a jump back would spoil. */
static int demangle(struct readable *r, const char *name)
{
	if (setjmp(r->full))
		return -1;
	return __gcclibcxx_demangle_callback(name, more, r);
}

/* nvcc gives kernels of internal linkage a prefix: __nv_static_NN__HASH_FILE_NAME */
const char *krt_mangled(const char *name)
{
	static const char prefix[] = "__nv_static_";
	const char *z;

	if (strncmp(name, prefix, sizeof(prefix) - 1))
		return name;
	z = strstr(name, "__Z");
	return z ? z + 1 : name;
}

char *krt_demangle(const char *name)
{
	struct readable r = {.room = 1024};

	if (!name)
		return NULL;
	name = krt_mangled(name);
	if (name[0] != '_' || name[1] != 'Z')
		return NULL;
	r.out = malloc(r.room);
	if (!r.out)
		return NULL;
	if (demangle(&r, name)) {
		free(r.out);
		return NULL;
	}
	r.out[r.len] = 0;
	return r.out;
}

/* --- short ones ----------------------------------------------------------------- */

/* Past a bracket and what it closes; an operator's < and > pair only within their own. */
static const char *past_group(const char *s)
{
	static const char open[] = "(<{[", close[] = ")>}]";
	char stack[64];
	unsigned depth = 0;

	for (; *s; s++) {
		const char *o = strchr(open, *s), *c = strchr(close, *s);

		if (o && depth < sizeof(stack)) {
			stack[depth++] = close[o - open];
		} else if (c && depth && (*s != '>' || stack[depth - 1] == '>')) {
			while (depth && stack[--depth] != *s)
				;
			if (!depth)
				return s + 1;
		}
	}
	return s;
}

/* operator<, operator->, ...: brackets that open nothing; 0: no operator is named at s. */
static size_t operator_at(const char *begin, const char *s, const char *end)
{
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1;

	if ((s > begin && s[-1] != ':' && s[-1] != ' ') || (size_t)(end - s) < n ||
	    strncmp(s, word, n))
		return 0;
	while (s + n < end && strchr("<>=-!&|+*/%^~", s[n]))
		n++;
	return n;
}

/* Without result and parameters: from *from on, the return value's length. */
static size_t bare(const char *s, const char **from)
{
	const char *begin = s, *end = NULL;

	for (const char *p = s, *last = s + strlen(s); *p;) {
		size_t op = operator_at(s, p, last);
		const char *past = op			 ? p + op
				   : strchr("(<{[", *p) ? past_group(p)
							 : p + 1;

		if (*p == '(' && strncmp(past, "::", 2))
			end = p;
		else if (*p == ' ' && !end && (p - s < 8 || strncmp(p - 8, "operator", 8)))
			begin = p + 1; /* behind the result; operator bool has none */
		p = past;
	}
	*from = begin;
	return end && end > begin ? (size_t)(end - begin) : strlen(begin);
}

struct brief {
	char *out;
	size_t len;
};

static void put(struct brief *b, const char *s, size_t n)
{
	size_t room = KRT_SHORT_NAME - 1 - b->len;

	if (n > room)
		n = room;
	memcpy(b->out + b->len, s, n);
	b->len += n;
}

/* The arguments of <...> that fit beside what follows them. */
static void arguments(struct brief *b, const char *s, const char *past, size_t after)
{
	const char *arg = s + 1;

	put(b, "<", 1);
	while (arg < past - 1) {
		const char *p = arg;
		size_t n;

		while (p < past - 1 && *p != ',')
			p = strchr("(<{[", *p) ? past_group(p) : p + 1;
		n = (size_t)(p - arg);
		if (b->len + n + sizeof(", ...>") + after >= KRT_SHORT_NAME) {
			put(b, "...", 3);
			break;
		}
		put(b, arg, n);
		arg = p;
		while (arg < past - 1 && (*arg == ',' || *arg == ' '))
			arg++;
		if (arg < past - 1)
			put(b, ", ", 2);
	}
	put(b, ">", 1);
}

static void fold(struct brief *b, const char *s, size_t n)
{
	const char *end = s + n, *last = NULL;

	for (const char *p = s; p < end;) {
		if (*p == '<')
			last = p;
		p = strchr("(<{[", *p) ? past_group(p) : p + 1;
	}
	while (s < end) {
		const char *past = strchr("(<{[", *s) ? past_group(s) : s + 1;

		if (past > end)
			past = end;
		if (s == last)
			arguments(b, s, past, (size_t)(end - past));
		else if (*s == '<')
			put(b, "<...>", 5);
		else
			put(b, s, (size_t)(past - s));
		s = past;
	}
}

/* At most what fits, and no half of a character. */
static void finish(struct brief *b, bool cut)
{
	if (b->len == KRT_SHORT_NAME - 1 && cut) {
		b->len -= 3; /* not within a character of UTF-8 */
		while (b->len && (b->out[b->len] & 0xc0) == 0x80)
			b->len--;
		put(b, "...", 3);
	}
	b->out[b->len] = 0;
}

void krt_demangle_short(const char *name, char out[KRT_SHORT_NAME])
{
	struct brief b = {.out = out};
	char *readable = krt_demangle(name);
	size_t n = strlen(name);

	if (readable) {
		krt_readable_short(readable, out);
	} else {
		put(&b, name, n);
		finish(&b, n >= KRT_SHORT_NAME);
	}
	free(readable);
}

void krt_readable_short(const char *readable, char out[KRT_SHORT_NAME])
{
	struct brief b = {.out = out};
	const char *s;
	size_t n = bare(readable, &s);

	if (n >= KRT_SHORT_NAME)
		fold(&b, s, n);
	else
		put(&b, s, n);
	finish(&b, n >= KRT_SHORT_NAME);
}

/* step.constprop.0, step.isra.0.cold: how much of it is the name? */
static size_t unmarked(const char *s, size_t n)
{
	static const char *const mark[] = {".constprop.", ".isra.",	".part.",
					   ".cold",	  ".lto_priv.", ".llvm."};

	for (unsigned i = 0; i < sizeof(mark) / sizeof(*mark); i++) {
		const char *at = memmem(s, n, mark[i], strlen(mark[i]));

		if (at && at > s)
			n = (size_t)(at - s);
	}
	return n;
}

void krt_readable_plain(const char *readable, char out[KRT_SHORT_NAME])
{
	struct brief b = {.out = out};
	const char *s, *end, *begin;
	size_t n = bare(readable, &s), k;
	bool cut = false;

	begin = s;
	end = s + unmarked(s, n);
	while (s < end) {
		const char *past = strchr("(<{[", *s) ? past_group(s) : s + 1;

		if (past > end)
			past = end;
		k = operator_at(begin, s, end);
		if (k) {
			past = s + k;
			put(&b, s, k);
		} else if (*s == '{' && past - s > 7 && !strncmp(s, "{lambda", 7)) {
			const char *number = past; /* {lambda(int)#1}: by its number */

			while (number > s && *number != '#')
				number--;
			put(&b, "{lambda", 7);
			if (number > s)
				put(&b, number, (size_t)(past - number));
		} else if (!strncmp(s, "_INTERNAL_", 10) && (b.len < 2 || out[b.len - 1] == ':')) {
			/* nvcc's name for a file's anonymous namespace has a hash in it */
			past = strstr(s, "::");
			if (!past || past > end)
				past = end;
			put(&b, "(anonymous namespace)", 21);
		} else if (*s != '<' && *s != '[') {
			put(&b, s, (size_t)(past - s));
		}
		cut |= b.len == KRT_SHORT_NAME - 1;
		s = past;
	}
	finish(&b, cut);
}
