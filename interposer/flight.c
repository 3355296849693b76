/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations in flight that use host memory, and when the host knows that they
 * are over (host.h).
 *
 * The ordering module of the engine is fed here with the same calls, in the order
 * of tickets taken under krt_host_lock: streams, events, contexts, waits.  An
 * operation that names pinned, registered or managed memory is a flight, kept on
 * its stream in order of age, until the documented view orders it before the host.
 * What is not followed (value waits, semaphores, other processes' events) adds no
 * order: such a flight stays until a plain wait covers it.
 *
 * A stream is known by krt_stream_key(); one whose birth was not seen counts as
 * non-blocking in a context of its own, which gives it the least order.
 */
#include "flight.h"
#include "lane.h"
#include "graphs.h"
#include "heap.h"
#include "objects.h"

#include "../analyzer/order.h"
#include "../analyzer/semantics.h"

#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <stddef.h>
#include <string.h>

/* ---- memory of the ordering module: powers of two, over mapped chunks ---- */

#define CLASSES 17 /* 16 bytes to 1 MiB */
#define CHUNK   (1u << 20)
static void *free_list[CLASSES];
static char *chunk;
static size_t chunk_left;

static unsigned class_of(size_t size)
{
	unsigned c = 0;

	while ((size_t)16 << c < size)
		c++;
	return c;
}

static void *order_alloc(void *user, size_t size)
{
	unsigned c = class_of(size);
	size_t n = (size_t)16 << c;
	void *p;

	(void)user;
	if (c >= CLASSES)
		return krt_map(size);
	p = free_list[c];
	if (p) {
		free_list[c] = *(void **)p;
		return p;
	}
	if (chunk_left < n) {
		char *more = krt_map(CHUNK);

		if (!more)
			return NULL;
		chunk = more;
		chunk_left = CHUNK;
	}
	p = chunk;
	chunk += n;
	chunk_left -= n;
	return p;
}

static void order_free(void *user, void *p, size_t size)
{
	unsigned c = class_of(size);

	(void)user;
	if (!p)
		return;
	if (c >= CLASSES) {
		krt_unmap(p, size);
		return;
	}
	*(void **)p = free_list[c];
	free_list[c] = p;
}

/* ---- tables ---- */

/* Open addressing, key to number + 1; key 0 is none, keys are mixed by the caller's hash. */
struct map {
	struct {
		uint64_t key;
		uint64_t value;
	} *slot;
	uint32_t size, used;
};

static uint32_t slot_of(const struct map *m, uint64_t key)
{
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (m->size - 1);

	while (m->slot[i].key && m->slot[i].key != key)
		i = (i + 1) & (m->size - 1);
	return i;
}

static uint64_t map_get(const struct map *m, uint64_t key)
{
	return m->size && key ? m->slot[slot_of(m, key)].value : 0;
}

static bool map_put(struct map *m, uint64_t key, uint64_t value)
{
	if (m->used * 4 >= m->size * 3) {
		struct map bigger = { .size = m->size ? m->size * 2 : 256 };

		bigger.slot = krt_map(bigger.size * sizeof *bigger.slot);
		if (!bigger.slot)
			return false;
		for (uint32_t i = 0; i < m->size; i++)
			if (m->slot[i].key)
				bigger.slot[slot_of(&bigger, m->slot[i].key)] = m->slot[i];
		bigger.used = m->used;
		if (m->slot)
			krt_unmap(m->slot, m->size * sizeof *m->slot);
		*m = bigger;
	}
	uint32_t i = slot_of(m, key);

	m->used += !m->slot[i].key;
	m->slot[i].key = key;
	m->slot[i].value = value;
	return true;
}

static void map_del(struct map *m, uint64_t key)
{
	uint32_t i, k;

	if (!m->size || !key)
		return;
	i = slot_of(m, key);
	if (!m->slot[i].key)
		return;
	m->used--;
	for (k = (i + 1) & (m->size - 1); m->slot[k].key; k = (k + 1) & (m->size - 1)) {
		uint32_t home = (uint32_t)(m->slot[k].key * 0x9e3779b97f4a7c15ull >> 32) & (m->size - 1);

		if (((k - home) & (m->size - 1)) >= ((k - i) & (m->size - 1))) {
			m->slot[i] = m->slot[k];
			i = k;
		}
	}
	m->slot[i].key = m->slot[i].value = 0;
}

/* ---- state, all under krt_host_lock ---- */

static struct krt_order *order;
static struct map contexts; /* handle -> krt_context */
static struct map streams;  /* key -> struct stream */
static struct map events;   /* handle -> snapshot */
static struct map tokens;   /* of krtsan_order_release -> snapshot */
static struct map execs;    /* holder -> struct hold, a list */

struct stream {
	struct stream *next; /* of all, with flights; or free */
	uint64_t key;
	krt_domain domain;
	struct krt_flight *first, *last; /* oldest first */
	bool listed;
};
static struct stream *busy; /* with flights */
static struct stream *free_streams;
static struct krt_flight *free_flights;
static struct krt_flight_range *free_ranges;
static struct krt_flight *finished; /* by the call in hand, until krt_flight_pages */
static struct krt_flight *begun;    /* whose pages are not closed yet */

static unsigned hostfns; /* host functions in flight */

/* Found by the call in hand: sources that changed before their upload was known to be over. */
#define SOURCES 64
static struct changed {
	uint64_t addr, len, upload;
	const struct stream *stream;
} source[SOURCES];
static unsigned nsources;

struct hold {
	struct hold *next;
	uint64_t lo, hi, node;
	enum krt_guard_use use;
};
static struct hold *free_holds;

/* One from a free list, or a new one. */
static void *take(void *list, size_t size)
{
	void **head = list, *p = *head;

	if (p)
		*head = *(void **)p;
	else
		p = krt_alloc(size);
	if (p)
		memset(p, 0, size);
	return p;
}

static void give(void *list, void *p)
{
	void **head = list;

	*(void **)p = *head;
	*head = p;
}

static krt_context context_of(uint64_t handle)
{
	uint64_t key = handle + 1, c = map_get(&contexts, key);

	if (!c) {
		c = krt_order_context(order, 0);
		if (c && !map_put(&contexts, key, c))
			c = 0;
	}
	return (krt_context)c;
}

static struct stream *stream_make(uint64_t key, krt_context ctx, enum krt_stream_kind kind)
{
	struct stream *s = take(&free_streams, sizeof *s);

	if (!s)
		return NULL;
	s->key = key;
	s->domain = ctx ? krt_order_stream(order, ctx, kind) : 0;
	if (!s->domain || !map_put(&streams, key, (uintptr_t)s)) {
		give(&free_streams, s);
		return NULL;
	}
	return s;
}

/* The stream that a call works on. */
static struct stream *stream_of(const struct krt_call *c, uint64_t handle)
{
	uint64_t key = krt_stream_key(c, handle);
	struct stream *s = (struct stream *)(uintptr_t)map_get(&streams, key);
	bool thread = handle == 2 || (!handle && (krt_api[c->api].flags & KRT_F_PT));

	if (s)
		return s;
	if (handle > 2) /* born unseen: see above */
		return stream_make(key, krt_order_context(order, 0), KRT_STREAM_NON_BLOCKING);
	return stream_make(key, context_of(c->rec ? c->rec->ctx : 0), thread ? KRT_STREAM_BLOCKING : KRT_STREAM_LEGACY);
}

static void stream_end(struct stream *s)
{
	krt_order_stream_end(order, s->domain);
	map_del(&streams, s->key);
	s->key = 0;
	if (!s->first && !s->listed)
		give(&free_streams, s);
}

bool krt_flight_open(void)
{
	static const struct krt_order_mem mem = { .alloc = order_alloc, .free = order_free };

	if (!order)
		order = krt_order_new(&mem);
	return order != NULL;
}

/* ---- flights ---- */

static void flight_free(struct krt_flight *f)
{
	while (f->ranges) {
		struct krt_flight_range *r = f->ranges;

		f->ranges = r->next;
		give(&free_ranges, r);
	}
	give(&free_flights, f);
}

/* Room for an operation of the stream; it is kept if it turns out to use host memory. */
static struct krt_flight *flight_begin(const struct krt_call *c, struct stream *s, struct krt_stamp stamp)
{
	struct krt_flight *f = take(&free_flights, sizeof *f);

	if (!f)
		return NULL;
	f->stamp = stamp;
	f->t0 = c->rec->t0;
	f->stream = s;
	f->batch = krt_api[c->api].op == KRT_OP_COPY_BATCH || krt_api[c->api].op == KRT_OP_COPY_3D_BATCH;
	f->hostfn = krt_api[c->api].op == KRT_OP_HOST_FUNC;
	return f;
}

static void range_add(struct krt_flight *f, const struct krt_host_range *in, uint64_t lo, uint64_t hi,
		      enum krt_guard_use use)
{
	struct krt_flight_range *r;
	enum krt_host_account why;
	uint64_t from, to;

	lo = lo > in->base ? lo : in->base;
	hi = hi < in->end ? hi : in->end;
	if (lo >= hi)
		return;
	r = take(&free_ranges, sizeof *r);
	if (!r) {
		krt_host_account(KRT_ACCOUNT_ROOM, hi - lo);
		return;
	}
	*r = (struct krt_flight_range){ .next = f->ranges, .lo = lo, .hi = hi, .use = (uint8_t)(use & ~KRT_GUARD_GAPS),
					.gaps = use & KRT_GUARD_GAPS, .readonly = in->readonly, .t0 = f->t0, .stream = f->stream };
	f->ranges = r;
	if (!krt_guarding())
		return;
	r->page_lo = lo;
	r->page_hi = hi;
	why = krt_host_pages(in, &r->page_lo, &r->page_hi);
	from = lo > r->page_lo ? lo : r->page_lo;
	to = hi < r->page_hi ? hi : r->page_hi;
	krt_host_account(why, hi - lo - (to > from ? to - from : 0));
}

static void range_find(struct krt_flight *f, uint64_t lo, uint64_t hi, enum krt_guard_use use)
{
	const struct krt_host_range *in;

	for (uint64_t at = lo; at < hi && (in = krt_host_from(at)) && in->base < hi; at = in->end) {
		if (in->shift)
			range_find(f, (lo > in->base ? lo : in->base) + (uint64_t)in->shift,
				   (hi < in->end ? hi : in->end) + (uint64_t)in->shift, use);
		else
			range_add(f, in, lo, hi, use);
	}
}

/* ---- ranges by address ---- */

static struct krt_span *readers, *writers; /* all that are in flight */
static struct krt_span *sources;           /* with a sum; equal ones are one */

#define OF_AT(s)     ((struct krt_flight_range *)(void *)((char *)(s) - offsetof(struct krt_flight_range, at)))
#define OF_SOURCE(s) ((struct krt_flight_range *)(void *)((char *)(s) - offsetof(struct krt_flight_range, source)))

static struct krt_span **tree_of(const struct krt_flight_range *r)
{
	return r->use == KRT_GUARD_READS ? &readers : &writers;
}

static void source_list(struct krt_flight_range *r)
{
	r->source.lo = r->lo;
	r->source.hi = r->hi;
	r->equal = r->equal_before = NULL;
	for (struct krt_span *s = NULL; (s = krt_span_next(sources, r->lo, r->lo + 1, s));) {
		struct krt_flight_range *first = OF_SOURCE(s);

		if (first->lo != r->lo || first->hi != r->hi || first->sum != r->sum)
			continue;
		r->equal_before = first;
		r->equal = first->equal;
		if (r->equal)
			r->equal->equal_before = r;
		first->equal = r;
		return;
	}
	krt_span_insert(&sources, &r->source);
}

static void source_unlist(struct krt_flight_range *r)
{
	if (!r->summed)
		return;
	r->summed = false;
	if (r->equal)
		r->equal->equal_before = r->equal_before;
	if (r->equal_before) {
		r->equal_before->equal = r->equal;
		return;
	}
	krt_span_remove(&sources, &r->source);
	if (r->equal) {
		r->equal->source.lo = r->lo;
		r->equal->source.hi = r->hi;
		krt_span_insert(&sources, &r->equal->source);
	}
}

static void range_list(struct krt_flight_range *r)
{
	r->at.lo = r->lo;
	r->at.hi = r->hi;
	r->listed = true;
	krt_span_insert(tree_of(r), &r->at);
}

static void range_unlist(struct krt_flight_range *r)
{
	source_unlist(r);
	if (r->listed)
		krt_span_remove(tree_of(r), &r->at);
	r->listed = false;
}

/*
 * An upload is told unless a younger one of its stream read the same bytes: that one
 * stands for it.  told: how many of source[] there were before this lot.
 */
static void changed(struct krt_flight_range *r, unsigned told)
{
	source_unlist(r);
	for (unsigned i = told; i < nsources; i++)
		if (source[i].stream == r->stream)
			return;
	if (nsources < SOURCES)
		source[nsources++] = (struct changed){
			.addr = r->lo, .len = r->hi - r->lo, .upload = r->t0, .stream = r->stream
		};
}

/* Has the source changed since it and its equals were called?  Told once, the youngest first. */
static bool compare(struct krt_flight_range *one)
{
	unsigned told = nsources;
	uint64_t now;

	if (!krt_checksum(one->lo, one->hi - one->lo, &now) || now == one->sum)
		return false;
	while (one->equal_before)
		one = one->equal_before;
	while (one->equal) /* behind the first, which is the oldest, they get older */
		changed(one->equal, told);
	changed(one, told);
	return true;
}

static void compare_sources(const struct krt_flight *f)
{
	for (struct krt_flight_range *r = f->ranges; r; r = r->next) {
		if (r->summed)
			compare(r);
		range_unlist(r);
	}
}

/*
 * A new operation finds the bytes as they are now: were they the same for those in
 * flight?  What it may write itself is no longer the CPU's doing.
 */
static void compare_others(uint64_t lo, uint64_t hi, bool written)
{
	struct krt_span *s = krt_span_next(sources, lo, hi, NULL), *next;

	for (; s; s = next) {
		struct krt_flight_range *r = OF_SOURCE(s), *equal;

		next = krt_span_next(sources, lo, hi, s);
		if (compare(r))
			continue;
		for (; r && written; r = equal) {
			equal = r->equal;
			source_unlist(r);
		}
	}
}

/*
 * host=checksum: the sums of what an upload reads, where nothing that is on its way
 * may write it first; host functions write what they please.
 */
static void sum_sources(struct krt_flight *f)
{
	if (f->hostfn)
		compare_others(0, UINT64_MAX, true);
	for (struct krt_flight_range *r = f->ranges; r; r = r->next) {
		compare_others(r->lo, r->hi, r->use != KRT_GUARD_READS);
		if (r->use != KRT_GUARD_READS)
			continue;
		if (hostfns || krt_flight_meets(r->lo, r->hi, true))
			krt_host_account(KRT_ACCOUNT_EARLIER, r->hi - r->lo);
		else if (r->gaps)
			krt_host_account(KRT_ACCOUNT_GAPS, r->hi - r->lo);
		else if (krt_checksum(r->lo, r->hi - r->lo, &r->sum))
			r->summed = true;
		if (r->summed)
			source_list(r);
		if (r->summed)
			krt_host_account(KRT_ACCOUNT_WATCHED, r->hi - r->lo);
	}
}

/* Pageable memory that a batch goes on to read after the call. */
static void pageable(struct krt_flight *f, uint64_t lo, uint64_t hi)
{
	const struct krt_host_range none = { .base = lo, .end = hi, .kind = KRT_HOST_REGISTERED },
				    *next = krt_host_from(lo);

	if (!next || next->base >= hi)
		range_add(f, &none, lo, hi, KRT_GUARD_READS);
}

/* Of the program's heap or stack; where it is not sure, it is not. */
static bool is_pageable(uint64_t lo, uint64_t hi)
{
	const struct krt_host_range *r = krt_host_from(lo);
	char byte;

	return (!r || r->base >= hi) && !krt_heap_is_device(lo, hi) && krt_read(lo, &byte, 1) == 1;
}

static void operand(void *user, uint64_t base, uint64_t len, unsigned how)
{
	struct krt_flight *f = user;

	if (f->batch && !(how & (KRT_OPERAND_TAKEN | KRT_OPERAND_WRITTEN)) && !krt_guarding() &&
	    !krt_heap_is_device(base, base + len))
		pageable(f, base, base + len);
	if (krt_guarding() && (how & KRT_OPERAND_WRITTEN || f->batch) &&
	    !(how & (KRT_OPERAND_TAKEN | KRT_OPERAND_DEVICE)) && is_pageable(base, base + len))
		krt_host_account(KRT_ACCOUNT_PAGEABLE, len);
	if (!(how & KRT_OPERAND_TAKEN))
		range_find(user, base, base + len, (how & KRT_OPERAND_WRITTEN ? KRT_GUARD_WRITES : KRT_GUARD_READS) |
						   (how & KRT_OPERAND_GAPS ? KRT_GUARD_GAPS : 0));
}

/* Into the stream's list and, with its pages, into what krt_flight_pages does. */
static void flight_keep(struct krt_flight *f)
{
	struct stream *s = f->stream;

	if (s->last)
		s->last->next = f;
	else
		s->first = f;
	s->last = f;
	if (!s->listed) {
		s->listed = true;
		s->next = busy;
		busy = s;
	}
	f->next_begun = begun;
	begun = f;
	for (struct krt_flight_range *r = f->ranges; r; r = r->next)
		range_list(r);
}

static void drop_begun(struct krt_flight *f)
{
	for (struct krt_flight **p = &begun; *p; p = &(*p)->next_begun)
		if (*p == f) {
			*p = f->next_begun;
			f->fresh = true; /* its pages were never closed */
			return;
		}
}

/* What the host knows to be over goes from the streams to `finished`. */
static void collect(void)
{
	for (struct stream **p = &busy; *p;) {
		struct stream *s = *p;

		while (s->first && krt_order_before_host(order, KRT_VIEW_DOC, s->first->stamp)) {
			struct krt_flight *f = s->first;

			s->first = f->next;
			if (!s->first)
				s->last = NULL;
			drop_begun(f);
			hostfns -= f->hostfn;
			compare_sources(f);
			f->next = finished;
			finished = f;
		}
		if (s->first) {
			p = &s->next;
			continue;
		}
		*p = s->next;
		s->listed = false;
		if (!s->key)
			give(&free_streams, s);
	}
}

bool krt_flight_meets(uint64_t lo, uint64_t hi, bool written_only)
{
	return krt_span_next(writers, lo, hi, NULL) || (!written_only && krt_span_next(readers, lo, hi, NULL));
}

/* ---- parameters of launches ---- */

/*
 * Calls fn for each allocation that a word points into: managed ones; pinned ones
 * only where sums are taken, which the kernel may spoil.  Pages of pinned memory that
 * a kernel and the CPU have in common stay open: they may well talk to each other.
 */
static void words(const void *bytes, size_t len, void (*fn)(void *user, const struct krt_host_range *r), void *user)
{
	for (size_t at = 0; at + 8 <= len; at += 8) {
		const struct krt_host_range *r;
		uint64_t word;

		memcpy(&word, (const char *)bytes + at, 8);
		r = krt_host_from(word);
		if (r && r->base <= word && (r->kind == KRT_HOST_MANAGED || !krt_guarding()))
			fn(user, r);
	}
}

static void name(void *user, const struct krt_host_range *r)
{
	struct krt_call *c = user;
	unsigned i;

	for (i = 0; i < c->nnamed && c->named[i] != r->base; i++)
		;
	if (i == KRT_NAMED)
		krt_host_account(KRT_ACCOUNT_ROOM, r->end - r->base);
	else if (i == c->nnamed)
		c->named[c->nnamed++] = r->base;
}

void krt_flight_words(struct krt_call *c, const void *bytes, size_t len)
{
	if ((krt_guarding() && !krt_host_any_managed()) || !krt_host_lock())
		return;
	words(bytes, len, name, c);
	krt_host_unlock();
}

/* Each allocation that the parameters named, whole. */
static void named_ranges(struct krt_flight *f, const struct krt_call *c)
{
	for (unsigned i = 0; i < c->nnamed; i++) {
		const struct krt_host_range *r = krt_host_from(c->named[i]);

		if (r && r->base == c->named[i])
			range_find(f, r->base, r->end, KRT_GUARD_MAY_WRITE);
	}
}

/* ---- graphs ---- */

static void hold(uint64_t lo, uint64_t hi, uint64_t holder, uint64_t node, enum krt_guard_use use)
{
	struct hold *h = take(&free_holds, sizeof *h);

	if (!h) {
		krt_host_account(KRT_ACCOUNT_ROOM, hi - lo);
		return;
	}
	*h = (struct hold){ .next = (struct hold *)(uintptr_t)map_get(&execs, holder), .lo = lo, .hi = hi,
			    .node = node, .use = use };
	if (!map_put(&execs, holder, (uintptr_t)h))
		give(&free_holds, h);
}

void krt_flight_hold(uint64_t base, uint64_t len, uint64_t holder, uint64_t node, enum krt_guard_use use)
{
	if (!(holder & 1) || !krt_host_lock()) /* executables alone are launched */
		return;
	hold(base, base + len, holder, node, use);
	krt_host_unlock();
}

struct holder {
	uint64_t holder, node;
};

static void hold_managed(void *user, const struct krt_host_range *r)
{
	const struct holder *h = user;

	hold(r->base, r->end, h->holder, h->node, KRT_GUARD_MAY_WRITE);
}

void krt_flight_hold_words(const void *bytes, size_t len, uint64_t holder, uint64_t node)
{
	if (!(holder & 1) || (krt_guarding() && !krt_host_any_managed()) || !krt_host_lock())
		return;
	words(bytes, len, hold_managed, &(struct holder){ .holder = holder, .node = node });
	krt_host_unlock();
}

void krt_flight_release(uint64_t holder, uint64_t node)
{
	struct hold *h, *kept = NULL;

	if (!(holder & 1) || !krt_host_lock())
		return;
	h = (struct hold *)(uintptr_t)map_get(&execs, holder);
	while (h) {
		struct hold *next = h->next;

		if (node && h->node != node) {
			h->next = kept;
			kept = h;
		} else {
			give(&free_holds, h);
		}
		h = next;
	}
	if (kept)
		map_put(&execs, holder, (uintptr_t)kept);
	else
		map_del(&execs, holder);
	krt_host_unlock();
}

/* ---- calls ---- */

static void event_set(uint64_t handle, struct krt_snapshot *s)
{
	struct krt_snapshot *old = (struct krt_snapshot *)(uintptr_t)map_get(&events, handle);

	if (old)
		krt_snapshot_unref(order, old);
	if (!s)
		map_del(&events, handle);
	else if (!map_put(&events, handle, (uintptr_t)s))
		krt_snapshot_unref(order, s);
}

static uint64_t argument(const struct krt_call *c, enum krt_role role)
{
	const struct krt_api *a = &krt_api[c->api];

	for (unsigned i = 0; i < a->argc; i++)
		if (a->arg[i].role == role)
			return a->arg[i].width >= 8 ? c->args[i]
						    : c->args[i] & ((1ull << a->arg[i].width * 8) - 1);
	return 0;
}

/* The handle or address that the call gave out. */
static uint64_t given(const struct krt_call *c)
{
	uint64_t p = argument(c, KRT_ROLE_OUT_HANDLE);

	p = p ? p : argument(c, KRT_ROLE_OUT_ADDR);
	return p ? *(const uint64_t *)p : 0;
}

static bool captured(const struct krt_call *c, uint64_t stream)
{
	return krt_captures_now() && krt_stream_captures(stream, krt_api[c->api].flags & KRT_F_PT);
}

static enum krt_sem_mem kind_of(uint64_t addr, bool device)
{
	const struct krt_host_range *r = krt_host_from(addr);

	if (r && r->base <= addr)
		return r->kind == KRT_HOST_MANAGED ? KRT_SEM_MEM_MANAGED : KRT_SEM_MEM_PINNED;
	return device ? KRT_SEM_MEM_DEVICE : KRT_SEM_MEM_PAGEABLE;
}

/* The least that the sides of a synchronous copy say of what it waits for. */
struct sides {
	enum krt_sem_mem side[2]; /* source, destination */
	uint64_t bytes;
};

static void side(void *user, uint64_t base, uint64_t len, unsigned how)
{
	struct sides *s = user;

	s->side[how & KRT_OPERAND_WRITTEN] = kind_of(base, how & KRT_OPERAND_DEVICE);
	s->bytes = len;
}

static enum krt_sem_id row_of(const struct krt_call *c)
{
	const struct krt_api *a = &krt_api[c->api];
	struct sides s = { .side = { KRT_SEM_MEM_DEVICE, KRT_SEM_MEM_DEVICE } };
	bool async = a->flags & KRT_F_ASYNC;

	switch ((enum krt_op)a->op) {
	case KRT_OP_COPY:
	case KRT_OP_COPY_ARRAY:
	case KRT_OP_COPY_2D:
	case KRT_OP_COPY_3D:
	case KRT_OP_COPY_PEER:
	case KRT_OP_COPY_3D_PEER:
		krt_host_operands(c, side, &s);
		/* an address that nobody knows, without a word on what it is: device memory, which waits least */
		if (!(a->flags & (KRT_F_SRC_HOST | KRT_F_SRC_DEV | KRT_F_SRC_ARR)) && s.side[0] == KRT_SEM_MEM_PAGEABLE)
			s.side[0] = KRT_SEM_MEM_DEVICE;
		if (!(a->flags & (KRT_F_DST_HOST | KRT_F_DST_DEV | KRT_F_DST_ARR)) && s.side[1] == KRT_SEM_MEM_PAGEABLE)
			s.side[1] = KRT_SEM_MEM_DEVICE;
		return krt_sem_copy(async,
				    a->op == KRT_OP_COPY_PEER || a->op == KRT_OP_COPY_3D_PEER ? KRT_SEM_PEER :
												KRT_SEM_NO_PEER,
				    s.side[1], s.side[0], s.bytes, false);
	case KRT_OP_SET:
	case KRT_OP_SET_2D:
		krt_host_operands(c, side, &s);
		return krt_sem_set(async, s.side[1] == KRT_SEM_MEM_PAGEABLE ? KRT_SEM_MEM_DEVICE : s.side[1], false);
	default:
		return krt_sem_of_op(a->op);
	}
}

static void graph_ranges(struct krt_flight *f, uint64_t exec)
{
	const struct hold *h = (const struct hold *)(uintptr_t)map_get(&execs, exec | 1);

	for (; h; h = h->next) {
		range_find(f, h->lo, h->hi, h->use);
		f->hostfn |= h->lo == h->hi;
	}
}

/* An operation on a stream. */
static void enqueued(const struct krt_call *c, uint64_t handle)
{
	unsigned op = krt_api[c->api].op, edge = krt_semantics(krt_sem_table, row_of(c))->edge[KRT_VIEW_DOC];
	struct stream *s = stream_of(c, handle);
	struct krt_snapshot *before = NULL;
	struct krt_stamp stamp;
	struct krt_flight *f;

	if (!s)
		return;
	if (KRT_EDGE_HAS(edge, KRT_EDGE_EARLIER))
		before = krt_order_record(order, s->domain);
	stamp = krt_order_begin(order, s->domain);
	f = flight_begin(c, s, stamp);
	if (f && krt_op_copies(op))
		krt_host_operands(c, operand, f);
	else if (f && op == KRT_OP_GRAPH_LAUNCH)
		graph_ranges(f, c->args[0]);
	else if (f)
		named_ranges(f, c);
	if (f && !krt_guarding())
		sum_sources(f);
	hostfns += f && f->hostfn;
	if (f && (f->ranges || f->hostfn))
		flight_keep(f);
	else if (f)
		flight_free(f);
	if (before) {
		krt_order_host_join(order, before, KRT_IN_BOTH);
		krt_snapshot_unref(order, before);
	}
	if (KRT_EDGE_HAS(edge, KRT_EDGE_OP))
		krt_order_host_join_stamp(order, stamp, KRT_IN_BOTH);
	if (before || KRT_EDGE_HAS(edge, KRT_EDGE_OP))
		collect();
}

static void memory_call(const struct krt_call *c)
{
	switch ((enum krt_op)krt_api[c->api].op) {
	case KRT_OP_HOST_ALLOC:
		krt_host_born(given(c), argument(c, KRT_ROLE_BYTES), KRT_HOST_PINNED);
		break;
	case KRT_OP_HOST_REGISTER:
		krt_host_born(argument(c, KRT_ROLE_ADDR), argument(c, KRT_ROLE_BYTES), KRT_HOST_REGISTERED);
		break;
	case KRT_OP_HOST_DEVPTR:
		krt_host_alias(argument(c, KRT_ROLE_ADDR), given(c));
		break;
	case KRT_OP_ALLOC_MANAGED:
		krt_host_born(given(c), argument(c, KRT_ROLE_BYTES), KRT_HOST_MANAGED);
		break;
	default:
		break;
	}
}

static void event_known(const struct krt_call *c)
{
	struct krt_snapshot *snap = (struct krt_snapshot *)(uintptr_t)map_get(&events, argument(c, KRT_ROLE_EVENT));

	if (snap)
		krt_order_host_join(order, snap, KRT_IN_BOTH);
	collect();
}

/* Everything that makes order or uses memory; the call succeeded. */
static void follow(const struct krt_call *c)
{
	unsigned op = krt_api[c->api].op;
	uint64_t handle, event = argument(c, KRT_ROLE_EVENT);
	bool has = krt_call_stream(c, &handle);
	struct krt_snapshot *snap;
	struct stream *s;

	switch ((enum krt_op)op) {
	case KRT_OP_STREAM_CREATE:
	case KRT_OP_GREEN_STREAM:
		stream_make(given(c), context_of(c->rec->ctx),
			    argument(c, KRT_ROLE_FLAGS) & 1 ? KRT_STREAM_NON_BLOCKING : KRT_STREAM_BLOCKING);
		break;
	case KRT_OP_STREAM_DESTROY:
		s = (struct stream *)(uintptr_t)map_get(&streams, handle);
		if (s)
			stream_end(s);
		break;
	case KRT_OP_EVENT_RECORD:
		s = captured(c, handle) ? NULL : stream_of(c, handle);
		event_set(event, s ? krt_order_record(order, s->domain) : NULL);
		break;
	case KRT_OP_CTX_RECORD:
		event_set(event, krt_order_record_context(order, context_of(argument(c, KRT_ROLE_CTX))));
		break;
	case KRT_OP_EVENT_DESTROY:
		event_set(event, NULL);
		break;
	case KRT_OP_STREAM_WAIT_EVENT:
		snap = (struct krt_snapshot *)(uintptr_t)map_get(&events, event);
		s = snap && !captured(c, handle) ? stream_of(c, handle) : NULL;
		if (s)
			krt_order_wait(order, s->domain, snap, KRT_IN_BOTH);
		break;
	case KRT_OP_CTX_WAIT:
		snap = (struct krt_snapshot *)(uintptr_t)map_get(&events, event);
		if (snap)
			krt_order_wait_context(order, context_of(argument(c, KRT_ROLE_CTX)), snap, KRT_IN_BOTH);
		break;
	case KRT_OP_EVENT_SYNC:
	case KRT_OP_EVENT_QUERY:
		event_known(c);
		break;
	case KRT_OP_STREAM_SYNC:
	case KRT_OP_STREAM_QUERY:
		s = stream_of(c, handle);
		if (s)
			krt_order_host_join_stream(order, s->domain, KRT_IN_BOTH);
		collect();
		break;
	case KRT_OP_CTX_SYNC:
		krt_order_host_join_context(order, context_of(argument(c, KRT_ROLE_CTX) ? argument(c, KRT_ROLE_CTX)
											: c->rec->ctx),
					    KRT_IN_BOTH);
		collect();
		break;
	case KRT_OP_HOST_ALLOC:
	case KRT_OP_HOST_REGISTER:
	case KRT_OP_HOST_DEVPTR:
	case KRT_OP_ALLOC_MANAGED:
		memory_call(c);
		break;
	default:
		if (krt_op_copies(op) || op == KRT_OP_LAUNCH || op == KRT_OP_LAUNCH_EX || op == KRT_OP_LAUNCH_LEGACY ||
		    op == KRT_OP_GRAPH_LAUNCH || op == KRT_OP_HOST_FUNC)
			if (!has || !captured(c, handle))
				enqueued(c, handle);
		break;
	}
}

static void ranges_end(struct krt_span **tree, uint64_t lo, uint64_t hi)
{
	struct krt_span *s;

	while ((s = krt_span_next(*tree, lo, hi, NULL))) {
		struct krt_flight_range *r = OF_AT(s);

		range_unlist(r);
		r->lo = r->hi = r->page_lo = r->page_hi = 0;
	}
}

/* Memory that ends: what uses it is still in flight, but no longer of interest. */
static void memory_ends(uint64_t lo, uint64_t hi)
{
	krt_guard_drop(lo, hi);
	ranges_end(&readers, lo, hi);
	ranges_end(&writers, lo, hi);
}

void krt_flight_before(const struct krt_call *c)
{
	uint64_t addr = argument(c, KRT_ROLE_ADDR);
	const struct krt_host_range *r;
	bool all = false;

	switch ((enum krt_op)krt_api[c->api].op) {
	case KRT_OP_FREE:
	case KRT_OP_HOST_FREE:
	case KRT_OP_HOST_UNREGISTER:
		break;
	case KRT_OP_CTX_DESTROY: /* whose memory it was is not known here */
	case KRT_OP_PRIMARY_RELEASE:
	case KRT_OP_PRIMARY_RESET:
		all = true;
		break;
	default:
		return;
	}
	if (!krt_host_lock())
		return;
	if (all) {
		memory_ends(0, UINT64_MAX);
		if (krt_api[c->api].op != KRT_OP_PRIMARY_RELEASE)
			krt_host_forget();
	} else if ((r = krt_host_from(addr)) && r->base == addr) {
		memory_ends(addr, r->end);
		krt_host_gone(addr);
	}
	krt_host_unlock();
}

void krt_host_exempt(uint64_t lo, uint64_t len, bool on)
{
	uint64_t hi = lo + len < lo ? UINT64_MAX : lo + len;

	if (!len || !krt_host_lock())
		return;
	krt_host_set_exempt(lo, hi, on);
	if (on && krt_guard_near(lo, hi)) {
		krt_host_account(KRT_ACCOUNT_KERNEL, krt_guard_bytes(lo, hi));
		memory_ends(lo, hi);
	}
	krt_host_unlock();
}

void krt_host_unmapped(uint64_t lo, uint64_t hi)
{
	if ((krt_guarding() && !krt_guard_near(lo, hi)) || !krt_host_lock())
		return;
	memory_ends(lo, hi);
	krt_host_unlock();
}

void krt_flight_note(const struct krt_call *c)
{
	uint64_t token = argument(c, KRT_ROLE_TOKEN), handle = argument(c, KRT_ROLE_STREAM);
	bool host = handle == UINT64_MAX /* KRTSAN_HOST */, release = krt_api[c->api].op == KRT_OP_NOTE_ORDER_RELEASE;
	struct krt_snapshot *old, *now;
	struct stream *s;

	if (!c->rec || !krt_host_lock())
		return;
	krt_order_at(order, c->rec->t0, krt_ticket());
	old = (struct krt_snapshot *)(uintptr_t)map_get(&tokens, token);
	s = host ? NULL : stream_of(c, handle);
	if (release) {
		now = host ? krt_order_record_host(order) : s ? krt_order_record(order, s->domain) : NULL;
		if (now && old) {
			struct krt_snapshot *both = krt_snapshot_join(order, old, now);

			krt_snapshot_unref(order, now);
			now = both;
			if (now)
				krt_snapshot_unref(order, old);
		}
		if (now && !map_put(&tokens, token, (uintptr_t)now))
			krt_snapshot_unref(order, now);
	} else if (old && host) {
		krt_order_host_join(order, old, KRT_IN_BOTH);
		collect();
	} else if (old && s) {
		krt_order_wait(order, s->domain, old, KRT_IN_BOTH);
	}
	krt_host_unlock();
}

void krt_flight_after(struct krt_call *c, int result)
{
	struct changed told[SOURCES];
	unsigned n = 0;

	if (!result && c->rec && krt_host_lock()) {
		krt_order_at(order, c->rec->t0, krt_ticket());
		follow(c);
		n = nsources;
		nsources = 0;
		memcpy(told, source, n * sizeof *told);
		krt_host_unlock();
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t args[] = { told[i].addr, told[i].len, told[i].upload };

		krt_record_within(c, KRT_API_cpu_changed, args);
	}
}

void krt_flight_pages(void)
{
	if (!finished && !begun && !krt_guard_lent())
		return;
	if (!krt_host_lock())
		return;
	krt_guard_take_back();
	if (begun && krt_guarding())
		krt_signals_check();
	for (struct krt_flight *f = begun; f; f = f->next_begun)
		for (struct krt_flight_range *r = f->ranges; r; r = r->next)
			krt_guard_add(r->page_lo, r->page_hi, r->use, r->readonly);
	begun = NULL;
	while (finished) {
		struct krt_flight *f = finished;

		finished = f->next;
		for (struct krt_flight_range *r = f->fresh ? NULL : f->ranges; r; r = r->next)
			krt_guard_remove(r->page_lo, r->page_hi, r->use);
		flight_free(f);
	}
	krt_guard_apply();
	krt_host_unlock();
}
