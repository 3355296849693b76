/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about call sites: a sync again and again, waits that never met a
 * record.
 *
 * A call site is the first few frames outside cudart, libcuda and the CUDA
 * libraries, and not the first alone: a program with cudart linked in has that
 * library's frames among its own, and they cannot be told apart without names.
 *
 * Rounds: how often a loop went round is read off the work sites.  Between two
 * calls of a sync site the loop has gone round as often as the busiest work site
 * was passed: a loop that launches every round and syncs every tenth has ten
 * rounds a sync, and its sync is not hot.
 */
#include "engine_int.h"

#include <stdio.h>
#include <string.h>

#define FRAMES 4

uint64_t krt_call_site(const struct krt_engine *e, uint32_t stack)
{
	struct krt_stack_info *s = stack ? krt_stack_get(&e->obj, stack) : NULL;
	uint64_t h = 14695981039346656037ull;
	unsigned n = 0;

	if (!s)
		return 0;
	if (s->site_known)
		return s->site;
	for (unsigned i = 0; i < s->depth && n < FRAMES; i++) {
		const struct krt_module_info *m = krt_module_at(&e->obj, s, s->pc[i] - 1);

		if (!n && m &&
		    (m->role == KRT_MODULE_KRTSAN || m->role == KRT_MODULE_DRIVER ||
		     m->role == KRT_MODULE_CUDA))
			continue;
		h = (h ^ s->pc[i]) * 0x100000001b3ull;
		h ^= h >> 31;
		n++;
	}
	s->site = n ? h | 1 : 0;
	s->site_known = true;
	return s->site;
}

void krt_site_work(struct krt_engine *e, const struct krt_call *c)
{
	uint64_t key = krt_call_site(e, c->rec->stack);

	e->work++;
	if (!key)
		return;
	for (unsigned i = 0; i < e->work_sites; i++)
		if (e->work_site[i] == key) {
			e->work_count[i]++;
			return;
		}
	if (e->work_sites < KRT_WORK_SITES) {
		e->work_site[e->work_sites] = key;
		e->work_count[e->work_sites++] = 1;
	}
}

void krt_site_sync(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	uint64_t key = krt_call_site(e, c->rec->stack), rounds = 1;
	struct krt_site *s;

	if (!key || !e->judge)
		return;
	key ^= c->rec->api;
	HASH_FIND(hh, e->sites, &key, sizeof(key), s);
	if (!s) {
		if (HASH_COUNT(e->sites) >= KRT_SITES_MAX)
			return;
		s = krt_heap_alloc(heap, sizeof(*s));
		if (!s)
			return;
		s->key = key;
		s->api = c->rec->api;
		s->stack = c->rec->stack;
		s->first = c->rec->t0;
		HASH_ADD(hh, e->sites, key, sizeof(s->key), s);
		if (!s->hh.tbl) {
			krt_heap_free(heap, s, sizeof(*s));
			return;
		}
	} else {
		for (unsigned i = 0; i < e->work_sites; i++)
			if (e->work_count[i] - s->seen[i] > rounds)
				rounds = e->work_count[i] - s->seen[i];
		s->rounds += rounds;
		if (e->work != s->work_before)
			s->worked++;
	}
	s->count++;
	s->work_before = e->work;
	memcpy(s->seen, e->work_count, sizeof(s->seen));
}

void krt_site_wait(struct krt_engine *e, const struct krt_call *c, const struct krt_event_info *ev,
		   bool recorded, const char *stream)
{
	struct krt_heap *heap = &e->heap;
	uint64_t key = krt_call_site(e, c->rec->stack);
	struct krt_wait_site *s;
	char text[64];

	/* what was made before us, or is recorded elsewhere, may well have a record */
	if (!recorded && (!ev->known || ev->imported))
		return;
	if (!key) /* no stacks: an event of its own is the best site there is */
		key = ev->handle;
	key ^= (uint64_t)c->op << 56;
	HASH_FIND(hh, e->wait_sites, &key, sizeof(key), s);
	if (!s) {
		if (!e->judge || HASH_COUNT(e->wait_sites) >= KRT_SITES_MAX)
			return;
		s = krt_heap_alloc(heap, sizeof(*s));
		if (!s)
			return;
		s->key = key;
		HASH_ADD(hh, e->wait_sites, key, sizeof(s->key), s);
		if (!s->hh.tbl) {
			krt_heap_free(heap, s, sizeof(*s));
			return;
		}
	}
	s->total++;
	if (recorded)
		return;
	if (!s->unrecorded++) {
		s->api = c->rec->api;
		s->stack = c->rec->stack;
		s->seq = c->rec->t0;
		if (ev->name)
			snprintf(text, sizeof(text), "event \"%.48s\"", ev->name);
		else
			snprintf(text, sizeof(text), "event 0x%llx",
				 (unsigned long long)ev->handle);
		s->event = krt_heap_strdup(heap, text);
		s->stream = krt_heap_strdup(heap, stream);
	}
}

static void site_finding(struct krt_engine *e, struct krt_facts *f, unsigned api, uint32_t stack)
{
	struct krt_finding shape;

	memset(&shape, 0, sizeof(shape));
	f->confidence = KRT_CERTAIN;
	f->view = KRT_BOTH_VIEWS;
	f->cur.api = krt_api[api].base;
	shape.current.what = f->cur.what;
	shape.current.api = f->cur.api;
	shape.current.stream = f->cur.stream;
	shape.current.sequence = f->cur.seq;
	shape.current.stack_id = stack;
	shape.current.knowledge = "api";
	krt_find(e, f, &shape, 0);
}

void krt_sites_finish(struct krt_engine *e)
{
	for (struct krt_site *s = e->sites; s; s = s->hh.next) {
		struct krt_facts f = {.rule = KRT_RULE_PERF_SYNC_HOT};

		if (s->count < e->cfg.hot_min || s->worked + 1 < e->cfg.hot_min ||
		    s->worked * 2 < s->rounds)
			continue;
		f.cur.what = "sync";
		f.cur.stream = "host";
		f.cur.seq = s->first;
		f.times = s->count;
		f.rounds = s->rounds + 1;
		site_finding(e, &f, s->api, s->stack);
	}
	for (struct krt_wait_site *s = e->wait_sites; s; s = s->hh.next) {
		struct krt_facts f = {.rule = KRT_RULE_EVENT_UNRECORDED};

		if (!s->unrecorded || s->unrecorded != s->total || !s->event || !s->stream)
			continue;
		f.cur.what = "wait";
		f.cur.stream = s->stream;
		f.cur.seq = s->seq;
		f.event = s->event;
		f.times = s->total;
		site_finding(e, &f, s->api, s->stack);
	}
}

void krt_sites_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_site *s, *stmp;
	struct krt_wait_site *w, *wtmp;

	HASH_ITER (hh, e->sites, s, stmp) {
		HASH_DELETE(hh, e->sites, s);
		krt_heap_free(heap, s, sizeof(*s));
	}
	HASH_ITER (hh, e->wait_sites, w, wtmp) {
		HASH_DELETE(hh, e->wait_sites, w);
		krt_heap_freestr(heap, w->stream);
		krt_heap_freestr(heap, w->event);
		krt_heap_free(heap, w, sizeof(*w));
	}
}
