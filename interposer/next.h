/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What RTLD_NEXT means, but found by reading the link maps, so that it works
 * before libc is up, allocates nothing, takes no lock, and sees definitions
 * whatever symbol version they have.
 */
#ifndef KRT_NEXT_H
#define KRT_NEXT_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* The definition of a function that follows this library in the global scope, NULL: none. */
void *krt_next(const char *name);
/* The same; object gets a token that is equal for definitions of one object. */
void *krt_next_in(const char *name, const void **object);
/* The path of this library where it was preloaded; NULL: it was opened later. */
const char *krt_next_preloaded(void);
/* The file that defines name in front of this library and so hides ours, NULL: none. */
const char *krt_next_before(const char *name);

/*
 * Are two names the same?  For look-ups inside dlsym: a sanitizer's runtime asks there for
 * the functions behind its own, before its own strcmp works.
 */
static inline bool krt_same_name(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

#pragma GCC visibility pop
#endif
