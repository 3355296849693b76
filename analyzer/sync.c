/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts, streams, events, waits on host and device, value waits and the notes
 * that make order.
 *
 * Which calls a wait of another thread is in time for is the ordering module's
 * business (krt_order_at): here an edge is an edge.
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"

#include <stdio.h>
#include <string.h>

/* --- operations on streams ------------------------------------------------------ */

struct krt_op_info *krt_enqueue(struct krt_engine *e, const struct krt_call *c,
				struct krt_stream_info *s, enum krt_op_class class)
{
	struct krt_op_info *op = krt_op_new(&e->obj, c, s, class);

	if (op && e->cfg.nchanges)
		krt_change_before(e, c, s);
	if (op)
		e->enqueued = op->stamp = krt_order_begin(e->order, s->domain);
	if (op && e->cfg.nchanges)
		krt_change_behind(e, c, s, op->stamp);
	s->lane = c->lane;
	krt_timeline_on(e, c, s);
	return op;
}

bool krt_capturing(struct krt_engine *e, struct krt_stream_info *s)
{
	if (!s->capture)
		return false;
	e->cov.captured_calls++;
	krt_graph_captured(e, s);
	if (e->call)
		krt_timeline_on(e, e->call, s);
	return true;
}

/* --- the host's knowledge -------------------------------------------------------- */

/* The host knows what something unseen had waited for: it may be anything enqueued so far. */
static void host_knows_unseen(struct krt_engine *e)
{
	for (uint32_t i = 0; i < e->obj.ncontexts; i++)
		krt_order_host_join_context(e->order, e->obj.all_contexts[i]->id, KRT_IN_BOTH);
}

/* What the host has seen complete has had its waits satisfied. */
static void settle_external(struct krt_engine *e, struct krt_stream_info *s)
{
	uint32_t n = 0;

	if (s->external || s->external_own)
		host_knows_unseen(e);
	s->external = s->external_own = false;
	for (uint32_t i = 0; i < e->value_waits; i++) {
		if (e->value_wait[i].stream == s)
			krt_stream_unref(&e->obj, s);
		else
			e->value_wait[n++] = e->value_wait[i];
	}
	e->value_waits = n;
}

bool krt_host_edge(struct krt_engine *e, const struct krt_call *c, enum krt_sem_id sem,
		   struct krt_stream_info *s, const struct krt_op_info *op,
		   const struct krt_snapshot *before, struct krt_context_info *ctx)
{
	unsigned all = krt_sem_views(e->semantics, sem, KRT_EDGE_ALL);
	unsigned device = krt_sem_views(e->semantics, sem, KRT_EDGE_DEVICE) & ~all;
	unsigned context = krt_sem_views(e->semantics, sem, KRT_EDGE_CONTEXT) & ~(all | device);
	unsigned blocking = krt_sem_views(e->semantics, sem, KRT_EDGE_BLOCKING) & ~(all | device | context);
	unsigned stream =
		krt_sem_views(e->semantics, sem, KRT_EDGE_STREAM) & ~(all | device | context | blocking);
	unsigned own =
		krt_sem_views(e->semantics, sem, KRT_EDGE_OP) & ~(all | device | context | blocking | stream);
	unsigned earlier = krt_sem_views(e->semantics, sem, KRT_EDGE_EARLIER) &
			   ~(all | device | context | blocking | stream | own);

	bool added = false;

	for (uint32_t i = 0; all && i < e->obj.ncontexts; i++)
		added |= krt_order_host_join_context(e->order, e->obj.all_contexts[i]->id, all);
	if (device && ctx)
		added |= krt_order_host_join_device(e->order, ctx->device, device);
	if (context && ctx) {
		added |= krt_order_host_join_context(e->order, ctx->id, context);
		/* of a primary context also its green contexts */
		for (uint32_t i = 0; i < e->obj.ncontexts && !ctx->green; i++) {
			const struct krt_context_info *k = e->obj.all_contexts[i];

			if (k->green && k->device == ctx->device)
				added |= krt_order_host_join_context(e->order, k->id, context);
		}
	}
	if (blocking && s) {
		added |= krt_order_host_join_stream(e->order, s->domain, blocking);
		for (struct krt_stream_entry *k = e->obj.streams; k; k = k->hh.next)
			if (k->stream->ctx->id == s->ctx->id &&
			    k->stream->kind == KRT_STREAM_BLOCKING)
				added |= krt_order_host_join_stream(e->order, k->stream->domain, blocking);
	}
	if (stream && s)
		added |= krt_order_host_join_stream(e->order, s->domain, stream);
	if (own && op)
		added |= krt_order_host_join_stamp(e->order, op->stamp, own);
	if (earlier && before)
		added |= krt_order_host_join(e->order, before, earlier);
	if (s && (blocking | stream | own) & KRT_IN_DOC)
		krt_waits_note(&e->host_waits, s->domain, krt_call_origin(c), krt_call_origin(c));
	krt_timeline_host(e, c, sem, s, ctx);
	return added;
}

/* --- events ------------------------------------------------------------------------ */

const char *krt_event_text(const struct krt_event_info *ev, char *buf, size_t len)
{
	if (ev->name)
		snprintf(buf, len, "event \"%s\"", ev->name);
	else
		snprintf(buf, len, "event 0x%llx", (unsigned long long)ev->handle);
	return buf;
}

void krt_event_mention(const struct krt_event_info *ev, const char *text, struct krt_facts *f)
{
	if (!ev->name)
		krt_mention_made(f, &ev->made, text);
}

void krt_mention_made(struct krt_facts *f, const struct krt_origin *made, const char *text)
{
	krt_words_mention(f, &(struct krt_mention){.sequence = made->seq,
						   .stack_id = made->stack,
						   .api = krt_api_text(made->api),
						   .thing = text});
}

void krt_mention_call(struct krt_facts *f, const struct krt_origin *o)
{
	krt_words_mention(f, &(struct krt_mention){.sequence = o->seq, .stack_id = o->stack});
}

static const char *base_of(const struct krt_op_info *op)
{
	return krt_api[op->api].base;
}

/* A rule about an event: what the call in hand does with it. */
static void event_finding(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
			  struct krt_event_info *ev, enum krt_rule_id rule,
			  const struct krt_op_info *prev)
{
	char name[160], stream[160], prev_stream[160], third[160];
	struct krt_facts f = {.rule = rule, .confidence = KRT_CERTAIN, .view = KRT_BOTH_VIEWS};
	struct krt_finding shape;

	if (!e->judge)
		return;
	memset(&shape, 0, sizeof(shape));
	f.event = krt_event_text(ev, name, sizeof(name));
	krt_event_mention(ev, name, &f);
	f.cur.api = c->api->base;
	f.cur.what = "wait";
	f.cur.stream = krt_stream_text(s, stream, sizeof(stream));
	f.cur.seq = c->rec->t0;
	f.cur.host = !s;
	f.prev.api = base_of(prev);
	f.prev.what = "record";
	f.prev.stream = krt_stream_text(prev->stream, prev_stream, sizeof(prev_stream));
	f.prev.seq = prev->seq;
	if (rule == KRT_RULE_EVENT_OVERWRITTEN && ev->record_op) {
		f.third_stream = krt_stream_text(ev->record_op->stream, third, sizeof(third));
		f.third_seq = ev->record_seq;
		krt_mention_call(&f, &(struct krt_origin){.seq = ev->record_seq,
							  .stack = ev->record_op->stack});
	}
	shape.current.what = f.cur.what;
	shape.current.api = f.cur.api;
	shape.current.stream = f.cur.stream;
	shape.current.sequence = f.cur.seq;
	shape.current.stack_id = c->rec->stack;
	shape.current.knowledge = "api";
	shape.previous.what = f.prev.what;
	shape.previous.api = f.prev.api;
	shape.previous.stream = f.prev.stream;
	shape.previous.sequence = f.prev.seq;
	shape.previous.stack_id = prev->stack;
	shape.previous.knowledge = "api";
	krt_find(e, &f, &shape, 0);
}

static void event_failed(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
			 struct krt_event_info *ev)
{
	event_finding(e, c, s, ev, KRT_RULE_EVENT_FAILED, ev->failed);
	krt_op_unref(&e->heap, ev->failed);
	ev->failed = NULL;
}

/* A wait, sync or query binds to the present record. */
static void event_bind(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
		       struct krt_event_info *ev)
{
	ev->bound = true;
	if (!c->ok)
		return;
	if (ev->failed) {
		if (!ev->failed_record && s &&
		    ev->failed->stream == s) { /* tried again, and it worked */
			krt_op_unref(&e->heap, ev->failed);
			ev->failed = NULL;
		} else {
			event_failed(e, c, s, ev);
		}
	}
	if (ev->nlost) {
		event_finding(e, c, s, ev, KRT_RULE_EVENT_OVERWRITTEN, ev->lost[0].op);
		krt_event_found(&e->obj, ev, NULL);
	}
}

/* Takes over snap. */
static void record(struct krt_engine *e, const struct krt_call *c, struct krt_event_info *ev,
		   struct krt_stream_info *s, struct krt_snapshot *snap)
{
	struct krt_op_info *op = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
	struct krt_op_info *old = ev->record_op;

	if (!snap || !op) {
		if (snap)
			krt_snapshot_unref(e->order, snap);
		if (op)
			krt_op_unref(&e->heap, op);
		return;
	}
	op->stamp = krt_snapshot_stamp(snap);
	if (ev->failed && !ev->failed_record)
		event_failed(e, c, s, ev);
	krt_event_found(&e->obj, ev, snap);
	if (ev->record && !ev->bound && old && old->stream && old->stream != s &&
	    !krt_snapshot_covers(snap, ev->record))
		krt_event_lose(ev);
	krt_event_set(&e->obj, ev, snap, op);
	ev->external = s && (s->external || s->external_own);
	ev->lane = c->lane;
	krt_op_unref(&e->heap, op);
	if (s)
		krt_timeline_on(e, c, s);
	e->cov.events_recorded++;
}

void krt_record_event(struct krt_engine *e, const struct krt_call *c, uint64_t event,
		      struct krt_stream_info *s, struct krt_snapshot *snap)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, event, true);

	if (ev)
		record(e, c, ev, s, krt_snapshot_ref(snap));
}

static void event_record(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, true);
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);

	if (!ev || !s)
		return;
	if (krt_capturing(e, s)) /* a captured event: capture.c */
		return;
	record(e, c, ev, s, krt_order_record(e->order, s->domain));
}

static void stream_wait(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, true);
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	char text[160];
	bool added;

	if (!ev || !s)
		return;
	if (krt_capturing(e, s))
		return;
	e->cov.waits++;
	event_bind(e, c, s, ev);
	krt_site_wait(e, c, ev, ev->record != NULL, krt_stream_text(s, text, sizeof(text)));
	if (ev->imported) /* another process's record may be the one that is waited for */
		s->external = true;
	if (!ev->record) {
		if (ev->known && !ev->imported)
			s->waits.idle = krt_call_origin(c);
		krt_timeline_idle(e, c, s);
		return;
	}
	added = krt_order_wait(e->order, s->domain, ev->record, KRT_IN_BOTH);
	krt_timeline_on(e, c, s);
	krt_timeline_edge(e, c, KRT_TLE_EVENT, ev->record_seq, c->rec->t0, KRT_IN_BOTH);
	krt_hot_wait(e, c, s, ev, added || ev->external || ev->imported);
	krt_waits_note(&s->waits, ev->record_domain, krt_call_origin(c), krt_event_record(ev));
	if (ev->external)
		s->external = true;
}

static void context_record(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, true);
	struct krt_context_info *ctx = krt_context_get(&e->obj, c->ctx);

	if (!ev || !ctx)
		return;
	krt_timeline_context(e, c, ctx, false, c->rec->t0, KRT_IN_BOTH);
	record(e, c, ev, NULL, krt_order_record_context(e->order, ctx->id));
}

static void context_wait(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, true);
	struct krt_context_info *ctx = krt_context_get(&e->obj, c->ctx);

	if (!ev || !ctx)
		return;
	e->cov.waits++;
	event_bind(e, c, NULL, ev);
	krt_site_wait(e, c, ev, ev->record != NULL, "context");
	if (!ev->record)
		return;
	krt_hot_wait(e, c, NULL, ev,
		     krt_order_wait_context(e->order, ctx->id, ev->record, KRT_IN_BOTH) ||
			     ev->external || ev->imported);
	krt_timeline_context(e, c, ctx, true, ev->record_seq, KRT_IN_BOTH);
}

/* Sync, query that succeeded, elapsed time.  Did the host learn anything? */
static bool event_known(struct krt_engine *e, const struct krt_call *c, struct krt_event_info *ev,
			enum krt_sem_id sem)
{
	unsigned views = krt_sem_views(e->semantics, sem, KRT_EDGE_EVENT);
	bool added;

	event_bind(e, c, NULL, ev);
	/* Another process's record, and behind it whatever that process had waited for here. */
	if (c->ok && (ev->external || (ev->imported && !ev->record)))
		host_knows_unseen(e);
	if (!ev->record || !c->ok)
		return false;
	added = krt_order_host_join(e->order, ev->record, views);
	if (added || c->op == KRT_OP_EVENT_SYNC)
		krt_timeline_edge(e, c, KRT_TLE_EVENT, ev->record_seq, c->rec->t0, views);
	if (views & KRT_IN_DOC)
		krt_waits_note(&e->host_waits, ev->record_domain, krt_call_origin(c),
			       krt_event_record(ev));
	return added || ev->external || ev->imported;
}

static void event_host(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, c->ok), *end;
	enum krt_sem_id sem = krt_sem_of_op(c->op);
	bool added;

	if (!ev || ev->capture)
		return;
	added = event_known(e, c, ev, sem);
	if (c->op == KRT_OP_EVENT_ELAPSED) {
		end = krt_event_get(&e->obj, c->event2, c->ok);
		if (end && !end->capture)
			event_known(e, c, end, sem);
		return;
	}
	if (!c->ok) {
		krt_hot_unfinished(e, c, c->event);
		return;
	}
	if (c->op == KRT_OP_EVENT_SYNC) {
		e->cov.syncs++;
		if (!ev->record && ev->known && !ev->imported)
			e->host_waits.idle = krt_call_origin(c);
		krt_site_wait(e, c, ev, ev->record != NULL, "host");
	}
	if (ev->record && (c->op == KRT_OP_EVENT_SYNC || krt_hot_polled(e, c, c->event, added)))
		krt_hot_sync(e, c, NULL, ev, added);
}

/* A record or wait that failed: it orders nothing, and the event is remembered for it. */
static void event_call_failed(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, false);
	struct krt_stream_info *s = NULL;
	struct krt_op_info *op;

	if (!ev || !e->judge || krt_capture_error(e, c)) /* that one has a rule of its own */
		return;
	if (c->told) { /* why has been said; nothing rests on the event */
		ev->known = false;
		return;
	}
	if (krt_has(c, KRT_ROLE_STREAM)) {
		/* the handle may be the very thing that is wrong: nothing is made of it */
		s = c->stream > 2 ? krt_stream_find(&e->obj, c->stream)
				  : krt_call_stream(e, c, c->stream);
	}
	op = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
	if (!op)
		return;
	if (ev->failed)
		krt_op_unref(&e->heap, ev->failed);
	ev->failed = op;
	ev->failed_record = c->op == KRT_OP_EVENT_RECORD || c->op == KRT_OP_CTX_RECORD ||
			    c->op == KRT_OP_GREEN_RECORD;
}

/* --- host waits on streams and contexts ----------------------------------------------- */

static void stream_host(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	enum krt_sem_id sem = krt_sem_of_op(c->op);
	bool added;

	if (!s || s->capture)
		return;
	if (c->not_ready) {
		krt_hot_unfinished(e, c, s->domain);
		return;
	}
	if (c->op == KRT_OP_STREAM_SYNC) {
		sem = s->kind == KRT_STREAM_LEGACY ? KRT_SEM_STREAM_SYNC_LEGACY
						   : KRT_SEM_STREAM_SYNC;
		e->cov.syncs++;
	}
	added = krt_host_edge(e, c, sem, s, NULL, NULL, s->ctx) || s->external || s->external_own;
	settle_external(e, s);
	if (c->op == KRT_OP_STREAM_SYNC || krt_hot_polled(e, c, s->domain, added))
		krt_hot_sync(e, c, s, NULL, added);
}

static void context_host(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_context_info *ctx = krt_has(c, KRT_ROLE_CTX) && c->ctx
					       ? krt_context_get(&e->obj, c->ctx)
					       : krt_call_context(e, c);
	bool added;

	if (!ctx)
		return;
	e->cov.syncs++;
	added = krt_host_edge(e, c, KRT_SEM_CTX_SYNC, NULL, NULL, NULL, ctx);
	for (struct krt_stream_entry *k = e->obj.streams; k; k = k->hh.next)
		if (k->stream->ctx->id == ctx->id) {
			krt_waits_note(&e->host_waits, k->stream->domain, krt_call_origin(c),
				       krt_call_origin(c));
			added |= k->stream->external || k->stream->external_own ||
				 k->stream->lane != c->lane;
			settle_external(e, k->stream);
		}
	krt_hot_sync(e, c, NULL, NULL, added);
}

/* --- streams -------------------------------------------------------------------------- */

static void stream_create(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_context_info *ctx = c->op == KRT_OP_GREEN_STREAM
					       ? krt_context_get(&e->obj, c->ctx)
					       : krt_call_context(e, c);

	struct krt_stream_info *s = NULL;

	krt_hot_made(e, c, KRT_MADE_STREAM, c->out_handle, 0);
	if (ctx && c->out_handle)
		s = krt_stream_make(&e->obj, c->out_handle, ctx,
				    c->flags & CU_STREAM_NON_BLOCKING ? KRT_STREAM_NON_BLOCKING
								      : KRT_STREAM_BLOCKING);
	if (s)
		s->born = c->rec->t1;
}

/* --- flags in memory ------------------------------------------------------------------ */

static uint64_t flag_key(const struct krt_engine *e, uint64_t addr)
{
	const struct krt_mem *m = krt_mem_at(&e->mem, addr);
	uint64_t off;

	if (!m)
		return addr;
	off = m->space_off + (addr - m->node.key);
	return m->space->id << 44 ^ off ^ 1ull << 63;
}

static struct krt_flag *flag_get(struct krt_engine *e, uint64_t key, bool make)
{
	struct krt_heap *heap = &e->heap;
	struct krt_flag *f;

	HASH_FIND(hh, e->flags, &key, sizeof(key), f);
	if (f || !make || e->nflags >= KRT_FLAGS_MAX)
		return f;
	f = krt_heap_alloc(heap, sizeof(*f));
	if (!f)
		return NULL;
	f->key = key;
	HASH_ADD(hh, e->flags, key, sizeof(f->key), f);
	if (!f->hh.tbl) {
		krt_heap_free(heap, f, sizeof(*f));
		return NULL;
	}
	e->nflags++;
	return f;
}

static void flag_drop(struct krt_engine *e, struct krt_flag *f)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, e->flags, f);
	for (unsigned i = 0; i < KRT_RELEASES; i++)
		if (f->release[i].snap)
			krt_snapshot_unref(e->order, f->release[i].snap);
	krt_heap_free(heap, f, sizeof(*f));
	e->nflags--;
}

static bool satisfies(uint64_t have, uint64_t want, unsigned condition, unsigned bytes)
{
	if (bytes == 4) {
		have &= UINT32_MAX;
		want &= UINT32_MAX;
	}
	switch (condition & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ: /* wrapping */
		return bytes == 4 ? (int32_t)((uint32_t)have - (uint32_t)want) >= 0
				  : (int64_t)(have - want) >= 0;
	case 1:
		return have == want;
	case 2:
		return have & want;
	default:
		return bytes == 4 ? (uint32_t) ~(have | want) != 0 : ~(have | want) != 0;
	}
}

static void value_write(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
			uint64_t key, uint64_t value, unsigned flags)
{
	struct krt_flag *f = flag_get(e, key, true);
	struct krt_snapshot *snap = flags & CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER
					    ? NULL
					    : krt_order_record(e->order, s->domain);
	uint32_t n = 0;
	unsigned at;

	if (!f) {
		if (snap)
			krt_snapshot_unref(e->order, snap);
		return;
	}
	at = f->count++ % KRT_RELEASES;
	if (f->release[at].snap)
		krt_snapshot_unref(e->order, f->release[at].snap);
	f->release[at].value = value;
	f->release[at].origin = krt_call_origin(c);
	f->release[at].snap = snap;
	f->release[at].domain = s->domain;
	f->release[at].external = s->external || s->external_own;
	/* waits issued before */
	for (uint32_t i = 0; i < e->value_waits; i++) {
		struct krt_value_wait *w = &e->value_wait[i];

		if (w->key != key || w->stream == s ||
		    !satisfies(value, w->value, w->condition, w->bytes)) {
			e->value_wait[n++] = *w;
			continue;
		}
		if (snap) {
			if (e->cfg.nchanges)
				krt_change_released(e, c, w->stream, w->origin.seq, snap);
			krt_order_wait(e->order, w->stream->domain, snap, KRT_IN_BOTH);
			krt_timeline_edge(e, c, KRT_TLE_VALUE, c->rec->t0, w->origin.seq,
					  KRT_IN_BOTH);
			krt_waits_note(&w->stream->waits, s->domain, w->origin, krt_call_origin(c));
		}
		w->stream->external |= f->release[at].external;
		w->stream->external_own = false;
		for (uint32_t k = 0; k < e->value_waits; k++)
			if (k != i && e->value_wait[k].stream == w->stream && (k < n || k > i))
				w->stream->external_own = true;
		krt_stream_unref(&e->obj, w->stream);
	}
	e->value_waits = n;
}

/* False: nothing that was seen so far satisfies it. */
static bool value_wait(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
		       uint64_t key, uint64_t value, unsigned flags, unsigned bytes)
{
	struct krt_flag *f = flag_get(e, key, false);
	struct krt_value_wait *w;
	bool met = false;

	for (unsigned i = 0; f && i < f->count && i < KRT_RELEASES; i++) {
		if (!satisfies(f->release[i].value, value, flags, bytes))
			continue;
		met = true;
		s->external |= f->release[i].external;
		if (!f->release[i].snap)
			continue;
		krt_order_wait(e->order, s->domain, f->release[i].snap, KRT_IN_BOTH);
		krt_timeline_edge(e, c, KRT_TLE_VALUE, f->release[i].origin.seq, c->rec->t0,
				  KRT_IN_BOTH);
		krt_waits_note(&s->waits, f->release[i].domain, krt_call_origin(c),
			       f->release[i].origin);
	}
	if (met)
		return true;
	/* The writer is not known yet: a later call, a kernel, the CPU, a network card. */
	s->external_own = true;
	if (e->value_waits >= KRT_VALUE_WAITS ||
	    !krt_heap_grow(&e->heap, &e->value_wait, &e->value_waits_cap, e->value_waits,
			   sizeof(*w))) {
		s->external = true;
		return false;
	}
	w = &e->value_wait[e->value_waits++];
	w->key = key;
	w->value = value;
	w->condition = flags;
	w->bytes = bytes;
	w->origin = krt_call_origin(c);
	w->stream = s;
	s->refs++;
	return false;
}

bool krt_flag_known(struct krt_engine *e, uint64_t addr)
{
	return flag_get(e, flag_key(e, addr), false);
}

void krt_flag_touch(struct krt_engine *e, struct krt_stream_info *s, uint64_t addr)
{
	struct krt_flag *f = e->flags ? flag_get(e, flag_key(e, addr), false) : NULL;

	for (unsigned i = 0; f && i < f->count && i < KRT_RELEASES; i++)
		if (f->release[i].snap && f->release[i].domain != s->domain) {
			krt_order_wait(e->order, s->domain, f->release[i].snap, KRT_IN_BOTH);
			if (e->call)
				krt_timeline_edge(e, e->call, KRT_TLE_VALUE,
						  f->release[i].origin.seq, e->call->rec->t0,
						  KRT_IN_BOTH);
		}
}

/* An operation of which only the place on its stream counts; NULL: none was enqueued. */
static struct krt_stream_info *enqueue_other(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_op_info *op;

	if (!s || krt_capturing(e, s))
		return NULL;
	op = krt_enqueue(e, c, s, KRT_OPC_OTHER);
	if (!op)
		return NULL;
	krt_op_unref(&e->heap, op);
	return s;
}

static void value_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = enqueue_other(e, c);

	if (!s)
		return;
	if (c->op == KRT_OP_WRITE_VALUE) {
		krt_shadow_changed(e, c->addr, 8);
		value_write(e, c, s, flag_key(e, c->addr), c->value, c->flags);
	} else if (c->op == KRT_OP_WAIT_VALUE) {
		value_wait(e, c, s, flag_key(e, c->addr), c->value, c->flags,
			   krt_elem_size(c->api));
	} else {
		CUstreamBatchMemOpParams m;

		for (uint32_t at = 0; at + sizeof(m) <= c->memops.len; at += sizeof(m)) {
			memcpy(&m, (const char *)c->memops.data + at, sizeof(m));
			if (m.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
			    m.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64)
				krt_shadow_changed(e, m.writeValue.address, 8);
			switch (m.operation) {
			case CU_STREAM_MEM_OP_WRITE_VALUE_32:
				value_write(e, c, s, flag_key(e, m.writeValue.address), m.writeValue.value,
					    m.writeValue.flags);
				break;
			case CU_STREAM_MEM_OP_WRITE_VALUE_64:
				value_write(e, c, s, flag_key(e, m.writeValue.address), m.writeValue.value64,
					    m.writeValue.flags);
				break;
			case CU_STREAM_MEM_OP_WAIT_VALUE_32:
				value_wait(e, c, s, flag_key(e, m.waitValue.address), m.waitValue.value,
					   m.waitValue.flags, 4);
				break;
			case CU_STREAM_MEM_OP_WAIT_VALUE_64:
				value_wait(e, c, s, flag_key(e, m.waitValue.address), m.waitValue.value64,
					   m.waitValue.flags, 8);
				break;
			default:
				break;
			}
		}
	}
}

/* --- external semaphores ------------------------------------------------------------------ */

/*
 * A signal may be waited for by anybody: another API, another process, the host.
 * What it releases is held against nothing any more.  A wait acquires the signal
 * of just its value, where a timeline was given it through the same handle: values
 * only grow, so no other signal has that one.  Whatever else may satisfy a wait, a
 * binary semaphore or another handle of the same one, is not told apart: the stream
 * is ordered by something unseen from there on.
 */
#define SEMAPHORE_KEY	 (1ull << 62)
#define SEMAPHORE_PARAMS sizeof(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS) /* a wait's too */
#define TIMELINE_EXACT	 1 /* CU_STREAM_WAIT_VALUE_EQ */

void krt_keep_joined(struct krt_engine *e, struct krt_snapshot **kept, struct krt_snapshot *now)
{
	struct krt_snapshot *both;

	if (now && *kept) {
		both = krt_snapshot_join(e->order, *kept, now);
		krt_snapshot_unref(e->order, now);
		if (!both)
			return;
		krt_snapshot_unref(e->order, *kept);
		now = both;
	}
	if (now)
		*kept = now;
}

void krt_semaphore_release(struct krt_engine *e, const struct krt_stream_info *s)
{
	krt_keep_joined(e, &e->signalled, krt_order_record(e->order, s->domain));
}

static bool is_timeline(uint32_t type)
{
	return type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
}

static void semaphore_life(struct krt_engine *e, const struct krt_call *c)
{
	uint64_t key = (c->out_handle ? c->out_handle : c->handle) ^ SEMAPHORE_KEY;
	struct krt_flag *f = flag_get(e, key, false);
	uint32_t type;

	if (f)
		flag_drop(e, f);
	if (!c->out_handle || c->in.len < sizeof(type))
		return;
	memcpy(&type, c->in.data, sizeof(type));
	if (is_timeline(type))
		flag_get(e, key, true);
}

static void semaphores(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = enqueue_other(e, c);
	uint64_t n = c->handles.len / sizeof(uint64_t), value;
	bool met = n != 0;

	if (!s)
		return;
	if (c->op == KRT_OP_EXT_SEM_SIGNAL)
		krt_semaphore_release(e, s);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key = krt_u64_at(&c->handles, i) ^ SEMAPHORE_KEY;

		if (!flag_get(e, key, false) || c->sems.len < (i + 1) * SEMAPHORE_PARAMS) {
			s->external |= c->op == KRT_OP_EXT_SEM_WAIT;
			met = false;
			continue;
		}
		memcpy(&value, (const char *)c->sems.data + i * SEMAPHORE_PARAMS, sizeof(value));
		if (c->op == KRT_OP_EXT_SEM_SIGNAL)
			value_write(e, c, s, key, value, 0);
		else
			met &= value_wait(e, c, s, key, value, TIMELINE_EXACT, 8);
	}
	if (c->op == KRT_OP_EXT_SEM_SIGNAL || met)
		return;
	s->external |= !n;
	krt_reason(e, KRT_REASON_CONSERVATIVE, "%s", c->api->base);
}

/* --- order made outside CUDA -------------------------------------------------------- */

static struct krt_token *token_get(struct krt_engine *e, struct krt_token **table, uint32_t *count,
				   uint64_t key, bool make)
{
	struct krt_heap *heap = &e->heap;
	struct krt_token *t;

	HASH_FIND(hh, *table, &key, sizeof(key), t);
	if (t || !make)
		return t;
	if (*count >= KRT_TOKENS_MAX) { /* the oldest goes: hashes keep the order of insertion */
		t = *table;
		HASH_DELETE(hh, *table, t);
		if (t->snap)
			krt_snapshot_unref(e->order, t->snap);
		krt_heap_free(heap, t, sizeof(*t));
		--*count;
	}
	t = krt_heap_alloc(heap, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key;
	HASH_ADD(hh, *table, key, sizeof(t->key), t);
	if (!t->hh.tbl) {
		krt_heap_free(heap, t, sizeof(*t));
		return NULL;
	}
	++*count;
	return t;
}

static void token_drop(struct krt_engine *e, struct krt_token **table, uint32_t *count,
		       struct krt_token *t)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, *table, t);
	if (t->snap)
		krt_snapshot_unref(e->order, t->snap);
	krt_heap_free(heap, t, sizeof(*t));
	--*count;
}

/* A stream's release takes the place of the one it made before, else of the oldest. */
static void released(struct krt_token *t, krt_domain domain, uint64_t seq)
{
	unsigned at = 0;

	while (at < KRT_TOKEN_RELEASES - 1 && t->release[at].seq && t->release[at].domain != domain)
		at++;
	memmove(&t->release[1], &t->release[0], at * sizeof(t->release[0]));
	t->release[0].domain = domain;
	t->release[0].seq = seq;
}

static void order_note(struct krt_engine *e, const struct krt_call *c)
{
	bool host = c->stream == UINT64_MAX, release = c->op == KRT_OP_NOTE_ORDER_RELEASE;
	struct krt_stream_info *s = host ? NULL : krt_call_stream(e, c, c->stream);
	struct krt_token *t;
	struct krt_snapshot *snap, *both;

	if (!host && (!s || s->capture))
		return;
	t = token_get(e, &e->tokens, &e->ntokens, c->token, release);
	if (!t)
		return;
	if (!host)
		krt_timeline_on(e, c, s);
	if (!release) {
		if (!t->snap)
			return;
		for (unsigned i = 0; i < KRT_TOKEN_RELEASES; i++)
			krt_timeline_edge(e, c, KRT_TLE_DECLARED, t->release[i].seq, c->rec->t0,
					  KRT_IN_BOTH);
		if (host)
			krt_order_host_join(e->order, t->snap, KRT_IN_BOTH);
		else
			krt_order_wait(e->order, s->domain, t->snap, KRT_IN_BOTH);
		return;
	}
	snap = host ? krt_order_record_host(e->order) : krt_order_record(e->order, s->domain);
	if (snap && t->snap) {
		both = krt_snapshot_join(e->order, t->snap, snap);
		krt_snapshot_unref(e->order, snap);
		if (!both)
			return;
		krt_snapshot_unref(e->order, t->snap);
		snap = both;
	}
	if (snap)
		t->snap = snap;
	released(t, host ? 0 : s->domain, c->rec->t0);
}

/* --- host functions ------------------------------------------------------------------- */

static void host_function(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_snapshot *before;
	struct krt_op_info *op;
	struct krt_token *t;

	if (!s || krt_capturing(e, s))
		return;
	e->cov.host_functions++;
	op = krt_enqueue(e, c, s, KRT_OPC_OTHER);
	if (!op)
		return;
	/* It starts after what the stream held before; nobody asks for its own epoch. */
	before = krt_order_record(e->order, s->domain);
	t = before ? token_get(e, &e->hostfns, &e->nhostfns, c->rec->t0, true) : NULL;
	if (t && !t->snap) {
		t->snap = before;
		t->stamp = op->stamp;
	} else if (before) {
		krt_snapshot_unref(e->order, before);
	}
	krt_op_unref(&e->heap, op);
	/* it may have run, and even ended, before the call that enqueued it returned */
	if (t && t->entered)
		krt_order_host_join(e->order, t->snap, KRT_IN_BOTH);
	if (t && t->left)
		token_drop(e, &e->hostfns, &e->nhostfns, t);
}

static void host_function_runs(struct krt_engine *e, const struct krt_call *c)
{
	bool enter = c->op == KRT_OP_HOSTFN_ENTER;
	struct krt_token *t = token_get(e, &e->hostfns, &e->nhostfns, c->token, enter);
	struct krt_lane *l = krt_call_lane(e, c->lane);

	if (!l)
		return;
	l->inside = enter ? c->token : 0;
	if (!t)
		return;
	if (enter) {
		t->entered = true;
		krt_timeline_edge(e, c, KRT_TLE_CALLBACK, c->token, c->rec->t0, KRT_IN_BOTH);
		if (t->snap)
			krt_order_host_join(e->order, t->snap, KRT_IN_BOTH);
	} else if (t->snap) {
		token_drop(e, &e->hostfns, &e->nhostfns, t);
	} else {
		t->left = true;
	}
}

bool krt_host_function_orders(struct krt_engine *e, enum krt_view v,
			      const struct krt_op_info *prev)
{
	const struct krt_lane *l =
		e->call && e->call->lane < e->lanes ? &e->lane[e->call->lane] : NULL;
	struct krt_token *t =
		l && l->inside ? token_get(e, &e->hostfns, &e->nhostfns, l->inside, false) : NULL;

	if (!t)
		return false;
	if (!t->snap) /* the call that enqueued it has not returned: not judged */
		return true;
	if (krt_snapshot_has(t->snap, v, prev->stamp))
		return true;
	if (prev->stamp.domain == t->stamp.domain)
		return prev->stamp.epoch > t->stamp.epoch;
	/*
	 * What the other stream's latest call came after prev may not have: rather
	 * silent.  Its next call would know the host's clock, and that the function
	 * has begun.
	 */
	return prev->stream && prev->seq > t->key &&
	       krt_order_seen(e->order, v, t->stamp, prev->stamp.domain);
}

/* --- other stream operations ------------------------------------------------------------ */

static void plain_op(struct krt_engine *e, const struct krt_call *c)
{
	enqueue_other(e, c);
}

static void name_note(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	struct krt_event_info *ev;
	struct krt_stream_info *s;
	char *name;

	if (!c->string.data)
		return;
	if (c->bytes) {
		krt_name_set(&e->mem, c->addr, c->bytes, c->string.data, c->string.len);
		return;
	}
	s = c->addr <= 2 ? krt_call_stream(e, c, c->addr) : krt_stream_find(&e->obj, c->addr);
	ev = s ? NULL : krt_event_get(&e->obj, c->addr, false);
	if (!s && !ev)
		return;
	name = krt_heap_strndup(heap, c->string.data, strnlen(c->string.data, c->string.len));
	if (s) {
		krt_stream_name(&e->obj, s, name);
	} else {
		krt_heap_freestr(heap, ev->name);
		ev->name = name;
	}
}

static void context_made(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_context_info *ctx;

	if (!c->out_handle)
		return;
	if (c->op == KRT_OP_GREEN_CTX) {
		ctx = krt_context_get(&e->obj, c->ctx);
		if (ctx)
			krt_context_alias(&e->obj, c->out_handle, ctx);
		return;
	}
	HASH_FIND(hh, e->obj.contexts, &c->out_handle, sizeof(c->out_handle), ctx);
	if (ctx && c->op == KRT_OP_PRIMARY_RETAIN) {
		if (!ctx->known && ctx->device != (uint32_t)c->device) {
			/* a guess is put right as long as nothing rests on it */
			krt_context_end(&e->obj, ctx);
			ctx = krt_context_make(&e->obj, c->out_handle, c->device);
		}
	} else {
		ctx = krt_context_make(&e->obj, c->out_handle, c->device);
	}
	if (!ctx)
		return;
	ctx->known = true;
	ctx->primary |= c->op == KRT_OP_PRIMARY_RETAIN;
	ctx->green = c->op == KRT_OP_GREEN_CREATE;
	if (c->op == KRT_OP_CTX_CREATE)
		ctx->flags = c->flags;
}

static void context_flags(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_context_info *ctx = krt_call_context(e, c);

	if (c->op == KRT_OP_CTX_FLAGS) {
		if (ctx)
			ctx->flags = c->flags;
		return;
	}
	for (uint32_t i = 0; i < e->obj.ncontexts; i++)
		if (e->obj.all_contexts[i]->primary &&
		    e->obj.all_contexts[i]->device == (uint32_t)c->device)
			e->obj.all_contexts[i]->flags = c->flags;
}

void krt_sync_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev;

	if (c->not_ready && (c->op == KRT_OP_EVENT_QUERY || c->op == KRT_OP_EVENT_ELAPSED)) {
		event_host(e, c);
		return;
	}
	if (c->not_ready && c->op == KRT_OP_STREAM_QUERY) {
		stream_host(e, c);
		return;
	}
	if (!c->ok) {
		switch (c->op) {
		case KRT_OP_EVENT_RECORD:
		case KRT_OP_CTX_RECORD:
		case KRT_OP_GREEN_RECORD:
		case KRT_OP_STREAM_WAIT_EVENT:
		case KRT_OP_CTX_WAIT:
		case KRT_OP_GREEN_WAIT:
			event_call_failed(e, c);
			break;
		default:
			break;
		}
		return;
	}
	switch (c->op) {
	case KRT_OP_CTX_CREATE:
	case KRT_OP_PRIMARY_RETAIN:
	case KRT_OP_GREEN_CREATE:
	case KRT_OP_GREEN_CTX:
		context_made(e, c);
		break;
	case KRT_OP_CTX_FLAGS:
	case KRT_OP_PRIMARY_FLAGS:
		context_flags(e, c);
		break;
	case KRT_OP_CTX_SYNC:
		context_host(e, c);
		break;
	case KRT_OP_CTX_RECORD:
	case KRT_OP_GREEN_RECORD:
		context_record(e, c);
		break;
	case KRT_OP_CTX_WAIT:
	case KRT_OP_GREEN_WAIT:
		context_wait(e, c);
		break;
	case KRT_OP_STREAM_CREATE:
	case KRT_OP_GREEN_STREAM:
		stream_create(e, c);
		break;
	case KRT_OP_STREAM_DESTROY:
		krt_hot_gone(e, c, KRT_MADE_STREAM, c->stream);
		krt_stream_end(&e->obj, c->stream);
		break;
	case KRT_OP_STREAM_SYNC:
	case KRT_OP_STREAM_QUERY:
		stream_host(e, c);
		break;
	case KRT_OP_STREAM_WAIT_EVENT:
		stream_wait(e, c);
		break;
	case KRT_OP_EVENT_CREATE:
		ev = c->out_handle ? krt_event_make(&e->obj, c->out_handle) : NULL;
		if (ev) {
			ev->made = krt_call_origin(c);
			ev->born = c->rec->t1;
		}
		if (ev && c->rec->ctx)
			ev->ctx = krt_call_context(e, c);
		krt_hot_made(e, c, KRT_MADE_EVENT, c->out_handle, 0);
		break;
	case KRT_OP_IPC_EVENT_OPEN:
		ev = c->out_handle ? krt_event_make(&e->obj, c->out_handle) : NULL;
		if (ev)
			ev->imported = true;
		break;
	case KRT_OP_IPC_EVENT_GET: /* another process may record it from here on */
		ev = krt_event_get(&e->obj, c->event, true);
		if (ev)
			ev->imported = true;
		break;
	case KRT_OP_EVENT_RECORD:
		event_record(e, c);
		break;
	case KRT_OP_EVENT_SYNC:
	case KRT_OP_EVENT_QUERY:
	case KRT_OP_EVENT_ELAPSED:
		event_host(e, c);
		break;
	case KRT_OP_EVENT_DESTROY:
		krt_hot_gone(e, c, KRT_MADE_EVENT, c->event);
		krt_event_end(&e->obj, c->event);
		break;
	case KRT_OP_HOST_FUNC:
		host_function(e, c);
		break;
	case KRT_OP_HOSTFN_ENTER:
	case KRT_OP_HOSTFN_EXIT:
		host_function_runs(e, c);
		break;
	case KRT_OP_WRITE_VALUE:
	case KRT_OP_WAIT_VALUE:
	case KRT_OP_BATCH_MEM_OP:
		value_op(e, c);
		break;
	case KRT_OP_NOTE_ORDER_RELEASE:
	case KRT_OP_NOTE_ORDER_ACQUIRE:
		order_note(e, c);
		break;
	case KRT_OP_NOTE_NAME:
		name_note(e, c);
		break;
	case KRT_OP_MODULE_LOAD:
	case KRT_OP_LIBRARY_LOAD:
		krt_hot_made(e, c, KRT_MADE_MODULE, c->out_handle, 0);
		krt_host_edge(e, c, krt_sem_of_op(c->op), NULL, NULL, NULL, krt_call_context(e, c));
		break;
	case KRT_OP_STREAM_ATTACH:
	case KRT_OP_PREFETCH:
	case KRT_OP_PREFETCH_BATCH:
	case KRT_OP_DECOMPRESS_BATCH:
	case KRT_OP_VMM_MAP_ARRAY:
	case KRT_OP_GFX_MAP:
	case KRT_OP_GFX_UNMAP:
		plain_op(e, c);
		break;
	case KRT_OP_EXT_SEM_LIFE:
		semaphore_life(e, c);
		break;
	case KRT_OP_EXT_SEM_SIGNAL:
	case KRT_OP_EXT_SEM_WAIT:
		semaphores(e, c);
		break;
	default:
		break;
	}
}

void krt_sync_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_flag *f, *ftmp;
	struct krt_token *t, *ttmp;

	HASH_ITER (hh, e->flags, f, ftmp)
		flag_drop(e, f);
	if (e->signalled)
		krt_snapshot_unref(e->order, e->signalled);
	for (uint32_t i = 0; i < e->value_waits; i++)
		krt_stream_unref(&e->obj, e->value_wait[i].stream);
	krt_heap_free(heap, e->value_wait, e->value_waits_cap * sizeof(*e->value_wait));
	HASH_ITER (hh, e->tokens, t, ttmp)
		token_drop(e, &e->tokens, &e->ntokens, t);
	HASH_ITER (hh, e->hostfns, t, ttmp)
		token_drop(e, &e->hostfns, &e->nhostfns, t);
}
