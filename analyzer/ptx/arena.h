/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a module: grows only, zeroed, freed as a whole, never more than its
 * limit.  Not thread-safe.
 */
#ifndef KRT_PTX_ARENA_H
#define KRT_PTX_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct ptx_chunk;

struct ptx_arena {
	struct ptx_chunk *chunks;
	char *at, *end;
	size_t total, limit;
};

void ptx_arena_init(struct ptx_arena *a, size_t limit);
/* Zeroed, aligned to 8 bytes; NULL when memory or the limit is out. */
void *ptx_arena_alloc(struct ptx_arena *a, size_t size);
void ptx_arena_free(struct ptx_arena *a);

#endif
