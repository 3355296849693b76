/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's memory: counted, and made to fail on demand, so that a test can
 * let every single allocation fail once.  One heap an engine; not locked.
 *
 * After the first failure the heap stays failed: the engine gives up on the
 * whole run rather than go on with a hole in its knowledge.
 */
#ifndef KRT_HEAP_H
#define KRT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KRT_HEAP_SMALL 512 /* bytes of what is kept for the next of its size */
#define KRT_HEAP_STEP  16
#define KRT_HEAP_KEPT  4096 /* so many of each size */

struct krt_heap {
	size_t used, peak;     /* bytes handed out */
	unsigned long count;   /* allocations tried so far */
	unsigned long fail_at; /* the allocation with this number fails (from 1), 0: none */
	bool failed;
	bool plain; /* nothing is kept: for tools that watch every block */
	struct krt_heap_free {
		struct krt_heap_free *next;
	} *kept[KRT_HEAP_SMALL / KRT_HEAP_STEP];
	uint32_t nkept[KRT_HEAP_SMALL / KRT_HEAP_STEP];
};

/* Zeroed memory, or NULL.  The size is given back at the free: no headers. */
void *krt_heap_alloc(struct krt_heap *h, size_t size);
void krt_heap_free(struct krt_heap *h, void *p, size_t size);
/* Grows (or shrinks) p; on failure p stays as it was and NULL comes back. */
void *krt_heap_resize(struct krt_heap *h, void *p, size_t old_size, size_t new_size);
/* A string of its own; freed by krt_heap_freestr.  NULL for NULL or when memory is out. */
char *krt_heap_strdup(struct krt_heap *h, const char *s);
char *krt_heap_strndup(struct krt_heap *h, const char *s, size_t n);
void krt_heap_freestr(struct krt_heap *h, char *s);

/* What was kept goes back; nothing else may be in use. */
void krt_heap_end(struct krt_heap *h);

/*
 * Room for one more element in a growing array: *array of *cap elements of size
 * bytes, used of them in use.  False: no memory, nothing changed.
 */
bool krt_heap_grow(struct krt_heap *h, void *array, uint32_t *cap, uint32_t used, size_t size);

#endif
