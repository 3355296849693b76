/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mangled names to readable ones (demangle.h).  This form of the demangler takes
 * no memory from the heap, so that its callback may leave it: a short name can
 * stand for one of many gigabytes.
 */
#include "demangle.h"

#include <setjmp.h>
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
static const char *without_prefix(const char *name)
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
	name = without_prefix(name);
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

/* Without result and parameters: from *from on, the return value's length. */
static size_t bare(const char *s, const char **from)
{
	const char *begin = s, *end = NULL;

	for (const char *p = s; *p;) {
		const char *past = strchr("(<{[", *p) ? past_group(p) : p + 1;

		if (*p == '(' && strncmp(past, "::", 2))
			end = p;
		else if (*p == ' ' && !end)
			begin = p + 1;
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

void krt_demangle_short(const char *name, char out[KRT_SHORT_NAME])
{
	struct brief b = {.out = out};
	char *readable = krt_demangle(name);
	const char *s = name;
	size_t n = readable ? bare(readable, &s) : strlen(name);

	if (n >= KRT_SHORT_NAME && readable)
		fold(&b, s, n);
	else
		put(&b, s, n);
	if (b.len == KRT_SHORT_NAME - 1 && n >= KRT_SHORT_NAME) {
		b.len -= 3; /* not within a character of UTF-8 */
		while (b.len && (out[b.len] & 0xc0) == 0x80)
			b.len--;
		put(&b, "...", 3);
	}
	out[b.len] = 0;
	free(readable);
}
