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

/* Which list of kept ones; KRT_HEAP_SMALL / KRT_HEAP_STEP: none. */
static unsigned list_of(const struct krt_heap *h, size_t size)
{
	return h->plain || size > KRT_HEAP_SMALL ? KRT_HEAP_SMALL / KRT_HEAP_STEP
						 : (unsigned)((size - !!size) / KRT_HEAP_STEP);
}

/* Small ones are as long as the longest of their list. */
static size_t whole(const struct krt_heap *h, size_t size)
{
	if (h->plain || size > KRT_HEAP_SMALL)
		return size ? size : 1;
	return (list_of(h, size) + 1) * (size_t)KRT_HEAP_STEP;
}

static void used(struct krt_heap *h, size_t more)
{
	h->used += more;
	if (h->used > h->peak)
		h->peak = h->used;
}

void *krt_heap_alloc(struct krt_heap *h, size_t size)
{
	unsigned list = list_of(h, size);
	void *p = NULL;

	if (refuse(h))
		return NULL;
	if (list < KRT_HEAP_SMALL / KRT_HEAP_STEP && h->kept[list]) {
		p = h->kept[list];
		h->kept[list] = h->kept[list]->next;
		h->nkept[list]--;
		memset(p, 0, size);
	} else {
		p = calloc(1, whole(h, size));
	}
	if (!p) {
		h->failed = true;
		return NULL;
	}
	used(h, size);
	return p;
}

void krt_heap_free(struct krt_heap *h, void *p, size_t size)
{
	unsigned list = list_of(h, size);
	struct krt_heap_free *f = p;

	if (!p)
		return;
	h->used -= size;
	if (list == KRT_HEAP_SMALL / KRT_HEAP_STEP || h->nkept[list] == KRT_HEAP_KEPT) {
		free(p);
		return;
	}
	f->next = h->kept[list];
	h->kept[list] = f;
	h->nkept[list]++;
}

void krt_heap_end(struct krt_heap *h)
{
	for (unsigned i = 0; i < KRT_HEAP_SMALL / KRT_HEAP_STEP; i++)
		while (h->kept[i]) {
			struct krt_heap_free *next = h->kept[i]->next;

			free(h->kept[i]);
			h->kept[i] = next;
		}
}

void *krt_heap_resize(struct krt_heap *h, void *p, size_t old_size, size_t new_size)
{
	void *q = refuse(h) ? NULL : realloc(p, whole(h, new_size));

	if (!q) {
		h->failed = true;
		return NULL;
	}
	if (new_size > old_size)
		memset((char *)q + old_size, 0, new_size - old_size);
	used(h, new_size - old_size);
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
