/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs on the ordering module, against a judge that shares no idea
 * with it: every call is a node, every rule of the driver a set of edges, and
 * "before" is reachability, kept as bit sets.  Then the same programs with every
 * allocation failing once.  Seeds are fixed.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "count_memory.h"

#define NODES   1024
#define WORDS   (NODES / 64)
#define STREAMS 64
#define CTXS    4
#define SNAPS   12
#define DEVICES 2

/* --- the judge ------------------------------------------------------------------------ */

struct node {
	uint64_t anc[KRT_VIEWS][WORDS]; /* what is before it */
	bool op;                        /* begun by krt_order_begin() */
	struct krt_stamp stamp;
	int stream;
	uint64_t t1;
	unsigned learns; /* at most so many changes of its stream's knowledge in it */
};

struct stream {
	krt_domain id;
	int ctx;
	enum krt_stream_kind kind;
	bool ended;
	int last; /* node, -1: none */
};

struct ctx {
	krt_context id;
	unsigned device;
	bool ended;
	int legacy; /* stream, -1: none */
};

struct floor_edge {
	int ctx, node;
	unsigned views;
};

struct snap {
	struct krt_snapshot *s;
	int node;
};

struct program {
	struct memory mem;
	struct krt_order *o;
	uint64_t rng;
	unsigned max_streams;
	bool timed;       /* uses krt_order_at() */
	bool observed;    /* uses edges of the observed view alone */
	uint64_t t0, t1;  /* the running call */
	int nnodes, nstreams, nctxs, nfloors, nhosts;
	struct node node[NODES];
	struct stream stream[STREAMS];
	struct ctx ctx[CTXS];
	struct floor_edge floor[NODES];
	int host[NODES]; /* host nodes, in order */
	struct snap snap[SNAPS];
};

static struct program p;

static unsigned rnd(unsigned n)
{
	p.rng ^= p.rng << 13;
	p.rng ^= p.rng >> 7;
	p.rng ^= p.rng << 17;
	return (unsigned)((p.rng >> 20) % n);
}

static bool in(const uint64_t *set, int n)
{
	return set[n / 64] >> n % 64 & 1;
}

static int add_node(void)
{
	struct node *n = &p.node[p.nnodes];

	cr_assert_lt(p.nnodes, NODES);
	memset(n, 0, sizeof(*n));
	n->stream = -1;
	n->t1 = p.t1;
	return p.nnodes++;
}

static void edge(int from, int to, unsigned views)
{
	if (from < 0)
		return;
	if (views & KRT_IN_DOC)
		views |= KRT_IN_OBS;
	for (unsigned v = 0; v < KRT_VIEWS; v++) {
		if (!(views & 1u << v))
			continue;
		for (unsigned i = 0; i < WORDS; i++)
			p.node[to].anc[v][i] |= p.node[from].anc[v][i];
		p.node[to].anc[v][from / 64] |= 1ull << from % 64;
	}
}

/* The host as the running call knows it: what returned before it began. */
static int visible_host(void)
{
	for (int i = p.nhosts - 1; i >= 0; i--)
		if (!p.timed || p.node[p.host[i]].t1 < p.t0)
			return p.host[i];
	return -1;
}

/* The latest node of a stream that returned before the running call began. */
static int visible_last(int s)
{
	if (!p.timed)
		return p.stream[s].last;
	for (int n = p.nnodes - 1; n >= 0; n--)
		if (p.node[n].stream == s && p.node[n].t1 < p.t0)
			return n;
	return -1;
}

/* Everything that precedes a call on a stream, by the rules of the driver. */
static void stream_edges(int s, int n)
{
	struct stream *st = &p.stream[s];
	struct ctx *c = &p.ctx[st->ctx];

	edge(st->last, n, KRT_IN_BOTH);
	edge(visible_host(), n, KRT_IN_BOTH);
	if (st->kind == KRT_STREAM_LEGACY)
		for (int i = 0; i < p.nstreams; i++)
			if (p.stream[i].ctx == st->ctx && p.stream[i].kind == KRT_STREAM_BLOCKING)
				edge(p.stream[i].last, n, KRT_IN_BOTH);
	if (st->kind == KRT_STREAM_BLOCKING && c->legacy >= 0)
		edge(p.stream[c->legacy].last, n, KRT_IN_BOTH);
	for (int i = 0; i < p.nfloors; i++)
		if (p.floor[i].ctx == st->ctx)
			edge(p.floor[i].node, n, p.floor[i].views);
}

static int stream_node(int s)
{
	int n = add_node();

	stream_edges(s, n);
	p.node[n].stream = s;
	p.node[n].learns = 1 + (p.stream[s].kind != KRT_STREAM_NON_BLOCKING);
	p.stream[s].last = n;
	return n;
}

static int host_node(void)
{
	int n = add_node();

	if (p.nhosts)
		edge(p.host[p.nhosts - 1], n, KRT_IN_BOTH);
	p.host[p.nhosts++] = n;
	return n;
}

/* The module remembers two earlier states of a stream: older questions get too much. */
static bool remembered(int s, int since)
{
	unsigned learns = 0;

	for (int n = since + 1; n < p.nnodes; n++)
		if (p.node[n].stream == s)
			learns += p.node[n].learns;
	return learns <= 2;
}

/* --- checks ----------------------------------------------------------------------------- */

static void check_against(int n, bool begun)
{
	int s = p.node[n].stream;

	for (int i = 0; i < p.nnodes; i++) {
		if (!p.node[i].op || (begun && i == n))
			continue;
		for (unsigned v = 0; v < KRT_VIEWS; v++) {
			bool got = krt_order_before_stream(p.o, v, p.node[i].stamp, p.stream[s].id);

			cr_assert_eq(got, in(p.node[n].anc[v], i),
				     "view %u: node %d %s node %d on stream %d", v, i,
				     got ? "must not be before" : "must be before", n, s);
		}
	}
}

/* What would begin next on a stream. */
static void check_next(int s)
{
	int n = add_node();

	stream_edges(s, n);
	p.node[n].stream = s;
	check_against(n, false);
	for (unsigned v = 0; v < KRT_VIEWS; v++) {
		int of = (int)rnd(p.nstreams);
		uint64_t known = krt_order_known(p.o, v, p.stream[of].id, p.stream[s].id);

		for (int i = 0; i < n; i++)
			if (p.node[i].op && p.node[i].stream == of)
				cr_assert_eq(p.node[i].stamp.epoch <= known,
					     in(p.node[n].anc[v], i));
	}
	p.nnodes--;
}

static void check_host(void)
{
	int h = visible_host();
	int newest = p.nhosts ? p.host[p.nhosts - 1] : -1;

	for (int i = 0; i < p.nnodes; i++) {
		bool settled, doc;

		if (!p.node[i].op)
			continue;
		for (unsigned v = 0; v < KRT_VIEWS; v++)
			cr_assert_eq(krt_order_before_host(p.o, v, p.node[i].stamp),
				     h >= 0 && in(p.node[h].anc[v], i), "view %u: node %d", v, i);
		settled = krt_order_settled(p.o, p.node[i].stamp);
		doc = newest >= 0 && in(p.node[newest].anc[KRT_VIEW_DOC], i);
		cr_assert(p.timed ? !settled || doc : settled == doc, "node %d", i);
	}
}

static void check_snap(const struct snap *s)
{
	int h = visible_host();

	for (int i = 0; i < p.nnodes; i++)
		for (unsigned v = 0; p.node[i].op && v < KRT_VIEWS; v++)
			cr_assert_eq(krt_snapshot_has(s->s, v, p.node[i].stamp),
				     in(p.node[s->node].anc[v], i) ||
					     (h >= 0 && in(p.node[h].anc[v], i)));
}

/* An edge that brought an operation which `before` did not have must say so. */
static void check_added(bool said, const struct node *before, int after, unsigned views)
{
	enum krt_view v = views & KRT_IN_DOC ? KRT_VIEW_DOC : KRT_VIEW_OBS;

	for (int i = 0; !said && i < after; i++)
		cr_assert(!p.node[i].op || !in(p.node[after].anc[v], i) || in(before->anc[v], i),
			  "an edge that adds node %d is no redundant one", i);
}

/* --- programs ---------------------------------------------------------------------------- */

static int pick_stream(bool alive)
{
	for (unsigned i = 0; p.nstreams && i < 20; i++) {
		int s = (int)rnd(p.nstreams);

		if (!alive || !p.stream[s].ended)
			return s;
	}
	return -1;
}

static int pick_ctx(void)
{
	for (unsigned i = 0; i < 20; i++) {
		int c = (int)rnd(p.nctxs);

		if (!p.ctx[c].ended)
			return c;
	}
	return -1;
}

static unsigned pick_views(void)
{
	return p.observed && rnd(4) == 0 ? KRT_IN_OBS : KRT_IN_BOTH;
}

static int live_streams(void)
{
	int n = 0;

	for (int i = 0; i < p.nstreams; i++)
		n += !p.stream[i].ended;
	return n;
}

static void put_snap(unsigned k, struct krt_snapshot *s, int node)
{
	krt_snapshot_unref(p.o, p.snap[k].s);
	p.snap[k].s = s;
	p.snap[k].node = node;
}

/* One host edge from a node, which may be -1. */
static void judge_host(bool said, const int *from, int nfrom, unsigned views)
{
	struct node before;
	int n;

	memset(&before, 0, sizeof(before));
	if (p.nhosts)
		before = p.node[p.host[p.nhosts - 1]];
	n = host_node();
	for (int i = 0; i < nfrom; i++)
		edge(from[i], n, views);
	check_added(said, &before, n, views);
}

/*
 * One random call.  The judge's half is skipped when memory failed in it; false
 * says so.
 */
static bool step(void)
{
	unsigned k = rnd(SNAPS), views = pick_views(), what = rnd(100);
	int s = pick_stream(true), c, n, from[STREAMS], nfrom = 0;
	struct krt_snapshot *snap;
	struct krt_stamp stamp;
	bool said;

	if (what < 4 || s < 0 || (live_streams() < (int)p.max_streams / 2 && rnd(3) == 0)) {
		static const enum krt_stream_kind kinds[] = {
			KRT_STREAM_NON_BLOCKING, KRT_STREAM_NON_BLOCKING, KRT_STREAM_BLOCKING,
			KRT_STREAM_BLOCKING, KRT_STREAM_LEGACY };
		enum krt_stream_kind kind = kinds[rnd(5)];
		krt_domain id;

		c = pick_ctx();
		if (c < 0 || p.nstreams == STREAMS || live_streams() >= (int)p.max_streams)
			return true;
		id = krt_order_stream(p.o, p.ctx[c].id, kind);
		if (krt_order_failed(p.o)) {
			cr_assert_eq(id, 0);
			return false;
		}
		if (kind == KRT_STREAM_LEGACY && p.ctx[c].legacy >= 0) {
			cr_assert_eq(id, p.stream[p.ctx[c].legacy].id);
			return true;
		}
		p.stream[p.nstreams] =
			(struct stream){.id = id, .ctx = c, .kind = kind, .last = -1};
		if (kind == KRT_STREAM_LEGACY)
			p.ctx[c].legacy = p.nstreams;
		p.nstreams++;
	} else if (what < 40) {
		stamp = krt_order_begin(p.o, p.stream[s].id);
		if (krt_order_failed(p.o)) {
			cr_assert_eq(stamp.domain, 0);
			return false;
		}
		cr_assert_eq(stamp.domain, p.stream[s].id);
		cr_assert_eq(stamp.epoch, krt_order_last(p.o, p.stream[s].id));
		n = stream_node(s);
		p.node[n].op = true;
		p.node[n].stamp = stamp;
		check_against(n, true);
	} else if (what < 56) {
		snap = krt_order_record(p.o, p.stream[s].id);
		if (krt_order_failed(p.o)) {
			cr_assert_null(snap);
			return false;
		}
		put_snap(k, snap, stream_node(s));
	} else if (what < 76) {
		struct node before;

		if (!p.snap[k].s)
			return true;
		said = krt_order_wait(p.o, p.stream[s].id, p.snap[k].s, views);
		if (krt_order_failed(p.o)) {
			cr_assert(!said);
			return false;
		}
		n = stream_node(s);
		before = p.node[n];
		edge(p.snap[k].node, n, views);
		p.node[n].learns++;
		check_added(said, &before, n, views);
	} else if (what < 80) {
		if (!p.snap[k].s)
			return true;
		said = krt_order_host_join(p.o, p.snap[k].s, views);
		judge_host(said, &p.snap[k].node, 1, views);
	} else if (what < 83) {
		s = pick_stream(false);
		from[0] = visible_last(s);
		if (p.timed && !remembered(s, from[0]))
			return true;
		said = krt_order_host_join_stream(p.o, p.stream[s].id, views);
		judge_host(said, from, 1, views);
	} else if (what < 86) {
		bool device = rnd(2);

		c = (int)rnd(p.nctxs);
		for (int i = 0; i < p.nstreams; i++) {
			if (device ? p.ctx[p.stream[i].ctx].device != p.ctx[c].device
				   : p.stream[i].ctx != c)
				continue;
			from[nfrom] = visible_last(i);
			if (p.timed && !remembered(i, from[nfrom]))
				return true;
			nfrom++;
		}
		if (device)
			said = krt_order_host_join_device(p.o, p.ctx[c].device, views);
		else
			said = krt_order_host_join_context(p.o, p.ctx[c].id, views);
		judge_host(said, from, nfrom, views);
	} else if (what < 89) {
		n = p.nnodes ? (int)rnd(p.nnodes) : -1;
		if (n < 0 || !p.node[n].op || !remembered(p.node[n].stream, n))
			return true;
		said = krt_order_host_join_stamp(p.o, p.node[n].stamp, views);
		judge_host(said, &n, 1, views);
	} else if (what < 91) {
		c = pick_ctx();
		if (c < 0)
			return true;
		snap = krt_order_record_context(p.o, p.ctx[c].id);
		if (krt_order_failed(p.o)) {
			cr_assert_null(snap);
			return false;
		}
		n = add_node();
		edge(visible_host(), n, KRT_IN_BOTH);
		for (int i = 0; i < p.nstreams; i++)
			if (p.stream[i].ctx == c)
				edge(p.stream[i].last, n, KRT_IN_BOTH);
		put_snap(k, snap, n);
	} else if (what < 93) {
		c = pick_ctx();
		if (c < 0 || !p.snap[k].s)
			return true;
		said = krt_order_wait_context(p.o, p.ctx[c].id, p.snap[k].s, views);
		if (krt_order_failed(p.o)) {
			cr_assert(!said);
			return false;
		}
		n = add_node();
		edge(visible_host(), n, views);
		edge(p.snap[k].node, n, views);
		p.floor[p.nfloors++] = (struct floor_edge){ c, n, views };
	} else if (what < 95) {
		unsigned k2 = rnd(SNAPS);

		if (!p.snap[k].s || !p.snap[k2].s)
			return true;
		snap = krt_snapshot_join(p.o, p.snap[k].s, p.snap[k2].s);
		if (krt_order_failed(p.o)) {
			cr_assert_null(snap);
			return false;
		}
		n = add_node();
		edge(p.snap[k].node, n, KRT_IN_BOTH);
		edge(p.snap[k2].node, n, KRT_IN_BOTH);
		put_snap(rnd(SNAPS), snap, n);
	} else if (what < 96) {
		snap = krt_order_record_host(p.o);
		if (krt_order_failed(p.o)) {
			cr_assert_null(snap);
			return false;
		}
		n = add_node();
		edge(visible_host(), n, KRT_IN_BOTH);
		put_snap(k, snap, n);
	} else if (what < 99) {
		if (p.stream[s].kind == KRT_STREAM_LEGACY)
			return true;
		krt_order_stream_end(p.o, p.stream[s].id);
		p.stream[s].ended = true;
	} else {
		if (p.nctxs == CTXS) {
			c = (int)rnd(CTXS);
			if (c == 0)
				return true;
			krt_order_context_end(p.o, p.ctx[c].id);
			p.ctx[c].ended = true;
			for (int i = 0; i < p.nstreams; i++)
				p.stream[i].ended |= p.stream[i].ctx == c;
			return true;
		}
		c = p.nctxs;
		p.ctx[c].device = rnd(DEVICES);
		p.ctx[c].id = krt_order_context(p.o, p.ctx[c].device);
		if (krt_order_failed(p.o)) {
			cr_assert_eq(p.ctx[c].id, 0);
			return false;
		}
		p.ctx[c].legacy = -1;
		p.nctxs++;
	}
	return true;
}

/* Tickets: each call returns 10 after the last, and began 5 before that or much earlier. */
static void next_call(void)
{
	p.t1 += 10;
	p.t0 = p.t1 - 5;
	if (rnd(3) == 0)
		p.t0 -= 10 * rnd(12);
	if (p.t0 > p.t1)
		p.t0 = 5;
	if (p.timed)
		krt_order_at(p.o, p.t0, p.t1);
}

static bool start(uint64_t seed, unsigned max_streams, uint64_t fail_at)
{
	uint64_t t = 120;

	memset(&p, 0, sizeof(p));
	p.rng = seed * 0x9e3779b97f4a7c15ull + 1;
	p.max_streams = max_streams;
	p.observed = rnd(3);
	p.t1 = t;
	p.mem.fail_at = fail_at;
	p.o = order_new(&p.mem);
	if (!p.o)
		return false;
	p.ctx[0].id = krt_order_context(p.o, 0);
	p.ctx[0].legacy = -1;
	p.nctxs = 1;
	return p.ctx[0].id != 0;
}

static void finish(void)
{
	for (unsigned i = 0; i < SNAPS; i++)
		krt_snapshot_unref(p.o, p.snap[i].s);
	krt_order_destroy(p.o);
	cr_assert_eq(p.mem.bytes, 0, "%lu bytes not given back", (unsigned long)p.mem.bytes);
}

static void run(uint64_t seed, unsigned steps, unsigned max_streams, bool timed)
{
	cr_assert(start(seed, max_streams, 0));
	p.timed = timed;
	for (unsigned i = 0; i < steps && p.nnodes < NODES - 2; i++) {
		next_call();
		cr_assert(step(), "seed %lu", (unsigned long)seed);
		if (rnd(8) == 0) {
			int s = pick_stream(true);

			next_call();
			if (s >= 0)
				check_next(s);
		}
		if (rnd(8) == 0) {
			next_call();
			check_host();
		}
		if (!timed && rnd(16) == 0 && p.snap[i % SNAPS].s)
			check_snap(&p.snap[i % SNAPS]);
	}
	finish();
}

Test(order_random, few_streams)
{
	unsigned n = scaled(2000, 30);

	for (unsigned i = 1; i <= n; i++)
		run(i, 30 + i % 170, 2 + i % 5, false);
}

/* Clocks wider than one node of a tree. */
Test(order_random, many_streams)
{
	unsigned n = scaled(600, 10);

	for (unsigned i = 1; i <= n; i++)
		run(100000 + i, 100 + i % 700, 20 + i % 40, false);
}

/* Calls of several threads that overlap. */
Test(order_random, overlapping_calls)
{
	unsigned n = scaled(2000, 30);

	for (unsigned i = 1; i <= n; i++)
		run(200000 + i, 30 + i % 200, 2 + i % 7, true);
}

/* --- every allocation fails once ------------------------------------------------------------ */

enum { BEFORE, FAILED, WORKED, STATES };
static uint8_t matrix[STATES][STREAMS + 1][NODES];

/* All that can be asked. */
static void ask_all(unsigned which)
{
	memset(matrix[which], 0, sizeof(matrix[which]));
	for (int i = 0; i < p.nnodes; i++) {
		if (!p.node[i].op)
			continue;
		for (unsigned v = 0; v < KRT_VIEWS; v++) {
			for (int s = 0; s < p.nstreams; s++)
				matrix[which][s][i] |=
					krt_order_before_stream(p.o, v, p.node[i].stamp,
								p.stream[s].id)
					<< v;
			matrix[which][STREAMS][i] |= krt_order_before_host(p.o, v, p.node[i].stamp)
						     << v;
		}
	}
}

/* Does state a answer "before" wherever b does? */
static bool contains(unsigned a, unsigned b)
{
	const uint8_t *ma = matrix[a][0], *mb = matrix[b][0];

	for (size_t i = 0; i < sizeof(matrix[0]); i++)
		if (mb[i] & ~ma[i])
			return false;
	return true;
}

/*
 * Returns false when the program ended before that allocation.  A call that
 * fails may leave part of what it would have added, and nothing else.
 */
static bool run_failing(uint64_t seed, unsigned steps, unsigned max_streams, uint64_t fail_at)
{
	unsigned done = 0;
	bool failed = false;

	if (!start(seed, max_streams, fail_at)) {
		if (p.o) {
			cr_assert(krt_order_failed(p.o));
			finish();
		}
		return true;
	}
	for (; done < steps && p.nnodes < NODES - 2 && !failed; done++) {
		next_call();
		/* The allocation that fails is near: remember what was known. */
		if (p.mem.calls + 200 > fail_at)
			ask_all(BEFORE);
		failed = !step();
	}
	if (failed) {
		cr_assert(krt_order_failed(p.o));
		ask_all(FAILED);
	}
	/* It goes on working, and remembers that it cannot be trusted. */
	for (unsigned i = 0; failed && i < (unsigned)p.nstreams; i++) {
		struct krt_snapshot *s = krt_order_record(p.o, p.stream[i].id);

		krt_order_begin(p.o, p.stream[i].id);
		krt_order_host_join(p.o, s, KRT_IN_BOTH);
		krt_snapshot_unref(p.o, s);
		cr_assert(krt_order_failed(p.o));
	}
	finish();
	if (failed) {
		int known = p.nnodes;

		cr_assert(start(seed, max_streams, 0));
		while (done--) {
			next_call();
			cr_assert(step());
		}
		p.nnodes = known; /* without what the call itself began */
		ask_all(WORKED);
		finish();
		cr_assert(contains(FAILED, BEFORE), "seed %lu, allocation %lu: order was lost",
			  (unsigned long)seed, (unsigned long)fail_at);
		cr_assert(contains(WORKED, FAILED), "seed %lu, allocation %lu: order from nowhere",
			  (unsigned long)seed, (unsigned long)fail_at);
	}
	return failed;
}

Test(order_random, every_allocation_fails_once)
{
	for (unsigned seed = 1; seed <= scaled(6, 1); seed++) {
		unsigned max = seed % 3 ? 8 : 40;
		uint64_t n = 1;

		while (run_failing(300000 + seed, seed % 3 ? 200 : 400, max, n))
			n += RUNNING_ON_VALGRIND ? 7 : 1;
		cr_assert_gt(n, 40);
	}
}

/* krt_order_at() without memory for its rings: no order in time, no crash. */
Test(order_random, no_memory_for_time)
{
	for (uint64_t fail_at = 1; fail_at < 12; fail_at++) {
		if (start(7, 4, fail_at)) {
			krt_order_at(p.o, 1, 2);
			krt_order_stream(p.o, p.ctx[0].id, KRT_STREAM_BLOCKING);
			krt_order_at(p.o, 1, 3);
			krt_order_at(p.o, 4, 5);
		}
		if (p.o)
			finish();
	}
}
