/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts, streams, events, kernels, stacks, operations.  See objects.h. */
#include "objects.h"
#include "names.h"
#include "../interposer/cuabi.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void krt_objects_init(struct krt_objects *o, struct krt_heap *heap, struct krt_order *order)
{
	memset(o, 0, sizeof(*o));
	o->heap = heap;
	o->order = order;
}

/* --- operations -------------------------------------------------------------- */

struct krt_op_info *krt_op_new(struct krt_objects *o, const struct krt_call *c,
			       struct krt_stream_info *s, enum krt_op_class class)
{
	struct krt_op_info *op = krt_heap_alloc(o->heap, sizeof(*op));

	if (!op)
		return NULL;
	op->refs = 1;
	op->api = c->rec->api;
	op->class = class;
	op->seq = c->rec->t0;
	op->stack = c->rec->stack;
	op->range = c->range;
	op->stream = s;
	if (s) {
		s->refs++;
		op->ctx = s->ctx;
		op->external = s->external || s->external_own;
	}
	return op;
}

void krt_op_ref(struct krt_op_info *op)
{
	op->refs++;
}

static void stream_put(struct krt_heap *heap, struct krt_stream_info *s)
{
	if (--s->refs)
		return;
	krt_heap_freestr(heap, s->name);
	krt_heap_free(heap, s, sizeof(*s));
}

void krt_op_unref(struct krt_heap *heap, struct krt_op_info *op)
{
	if (--op->refs)
		return;
	if (op->stream)
		stream_put(heap, op->stream);
	krt_heap_free(heap, op, sizeof(*op));
}

krt_domain krt_op_domain(const struct krt_op_info *op)
{
	return op->stamp.domain;
}

uint64_t krt_op_epoch(const struct krt_op_info *op)
{
	return op->stamp.epoch;
}

bool krt_op_external(const struct krt_op_info *op)
{
	return op->external;
}

/* --- contexts ---------------------------------------------------------------- */

struct krt_context_info *krt_context_make(struct krt_objects *o, uint64_t handle, uint32_t device)
{
	struct krt_heap *heap = o->heap;
	struct krt_context_info *c, *old;

	HASH_FIND(hh, o->contexts, &handle, sizeof(handle), old);
	if (old)
		krt_context_end(o, old);
	if (!krt_heap_grow(heap, &o->all_contexts, &o->contexts_cap, o->ncontexts,
			   sizeof(*o->all_contexts)))
		return NULL;
	c = krt_heap_alloc(heap, sizeof(*c));
	if (!c)
		return NULL;
	c->handle = handle;
	c->device = device;
	c->id = krt_order_context(o->order, device);
	c->number = handle ? ++o->contexts_made : 0;
	o->all_contexts[o->ncontexts++] = c;
	if (!c->id)
		return NULL;
	HASH_ADD(hh, o->contexts, handle, sizeof(c->handle), c);
	return heap->failed ? NULL : c;
}

static struct krt_described *described(struct krt_described *table, uint64_t handle)
{
	struct krt_described *d;

	HASH_FIND(hh, table, &handle, sizeof(handle), d);
	return d;
}

struct krt_context_info *krt_context_get(struct krt_objects *o, uint64_t handle)
{
	struct krt_described *d;
	struct krt_context_info *c;

	HASH_FIND(hh, o->contexts, &handle, sizeof(handle), c);
	if (c)
		return c;
	d = described(o->described_contexts, handle);
	c = krt_context_make(o, handle, d ? d->device : 0);
	if (c && d) {
		c->known = true;
		c->flags = d->flags;
		c->primary = d->primary;
	}
	return c;
}

static struct krt_described *describe(struct krt_objects *o, struct krt_described **table,
				      uint64_t handle)
{
	struct krt_heap *heap = o->heap;
	struct krt_described *d = described(*table, handle);

	if (d)
		return d;
	d = krt_heap_alloc(heap, sizeof(*d));
	if (!d)
		return NULL;
	d->handle = handle;
	HASH_ADD(hh, *table, handle, sizeof(d->handle), d);
	if (d->hh.tbl)
		return d;
	krt_heap_free(heap, d, sizeof(*d));
	return NULL;
}

void krt_context_describe(struct krt_objects *o, const struct krt_rec_context *r)
{
	struct krt_described *d = describe(o, &o->described_contexts, r->ctx);
	struct krt_context_info *c;

	if (!d)
		return;
	d->device = (uint32_t)r->device;
	d->flags = r->flags;
	d->primary = r->primary != 0;
	HASH_FIND(hh, o->contexts, &d->handle, sizeof(d->handle), c);
	if (!c)
		return;
	if (!c->known && c->device != d->device) {
		/* guessed before it was described: begun anew, as nothing can rest on it yet */
		krt_context_end(o, c);
		krt_context_get(o, d->handle);
		return;
	}
	c->known = true;
	c->flags = d->flags;
	c->primary |= d->primary;
}

void krt_stream_describe(struct krt_objects *o, const struct krt_rec_stream *r)
{
	struct krt_described *d =
		r->stream > 2 ? describe(o, &o->described_streams, r->stream) : NULL;

	if (!d)
		return;
	d->ctx = r->ctx;
	d->flags = r->flags;
}

/* An alias is a second entry with the same ordering context. */
bool krt_context_alias(struct krt_objects *o, uint64_t handle, struct krt_context_info *c)
{
	struct krt_heap *heap = o->heap;
	struct krt_context_info *a, *old;

	HASH_FIND(hh, o->contexts, &handle, sizeof(handle), old);
	if (old == c)
		return true;
	if (old)
		HASH_DELETE(hh, o->contexts, old);
	if (!krt_heap_grow(heap, &o->all_contexts, &o->contexts_cap, o->ncontexts,
			   sizeof(*o->all_contexts)))
		return false;
	a = krt_heap_alloc(heap, sizeof(*a));
	if (!a)
		return false;
	*a = *c;
	memset(&a->hh, 0, sizeof(a->hh));
	a->handle = handle;
	o->all_contexts[o->ncontexts++] = a;
	HASH_ADD(hh, o->contexts, handle, sizeof(a->handle), a);
	return !heap->failed;
}

void krt_context_end(struct krt_objects *o, struct krt_context_info *c)
{
	struct krt_heap *heap = o->heap;
	struct krt_stream_entry *e, *tmp;

	HASH_ITER (hh, o->streams, e, tmp) {
		struct krt_stream_info *s = e->stream;

		if (s->ctx != c)
			continue;
		HASH_DEL(o->streams, e);
		if (s->domain)
			krt_order_stream_end(o->order, s->domain);
		s->ended = true;
		stream_put(heap, s);
		krt_heap_free(heap, e, sizeof(*e));
	}
	HASH_DELETE(hh, o->contexts, c);
	c->legacy = NULL;
	c->ended = true;
	krt_order_context_end(o->order, c->id);
}

/* --- streams ----------------------------------------------------------------- */

static struct krt_stream_entry *stream_entry(struct krt_objects *o, uint64_t handle, uint64_t ctx,
					     uint64_t thread)
{
	struct krt_stream_entry *e, want;

	memset(&want, 0, sizeof(want));
	want.key.handle = handle;
	want.key.ctx = ctx;
	want.key.thread = thread;
	HASH_FIND(hh, o->streams, &want.key, sizeof(want.key), e);
	return e;
}

static void stream_remove(struct krt_objects *o, struct krt_stream_entry *e)
{
	struct krt_heap *heap = o->heap;
	struct krt_stream_info *s = e->stream;

	HASH_DEL(o->streams, e);
	if (s->domain)
		krt_order_stream_end(o->order, s->domain);
	s->ended = true;
	stream_put(heap, s);
	krt_heap_free(heap, e, sizeof(*e));
}

static struct krt_stream_info *stream_add(struct krt_objects *o, uint64_t handle, uint64_t ctx_key,
					  uint64_t thread, struct krt_context_info *ctx,
					  enum krt_stream_kind kind)
{
	struct krt_heap *heap = o->heap;
	struct krt_stream_info *s = krt_heap_alloc(heap, sizeof(*s));
	struct krt_stream_entry *e;

	if (!s)
		return NULL;
	s->refs = 1;
	s->handle = handle;
	s->thread = thread;
	s->ctx = ctx;
	s->kind = kind;
	s->domain = krt_order_stream(o->order, ctx->id, kind);
	s->number = kind == KRT_STREAM_LEGACY || thread ? 0 : ++o->streams_made;
	e = s->domain ? krt_heap_alloc(heap, sizeof(*e)) : NULL;
	if (!e) {
		heap->failed = true;
		krt_heap_free(heap, s, sizeof(*s));
		return NULL;
	}
	e->key.handle = handle;
	e->key.ctx = ctx_key;
	e->key.thread = thread;
	e->stream = s;
	HASH_ADD(hh, o->streams, key, sizeof(e->key), e);
	if (!e->hh.tbl) { /* no memory for the table */
		krt_heap_free(heap, e, sizeof(*e));
		krt_heap_free(heap, s, sizeof(*s));
		return NULL;
	}
	return s;
}

struct krt_stream_info *krt_stream_make(struct krt_objects *o, uint64_t handle,
					struct krt_context_info *ctx, enum krt_stream_kind kind)
{
	struct krt_stream_entry *e = stream_entry(o, handle, 0, 0);

	if (e)
		stream_remove(o, e);
	return stream_add(o, handle, 0, 0, ctx, kind);
}

struct krt_stream_info *krt_stream_find(struct krt_objects *o, uint64_t handle)
{
	struct krt_stream_entry *e = stream_entry(o, handle, 0, 0);

	return e ? e->stream : NULL;
}

void krt_stream_end(struct krt_objects *o, uint64_t handle)
{
	struct krt_stream_entry *e = stream_entry(o, handle, 0, 0);

	if (e)
		stream_remove(o, e);
}

void krt_stream_unref(struct krt_objects *o, struct krt_stream_info *s)
{
	stream_put(o->heap, s);
}

struct krt_stream_info *krt_stream_get(struct krt_objects *o, uint64_t handle,
				       struct krt_context_info *ctx, uint64_t thread,
				       bool per_thread)
{
	struct krt_described *d;
	struct krt_stream_entry *e;

	if (handle == 2 || (!handle && per_thread)) {
		e = stream_entry(o, 2, ctx->handle, thread + 1);
		return e ? e->stream
			 : stream_add(o, 2, ctx->handle, thread + 1, ctx, KRT_STREAM_BLOCKING);
	}
	if (handle <= 1) {
		if (ctx->legacy)
			return ctx->legacy;
		/* an alias of the context shares its legacy stream through the ordering module only
		 */
		e = stream_entry(o, 1, ctx->handle, 0);
		ctx->legacy =
			e ? e->stream : stream_add(o, 1, ctx->handle, 0, ctx, KRT_STREAM_LEGACY);
		return ctx->legacy;
	}
	e = stream_entry(o, handle, 0, 0);
	if (e)
		return e->stream;
	/* Made before our eyes opened: what the driver says of it was recorded; else assume the
	 * usual. */
	d = described(o->described_streams, handle);
	if (d) {
		ctx = krt_context_get(o, d->ctx);
		if (!ctx)
			return NULL;
	}
	return stream_add(o, handle, 0, 0, ctx,
			  d && d->flags & CU_STREAM_NON_BLOCKING ? KRT_STREAM_NON_BLOCKING
								 : KRT_STREAM_BLOCKING);
}

void krt_stream_name(struct krt_objects *o, struct krt_stream_info *s, char *name)
{
	krt_heap_freestr(o->heap, s->name);
	s->name = name;
	s->namesake = false;
	for (const struct krt_stream_entry *e = o->streams; name && e; e = e->hh.next) {
		struct krt_stream_info *t = e->stream;

		if (t != s && t->name && !strcmp(t->name, name))
			s->namesake = t->namesake = true;
	}
}

const char *krt_stream_text(const struct krt_stream_info *s, char *buf, size_t len)
{
	if (!s)
		snprintf(buf, len, "host");
	else if (s->name)
		snprintf(buf, len, s->namesake ? "stream \"%s\" (%u)" : "stream \"%s\"", s->name,
			 s->number);
	else if (s->kind == KRT_STREAM_LEGACY)
		snprintf(buf, len,
			 s->ctx->number > 1 ? "legacy stream of context %u" : "legacy stream",
			 s->ctx->number);
	else if (s->thread)
		snprintf(buf, len, "per-thread stream of thread %" PRIu64, s->thread - 1);
	else
		snprintf(buf, len, "stream %u (0x%" PRIx64 ")", s->number, s->handle);
	return buf;
}

void krt_waits_note(struct krt_wait_memory *w, krt_domain of, struct krt_origin wait,
		    struct krt_origin record)
{
	unsigned at = 0;

	while (at < w->count && w->last[at].of != of)
		at++;
	if (at == w->count) {
		if (w->count < KRT_WAITS)
			w->count++;
		else
			at--;
	}
	memmove(&w->last[1], &w->last[0], at * sizeof(w->last[0]));
	w->last[0].of = of;
	w->last[0].wait = wait;
	w->last[0].record = record;
}

/* --- events ------------------------------------------------------------------ */

static void lost_drop(struct krt_objects *o, struct krt_event_info *ev, unsigned i)
{
	krt_op_unref(o->heap, ev->lost[i].op);
	krt_snapshot_unref(o->order, ev->lost[i].covered);
	for (ev->nlost--; i < ev->nlost; i++)
		ev->lost[i] = ev->lost[i + 1];
}

void krt_event_found(struct krt_objects *o, struct krt_event_info *ev,
		     const struct krt_snapshot *snap)
{
	for (unsigned i = ev->nlost; i-- > 0;)
		if (!snap || krt_snapshot_covers(snap, ev->lost[i].covered))
			lost_drop(o, ev, i);
}

void krt_event_lose(struct krt_event_info *ev)
{
	if (ev->nlost == KRT_LOST_MAX)
		return;
	krt_op_ref(ev->record_op);
	ev->lost[ev->nlost++] =
		(struct krt_lost){ev->record_op, krt_snapshot_ref(ev->record)};
}

static void event_clear(struct krt_objects *o, struct krt_event_info *ev)
{
	if (ev->record)
		krt_snapshot_unref(o->order, ev->record);
	if (ev->record_op)
		krt_op_unref(o->heap, ev->record_op);
	ev->record = NULL;
	ev->record_op = NULL;
	ev->record_seq = 0;
	ev->record_domain = 0;
	if (ev->captured_op)
		krt_op_unref(o->heap, ev->captured_op);
	ev->captured_op = NULL;
	ev->bound = ev->external = ev->captured_broken = false;
	ev->capture = 0;
}

static void event_free(struct krt_objects *o, struct krt_event_info *ev)
{
	event_clear(o, ev);
	krt_event_found(o, ev, NULL);
	if (ev->failed)
		krt_op_unref(o->heap, ev->failed);
	krt_heap_freestr(o->heap, ev->name);
	krt_heap_free(o->heap, ev, sizeof(*ev));
}

struct krt_event_info *krt_event_get(struct krt_objects *o, uint64_t handle, bool make)
{
	struct krt_heap *heap = o->heap;
	struct krt_event_info *ev;

	HASH_FIND(hh, o->events, &handle, sizeof(handle), ev);
	if (ev || !make)
		return ev;
	ev = krt_heap_alloc(heap, sizeof(*ev));
	if (!ev)
		return NULL;
	ev->handle = handle;
	HASH_ADD(hh, o->events, handle, sizeof(ev->handle), ev);
	if (!ev->hh.tbl) {
		krt_heap_free(heap, ev, sizeof(*ev));
		return NULL;
	}
	return ev;
}

struct krt_origin krt_event_record(const struct krt_event_info *ev)
{
	return (struct krt_origin){.api = ev->record_op ? ev->record_op->api : 0,
				   .stack = ev->record_op ? ev->record_op->stack : 0,
				   .seq = ev->record_seq};
}

struct krt_event_info *krt_event_make(struct krt_objects *o, uint64_t handle)
{
	struct krt_event_info *ev;

	krt_event_end(o, handle);
	ev = krt_event_get(o, handle, true);
	if (ev)
		ev->known = true;
	return ev;
}

void krt_event_end(struct krt_objects *o, uint64_t handle)
{
	struct krt_heap *heap = o->heap;
	struct krt_event_info *ev;

	HASH_FIND(hh, o->events, &handle, sizeof(handle), ev);
	if (!ev)
		return;
	HASH_DELETE(hh, o->events, ev);
	event_free(o, ev);
}

void krt_event_set(struct krt_objects *o, struct krt_event_info *ev, struct krt_snapshot *snap,
		   struct krt_op_info *op)
{
	event_clear(o, ev);
	ev->record = snap;
	if (op) {
		krt_op_ref(op);
		ev->record_op = op;
		ev->record_seq = op->seq;
		ev->record_domain = op->stream ? op->stream->domain : 0;
	}
	if (ev->failed) { /* a good record makes up for a failed one */
		krt_op_unref(o->heap, ev->failed);
		ev->failed = NULL;
	}
}

/* --- kernels, stacks, modules ------------------------------------------------ */

void krt_kernel_record(struct krt_objects *o, const struct krt_rec_kernel *r, size_t len)
{
	struct krt_heap *heap = o->heap;
	struct krt_kernel_info *k;
	uint32_t n = len >= sizeof(*r) ? r->nparams : 0;
	size_t at;

	if (len < sizeof(*r))
		return;
	if (n == KRT_PARAMS_UNKNOWN)
		n = 0;
	at = sizeof(*r) + (size_t)n * sizeof(struct krt_param);
	if (at > len || r->name_len > len - at || krt_kernel_get(o, r->id))
		return;
	k = krt_heap_alloc(heap, sizeof(*k));
	if (!k)
		return;
	k->id = r->id;
	k->nparams = r->nparams;
	k->bytes = r->bytes;
	k->func = r->func;
	k->module = r->module;
	k->param = krt_heap_alloc(heap, n * sizeof(*k->param));
	k->name = krt_heap_strndup(heap, (const char *)r + at,
				   strnlen((const char *)r + at, r->name_len));
	if (k->param && n)
		memcpy(k->param, r->param, n * sizeof(*k->param));
	if (k->param && k->name)
		HASH_ADD(hh, o->kernels, id, sizeof(k->id), k);
	if (k->hh.tbl)
		return;
	krt_heap_free(heap, k->param, n * sizeof(*k->param));
	krt_heap_freestr(heap, k->name);
	krt_heap_free(heap, k, sizeof(*k));
}

struct krt_kernel_info *krt_kernel_get(const struct krt_objects *o, uint32_t id)
{
	struct krt_kernel_info *k;

	HASH_FIND(hh, o->kernels, &id, sizeof(id), k);
	return k;
}

static void stack_free(struct krt_heap *heap, struct krt_stack_info *s)
{
	krt_heap_free(heap, s->pc, s->depth * 8u);
	krt_heap_free(heap, s->frame, s->python * sizeof(*s->frame));
	krt_heap_free(heap, s, sizeof(*s));
}

void krt_stack_record(struct krt_objects *o, const struct krt_rec_stack *r, size_t len)
{
	struct krt_heap *heap = o->heap;
	struct krt_stack_info *s;
	size_t room;

	if (len < sizeof(*r) || r->depth > (len - sizeof(*r)) / 8 || krt_stack_get(o, r->id))
		return;
	room = (len - sizeof(*r) - r->depth * 8u) / sizeof(*s->frame);
	s = krt_heap_alloc(heap, sizeof(*s));
	if (!s)
		return;
	s->id = r->id;
	s->depth = r->depth;
	s->python = r->python <= room ? r->python : 0;
	s->modules = o->nmodules;
	s->pc = krt_heap_alloc(heap, r->depth * 8u);
	s->frame = krt_heap_alloc(heap, s->python * sizeof(*s->frame));
	if (s->pc && s->frame) {
		memcpy(s->pc, r->pc, r->depth * 8u);
		memcpy(s->frame, r->pc + r->depth, s->python * sizeof(*s->frame));
		HASH_ADD(hh, o->stacks, id, sizeof(s->id), s);
	}
	if (!s->hh.tbl)
		stack_free(heap, s);
}

static void code_free(struct krt_heap *heap, struct krt_code_info *c)
{
	krt_heap_free(heap, c->lines, c->lines_len);
	krt_heap_freestr(heap, c->file);
	krt_heap_freestr(heap, c->name);
	krt_heap_free(heap, c, sizeof(*c));
}

void krt_code_record(struct krt_objects *o, const struct krt_rec_code *r, size_t len)
{
	size_t room = len >= sizeof(*r) ? len - sizeof(*r) : 0;
	struct krt_heap *heap = o->heap;
	const char *file, *name;
	struct krt_code_info *c;

	if (len < sizeof(*r) || r->lines_len > room ||
	    (size_t)r->file_len + r->name_len > room - r->lines_len || krt_code_get(o, r->id))
		return;
	c = krt_heap_alloc(heap, sizeof(*c));
	if (!c)
		return;
	file = r->data + r->lines_len;
	name = file + r->file_len;
	c->id = r->id;
	c->first_line = r->first_line;
	c->lines_kind = r->lines;
	c->lines_len = r->lines_len;
	c->lines = krt_heap_alloc(heap, c->lines_len);
	c->file = krt_heap_strndup(heap, file, strnlen(file, r->file_len));
	c->name = krt_heap_strndup(heap, name, strnlen(name, r->name_len));
	if (c->lines && c->file && c->name) {
		memcpy(c->lines, r->data, c->lines_len);
		HASH_ADD(hh, o->codes, id, sizeof(c->id), c);
	}
	if (!c->hh.tbl)
		code_free(heap, c);
}

const struct krt_code_info *krt_code_get(const struct krt_objects *o, uint32_t id)
{
	struct krt_code_info *c;

	HASH_FIND(hh, o->codes, &id, sizeof(id), c);
	return c;
}

void krt_string_record(struct krt_objects *o, const struct krt_rec_string *r, size_t len)
{
	struct krt_heap *heap = o->heap;
	struct krt_string_info *s;

	if (len < sizeof(*r) || r->len > len - sizeof(*r) || !r->id || krt_string_get(o, r->id) ||
	    HASH_COUNT(o->strings) >= KRT_STRINGS_MAX)
		return;
	s = krt_heap_alloc(heap, sizeof(*s));
	if (!s)
		return;
	s->id = r->id;
	s->text = krt_heap_strndup(heap, r->text, strnlen(r->text, r->len));
	if (s->text)
		HASH_ADD(hh, o->strings, id, sizeof(s->id), s);
	if (s->hh.tbl)
		return;
	krt_heap_freestr(heap, s->text);
	krt_heap_free(heap, s, sizeof(*s));
}

const char *krt_string_get(const struct krt_objects *o, uint32_t id)
{
	struct krt_string_info *s;

	HASH_FIND(hh, o->strings, &id, sizeof(id), s);
	return s ? s->text : NULL;
}

struct krt_stack_info *krt_stack_get(const struct krt_objects *o, uint32_t id)
{
	struct krt_stack_info *s;

	HASH_FIND(hh, o->stacks, &id, sizeof(id), s);
	return s;
}

void krt_module_record(struct krt_objects *o, const struct krt_rec_module *r, size_t len)
{
	struct krt_module_info *m;

	if (len < sizeof(*r) || r->path_len > len - sizeof(*r))
		return;
	if (!krt_heap_grow(o->heap, &o->modules, &o->modules_cap, o->nmodules, sizeof(*m)))
		return;
	m = &o->modules[o->nmodules];
	m->base = r->base;
	m->end = r->end;
	m->bias = r->bias;
	m->role = r->role;
	m->path = krt_heap_strndup(o->heap, r->path, strnlen(r->path, r->path_len));
	if (m->path)
		o->nmodules++;
}

/* The last one before the stack wins: an address may be mapped again. */
const struct krt_module_info *krt_module_at(const struct krt_objects *o, const struct krt_stack_info *s, uint64_t pc)
{
	for (uint32_t i = s->modules; i--;)
		if (pc >= o->modules[i].base && pc < o->modules[i].end)
			return &o->modules[i];
	return NULL;
}

void krt_objects_free(struct krt_objects *o)
{
	struct krt_heap *heap = o->heap;
	struct krt_stream_entry *e, *etmp;
	struct krt_event_info *ev, *evtmp;
	struct krt_kernel_info *k, *ktmp;
	struct krt_string_info *text, *ttmp;
	struct krt_stack_info *s, *stmp;
	struct krt_code_info *c, *ctmp;
	struct krt_described *d, *dtmp;

	HASH_ITER (hh, o->described_contexts, d, dtmp) {
		HASH_DELETE(hh, o->described_contexts, d);
		krt_heap_free(heap, d, sizeof(*d));
	}
	HASH_ITER (hh, o->described_streams, d, dtmp) {
		HASH_DELETE(hh, o->described_streams, d);
		krt_heap_free(heap, d, sizeof(*d));
	}
	HASH_ITER (hh, o->events, ev, evtmp) {
		HASH_DELETE(hh, o->events, ev);
		event_free(o, ev);
	}
	HASH_ITER (hh, o->streams, e, etmp) {
		HASH_DEL(o->streams, e);
		stream_put(heap, e->stream);
		krt_heap_free(heap, e, sizeof(*e));
	}
	HASH_ITER (hh, o->kernels, k, ktmp) {
		uint32_t n = k->nparams == KRT_PARAMS_UNKNOWN ? 0 : k->nparams;

		HASH_DELETE(hh, o->kernels, k);
		krt_heap_free(heap, k->param, n * sizeof(*k->param));
		if (k->names)
			krt_heap_free(heap, k->names, n * sizeof(*k->names));
		krt_heap_freestr(heap, k->name);
		krt_heap_free(heap, k, sizeof(*k));
	}
	HASH_ITER (hh, o->strings, text, ttmp) {
		HASH_DELETE(hh, o->strings, text);
		krt_heap_freestr(heap, text->text);
		krt_heap_free(heap, text, sizeof(*text));
	}
	HASH_ITER (hh, o->stacks, s, stmp) {
		HASH_DELETE(hh, o->stacks, s);
		stack_free(heap, s);
	}
	HASH_ITER (hh, o->codes, c, ctmp) {
		HASH_DELETE(hh, o->codes, c);
		code_free(heap, c);
	}
	HASH_CLEAR(hh, o->contexts);
	for (uint32_t i = 0; i < o->ncontexts; i++)
		krt_heap_free(heap, o->all_contexts[i], sizeof(*o->all_contexts[i]));
	krt_heap_free(heap, o->all_contexts, o->contexts_cap * sizeof(*o->all_contexts));
	for (uint32_t i = 0; i < o->nmodules; i++)
		krt_heap_freestr(heap, o->modules[i].path);
	krt_heap_free(heap, o->modules, o->modules_cap * sizeof(*o->modules));
}
