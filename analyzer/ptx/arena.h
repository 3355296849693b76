/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a module: grows only, zeroed, freed as a whole, never more than its
 * limit.  Not thread-safe.
 */
#ifndef KRT_PTX_ARENA_H
#define KRT_PTX_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_chunk;

struct ptx_arena {
	struct ptx_chunk *chunks;
	char *at, *end;
	size_t total, limit;
};

void ptx_arena_init(struct ptx_arena *a, size_t limit);
void *ptx_arena_more(struct ptx_arena *a, size_t size); /* where the chunk has no room */
/* Zeroed, aligned to 8 bytes; NULL when memory or the limit is out. */
static inline void *ptx_arena_alloc(struct ptx_arena *a, size_t size)
{
	char *p = a->at;

	/* size + 7 may wrap around */
	if (size > (size_t)(a->end - p) || ((size + 7) & ~(size_t)7) > (size_t)(a->end - p))
		return ptx_arena_more(a, size);
	a->at = p + ((size + 7) & ~(size_t)7);
	return p;
}
/* Makes the newest allocation larger where it lies; false: there is no room, or it is not. */
static inline bool ptx_arena_grow(struct ptx_arena *a, void *p, size_t size, size_t more)
{
	if ((char *)p + size != a->at || more > (size_t)(a->end - a->at) || more % 8)
		return false;
	a->at += more;
	return true;
}
void ptx_arena_free(struct ptx_arena *a);

#endif
