/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's memory.  See heap.h. */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

static bool refuse(struct krt_heap *h)
{
	if (++h->count == h->fail_at)
		h->failed = true;
	return h->failed;
}

void *krt_heap_alloc(struct krt_heap *h, size_t size)
{
	void *p = refuse(h) ? NULL : calloc(1, size ? size : 1);

	if (!p) {
		h->failed = true;
		return NULL;
	}
	h->used += size;
	if (h->used > h->peak)
		h->peak = h->used;
	return p;
}

void krt_heap_free(struct krt_heap *h, void *p, size_t size)
{
	if (!p)
		return;
	h->used -= size;
	free(p);
}

void *krt_heap_resize(struct krt_heap *h, void *p, size_t old_size, size_t new_size)
{
	void *q = refuse(h) ? NULL : realloc(p, new_size ? new_size : 1);

	if (!q) {
		h->failed = true;
		return NULL;
	}
	if (new_size > old_size)
		memset((char *)q + old_size, 0, new_size - old_size);
	h->used += new_size - old_size;
	if (h->used > h->peak)
		h->peak = h->used;
	return q;
}

char *krt_heap_strndup(struct krt_heap *h, const char *s, size_t n)
{
	char *p = s ? krt_heap_alloc(h, n + 1) : NULL;

	return p ? memcpy(p, s, n) : NULL;
}

char *krt_heap_strdup(struct krt_heap *h, const char *s)
{
	return s ? krt_heap_strndup(h, s, strlen(s)) : NULL;
}

void krt_heap_freestr(struct krt_heap *h, char *s)
{
	if (s)
		krt_heap_free(h, s, strlen(s) + 1);
}

bool krt_heap_grow(struct krt_heap *h, void *array, uint32_t *cap, uint32_t used, size_t size)
{
	void *p;
	uint32_t n;

	if (used < *cap)
		return true;
	n = *cap ? *cap * 2 : 4;
	memcpy(&p, array, sizeof(p));
	p = krt_heap_resize(h, p, *cap * size, n * size);
	if (!p)
		return false;
	memcpy(array, &p, sizeof(p));
	*cap = n;
	return true;
}
