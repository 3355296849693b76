/* SPDX-License-Identifier: Apache-2.0 */
/* Arena of a PTX module; see arena.h. */
#define _GNU_SOURCE
#include "arena.h"
#include <stdlib.h>
#include <sys/mman.h>

struct ptx_chunk {
	struct ptx_chunk *next;
	size_t mapped; /* bytes of the mapping; 0: from the heap.  Keeps data 16-byte aligned. */
	char data[];
};

#define CHUNK_MIN ((size_t)16 << 10)
#define CHUNK_MAX  ((size_t)256 << 10)
#define MAPPED_MIN ((size_t)128 << 10)

/*
 * Large chunks are mapped with their pages: nearly all of them is used, and a fault for
 * each page would be a third of an analysis.
 */
static struct ptx_chunk *new_chunk(size_t size)
{
	struct ptx_chunk *c;

	if (size < MAPPED_MIN)
		return calloc(1, size);
	c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
		 0);
	if (c == MAP_FAILED)
		return NULL;
	c->mapped = size;
	return c;
}

static void free_chunk(struct ptx_chunk *c)
{
	if (c->mapped)
		munmap(c, c->mapped);
	else
		free(c);
}

void ptx_arena_init(struct ptx_arena *a, size_t limit)
{
	*a = (struct ptx_arena){ .limit = limit };
}

void *ptx_arena_more(struct ptx_arena *a, size_t size)
{
	struct ptx_chunk *c;
	size_t want;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	want = a->total / 2;
	if (want < CHUNK_MIN)
		want = CHUNK_MIN;
	if (want > CHUNK_MAX)
		want = CHUNK_MAX;
	if (want < size)
		want = size;
	if (a->total + want > a->limit)
		return NULL;
	c = new_chunk(sizeof(*c) + want);
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

		free_chunk(c);
		c = next;
	}
	*a = (struct ptx_arena){ 0 };
}
