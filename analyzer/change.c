/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes in force (change.h): at which calls they act, and what they do there.
 * An engine without changes only ever asks whether it has any.
 */
#include "engine_int.h"

/* One change while the engine runs. */
struct krt_acting {
	const struct krt_change *c;
	struct krt_snapshot *snap; /* the last record, NULL: none yet */
	uint64_t recorded;	   /* the call that it was made behind */
	unsigned from;		   /* and the number of its stream */
	struct krt_stamp waiter;   /* the last operation that waited for it */
	uint64_t waited;	   /* the record that the host waited for last, 0: none */
	uint64_t thread;	   /* in which thread */
	bool cycle, streams;	   /* streams: of several */
};

static struct krt_acting *acting(struct krt_engine *e)
{
	unsigned n = e->cfg.nchanges;

	if (n && !e->acting) {
		e->acting = krt_heap_alloc(&e->heap, n * sizeof(*e->acting));
		for (unsigned i = 0; e->acting && i < n; i++)
			e->acting[i].c = &e->cfg.changes[i];
	}
	return e->acting;
}

static bool is_site(struct krt_engine *e, const struct krt_call_site *s, const struct krt_call *c,
		    const struct krt_stream_info *stream)
{
	if (!s->stack && s->once)
		return c->rec->t0 == s->seq;
	if (c->rec->stack != s->stack || (!s->any_api && c->rec->api != s->api))
		return false;
	if (s->kernel && krt_launch_kernel(e, c) != s->kernel)
		return false;
	return s->stack || (stream ? stream->number : 0) == s->stream;
}

static uint64_t thread_of(const struct krt_engine *e, const struct krt_call *c)
{
	return c->lane < e->lanes ? e->lane[c->lane].thread : 0;
}

void krt_change_before_call(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_acting *a = acting(e);

	for (unsigned i = 0; a && i < e->cfg.nchanges; i++)
		if (a[i].c->kind == KRT_CHANGE_HOST_WAIT && a[i].snap &&
		    is_site(e, &a[i].c->before, c, NULL)) {
			krt_order_host_join(e->order, a[i].snap, KRT_IN_BOTH);
			a[i].waited = a[i].recorded;
			a[i].thread = thread_of(e, c);
		}
}

void krt_change_before(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s)
{
	struct krt_acting *a = acting(e);

	for (unsigned i = 0; a && i < e->cfg.nchanges; i++) {
		if (a[i].c->kind != KRT_CHANGE_WAIT || !a[i].snap ||
		    !is_site(e, &a[i].c->before, c, s))
			continue;
		krt_order_wait(e->order, s->domain, a[i].snap, KRT_IN_BOTH);
		s->trigger_seq = 0; /* a wait in between: a kernel begins when that is over */
	}
}

void krt_change_behind(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
		       struct krt_stamp op)
{
	struct krt_acting *a = acting(e);

	for (unsigned i = 0; a && i < e->cfg.nchanges; i++) {
		struct krt_snapshot *snap, *both;

		if (a[i].c->kind == KRT_CHANGE_WAIT && a[i].snap &&
		    is_site(e, &a[i].c->before, c, s))
			a[i].waiter = op;
		if (a[i].c->kind == KRT_CHANGE_NODES || !is_site(e, &a[i].c->after, c, s))
			continue;
		snap = krt_order_record(e->order, s->domain);
		a[i].streams |= a[i].snap && a[i].from != s->number;
		if (snap && a[i].snap && (a[i].c->each || a[i].recorded == c->rec->t0)) {
			both = krt_snapshot_join(e->order, a[i].snap, snap);
			krt_snapshot_unref(e->order, snap);
			snap = both;
		}
		if (!snap)
			continue;
		if (a[i].snap)
			krt_snapshot_unref(e->order, a[i].snap);
		a[i].snap = snap;
		a[i].recorded = c->rec->t0;
		a[i].from = s->number;
	}
}

/*
 * The stream waits (since call `seq`) for something that call c has just released
 * behind `snap`.  What was recorded on it in the meantime is not over before that:
 * if the release comes behind an operation that waits for the record, or its thread
 * waited for the record before, all stand still.
 */
void krt_change_released(struct krt_engine *e, const struct krt_call *c,
			 const struct krt_stream_info *waiting, uint64_t seq,
			 const struct krt_snapshot *snap)
{
	struct krt_acting *a = acting(e);

	for (unsigned i = 0; a && i < e->cfg.nchanges; i++) {
		if (a[i].from != waiting->number)
			continue;
		if (a[i].waiter.domain && a[i].recorded > seq &&
		    krt_snapshot_has(snap, KRT_VIEW_DOC, a[i].waiter))
			a[i].cycle = true;
		if (a[i].waited > seq && a[i].thread == thread_of(e, c))
			a[i].cycle = true;
	}
}

void krt_change_end(struct krt_engine *e)
{
	struct krt_acting *a = acting(e);

	for (unsigned i = 0; a && i < e->cfg.nchanges; i++)
		if (a[i].c->kind == KRT_CHANGE_END_WAIT && a[i].snap)
			krt_order_host_join(e->order, a[i].snap, KRT_IN_BOTH);
}

bool krt_change_makes_node(const struct krt_call_site *s, const struct krt_origin *made)
{
	if (!made->seq)
		return false;
	if (s->stack)
		return made->stack == s->stack && (s->any_api || made->api == s->api);
	return made->seq == s->seq;
}

void krt_change_cycle(struct krt_engine *e, unsigned n)
{
	struct krt_acting *a = acting(e);

	if (a)
		a[n].cycle = true;
}

bool krt_engine_cycle(const struct krt_engine *e, unsigned n)
{
	return e->acting && n < e->cfg.nchanges && e->acting[n].cycle;
}

bool krt_engine_streams(const struct krt_engine *e, unsigned n)
{
	return e->acting && n < e->cfg.nchanges && e->acting[n].streams;
}

void krt_change_free(struct krt_engine *e)
{
	for (unsigned i = 0; e->acting && i < e->cfg.nchanges; i++)
		if (e->acting[i].snap)
			krt_snapshot_unref(e->order, e->acting[i].snap);
	krt_heap_free(&e->heap, e->acting, e->cfg.nchanges * sizeof(*e->acting));
}
