/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the simulated driver's own objects.  The program's heap is left
 * alone: what the program's next malloc returns must not depend on us, and a
 * checker that watches free() need not see ours.  Size classes over mapped
 * chunks; large blocks are mapped.  Own lock, innermost.
 */
#include "sim.h"

#include <sys/mman.h>

#define NCLASS 12 /* 32 bytes ... 64 KiB */
#define HDR    16

struct hdr {
	uint64_t cls; /* class, or size of the mapping */
	uint64_t magic;
};

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static void *freelist[NCLASS];
static char *chunk;
static size_t chunk_left;

static void *map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *sim_alloc(size_t n)
{
	unsigned c = 0;
	size_t sz = 32;
	struct hdr *h;

	if (n > SIZE_MAX / 2)
		return NULL;
	while (c < NCLASS && sz < n + HDR) {
		sz <<= 1;
		c++;
	}
	if (c == NCLASS) {
		sz = (n + HDR + 4095) & ~(size_t)4095;
		h = map(sz);
		if (!h)
			return NULL;
		h->cls = sz;
		return (char *)h + HDR;
	}
	pthread_mutex_lock(&heap_lock);
	h = freelist[c];
	if (h) {
		freelist[c] = *(void **)((char *)h + HDR);
	} else {
		if (chunk_left < sz) {
			chunk_left = 1 << 20;
			chunk = map(chunk_left);
			if (!chunk)
				chunk_left = 0;
		}
		if (chunk_left >= sz) {
			h = (struct hdr *)chunk;
			chunk += sz;
			chunk_left -= sz;
		}
	}
	pthread_mutex_unlock(&heap_lock);
	if (!h)
		return NULL;
	h->cls = c;
	memset((char *)h + HDR, 0, sz - HDR);
	return (char *)h + HDR;
}

void sim_free(void *p)
{
	struct hdr *h;

	if (!p)
		return;
	h = (struct hdr *)((char *)p - HDR);
	if (h->cls >= NCLASS) {
		sim_munmap(h, h->cls);
		return;
	}
	pthread_mutex_lock(&heap_lock);
	*(void **)p = freelist[h->cls];
	freelist[h->cls] = h;
	pthread_mutex_unlock(&heap_lock);
}

void *sim_grow(void *p, size_t old, size_t n)
{
	void *q = sim_alloc(n);

	if (q && p) {
		memcpy(q, p, old < n ? old : n);
		sim_free(p);
	}
	return q;
}

/* ---- live handles: open addressing, so that any value may be asked for ---- */

struct slot {
	const void *p;
	enum sim_kind kind;
};

static struct slot *slots;
static size_t nslots, used, dead;
#define GONE ((const void *)1)

static size_t hash(const void *p)
{
	return (size_t)(((uint64_t)p >> 4) * 0x9e3779b97f4a7c15ull >> 20);
}

void sim_handle_add(const void *p, enum sim_kind k)
{
	if ((used + dead + 1) * 2 > nslots) {
		size_t n = !nslots ? 256 : used * 4 > nslots ? nslots * 2 : nslots, old = nslots;
		struct slot *o = slots, *s = sim_alloc(n * sizeof *s);

		if (!s)
			return;
		slots = s;
		nslots = n;
		used = dead = 0;
		for (size_t i = 0; i < old; i++)
			if (o[i].p && o[i].p != GONE)
				sim_handle_add(o[i].p, o[i].kind);
		sim_free(o);
	}
	size_t i = hash(p) % nslots;

	while (slots[i].p && slots[i].p != GONE)
		i = (i + 1) % nslots;
	dead -= slots[i].p == GONE;
	slots[i] = (struct slot){p, k};
	used++;
}

static struct slot *find(const void *p)
{
	if (!nslots || !p || p == GONE)
		return NULL;
	for (size_t i = hash(p) % nslots; slots[i].p; i = (i + 1) % nslots)
		if (slots[i].p == p)
			return &slots[i];
	return NULL;
}

void sim_handle_del(const void *p)
{
	struct slot *s = find(p);

	if (s) {
		s->p = GONE;
		used--;
		dead++;
	}
}

bool sim_handle_is(const void *p, enum sim_kind k)
{
	struct slot *s = find(p);

	return s && s->kind == k;
}
