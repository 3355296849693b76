/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done again and again in a loop, and what it costs: blocking waits,
 * allocations, copies that wait because their memory is pageable, objects made
 * and destroyed, waits that add no order.
 *
 * A site is hot when it is passed hot_min times or more, device work in between,
 * and in at least half of the rounds of its loop.  Rounds between two passes:
 *   - of the loop that took the site's place off its thread's path (loop.h), or
 *   - of a loop inside that the host takes part in, as often as another site of
 *     copies or waits was passed with launches in between: a wait after an inner
 *     loop of copies and kernels is one at the end of an epoch
 * whichever is more.  Inner loops of launches alone do not count, but one that
 * shares its head with the outer loop looks like a loop that waits every Nth
 * round.  It is taken as an inner one only where N is small, and always the
 * same from the first wait to the last, with the same launches in each round.
 * Rounds that the same kernels went without any wait afterwards count as well:
 * what was waited for is then a warm-up.  A wait that leaves the newest work in
 * flight, such as one for the round before, does not let the device run dry and
 * does not count.
 *
 * Work in between is what comes again: of copies between host and device only those
 * with a device address that their site has met not long before.  Weights that are
 * loaded one after the other, or saved, are no loop to speak of.
 *
 * A blocking copy to the host is a sync where it waited for more than itself.
 *
 * A copy from pageable memory that a sync follows is left to the sync, and a
 * sync that the free of a round's memory follows to the free.
 *
 * What is made again and again counts from the second time on, when what was
 * made at the site before has gone: a pool that grows is none.  All figures are
 * counts and the calls' own times; no verdict here rests on a time.
 */
#include "engine_int.h"

#include <stdio.h>
#include <string.h>

#define INNER_MAX   8 /* rounds of an inner loop that shares its head */
#define KERNELS_MAX 4096
#define MADE_MAX    65536
#define COUNTS_MAX  4096 /* sites that a rule looks at */

/* A kernel, wherever it is launched. */
struct krt_hot_kernel {
	uint64_t func;
	bool captured; /* graphs launch it as well */
	uint64_t total, unwaited; /* launches; those since whose predecessor nobody had waited */
	uint64_t waits;		  /* host_waits_done at the last */
	UT_hash_handle hh;
};

/* An object that is alive, and the site that made it. */
struct krt_made {
	uint64_t key;
	struct krt_site *site;
	UT_hash_handle hh;
};

struct krt_hot {
	enum krt_rule_id rule; /* what it is a site of */
	uint64_t first, last;  /* tickets */
	uint64_t count;	       /* passes that count */
	uint64_t worked;       /* of which with device work since the pass before */
	/* rounds that the loop went, from pass to pass: loop.h's near and far ones */
	uint64_t near, far, near_only;
	uint64_t folded; /* near ones with small inner loops taken as one round */
	uint64_t passes, work; /* passes at all; e->work at the last */
	struct krt_progress before;
	uint64_t logged; /* krt_path.logged then */
	/* small inner loops that share their head: how alike they were */
	uint64_t small, alike, lead, inner, inner_args;
	/* the kernel that ran before the wait */
	struct krt_hot_kernel *kernel;
	uint64_t kernel_first, kernel_total, kernel_unwaited, graphs_unwaited;
	/* cost */
	uint64_t blocked_ns, submit_ns;
	/* what was waited for */
	uint64_t object;
	char *target;
	bool several;
	uint64_t edges, added; /* waits that can add order, and those that did */
	uint64_t edge_first, edge_ns; /* the first one's ticket; time in them */
	uint64_t lucky;	       /* e->lucky at the last */
	uint64_t followed;     /* a copy by a sync, a sync by the free of what is allocated again */
	/* a copy to the host just before */
	uint64_t fetches, fetched, fetched_seq;
	uint32_t fetched_kernel;
	uint16_t fetched_api;
	/* sizes of copies or allocations */
	uint64_t bytes_min, bytes_max;
	/* the end of what was made here */
	uint64_t gone, gone_seen, gone_seq, gone_ns;
	uint32_t gone_stack;
	uint16_t gone_api;
};

/* --- sites and kernels ---------------------------------------------------------------- */

/* Calls that are no part of a loop's shape. */
static bool shapeless(const struct krt_call *c)
{
	switch (c->op) {
	case KRT_OP_NONE:
	case KRT_OP_INIT:
	case KRT_OP_EXPORT_TABLE:
	case KRT_OP_CTX_CURRENT:
	case KRT_OP_POINTER_ATTR:
	case KRT_OP_MODULE_FUNCTION:
	case KRT_OP_MODULE_GLOBAL:
		return true;
	default:
		return c->api->cls == KRT_CLASS_NOTE || c->api->cls == KRT_CLASS_LIBC;
	}
}

static uint64_t thread_key(const struct krt_call *c, uint64_t key)
{
	return key ^ (c->rec->api + ((uint64_t)c->lane << 16)) * 0x9e3779b97f4a7c15ull;
}

static struct krt_site *site_get(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	uint64_t key = krt_call_site(e, c->rec->stack), code;
	struct krt_site *s;

	if (!key)
		return NULL;
	code = key ^ c->rec->api * 0x9e3779b97f4a7c15ull;
	key = thread_key(c, key);
	HASH_FIND(hh, e->sites, &key, sizeof(key), s);
	if (s || HASH_COUNT(e->sites) >= KRT_SITES_MAX)
		return s;
	s = krt_heap_alloc(heap, sizeof(*s));
	if (!s)
		return NULL;
	s->key = key;
	s->code = code;
	s->api = c->rec->api;
	s->stack = c->rec->stack;
	HASH_ADD(hh, e->sites, key, sizeof(s->key), s);
	if (s->hh.tbl)
		return s;
	krt_heap_free(heap, s, sizeof(*s));
	return NULL;
}

static struct krt_place *place_get(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	uint64_t key = thread_key(c, (uint64_t)c->rec->stack << 32) ^ c->func * 0xff51afd7ed558ccdull;
	struct krt_place *p;

	HASH_FIND(hh, e->places, &key, sizeof(key), p);
	if (p || HASH_COUNT(e->places) >= KRT_PLACES_MAX)
		return p;
	p = krt_heap_alloc(heap, sizeof(*p));
	if (!p)
		return NULL;
	p->key = key;
	HASH_ADD(hh, e->places, key, sizeof(p->key), p);
	if (p->hh.tbl)
		return p;
	krt_heap_free(heap, p, sizeof(*p));
	return NULL;
}

void krt_hot_pass(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);
	bool query = c->op == KRT_OP_STREAM_QUERY || c->op == KRT_OP_EVENT_QUERY;
	struct krt_stamp newest;

	e->site = NULL;
	e->place = NULL;
	e->settled = false;
	e->times |= c->rec->start_ns != 0;
	if (!l || !c->ok || shapeless(c))
		return;
	if (query || c->op == KRT_OP_EVENT_SYNC || c->op == KRT_OP_STREAM_SYNC ||
	    c->op == KRT_OP_CTX_SYNC) {
		newest = krt_hot_newest(e, c);
		e->settled = newest.domain && krt_order_before_host(e->order, KRT_VIEW_OBS, newest);
	}
	e->site = site_get(e, c);
	e->place = e->site ? place_get(e, c) : NULL;
	if (!e->place || query) /* part of the loop's shape when it ends a polling loop */
		return;
	krt_site_pass(e->site, e->place);
	krt_path_pass(&e->heap, &l->path, e->place);
}

static struct krt_hot_kernel *kernel_get(struct krt_engine *e, uint64_t func)
{
	struct krt_heap *heap = &e->heap;
	struct krt_hot_kernel *k;

	if (!func)
		return NULL;
	HASH_FIND(hh, e->hot_kernels, &func, sizeof(func), k);
	if (k || HASH_COUNT(e->hot_kernels) >= KERNELS_MAX)
		return k;
	k = krt_heap_alloc(heap, sizeof(*k));
	if (!k)
		return NULL;
	k->func = func;
	k->waits = UINT64_MAX;
	HASH_ADD(hh, e->hot_kernels, func, sizeof(k->func), k);
	if (k->hh.tbl)
		return k;
	krt_heap_free(heap, k, sizeof(*k));
	return NULL;
}

/* What the rule counts at the site of the call in hand. */
static struct krt_hot *hot_get(struct krt_engine *e, enum krt_rule_id rule)
{
	struct krt_site *s = e->site;

	if (!s || !e->judge)
		return NULL;
	if (!s->hot) {
		if (e->hot_count >= COUNTS_MAX)
			return NULL;
		s->hot = krt_heap_alloc(&e->heap, sizeof(*s->hot));
		if (!s->hot)
			return NULL;
		e->hot_count++;
		s->hot->rule = rule;
		s->hot->bytes_min = UINT64_MAX;
	}
	return s->hot->rule == rule ? s->hot : NULL;
}

/* --- counting -------------------------------------------------------------------------- */

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Rounds since the pass before, seen in two ways (see above). */
static void count_rounds(struct krt_hot *h, const struct krt_site *s, uint64_t steps)
{
	const struct krt_place *head = s->loop;
	uint64_t n = s->round.near, args;

	h->near += more(n, steps);
	h->far += more(s->round.far ? s->round.far : n, steps);
	h->near_only += !s->round.far;
	if (!head || n <= 2 || n > INNER_MAX || steps > 2 || head->passes - s->loop_passes != n) {
		h->folded += more(n, steps);
		return;
	}
	h->folded++;
	args = krt_args_part(s->loop_args, head->args, n);
	if (!h->small++)
		h->lead = head->rounds - n; /* launches before the first pass, at least */
	else if (h->inner == n && h->inner_args == args)
		h->alike++;
	h->inner = n;
	h->inner_args = args;
}

static void count(struct krt_engine *e, const struct krt_call *c, struct krt_hot *h, bool counts)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);
	struct krt_hot_kernel *k = l ? l->hot.kernel : NULL;
	bool worked = e->work != h->work;

	if (!l)
		return;
	if (h->passes++ && worked) {
		count_rounds(h, e->site,
			     krt_path_steps(&l->path, h->logged, e->site, ++e->look));
		h->worked += counts;
		h->submit_ns += l->path.done.submit_ns - h->before.submit_ns;
	}
	if (counts && worked) {
		if (!h->count++)
			h->first = c->rec->t0;
		h->last = c->rec->t0;
		h->blocked_ns += c->rec->took_ns;
	}
	if (k && (!h->kernel || h->kernel == k)) {
		if (!h->kernel)
			h->kernel_first = k->total;
		h->kernel = k;
		h->kernel_total = k->total;
		h->kernel_unwaited = k->unwaited;
		h->graphs_unwaited = e->graphs_unwaited;
	}
	h->work = e->work;
	h->before = l->path.done;
	h->logged = l->path.logged;
}

static void size_seen(struct krt_hot *h, uint64_t bytes)
{
	h->bytes_min = bytes < h->bytes_min ? bytes : h->bytes_min;
	h->bytes_max = bytes > h->bytes_max ? bytes : h->bytes_max;
}

/* --- what calls do ---------------------------------------------------------------------- */

/* Work was enqueued, and the call did not wait. */
static void submitted(struct krt_engine *e, const struct krt_call *c, struct krt_lane *l,
		      bool kernel)
{
	l->path.done.submit_ns += c->rec->took_ns;
	krt_pace_work(e, c, kernel);
}

/* addr: see krt_site_work(). */
static bool comes_again(struct krt_site *s, uint64_t addr)
{
	uint32_t v = (uint32_t)(addr * 0x9e3779b97f4a7c15ull >> 32) | 1;

	if (!s || !addr)
		return true;
	for (unsigned i = 0; i < KRT_SITE_ADDRS; i++)
		if (s->addr[i] == v)
			return true;
	s->addr[s->addrs++ % KRT_SITE_ADDRS] = v;
	return false;
}

void krt_site_work(struct krt_engine *e, const struct krt_call *c, uint64_t addr)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);

	e->work += comes_again(e->site, addr);
	e->work_stamp = e->enqueued;
	if (c->op == KRT_OP_GRAPH_LAUNCH) {
		e->graphs_unwaited += e->graph_waits == e->host_waits_done;
		e->graph_waits = e->host_waits_done;
	}
	if (!l)
		return;
	l->hot.work_stamp = e->enqueued;
	l->path.done.work++;
	l->hot.fetched = 0;
	l->hot.pageable = l->hot.synced = NULL;
	if (c->op == KRT_OP_GRAPH_LAUNCH) {
		l->path.done.launches++;
		l->hot.kernel = NULL; /* it stands for many */
		if (e->place) {
			e->place->passes++;
			e->place->args = krt_args_add(e->place->args, c->exec);
		}
	}
	if (c->op == KRT_OP_GRAPH_LAUNCH || c->op == KRT_OP_COPY_BATCH ||
	    c->op == KRT_OP_COPY_3D_BATCH)
		submitted(e, c, l, false);
}

void krt_hot_launch(struct krt_engine *e, const struct krt_call *c, uint32_t kernel, uint64_t args)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);
	struct krt_hot_kernel *k = kernel_get(e, c->func);

	if (!l)
		return;
	l->path.done.launches++;
	l->hot.kernel = k;
	l->hot.kernel_id = kernel;
	submitted(e, c, l, true);
	if (k) {
		k->total++;
		k->unwaited += k->waits == e->host_waits_done;
		k->waits = e->host_waits_done;
	}
	if (e->place) {
		e->place->passes++;
		e->place->args = krt_args_add(e->place->args, args);
	}
}

void krt_hot_captured(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_hot_kernel *k = kernel_get(e, c->func);

	if (k)
		k->captured = true;
}

static bool host_side(enum krt_sem_mem m)
{
	return m == KRT_SEM_MEM_PAGEABLE || m == KRT_SEM_MEM_PINNED;
}

struct krt_stamp krt_hot_newest(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);

	return l && l->hot.work_stamp.domain ? l->hot.work_stamp : e->work_stamp;
}

static void target(struct krt_engine *e, struct krt_hot *h, const struct krt_stream_info *s,
		   const struct krt_event_info *ev)
{
	uint64_t object = ev ? ev->handle : s ? s->domain : 0;
	char text[192], stream[160];

	if (h->target) {
		h->several |= h->object != object;
		return;
	}
	if (ev && ev->name)
		snprintf(text, sizeof(text), "event \"%.100s\"", ev->name);
	else if (ev)
		snprintf(text, sizeof(text), "event 0x%llx", (unsigned long long)ev->handle);
	else if (s)
		snprintf(text, sizeof(text), "%s", krt_stream_text(s, stream, sizeof(stream)));
	else
		snprintf(text, sizeof(text), "the context");
	h->object = object;
	h->target = krt_heap_strdup(&e->heap, text);
}

/* A value was fetched, for which the host waits here. */
static void fetched(struct krt_hot *h, struct krt_lane *l)
{
	h->fetches++;
	h->fetched = l->hot.fetched;
	h->fetched_seq = l->hot.fetched_seq;
	h->fetched_api = l->hot.fetched_api;
	h->fetched_kernel = l->hot.kernel ? l->hot.kernel_id : 0;
	l->hot.fetched = 0;
}

/* A copy between the host and a device, or within the host. */
static void copied(struct krt_engine *e, const struct krt_call *c, const struct krt_copied *k,
		   struct krt_lane *l)
{
	bool from = host_side(k->src), to = host_side(k->dst);
	struct krt_hot *h;

	if (krt_sem_views(e->semantics, k->sem, KRT_EDGE_EARLIER)) {
		krt_pace_end(e, c, true); /* it waits before it copies */
	} else {
		krt_pace_end(e, c, false); /* and is a stretch of its own */
		submitted(e, c, l, false);
		krt_pace_end(e, c, false);
	}
	if (e->place)
		e->place->copies = true;
	e->host_waits_done += krt_sem_views(e->semantics, k->sem, KRT_EDGE_OP) != 0;
	if (to && !from) {
		l->hot.fetched = k->bytes;
		l->hot.fetched_seq = c->rec->t0;
		l->hot.fetched_api = c->rec->api;
	}
	if (to == from)
		return;
	if (!(c->api->flags & KRT_F_ASYNC)) {
		h = to ? hot_get(e, KRT_RULE_PERF_SYNC_HOT) : NULL;
		if (!h)
			return;
		count(e, c, h, k->waited);
		target(e, h, k->stream, NULL);
		if (k->waited)
			fetched(h, l);
		return;
	}
	/* pageable: does the call wait for the stream? */
	if ((k->dst != KRT_SEM_MEM_PAGEABLE && k->src != KRT_SEM_MEM_PAGEABLE) ||
	    !krt_sem_views(e->semantics, k->sem, KRT_EDGE_EARLIER))
		return;
	h = hot_get(e, KRT_RULE_PERF_PAGEABLE_ASYNC);
	if (!h)
		return;
	count(e, c, h, true);
	size_seen(h, k->bytes);
	l->hot.pageable = h;
}

void krt_hot_copy(struct krt_engine *e, const struct krt_call *c, const struct krt_copied *k)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);

	if (!l)
		return;
	if (host_side(k->dst) || host_side(k->src)) {
		copied(e, c, k, l);
		krt_path_log(&e->heap, &l->path, e->site);
	} else if (!krt_sem_views(e->semantics, k->sem, KRT_EDGE_EARLIER)) {
		submitted(e, c, l, false);
	} else {
		krt_pace_end(e, c, true);
	}
}

/*
 * Whether a wait adds an order is for chance to decide where another thread has
 * a part in it: it made the record, or its own waits may have come first; and where
 * a query has told the host, which might have found the work unfinished.
 */
static bool by_chance(const struct krt_engine *e, const struct krt_call *c, struct krt_hot *h,
		      const struct krt_stream_info *s, const struct krt_event_info *ev)
{
	bool lucky = h->lucky != e->lucky;

	h->lucky = e->lucky;
	return lucky || (e->waiting_lane && e->waiting_lane != c->lane + 1) ||
	       (ev ? ev->lane != c->lane : s && s->lane != c->lane);
}

static void edge(struct krt_hot *h, const struct krt_call *c)
{
	if (!h->edges++)
		h->edge_first = c->rec->t0;
	h->edge_ns += c->rec->took_ns;
}

static void synced(struct krt_engine *e, const struct krt_call *c, const struct krt_stream_info *s,
		   const struct krt_event_info *ev, bool added, struct krt_lane *l)
{
	bool pageable = l->hot.pageable;
	struct krt_hot *h;

	krt_pace_end(e, c, true);
	e->host_waits_done++;
	if (!e->waiting_lane)
		e->waiting_lane = c->lane + 1;
	else if (e->waiting_lane != c->lane + 1)
		e->waiting_lane = UINT32_MAX;
	if (l->hot.pageable) /* pinned memory would only move the wait from there to here */
		l->hot.pageable->followed++;
	l->hot.pageable = NULL;
	h = hot_get(e, KRT_RULE_PERF_SYNC_HOT);
	l->hot.synced = h;
	if (!h)
		return;
	/*
	 * With work in flight that was enqueued later the device does not run dry; nor is
	 * it this wait that lets it where all was known to be done before, unless from
	 * such a copy or from a lucky query.
	 */
	count(e, c, h,
	      (!e->settled || pageable || h->lucky != e->lucky) &&
		      krt_order_before_host(e->order, KRT_VIEW_OBS, krt_hot_newest(e, c)));
	target(e, h, s, ev);
	if (c->op != KRT_OP_STREAM_QUERY && c->op != KRT_OP_EVENT_QUERY)
		edge(h, c);
	h->added += by_chance(e, c, h, s, ev) || added;
	if (l->hot.fetched)
		fetched(h, l);
}

void krt_hot_sync(struct krt_engine *e, const struct krt_call *c, const struct krt_stream_info *s,
		  const struct krt_event_info *ev, bool added)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);

	if (!l)
		return;
	synced(e, c, s, ev, added, l);
	krt_path_log(&e->heap, &l->path, e->site);
}

void krt_hot_wait(struct krt_engine *e, const struct krt_call *c, const struct krt_stream_info *s,
		  const struct krt_event_info *ev, bool added)
{
	struct krt_hot *h = hot_get(e, KRT_RULE_PERF_REDUNDANT_SYNC);

	if (!h)
		return;
	count(e, c, h, true);
	target(e, h, s, ev);
	edge(h, c);
	h->added += by_chance(e, c, h, NULL, ev) || added;
}

/* The next query of the same site for the same object, nothing enqueued since, is the same loop. */
void krt_hot_unfinished(struct krt_engine *e, const struct krt_call *c, uint64_t object)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);

	if (!l)
		return;
	l->hot.polling = (krt_call_site(e, c->rec->stack) ^ object) | 1;
	l->hot.polling_work = l->path.done.work;
}

bool krt_hot_polled(struct krt_engine *e, const struct krt_call *c, uint64_t object, bool added)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);
	bool was;

	if (!l)
		return false;
	was = l->hot.polling == ((krt_call_site(e, c->rec->stack) ^ object) | 1) &&
	      l->hot.polling_work == l->path.done.work;
	l->hot.polling = 0;
	e->lucky += added && !was;
	if (was && e->place) {
		krt_site_pass(e->site, e->place);
		krt_path_pass(&e->heap, &l->path, e->place);
	}
	return was;
}

/* --- what is made and goes ---------------------------------------------------------------- */

static struct krt_made *made_find(struct krt_engine *e, enum krt_made_sort sort, uint64_t object,
				  uint64_t *key)
{
	struct krt_made *m;

	*key = object ^ (uint64_t)(sort + 1) << 56;
	HASH_FIND(hh, e->made, key, sizeof(*key), m);
	return m;
}

void krt_hot_made(struct krt_engine *e, const struct krt_call *c, enum krt_made_sort sort,
		  uint64_t object, uint64_t bytes)
{
	struct krt_heap *heap = &e->heap;
	struct krt_hot *h;
	struct krt_made *m;
	uint64_t key;

	h = object ? hot_get(e, sort == KRT_MADE_MEMORY ? KRT_RULE_PERF_ALLOC_HOT
							: KRT_RULE_PERF_CHURN)
		   : NULL;
	if (!h)
		return;
	count(e, c, h, h->gone != h->gone_seen);
	h->gone_seen = h->gone;
	size_seen(h, bytes);
	m = made_find(e, sort, object, &key);
	if (!m) {
		if (HASH_COUNT(e->made) >= MADE_MAX)
			return;
		m = krt_heap_alloc(heap, sizeof(*m));
		if (!m)
			return;
		m->key = key;
		HASH_ADD(hh, e->made, key, sizeof(m->key), m);
		if (!m->hh.tbl) {
			krt_heap_free(heap, m, sizeof(*m));
			return;
		}
	}
	m->site = e->site;
}

void krt_hot_gone(struct krt_engine *e, const struct krt_call *c, enum krt_made_sort sort,
		  uint64_t object)
{
	struct krt_heap *heap = &e->heap;
	uint64_t key;
	struct krt_made *m = made_find(e, sort, object, &key);
	struct krt_hot *h = m ? m->site->hot : NULL;

	if (!m)
		return;
	if (h) {
		struct krt_lane *l = krt_call_lane(e, c->lane);

		/* the sync is for the free, which would wait itself */
		if (l && l->hot.synced && sort == KRT_MADE_MEMORY)
			l->hot.synced->followed++;
		if (l)
			l->hot.synced = NULL;
		h->gone++;
		h->gone_ns += c->rec->took_ns;
		if (!h->count) { /* the one before what is told as the first */
			h->gone_seq = c->rec->t0;
			h->gone_stack = c->rec->stack;
			h->gone_api = c->rec->api;
		}
	}
	HASH_DELETE(hh, e->made, m);
	krt_heap_free(heap, m, sizeof(*m));
}

/* --- verdicts ------------------------------------------------------------------------------ */

/* Rounds of the loop of a site, the last without a pass included. */
static uint64_t rounds_of(const struct krt_engine *e, const struct krt_site *s)
{
	const struct krt_hot *h = s->hot;
	const struct krt_place *p = s->last;
	bool left = p && p->head && !p->at; /* the loop has begun another round since */
	struct krt_rounds since = krt_place_rounds(p);
	/* the loop around is the one, unless it is a mere branch */
	bool far = h->near_only * 16 <= h->worked;
	uint64_t tail = (far && since.far ? since.far : since.near) - 1, later = 0, each;
	uint64_t n = far ? h->far : h->near;

	if (h->small && !left && h->lead >= h->inner && h->alike * 8 >= (h->small - 1) * 7)
		n = h->folded;
	if (h->kernel && h->worked) {
		each = (h->kernel_total - h->kernel_first) / h->worked;
		later = (h->kernel->unwaited - h->kernel_unwaited) / (each ? each : 1);
		if (h->kernel->captured)
			later = more(later, e->graphs_unwaited - h->graphs_unwaited);
		later -= later != 0; /* that of the last pass */
	}
	return n + more(tail, later);
}

static void hot_finding(struct krt_engine *e, const struct krt_site *s, enum krt_rule_id rule,
			uint64_t rounds)
{
	static const char *const what[KRT_NR_RULES] = {
		[KRT_RULE_PERF_SYNC_HOT] = "sync",	     [KRT_RULE_PERF_ALLOC_HOT] = "allocate",
		[KRT_RULE_PERF_PAGEABLE_ASYNC] = "copy", [KRT_RULE_PERF_CHURN] = "create",
		[KRT_RULE_PERF_REDUNDANT_SYNC] = "wait",
	};
	const struct krt_hot *h = s->hot;
	bool redundant = rule == KRT_RULE_PERF_REDUNDANT_SYNC; /* all calls, not the hot ones */
	uint64_t times = redundant ? h->edges : h->count;
	const struct krt_kernel_info *k =
		h->fetches ? krt_kernel_get(&e->obj, h->fetched_kernel) : NULL;
	struct krt_hot_facts hot = {
		.cost = {.times = times,
			 .rounds = rounds,
			 .submit_ns = KRT_UNKNOWN,
			 .blocked_ns = KRT_UNKNOWN,
			 .service_ns = KRT_UNKNOWN,
			 .queue_ns = KRT_UNKNOWN},
		.target = h->several ? NULL : h->target,
		.bytes_min = h->bytes_min,
		.bytes_max = h->bytes_max,
		.gone_ns = e->times ? h->gone_ns : KRT_UNKNOWN,
	};
	struct krt_facts f = {.rule = rule,
			      .confidence = KRT_CERTAIN,
			      .view = KRT_BOTH_VIEWS,
			      .times = times,
			      .rounds = rounds,
			      .hot = &hot};
	struct krt_finding shape;

	hot.dry_ns = krt_pace_cost(e, s, &hot.cost);
	if (e->times) {
		hot.cost.submit_ns = h->submit_ns;
		hot.cost.blocked_ns = redundant ? h->edge_ns : h->blocked_ns + h->gone_ns;
	}
	if (h->fetches * 2 > h->count) {
		hot.fetched = h->fetched;
		hot.fetched_seq = h->fetched_seq;
		hot.fetched_api = krt_api[h->fetched_api].base;
		hot.kernel = k && *k->name ? k->name : NULL;
	}
	memset(&shape, 0, sizeof(shape));
	shape.cost = hot.cost;
	shape.current.what = f.cur.what = what[rule];
	shape.current.api = f.cur.api = krt_api[s->api].base;
	shape.current.stream = f.cur.stream = "host";
	shape.current.sequence = f.cur.seq = redundant ? h->edge_first : h->first;
	shape.current.stack_id = s->stack;
	shape.current.knowledge = "api";
	if (h->gone_seq) {
		shape.previous.what = f.prev.what = rule == KRT_RULE_PERF_CHURN ? "destroy" : "free";
		shape.previous.api = f.prev.api = krt_api[h->gone_api].base;
		shape.previous.stream = f.prev.stream = "host";
		shape.previous.sequence = f.prev.seq = h->gone_seq;
		shape.previous.stack_id = h->gone_stack;
		shape.previous.knowledge = "api";
	}
	krt_find(e, &f, &shape, 0);
}

/* Did a wait here ever add an order, in whichever thread?  They run the same code. */
struct krt_needed {
	uint64_t code;
	UT_hash_handle hh;
};

static void needed_add(struct krt_engine *e, struct krt_needed **needed, uint64_t code)
{
	struct krt_heap *heap = &e->heap;
	struct krt_needed *n;

	HASH_FIND(hh, *needed, &code, sizeof(code), n);
	if (n)
		return;
	n = krt_heap_alloc(heap, sizeof(*n));
	if (!n)
		return;
	n->code = code;
	HASH_ADD(hh, *needed, code, sizeof(n->code), n);
	if (!n->hh.tbl)
		krt_heap_free(heap, n, sizeof(*n));
}

static void judge(struct krt_engine *e, const struct krt_site *s, const struct krt_needed *needed)
{
	const struct krt_hot *h = s->hot;
	const struct krt_needed *n = NULL;
	uint64_t rounds = rounds_of(e, s) + 1;

	if (h->edges >= e->cfg.hot_min && !h->added)
		HASH_FIND(hh, needed, &s->code, sizeof(s->code), n);
	if (h->edges >= e->cfg.hot_min && !h->added && !n) {
		if (krt_library_site(e, s->stack))
			return;
		hot_finding(e, s, KRT_RULE_PERF_REDUNDANT_SYNC, more(rounds, h->edges));
		return;
	}
	if (h->followed * 2 > h->count && h->fetches * 2 <= h->count)
		return;
	if (h->rule == KRT_RULE_PERF_REDUNDANT_SYNC || h->count < e->cfg.hot_min ||
	    h->worked + 1 < e->cfg.hot_min || h->worked * 2 < rounds - 1)
		return;
	hot_finding(e, s, h->rule, rounds);
}

void krt_hot_finish(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_needed *needed = NULL, *n, *tmp;

	for (const struct krt_site *s = e->sites; s; s = s->hh.next)
		if (s->hot && s->hot->added)
			needed_add(e, &needed, s->code);
	for (const struct krt_site *s = e->sites; s; s = s->hh.next)
		if (s->hot)
			judge(e, s, needed);
	HASH_ITER (hh, needed, n, tmp) {
		HASH_DELETE(hh, needed, n);
		krt_heap_free(heap, n, sizeof(*n));
	}
}

void krt_hot_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_hot_kernel *k, *ktmp;
	struct krt_place *p, *ptmp;
	struct krt_site *s, *stmp;
	struct krt_made *m, *mtmp;

	HASH_ITER (hh, e->sites, s, stmp) {
		HASH_DELETE(hh, e->sites, s);
		if (s->hot)
			krt_heap_freestr(heap, s->hot->target);
		krt_heap_free(heap, s->hot, sizeof(*s->hot));
		krt_heap_free(heap, s, sizeof(*s));
	}
	HASH_ITER (hh, e->places, p, ptmp) {
		HASH_DELETE(hh, e->places, p);
		krt_heap_free(heap, p, sizeof(*p));
	}
	HASH_ITER (hh, e->hot_kernels, k, ktmp) {
		HASH_DELETE(hh, e->hot_kernels, k);
		krt_heap_free(heap, k, sizeof(*k));
	}
	HASH_ITER (hh, e->made, m, mtmp) {
		HASH_DELETE(hh, e->made, m);
		krt_heap_free(heap, m, sizeof(*m));
	}
	for (uint32_t i = 0; i < e->lanes; i++)
		krt_path_free(heap, &e->lane[i].path);
}
