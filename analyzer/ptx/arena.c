/* SPDX-License-Identifier: Apache-2.0 */
/* Arena of a PTX module; see arena.h. */
#include "arena.h"
#include <stdlib.h>

struct ptx_chunk {
	struct ptx_chunk *next;
	size_t pad; /* keeps data 16-byte aligned */
	char data[];
};

#define CHUNK_MIN ((size_t)16 << 10)
#define CHUNK_MAX ((size_t)1 << 20)

void ptx_arena_init(struct ptx_arena *a, size_t limit)
{
	*a = (struct ptx_arena){ .limit = limit };
}

void *ptx_arena_alloc(struct ptx_arena *a, size_t size)
{
	struct ptx_chunk *c;
	size_t want;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	if (size <= (size_t)(a->end - a->at)) {
		void *p = a->at;

		a->at += size;
		return p;
	}
	want = a->total / 2;
	if (want < CHUNK_MIN)
		want = CHUNK_MIN;
	if (want > CHUNK_MAX)
		want = CHUNK_MAX;
	if (want < size)
		want = size;
	if (a->total + want > a->limit)
		return NULL;
	c = calloc(1, sizeof(*c) + want);
	if (!c)
		return NULL;
	a->total += want;
	c->next = a->chunks;
	a->chunks = c;
	/* A large block of its own must not waste what is left of the current chunk. */
	if (want == size && (size_t)(a->end - a->at) >= 256)
		return c->data;
	a->at = c->data + size;
	a->end = c->data + want;
	return c->data;
}

void ptx_arena_free(struct ptx_arena *a)
{
	struct ptx_chunk *c = a->chunks;

	while (c) {
		struct ptx_chunk *next = c->next;

		free(c);
		c = next;
	}
	*a = (struct ptx_arena){ 0 };
}
