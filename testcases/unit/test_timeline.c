/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline: rows, lanes and edges of small programs, the bound, and for
 * programs drawn at random that the drawn order is exactly the engine's.
 */
#include "analyzer/engine_int.h"
#include "rec_build.h"

#include <criterion/criterion.h>

#define S1 0x5001ull
#define S2 0x5002ull
#define EV 0xe001ull

static const struct krt_engine_config kept = {
	.hot_min = 16, .possible_max = 1000, .timeline = 100000};

static struct krt_report *report;

static struct krt_timeline *timeline_of(struct world *w)
{
	report = world_report(w);
	cr_assert(report && report->nprocesses == 1);
	return report->process[0].timeline;
}

static void done(struct world *w)
{
	krt_report_destroy(report);
	krt_engine_destroy(w->e);
}

static const struct krt_timeline_edge *edge(const struct krt_timeline *t, uint64_t from,
					    uint64_t to)
{
	for (uint32_t i = 0; i < t->nedges; i++)
		if (t->op[t->edge[i].from].sequence == from && t->op[t->edge[i].to].sequence == to)
			return &t->edge[i];
	return NULL;
}

static const struct krt_timeline_op *op(const struct krt_timeline *t, uint64_t seq)
{
	uint32_t i = krt_timeline_find(t, seq);

	cr_assert_neq(i, KRT_TL_NONE, "#%lu is not there", (unsigned long)seq);
	return &t->op[i];
}

Test(timeline, nothing_is_kept_unless_asked_for)
{
	struct world w;

	world_open(&w, NULL);
	stream(&w, S1, 1);
	set(&w, DEV, 64, S1);
	cr_assert_null(timeline_of(&w));
	done(&w);
}

Test(timeline, record_wait_and_syncs_are_edges)
{
	uint64_t work, rec, wait, other, sync, all;
	const struct krt_timeline *t;
	const struct krt_timeline_op *o;
	struct world w;

	world_open(&w, &kept);
	thread(&w, 1, 7);
	stream(&w, S1, 1);
	stream(&w, S2, 1);
	name(&w, S2, 0, "copies");
	event(&w, EV);
	alloc(&w, DEV, 4096);
	w.now = 1000;
	w.took = 50;
	range(&w, 9, "step");
	work = w.ticket;
	set(&w, DEV, 64, S1);
	range(&w, 9, NULL);
	rec = w.ticket;
	record(&w, EV, S1);
	wait = w.ticket;
	wait_event(&w, S2, EV);
	other = w.ticket;
	set(&w, DEV, 64, S2);
	sync = w.ticket;
	sync_stream(&w, S2);
	all = w.ticket;
	sync_ctx(&w);
	device_time(&w, work, 5000, 7000);
	t = timeline_of(&w);
	cr_assert(t);
	o = op(t, work);
	cr_assert_eq(o->kind, KRT_TL_SET);
	cr_assert_eq(o->bytes, 64);
	cr_assert_eq(o->start_ns, 1000);
	cr_assert_eq(o->took_ns, 50);
	cr_assert_eq(o->device_start_ns, 5000);
	cr_assert_eq(o->device_ns, 2000);
	cr_assert_str_eq(t->name[o->api], "cuMemsetD8Async");
	cr_assert_str_eq(t->name[o->range], "step");
	cr_assert_eq(op(t, rec)->range, KRT_TL_NONE);
	cr_assert_eq(t->lane[o->stream].kind, KRT_LANE_STREAM);
	cr_assert_eq(t->lane[o->stream].handle, S1);
	cr_assert_str_eq(t->lane[o->thread].name, "thread 101");
	cr_assert_str_eq(t->lane[op(t, other)->stream].name, "stream \"copies\"");
	cr_assert_eq(op(t, other)->device_start_ns, KRT_UNKNOWN, "it was not measured");
	cr_assert_eq(op(t, rec)->kind, KRT_TL_RECORD);
	cr_assert_eq(op(t, wait)->kind, KRT_TL_WAIT);
	cr_assert_eq(op(t, sync)->stream, KRT_TL_NONE);
	cr_assert(edge(t, rec, wait) && edge(t, rec, wait)->kind == KRT_TLE_EVENT);
	cr_assert(edge(t, other, sync) && edge(t, other, sync)->kind == KRT_TLE_SYNC);
	cr_assert(edge(t, rec, all), "the first stream is joined by the context alone");
	cr_assert_null(edge(t, other, all), "that was known");
	cr_assert_eq(t->nedges, 3);
	done(&w);
}

Test(timeline, a_sync_copy_blocks_and_is_no_edge_to_itself)
{
	const struct krt_timeline *t;
	uint64_t copy, staged, before;
	struct world w;

	world_open(&w, &kept);
	alloc(&w, DEV, 4096);
	copy = w.ticket;
	call(&w, cuMemcpyDtoH_v2, A(HEAP), A(DEV), A(64));
	before = w.ticket;
	set(&w, DEV, 64, 1);
	staged = w.ticket;
	call(&w, cuMemcpyHtoD_v2, A(DEV), A(HEAP), A(64));
	t = timeline_of(&w);
	cr_assert_eq(op(t, copy)->flags, KRT_TLF_BLOCKS);
	cr_assert_eq(op(t, staged)->flags, KRT_TLF_BLOCKS_FOUND | KRT_TLF_STAGED);
	cr_assert_null(edge(t, before, staged), "the flag says it");
	done(&w);
}

Test(timeline, captured_calls_are_marked)
{
	const struct krt_timeline *t;
	uint64_t work;
	struct world w;

	world_open(&w, &kept);
	stream(&w, S1, 1);
	call(&w, cuStreamBeginCapture_v2, A(S1), A(0));
	work = w.ticket;
	set(&w, DEV, 64, S1);
	t = timeline_of(&w);
	cr_assert_eq(op(t, work)->flags, KRT_TLF_CAPTURED);
	cr_assert_neq(op(t, work)->stream, KRT_TL_NONE);
	done(&w);
}

Test(timeline, beyond_the_bound_findings_and_the_newest_stay)
{
	struct krt_engine_config small = kept;
	const struct krt_timeline *t;
	uint64_t first, second, last = 0;
	struct world w;

	small.timeline = 1000;
	world_open(&w, &small);
	stream(&w, S1, 1);
	stream(&w, S2, 1);
	event(&w, EV);
	alloc(&w, DEV, 4096);
	for (unsigned i = 0; i < 100; i++)
		set(&w, DEV + 2048, 64, S1);
	first = w.ticket;
	set(&w, DEV, 64, S1);
	second = w.ticket;
	set(&w, DEV, 64, S2);
	for (unsigned i = 0; i < 3000; i++) {
		last = w.ticket;
		set(&w, DEV + 2048, 64, S1);
		record(&w, EV, S1);
		if (i % 50 == 0) { /* lanes that come and go */
			stream(&w, 0x6000 + i, 1);
			set(&w, DEV + 3072, 64, 0x6000 + i);
			sync_stream(&w, 0x6000 + i);
			call(&w, cuStreamDestroy_v2, A(0x6000 + i));
		}
	}
	t = timeline_of(&w);
	cr_assert_leq(t->nops, 1000);
	cr_assert_gt(t->nops, 500);
	cr_assert_eq(t->left_out + t->nops, 1 + 102 + 6000 + 180);
	cr_assert_lt(t->nlanes, 30);
	for (uint32_t i = 0; i < t->nops; i++) {
		cr_assert_lt(t->op[i].thread, t->nlanes);
		cr_assert_eq(t->lane[t->op[i].thread].kind, KRT_LANE_HOST);
		if (t->op[i].stream != KRT_TL_NONE)
			cr_assert_eq(t->lane[t->op[i].stream].kind, KRT_LANE_STREAM);
	}
	op(t, last);
	op(t, second);
	cr_assert_eq(t->lane[op(t, first)->stream].handle, S1);
	cr_assert_eq(t->lane[op(t, second)->stream].handle, S2);
	cr_assert_eq(t->lane[op(t, last)->stream].handle, S1);
	done(&w);
}

/* --- is the drawn order the engine's? -------------------------------------------------- */

#define STEPS 170
#define WORDS ((2 * STEPS + 63) / 64)

struct reach {
	uint64_t bit[WORDS];
};

static void join(struct reach *a, const struct reach *b, unsigned node)
{
	for (unsigned i = 0; i < WORDS; i++)
		a->bit[i] |= b->bit[i];
	a->bit[node / 64] |= 1ull << node % 64;
}

static bool has(const struct reach *a, unsigned node)
{
	return a->bit[node / 64] >> node % 64 & 1;
}

/* What comes before each operation on its stream: node 2i is operation i's call, 2i + 1 itself. */
static void walk(const struct krt_timeline *t, bool observed, struct reach *node)
{
	uint32_t last[64], at = 0;

	cr_assert_lt(t->nlanes, 64);
	cr_assert_leq(t->nops, STEPS);
	cr_assert_eq(t->edges_left_out, 0);
	memset(node, 0, 2 * STEPS * sizeof(*node));
	memset(last, 0xff, sizeof(last));
	for (uint32_t i = 0; i < t->nops; i++) {
		const struct krt_timeline_op *o = &t->op[i];
		struct reach *h = &node[2 * i], *d = &node[2 * i + 1];
		bool device = o->stream != KRT_TL_NONE;

		if (i) {
			join(h, &node[2 * i - 2], 2 * i - 2);
			join(d, &node[2 * i - 2], 2 * i - 2);
		}
		if (device && last[o->stream] != UINT32_MAX)
			join(d, &node[2 * last[o->stream] + 1], 2 * last[o->stream] + 1);
		if (device)
			last[o->stream] = i;
		for (; at < t->nedges && t->edge[at].to == i; at++) {
			const struct krt_timeline_edge *x = &t->edge[at];
			/* a context's record has no stream, and the host does not wait for it */
			bool host = x->kind == KRT_TLE_SYNC || (!device && x->kind != KRT_TLE_CONTEXT);
			unsigned from = 2 * x->from + (t->op[x->from].stream != KRT_TL_NONE ||
						       x->kind == KRT_TLE_EVENT);

			cr_assert_lt(x->from, i);
			if (!x->observed || observed)
				join(host ? h : d, &node[from], from);
		}
		if (o->flags & (observed ? KRT_TLF_BLOCKS | KRT_TLF_BLOCKS_FOUND : KRT_TLF_BLOCKS))
			join(h, d, 2 * i + 1);
		if (o->flags & KRT_TLF_STAGED)
			for (unsigned k = 0; k < WORDS; k++)
				h->bit[k] |= d->bit[k];
	}
}

static uint64_t rng;
static unsigned draw(unsigned n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(rng >> 33) % n;
}

static const uint64_t streams[] = {1, 0x5101, 0x5102, 0x5201, 0x5202}; /* legacy, blocking, not */
#define NSTREAMS (sizeof(streams) / sizeof(*streams))

/* Work on a stream, and such that has told the host already. */
enum step { NO_WORK, WORK, WORK_AND_WAIT };
static enum step step(struct world *w)
{
	uint64_t s = streams[draw(NSTREAMS)], ev = EV + draw(3);

	switch (draw(16)) {
	default:
		set(w, DEV, 64, s);
		return WORK;
	case 5:
	case 6:
		record(w, ev, s);
		return NO_WORK;
	case 7:
	case 8:
		wait_event(w, s, ev);
		return NO_WORK;
	case 9:
		if (draw(3))
			sync_event(w, ev);
		else
			sync_stream(w, s);
		return NO_WORK;
	case 10:
		if (!draw(4))
			sync_ctx(w);
		else if (draw(2))
			call(w, cuStreamQuery, A(s));
		else
			call(w, cuEventQuery, A(ev));
		return NO_WORK;
	case 11:
		if (draw(2))
			call(w, cuMemcpyHtoD_v2, A(DEV), A(HEAP), A(64));
		else
			call(w, cuMemcpyDtoH_v2, A(HEAP), A(DEV), A(64));
		return WORK_AND_WAIT;
	case 12:
		call(w, krtsan_impl_order_release, A(0x70 + draw(2)), A(draw(4) ? s : UINT64_MAX));
		return NO_WORK;
	case 13:
		call(w, krtsan_impl_order_acquire, A(0x70 + draw(2)), A(draw(4) ? s : UINT64_MAX));
		return NO_WORK;
	case 14:
		if (draw(2))
			call(w, cuCtxRecordEvent, A(w->ctx), A(ev));
		else
			call(w, cuCtxWaitEvent, A(w->ctx), A(ev));
		return NO_WORK;
	case 15:
		if (draw(3))
			return NO_WORK;
		alloc(w, DEV + 0x100000, 64);
		call(w, cuMemFree_v2, A(DEV + 0x100000));
		return NO_WORK;
	}
}

Test(timeline, the_drawn_order_is_that_of_the_engine)
{
	static struct reach node[KRT_VIEWS][2 * STEPS];
	static bool before[KRT_VIEWS][STEPS][STEPS];
	unsigned ordered = 0, unordered = 0, differ = 0;

	for (unsigned seed = 1; seed <= 24; seed++) {
		struct {
			uint64_t seq;
			struct krt_stamp stamp;
			bool asked;
		} work[STEPS];
		unsigned n = 0;
		const struct krt_timeline *t;
		struct world w;

		rng = seed;
		world_open(&w, &kept);
		alloc(&w, DEV, 4096);
		if (seed % 2)
			context(&w, 0xc1, seed % 4 / 2, false);
		for (unsigned i = 1; i < NSTREAMS; i++) {
			if (seed % 2)
				w.ctx = 0xc0 + (i & 1); /* one of each sort in either context */
			stream(&w, streams[i], i > 2);
		}
		for (unsigned i = 0; i < 3; i++)
			event(&w, EV + i);
		for (unsigned i = 0; i < STEPS - 20; i++) {
			uint64_t seq = w.ticket;
			enum step what;

			if (seed % 2)
				w.ctx = 0xc0 + draw(2);
			what = step(&w);

			if (what == NO_WORK)
				continue;
			work[n].seq = seq;
			work[n].asked = what == WORK;
			work[n].stamp = w.e->enqueued;
			for (unsigned v = 0; v < KRT_VIEWS; v++)
				for (unsigned k = 0; k < n; k++)
					before[v][n][k] = krt_order_before_stream(
						w.e->order, v, work[k].stamp, work[n].stamp.domain);
			n++;
		}
		t = timeline_of(&w);
		for (unsigned v = 0; v < KRT_VIEWS; v++)
			walk(t, v == KRT_VIEW_OBS, node[v]);
		for (unsigned i = 0; i < n; i++)
			for (unsigned k = 0; k < i && work[i].asked; k++) {
				uint32_t a = krt_timeline_find(t, work[k].seq),
					 b = krt_timeline_find(t, work[i].seq);

				for (unsigned v = 0; v < KRT_VIEWS; v++) {
					cr_assert_eq(
						has(&node[v][2 * b + 1], 2 * a + 1),
						before[v][i][k],
						"seed %u, view %u: #%lu before #%lu: engine %d",
						seed, v, (unsigned long)work[k].seq,
						(unsigned long)work[i].seq, before[v][i][k]);
					ordered += before[v][i][k];
					unordered += !before[v][i][k];
				}
				differ += before[0][i][k] != before[1][i][k];
			}
		done(&w);
	}
	cr_assert_gt(ordered, 5000);
	cr_assert_gt(unordered, 1000);
	cr_assert_gt(differ, 10);
}

/* --- memory ------------------------------------------------------------------------------ */

static void whole_program(struct world *w)
{
	stream(w, S1, 1);
	event(w, EV);
	alloc(w, DEV, 4096);
	range(w, 3, "range");
	for (unsigned i = 0; i < 30; i++) {
		set(w, DEV, 64, S1);
		record(w, EV, S1);
		wait_event(w, 1, EV);
		set(w, DEV, 64, 1);
	}
}

/* Thousands of streams that come and go would make each sync slower than the one before. */
Test(timeline, no_edges_from_streams_that_are_over)
{
	uint64_t waited, open, rec, all;
	const struct krt_timeline *t;
	struct world w;

	world_open(&w, &kept);
	stream(&w, S1, 1);
	stream(&w, S2, 1);
	event(&w, EV);
	alloc(&w, DEV, 4096);
	waited = w.ticket;
	set(&w, DEV, 64, S1);
	sync_stream(&w, S1);
	call(&w, cuStreamDestroy_v2, A(S1));
	open = w.ticket;
	set(&w, DEV, 64, S2);
	call(&w, cuStreamDestroy_v2, A(S2));
	stream(&w, S1, 1);
	sync_stream(&w, S1);
	rec = w.ticket;
	call(&w, cuCtxRecordEvent, A(w.ctx), A(EV));
	all = w.ticket;
	sync_ctx(&w);
	t = timeline_of(&w);
	cr_assert_null(edge(t, waited, rec), "the host had waited for it");
	cr_assert(edge(t, open, rec) && edge(t, open, rec)->kind == KRT_TLE_CONTEXT);
	cr_assert(edge(t, open, all), "it ended, and nobody waited for it before");
	done(&w);
}

Test(timeline, any_allocation_may_fail)
{
	struct krt_engine_config c = kept;
	unsigned long count;
	struct world w;

	c.timeline = 32;
	world_open(&w, &c);
	whole_program(&w);
	count = w.e->heap.count;
	krt_engine_destroy(w.e);
	for (unsigned long i = 2; i <= count; i++) {
		c.fail_at = i;
		world_open(&w, &c);
		if (!w.e)
			continue;
		whole_program(&w);
		report = world_report(&w);
		done(&w);
	}
}
