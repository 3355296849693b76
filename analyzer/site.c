/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites, and waits that never met a record (KRT-EVENT-UNRECORDED).
 *
 * A call site is the first few frames outside cudart, libcuda and the CUDA
 * libraries, and not the first alone: a program with cudart linked in has that
 * library's frames among its own, and they cannot be told apart without names.
 * Of a Python program these are the same for all of its lines: the first few of
 * its Python frames count as well.
 */
#include "engine_int.h"

#include <stdio.h>
#include <string.h>

#define FRAMES 4
#define PYTHON_FRAMES 16 /* a library's own are several */

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
	for (unsigned i = 0; i < s->python && i < PYTHON_FRAMES; i++) {
		h = (h ^ s->frame[i].code ^ (uint64_t)s->frame[i].offset << 32) * 0x100000001b3ull;
		h ^= h >> 31;
		n++;
	}
	s->site = n ? h | 1 : 0;
	s->site_known = true;
	return s->site;
}

bool krt_library_site(const struct krt_engine *e, uint32_t stack)
{
	static const char runtime[] = "libcudart.";
	struct krt_stack_info *s = stack ? krt_stack_get(&e->obj, stack) : NULL;

	for (unsigned i = 0; s && i < s->depth; i++) {
		const struct krt_module_info *m = krt_module_at(&e->obj, s, s->pc[i] - 1);
		const char *name = m && m->path ? strrchr(m->path, '/') : NULL;

		if (m && (m->role == KRT_MODULE_KRTSAN || m->role == KRT_MODULE_DRIVER))
			continue;
		return m && m->role == KRT_MODULE_CUDA &&
		       strncmp(name ? name + 1 : "", runtime, sizeof(runtime) - 1);
	}
	return false;
}

bool krt_unseen_call(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stack_info *s = c->rec->stack ? krt_stack_get(&e->obj, c->rec->stack) : NULL;
	const struct krt_lane *l = krt_call_lane(e, c->lane);

	if (!s || (l && l->inside))
		return false;
	for (unsigned i = 0; i < s->depth && !s->driver_known && !s->driver; i++) {
		const struct krt_module_info *m = krt_module_at(&e->obj, s, s->pc[i] - 1);

		s->driver = m && m->role == KRT_MODULE_DRIVER;
	}
	s->driver_known = true;
	return s->driver;
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
		if (!e->judge || HASH_COUNT(e->wait_sites) >= KRT_WAIT_SITES_MAX)
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
		if (!ev->name)
			s->made = ev->made;
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

void krt_wait_sites_finish(struct krt_engine *e)
{
	for (struct krt_wait_site *s = e->wait_sites; s; s = s->hh.next) {
		struct krt_facts f = {.rule = KRT_RULE_EVENT_UNRECORDED};

		if (!s->unrecorded || s->unrecorded != s->total || !s->event || !s->stream)
			continue;
		f.cur.what = "wait";
		f.cur.stream = s->stream;
		f.cur.seq = s->seq;
		f.event = s->event;
		f.times = s->total;
		krt_mention_made(&f, &s->made, s->event);
		site_finding(e, &f, s->api, s->stack);
	}
}

void krt_wait_sites_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_wait_site *w, *tmp;

	HASH_ITER (hh, e->wait_sites, w, tmp) {
		HASH_DELETE(hh, e->wait_sites, w);
		krt_heap_freestr(heap, w->stream);
		krt_heap_freestr(heap, w->event);
		krt_heap_free(heap, w, sizeof(*w));
	}
}
