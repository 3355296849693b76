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
