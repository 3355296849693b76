/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sets the pace: the calls that enqueue, or the device.
 *
 * A stretch is what one thread enqueues between two waits of the host or copies
 * with a host side; such a copy is a stretch of its own.  Its submission is the time inside the calls, its service
 * the time that the device worked on what they enqueued, its queueing the time
 * from the end of each call to the start of its work.  Service and queueing come
 * with device times, any time later; a stretch of which some are missing is not
 * known, and counts for nothing.  Without device times nothing here is kept.
 *
 * KRT-PERF-LAUNCH-BOUND: stretches that end at one site, hot_min or more of them
 * known, and in at least half of these many kernels, whose submission takes
 * longer than their service, and which the device did not leave waiting.
 */
#include "engine_int.h"

#include <string.h>

#define STRETCHES    4096  /* of a thread that wait for device times */
#define LAUNCHES_MIN 8	   /* kernels of a stretch that a graph is worth while for */
#define LATENCY_NS   10000 /* from a call to its work on a device that has nothing else to do */

struct stretch {
	uint64_t from;	      /* ticket of its first call; the next stretch begins behind its last */
	struct krt_site *end; /* NULL: its end is at no known site */
	struct krt_site *wait; /* where the host waited for it, NULL: nobody asks */
	uint32_t calls, launches, known;
	bool waited; /* wait is final */
	bool last;   /* before the wait */
	uint64_t last_known; /* the call that device times came for last: it may have several */
	uint64_t submit_ns, service_ns;
	uint64_t ends, starts; /* sums modulo 2^64: ends of calls, starts of their work */
	uint64_t begin, end_ns; /* of the device's work */
	uint64_t first_seq;    /* of its first kernel */
	uint32_t first_stack;
	uint16_t first_api;
};

struct krt_lane_pace {
	struct stretch ring[STRETCHES]; /* the newest is the one that grows */
	uint32_t first, n;
	bool open; /* the newest has calls */
	/* of the stretch that was settled last, if a wait came after it: the wait, the device's end */
	struct krt_site *dry;
	uint64_t dry_since;
};

/* What is known of a site's stretches. */
struct krt_pace {
	/* as an end */
	uint64_t stretches, known, bound;
	uint64_t launches, submit_ns, service_ns, queue_ns; /* of those that are bound */
	uint64_t seq;
	uint32_t stack;
	uint16_t api;
	/* as a wait */
	uint64_t waited, waited_known, waited_service, waited_queue;
	uint64_t dry_ns; /* from the end of what was waited for to the next start */
};

static struct krt_pace *pace_get(struct krt_engine *e, struct krt_site *s)
{
	if (s && !s->pace)
		s->pace = krt_heap_alloc(&e->heap, sizeof(*s->pace));
	return s ? s->pace : NULL;
}

static uint64_t queue_of(const struct stretch *t)
{
	int64_t q = (int64_t)(t->starts - t->ends);

	return q > 0 ? (uint64_t)q : 0;
}

/* The stretch is as known as it will be. */
static void settle(struct krt_engine *e, struct krt_lane_pace *l, const struct stretch *t)
{
	bool known = t->known == t->calls;
	struct krt_pace *p = t->launches ? pace_get(e, t->end) : NULL;
	uint64_t queue = queue_of(t);

	if (p) {
		p->stretches++;
		p->known += known;
		if (known && t->launches >= LAUNCHES_MIN && t->submit_ns > t->service_ns &&
		    queue <= 2 * t->submit_ns + (uint64_t)t->calls * LATENCY_NS) {
			if (!p->bound++) {
				p->seq = t->first_seq;
				p->stack = t->first_stack;
				p->api = t->first_api;
			}
			p->launches += t->launches;
			p->submit_ns += t->submit_ns;
			p->service_ns += t->service_ns;
			p->queue_ns += queue;
		}
	}
	if (l->dry && known && t->begin > l->dry_since && l->dry->pace)
		l->dry->pace->dry_ns += t->begin - l->dry_since;
	l->dry = known && t->last ? t->wait : NULL;
	l->dry_since = t->end_ns;
	p = pace_get(e, t->wait);
	if (p) {
		p->waited++;
		p->waited_known += known;
		p->waited_service += t->service_ns;
		p->waited_queue += queue;
	}
}

/* Settles the oldest ones that are complete; all: whatever is known of them. */
static void settle_oldest(struct krt_engine *e, struct krt_lane_pace *l, bool all)
{
	while (l->n) {
		struct stretch *t = &l->ring[l->first];

		if (!all && (!t->waited || t->known < t->calls))
			return;
		settle(e, l, t);
		l->first = (l->first + 1) % STRETCHES;
		l->n--;
	}
	l->open = false;
}

static struct krt_lane_pace *lane_pace(struct krt_engine *e, unsigned lane)
{
	struct krt_lane *l = e->timing ? krt_call_lane(e, lane) : NULL;

	if (l && !l->pace) {
		l->pace = krt_heap_alloc(&e->heap, sizeof(*l->pace));
		e->pace_lanes++;
	}
	return l ? l->pace : NULL;
}

static struct stretch *newest(struct krt_lane_pace *l)
{
	return &l->ring[(l->first + l->n - 1) % STRETCHES];
}

void krt_pace_work(struct krt_engine *e, const struct krt_call *c, bool kernel)
{
	struct krt_lane_pace *l = lane_pace(e, c->lane);
	struct stretch *t;

	if (!l || !e->judge)
		return;
	if (!l->open) {
		if (l->n == STRETCHES) {
			settle(e, l, &l->ring[l->first]);
			l->first = (l->first + 1) % STRETCHES;
			l->n--;
		}
		l->n++;
		t = newest(l);
		memset(t, 0, sizeof(*t));
		t->from = c->rec->t0;
		l->open = true;
	}
	t = newest(l);
	t->calls++;
	t->submit_ns += c->rec->took_ns;
	t->ends += c->rec->start_ns + c->rec->took_ns;
	if (kernel && !t->launches++) {
		t->first_seq = c->rec->t0;
		t->first_stack = c->rec->stack;
		t->first_api = c->rec->api;
	}
}

void krt_pace_end(struct krt_engine *e, const struct krt_call *c, bool wait)
{
	struct krt_lane_pace *l = lane_pace(e, c->lane);

	if (!l)
		return;
	if (l->open)
		newest(l)->end = e->site;
	l->open = false;
	if (!wait)
		return;
	if (l->n)
		newest(l)->last = true;
	for (uint32_t i = l->n; i--;) {
		struct stretch *t = &l->ring[(l->first + i) % STRETCHES];

		if (t->waited)
			break;
		t->waited = true;
		/* from the second wait on: what came before the first may be anything */
		t->wait = e->site && e->site->waited ? e->site : NULL;
	}
	if (e->site)
		e->site->waited = true;
	settle_oldest(e, l, false);
}

static void device_time(struct krt_engine *e, const struct krt_device_time *d)
{
	struct krt_lane_pace *l = lane_pace(e, d->lane);
	uint32_t low = 0, high;
	struct stretch *t;

	if (!l || !l->n || d->end_ns < d->start_ns)
		return;
	/* the last that begins at the call or before it */
	for (high = l->n; high - low > 1;) {
		uint32_t mid = low + (high - low) / 2;

		if (l->ring[(l->first + mid) % STRETCHES].from <= d->call)
			low = mid;
		else
			high = mid;
	}
	t = &l->ring[(l->first + low) % STRETCHES];
	if (t->from > d->call)
		return;
	e->cov.device_times++;
	t->service_ns += d->end_ns - d->start_ns;
	if (!t->begin || d->start_ns < t->begin)
		t->begin = d->start_ns;
	if (d->end_ns > t->end_ns)
		t->end_ns = d->end_ns;
	if (t->last_known != d->call) {
		t->last_known = d->call;
		t->known++;
		t->starts += d->start_ns;
	}
	if (!low)
		settle_oldest(e, l, false);
}

void krt_device_times(struct krt_engine *e, const struct krt_rec_device_time *r, size_t len)
{
	if (len < sizeof(*r) + (size_t)r->n * sizeof(r->time[0])) {
		e->malformed++;
		return;
	}
	for (uint32_t i = 0; i < r->n; i++) {
		device_time(e, &r->time[i]);
		krt_timeline_device(e, &r->time[i]);
	}
}

/* --- verdicts ---------------------------------------------------------------------------- */

uint64_t krt_pace_cost(const struct krt_engine *e, const struct krt_site *s, struct krt_cost *cost)
{
	const struct krt_pace *p = s->pace;

	if (!p || !p->waited || p->waited_known != p->waited)
		return KRT_UNKNOWN;
	cost->service_ns = p->waited_service;
	cost->queue_ns = p->waited_queue;
	/* another thread's work may have filled the time */
	return e->pace_lanes == 1 ? p->dry_ns : KRT_UNKNOWN;
}

static void launch_bound(struct krt_engine *e, const struct krt_site *s)
{
	const struct krt_pace *p = s->pace;
	struct krt_hot_facts hot = {
		.cost = {.times = p->launches,
			 .rounds = p->bound,
			 .submit_ns = p->submit_ns,
			 .service_ns = p->service_ns,
			 .queue_ns = p->queue_ns,
			 .blocked_ns = KRT_UNKNOWN},
		.target = krt_api[s->api].base,
	};
	struct krt_facts f = {.rule = KRT_RULE_PERF_LAUNCH_BOUND,
			      .confidence = KRT_CERTAIN,
			      .view = KRT_BOTH_VIEWS,
			      .times = p->launches,
			      .rounds = p->bound,
			      .hot = &hot};
	struct krt_finding shape;

	if (p->known < e->cfg.hot_min || p->bound < e->cfg.hot_min || p->bound * 2 < p->known ||
	    p->known * 2 < p->stretches)
		return;
	memset(&shape, 0, sizeof(shape));
	shape.cost = hot.cost;
	shape.current.what = f.cur.what = "launch";
	shape.current.api = f.cur.api = krt_api[p->api].base;
	shape.current.stream = f.cur.stream = "host";
	shape.current.sequence = f.cur.seq = p->seq;
	shape.current.stack_id = p->stack;
	shape.current.knowledge = "api";
	krt_find(e, &f, &shape, 0);
}

void krt_pace_finish(struct krt_engine *e)
{
	for (uint32_t i = 0; i < e->lanes; i++)
		if (e->lane[i].pace)
			settle_oldest(e, e->lane[i].pace, true);
	for (const struct krt_site *s = e->sites; s; s = s->hh.next)
		if (s->pace)
			launch_bound(e, s);
}

void krt_pace_free(struct krt_engine *e)
{
	for (uint32_t i = 0; i < e->lanes; i++)
		krt_heap_free(&e->heap, e->lane[i].pace, sizeof(*e->lane[i].pace));
	for (struct krt_site *s = e->sites; s; s = s->hh.next)
		krt_heap_free(&e->heap, s->pace, sizeof(*s->pace));
}
