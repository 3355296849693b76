/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ordering module alone: cases with known counts, the default-stream rule,
 * contexts, host joins, calls in flight, retirement.  Random programs and
 * failing allocations: test_order_random.c.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "count_memory.h"
#include "order.h"

#define BOTH KRT_IN_BOTH
#define OBS  KRT_IN_OBS
#define NB   KRT_STREAM_NON_BLOCKING
#define BL   KRT_STREAM_BLOCKING
#define LEG  KRT_STREAM_LEGACY

/* --- a tiny tracker of accesses to whole buffers -------------------------------------- */

#define MAX_READS 64

struct buffer {
	struct krt_stamp write, read[MAX_READS];
	unsigned reads;
};

struct world {
	struct memory mem;
	struct krt_order *o;
	krt_context ctx;
	krt_domain s[16];
	struct buffer b[16];
	struct krt_snapshot *event[16];
	unsigned errors[KRT_VIEWS]; /* unordered pairs */
};

static struct world w;

static void setup(void)
{
	memset(&w, 0, sizeof(w));
	w.o = order_new(&w.mem);
	w.ctx = krt_order_context(w.o, 0);
	for (unsigned i = 0; i < 16; i++)
		w.s[i] = krt_order_stream(w.o, w.ctx, NB);
}

static void teardown(void)
{
	for (unsigned i = 0; i < 16; i++)
		krt_snapshot_unref(w.o, w.event[i]);
	cr_assert(!krt_order_failed(w.o));
	krt_order_destroy(w.o);
	cr_assert_eq(w.mem.bytes, 0, "not all memory was given back");
}

TestSuite(order, .init = setup, .fini = teardown);

static void compare(struct krt_stamp before, krt_domain stream)
{
	if (!before.domain)
		return;
	for (unsigned v = 0; v < KRT_VIEWS; v++)
		w.errors[v] += !krt_order_before_stream(w.o, v, before, stream);
}

/*
 * Every read is compared with the last write; a write with the reads since that
 * write, or with the last write if there were none.
 */
static struct krt_stamp touch_on(krt_domain stream, unsigned buffer, bool write)
{
	struct buffer *b = &w.b[buffer];
	struct krt_stamp s = krt_order_begin(w.o, stream);

	cr_assert_neq(s.domain, 0);
	if (!write || !b->reads)
		compare(b->write, stream);
	if (write) {
		for (unsigned i = 0; i < b->reads; i++)
			compare(b->read[i], stream);
		b->write = s;
		b->reads = 0;
	} else {
		cr_assert_lt(b->reads, MAX_READS);
		b->read[b->reads++] = s;
	}
	return s;
}

static struct krt_stamp rd(unsigned stream, unsigned buffer)
{
	return touch_on(w.s[stream], buffer, false);
}

static struct krt_stamp wr(unsigned stream, unsigned buffer)
{
	return touch_on(w.s[stream], buffer, true);
}

/* Events as the engine keeps them: a handle is bound to its latest record. */
static void rec_on(krt_domain stream, unsigned event)
{
	struct krt_snapshot *s = krt_order_record(w.o, stream);

	cr_assert_not_null(s);
	krt_snapshot_unref(w.o, w.event[event]);
	w.event[event] = s;
}

static void rec(unsigned stream, unsigned event)
{
	rec_on(w.s[stream], event);
}

static bool wait_on(krt_domain stream, unsigned event)
{
	return krt_order_wait(w.o, stream, w.event[event], BOTH);
}

static bool wait(unsigned stream, unsigned event)
{
	return wait_on(w.s[stream], event);
}

static void event_gone(unsigned event)
{
	krt_snapshot_unref(w.o, w.event[event]);
	w.event[event] = NULL;
}

#define expect(n) do {                                                                    \
		cr_assert_eq(w.errors[KRT_VIEW_DOC], (n), "documented: %u errors, not %u",        \
			     w.errors[KRT_VIEW_DOC], (unsigned)(n));                              \
		cr_assert_eq(w.errors[KRT_VIEW_OBS], (n), "observed: %u errors, not %u",          \
			     w.errors[KRT_VIEW_OBS], (unsigned)(n));                              \
	} while (0)
#define expect_views(doc, obs) do {                                                       \
		cr_assert_eq(w.errors[KRT_VIEW_DOC], (doc));                                      \
		cr_assert_eq(w.errors[KRT_VIEW_OBS], (obs));                                      \
	} while (0)

/* --- the 20 cases ------------------------------------------------------------------------ */

Test(order, case01_launch_without_buffers)
{
	krt_order_begin(w.o, w.s[1]);
	expect(0);
}

Test(order, case02_read_read)
{
	rd(1, 0);
	rd(2, 0);
	expect(0);
}

Test(order, case03_read_write)
{
	rd(1, 0);
	wr(2, 0);
	expect(1);
}

Test(order, case04_record_wait)
{
	rd(1, 0);
	rec(1, 0);
	cr_assert(wait(2, 0));
	wr(2, 0);
	expect(0);
}

Test(order, case05_every_read_meets_the_last_write)
{
	wr(1, 0);
	rec(1, 0);
	wait(2, 0);
	rd(2, 0);
	expect(0);
	rd(3, 0);
	expect(1);
}

Test(order, case06_two_readers_one_writes)
{
	wr(1, 0);
	rec(1, 0);
	wait(2, 0);
	wait(3, 0);
	rd(2, 0);
	rd(3, 0);
	expect(0);
	wr(2, 0);
	expect(1);
}

Test(order, case07_chain_of_ten)
{
	rd(0, 0);
	for (unsigned i = 0; i < 10; i++) {
		rec(i, i);
		cr_assert(wait(i + 1, i));
	}
	wr(10, 0);
	expect(0);
}

Test(order, case08_expired_record)
{
	rd(1, 0);
	rec(1, 0);
	rd(1, 0);
	wait(2, 0);
	wr(2, 0);
	expect(1);
}

/* Deleted, created again, both: a recycled handle orders nothing. */
Test(order, case09_event_deleted)
{
	rd(1, 0);
	rec(1, 0);
	event_gone(0);
	cr_assert(!wait(2, 0));
	wr(2, 0);
	expect(1);
}

Test(order, case09_event_recreated)
{
	rd(1, 0);
	rec(1, 0);
	event_gone(0); /* a creation that returns the handle again: the old record is not its own */
	cr_assert(!wait(2, 0));
	wr(2, 0);
	expect(1);
}

Test(order, case09_event_deleted_and_recreated)
{
	rd(1, 0);
	rec(1, 0);
	event_gone(0);
	rec(3, 0); /* the new event has a record, of another stream */
	cr_assert(!wait(2, 0), "a stream without work orders nothing");
	wr(2, 0);
	expect(1);
}

Test(order, case10_ten_readers_last_forgotten)
{
	for (unsigned i = 0; i < 10; i++) {
		rd(i, 0);
		rec(i, i);
	}
	for (unsigned i = 0; i < 9; i++)
		wait(10, i);
	wr(10, 0);
	expect(1);
}

Test(order, case11_nine_readers_all_waited)
{
	for (unsigned i = 0; i < 9; i++) {
		rd(i, 0);
		rec(i, i);
	}
	for (unsigned i = 0; i < 9; i++)
		wait(10, i);
	wr(10, 0);
	expect(0);
}

Test(order, case12_ten_buffers)
{
	for (unsigned i = 0; i < 10; i++)
		wr(0, i);
	for (unsigned i = 0; i < 10; i++)
		wr(1, i);
	expect(10);
}

Test(order, case13_merged_element_wise)
{
	wr(1, 0);
	rec(1, 0);
	wr(2, 1);
	rec(2, 1);
	wait(2, 0);
	wait(1, 1);
	wr(1, 2);
	rec(1, 2);
	wr(3, 3);
	rec(3, 3);
	wait(2, 3);
	wait(2, 2);
	/* s2 now knows s1's, its own and s3's work */
	for (unsigned i = 0; i < 4; i++)
		wr(2, i);
	expect(0);
}

Test(order, case14_record_override)
{
	wr(1, 0);
	rec(1, 0);
	wr(2, 1);
	rec(2, 0);
	wait(3, 0);
	wr(3, 1);
	expect(0);
	wr(3, 0);
	expect(1);
}

Test(order, case15_event_waited_for_twice)
{
	wr(1, 0);
	rec(1, 0);
	cr_assert(wait(2, 0));
	cr_assert(wait(3, 0));
	rd(2, 0);
	rd(3, 0);
	expect(0);
}

Test(order, case16_device_sync)
{
	for (unsigned i = 0; i < 9; i++)
		wr(i, i);
	cr_assert(krt_order_host_join_device(w.o, 0, BOTH));
	for (unsigned i = 0; i < 9; i++)
		wr(9, i);
	expect(0);
}

Test(order, case17_device_sync_is_one_shot)
{
	wr(1, 0);
	krt_order_host_join_device(w.o, 0, BOTH);
	wr(1, 0);
	wr(2, 0);
	expect(1);
}

Test(order, case18_stream_created_after_sync)
{
	wr(1, 0);
	krt_order_host_join_device(w.o, 0, BOTH);
	touch_on(krt_order_stream(w.o, w.ctx, NB), 0, true);
	expect(0);
}

Test(order, case19_stream_sync)
{
	wr(0, 0);
	wr(1, 1);
	cr_assert(krt_order_host_join_stream(w.o, w.s[0], BOTH));
	rd(2, 0);
	rd(3, 0);
	expect(0);
	rd(2, 1);
	expect(1);
}

Test(order, case20_event_sync)
{
	wr(1, 0);
	rec(1, 0);
	wr(1, 1);
	cr_assert(krt_order_host_join(w.o, w.event[0], BOTH));
	rd(2, 0);
	expect(0);
	rd(2, 1);
	expect(1);
}

/* --- mistakes other checkers make --------------------------------------------------------- */

/* 1: a wait covers the record, not the stream: case08.  2: case14. */

/* 3: a stream that gets a dead one's handle shares neither its past nor its kind. */
Test(order, mistake03_stream_handle_recycled)
{
	krt_domain old = krt_order_stream(w.o, w.ctx, BL), new;
	krt_domain legacy = krt_order_stream(w.o, w.ctx, LEG);

	touch_on(old, 0, true);
	krt_order_stream_end(w.o, old);
	new = krt_order_stream(w.o, w.ctx, NB);
	cr_assert_neq(old, new);
	touch_on(new, 0, true);
	expect(1);
	/* its blocking flag is its own: the legacy stream does not meet it */
	touch_on(legacy, 0, true);
	expect(2);
}

/* 4: a wait for an event that was never recorded does nothing. */
Test(order, mistake04_never_recorded)
{
	wr(1, 0);
	cr_assert(!krt_order_wait(w.o, w.s[2], NULL, BOTH));
	cr_assert(!krt_order_host_join(w.o, NULL, BOTH));
	cr_assert(!krt_order_wait_context(w.o, w.ctx, NULL, BOTH));
	wr(2, 0);
	expect(1);
}

/* 9: a sync of one stream says nothing of another. */
Test(order, mistake09_sync_imports_one_stream)
{
	wr(1, 0);
	wr(2, 1);
	krt_order_host_join_stream(w.o, w.s[1], BOTH);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, w.b[0].write));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, w.b[1].write));
	rd(3, 1);
	expect(1);
}

/* 10: events work across contexts and devices; a device sync takes all contexts of its device. */
Test(order, mistake10_other_devices)
{
	krt_context c1 = krt_order_context(w.o, 1), c2 = krt_order_context(w.o, 1);
	krt_domain d1 = krt_order_stream(w.o, c1, NB), d2 = krt_order_stream(w.o, c2, BL);

	touch_on(d1, 0, true);
	rec_on(d1, 0);
	wait(1, 0);
	wr(1, 0);
	expect(0);
	touch_on(d1, 1, true);
	touch_on(d2, 2, true);
	wr(2, 3);
	cr_assert(krt_order_host_join_device(w.o, 1, BOTH));
	wr(3, 1);
	wr(3, 2);
	expect(0);
	wr(3, 3);
	expect(1);
}

/* --- default-stream rule -------------------------------------------------------------------- */

/* T11: the legacy stream is a two-way barrier for blocking streams of its context. */
Test(order, legacy_two_way_barrier)
{
	krt_domain a = krt_order_stream(w.o, w.ctx, BL), b = krt_order_stream(w.o, w.ctx, BL);
	krt_domain l = krt_order_stream(w.o, w.ctx, LEG);

	cr_assert_eq(krt_order_stream(w.o, w.ctx, LEG), l, "one legacy stream a context");
	touch_on(a, 0, true);
	krt_order_begin(w.o, l);
	touch_on(b, 0, false);
	expect(0);
	/* it orders what came before it, not what comes after */
	touch_on(a, 1, true);
	touch_on(b, 1, true);
	expect(1);
}

Test(order, legacy_spares_non_blocking)
{
	krt_domain b = krt_order_stream(w.o, w.ctx, BL);
	krt_domain l = krt_order_stream(w.o, w.ctx, LEG);

	wr(1, 0);
	touch_on(l, 0, true);
	expect(1);
	wr(1, 0);
	expect(2);
	/* and does not carry their work over to blocking streams */
	touch_on(l, 1, true);
	touch_on(b, 0, true);
	expect(3);
	touch_on(b, 1, true);
	expect(3);
}

/* Records and waits on the legacy stream are barriers like any operation. */
Test(order, legacy_record_and_wait)
{
	krt_domain a = krt_order_stream(w.o, w.ctx, BL), b = krt_order_stream(w.o, w.ctx, BL);
	krt_domain l = krt_order_stream(w.o, w.ctx, LEG);

	touch_on(a, 0, true);
	rec_on(l, 0); /* covers a's work */
	touch_on(b, 0, true);
	expect(0);
	wr(1, 1);
	rec(1, 1);
	cr_assert(wait_on(l, 1)); /* acts on all blocking streams */
	touch_on(a, 1, true);
	touch_on(b, 1, true);
	expect(1); /* a against b: nothing in between */
	touch_on(a, 2, true);
	rec_on(l, 0);
	wait(2, 0);
	wr(2, 2);
	expect(1);
}

/* A record and a wait on a blocking stream come after the legacy stream's work. */
Test(order, blocking_record_and_wait_follow_legacy)
{
	krt_domain a = krt_order_stream(w.o, w.ctx, BL);
	krt_domain l = krt_order_stream(w.o, w.ctx, LEG);

	touch_on(l, 0, true);
	rec_on(a, 0); /* a itself never did anything */
	cr_assert(wait(1, 0));
	wr(1, 0);
	expect(0);
	touch_on(l, 1, true);
	wr(2, 2);
	rec(2, 1);
	wait_on(a, 1);
	touch_on(a, 1, true);
	touch_on(a, 2, true);
	expect(0);
	/* the wait on a passes on to the legacy stream */
	touch_on(l, 2, true);
	expect(0);
}

/* T12: per-thread streams are blocking streams, not ordered with each other. */
Test(order, per_thread_streams)
{
	krt_domain t1 = krt_order_stream(w.o, w.ctx, BL), t2 = krt_order_stream(w.o, w.ctx, BL);
	krt_domain l = krt_order_stream(w.o, w.ctx, LEG);

	touch_on(t1, 0, true);
	touch_on(t2, 0, true);
	expect(1);
	touch_on(l, 0, true);
	expect(1);
	touch_on(t1, 0, true);
	expect(1);
}

Test(order, legacy_of_another_context)
{
	krt_context c2 = krt_order_context(w.o, 0);
	krt_domain a = krt_order_stream(w.o, w.ctx, BL);
	krt_domain l2 = krt_order_stream(w.o, c2, LEG);
	krt_domain l1 = krt_order_stream(w.o, w.ctx, LEG);

	cr_assert_neq(l1, l2);
	touch_on(a, 0, true);
	touch_on(l2, 0, true);
	expect(1);
	touch_on(l1, 1, true);
	touch_on(l2, 1, true);
	expect(2);
}

/* The legacy stream made late still follows all that blocking streams did before. */
Test(order, legacy_made_late)
{
	krt_domain a = krt_order_stream(w.o, w.ctx, BL);

	touch_on(a, 0, true);
	krt_order_stream_end(w.o, a);
	touch_on(krt_order_stream(w.o, w.ctx, LEG), 0, true);
	expect(0);
}

/* A blocking stream born after a legacy operation follows it. */
Test(order, blocking_born_late)
{
	krt_domain l = krt_order_stream(w.o, w.ctx, LEG);

	touch_on(l, 0, true);
	touch_on(krt_order_stream(w.o, w.ctx, BL), 0, true);
	expect(0);
	touch_on(krt_order_stream(w.o, w.ctx, NB), 0, true);
	expect(1);
}

/* Syncing the legacy stream covers blocking work only if something was enqueued on it after. */
Test(order, legacy_sync_documented)
{
	krt_domain a = krt_order_stream(w.o, w.ctx, BL);
	krt_domain l = krt_order_stream(w.o, w.ctx, LEG);

	krt_order_begin(w.o, l);
	touch_on(a, 0, true);
	krt_order_host_join_stream(w.o, l, BOTH);
	wr(1, 0);
	expect(1);
	touch_on(a, 1, true);
	krt_order_begin(w.o, l);
	krt_order_host_join_stream(w.o, l, BOTH);
	wr(1, 1);
	expect(1);
}

/* --- traps T01, T02, T04, T05 --------------------------------------------------------------------
 */

Test(order, t01_chain_through_an_empty_stream)
{
	wr(1, 0);
	rec(1, 0);
	cr_assert(wait(3, 0));
	rec(3, 1);
	cr_assert(wait(2, 1));
	rd(2, 0);
	expect(0);
}

/* The empty stream learns twice under one epoch of its own work. */
Test(order, t01_empty_stream_learns_again)
{
	wr(1, 0);
	rec(1, 0);
	wait(3, 0);
	rec(3, 1);
	wait(2, 1);
	wr(4, 1);
	rec(4, 2);
	wait(3, 2);
	rec(3, 1);
	cr_assert(wait(2, 1));
	wr(2, 0);
	wr(2, 1);
	expect(0);
}

Test(order, t02_rerecorded_right_after_the_wait)
{
	wr(1, 0);
	rec(1, 0);
	wait(2, 0);
	wr(3, 1);
	rec(3, 0);
	wait(4, 0);
	wr(2, 0);
	wr(4, 1);
	expect(0);
	wr(4, 0);
	expect(1);
}

/* T04: completion is known to every later call, whoever waited.  T05: a query is a join. */
Test(order, t04_t05_completion_is_global)
{
	wr(1, 0);
	rec(1, 0);
	cr_assert(krt_order_host_join(w.o, w.event[0], BOTH));
	wr(2, 0);
	expect(0);
	cr_assert(!krt_order_host_join(w.o, w.event[0], BOTH), "the second poll adds nothing");
}

/* --- views -------------------------------------------------------------------------------------
 */

Test(order, observed_edges_stay_out_of_the_documented_view)
{
	wr(1, 0);
	cr_assert(krt_order_host_join_device(w.o, 0, OBS)); /* cuMemFree of something else */
	wr(2, 0);
	expect_views(1, 0);
	cr_assert(!krt_order_settled(w.o, (struct krt_stamp){w.s[1], krt_order_last(w.o, w.s[1])}));
	/* and travel on in the observed view alone */
	rec(2, 0);
	wait(3, 0);
	wr(3, 0);
	expect_views(1, 0);
}

Test(order, observed_wait)
{
	wr(1, 0);
	rec(1, 0);
	cr_assert(krt_order_wait(w.o, w.s[2], w.event[0], OBS));
	cr_assert(!krt_order_wait(w.o, w.s[2], w.event[0], OBS));
	rec(2, 1);
	wait(3, 1);
	wr(3, 0);
	expect_views(1, 0);
	cr_assert(krt_order_wait(w.o, w.s[2], w.event[0], BOTH), "news in the documented view");
	wr(2, 0);
	expect_views(2, 1); /* s3's write: unordered in both */
}

/* An edge in the documented view is in the observed one, whatever the mask says. */
Test(order, documented_implies_observed)
{
	wr(1, 0);
	rec(1, 0);
	krt_order_wait(w.o, w.s[2], w.event[0], KRT_IN_DOC);
	wr(2, 0);
	expect(0);
	cr_assert(!krt_order_wait(w.o, w.s[2], w.event[0], 0));
	cr_assert(!krt_order_host_join_stream(w.o, w.s[1], 0));
}

/* --- contexts ------------------------------------------------------------------------------------
 */

Test(order, context_sync_takes_ended_streams)
{
	krt_context c2 = krt_order_context(w.o, 0);
	krt_domain other = krt_order_stream(w.o, c2, NB);
	krt_domain s = krt_order_stream(w.o, w.ctx, NB);

	touch_on(s, 0, true);
	krt_order_stream_end(w.o, s);
	touch_on(other, 1, true);
	cr_assert(krt_order_host_join_context(w.o, w.ctx, BOTH));
	cr_assert(!krt_order_host_join_context(w.o, w.ctx, BOTH));
	wr(1, 0);
	expect(0);
	wr(1, 1); /* not the other context of the device */
	expect(1);
}

Test(order, context_record_and_wait)
{
	krt_context c2 = krt_order_context(w.o, 1);
	krt_domain x = krt_order_stream(w.o, c2, NB), y;

	for (unsigned i = 0; i < 8; i++)
		wr(i, i);
	krt_order_stream_end(w.o, w.s[7]);
	w.event[0] = krt_order_record_context(w.o, w.ctx);
	cr_assert_eq(krt_snapshot_stamp(w.event[0]).domain, 0);
	wr(8, 8); /* after the record */
	cr_assert(krt_order_wait_context(w.o, c2, w.event[0], BOTH));
	cr_assert(!krt_order_wait_context(w.o, c2, w.event[0], BOTH), "adds nothing");
	y = krt_order_stream(w.o, c2, BL); /* born later: waits too */
	for (unsigned i = 0; i < 4; i++)
		touch_on(x, i, true);
	for (unsigned i = 4; i < 8; i++)
		touch_on(y, i, true);
	expect(0);
	touch_on(y, 8, true);
	expect(1);
	cr_assert(!wait_on(x, 0), "known already");
}

Test(order, context_ends)
{
	krt_context c = krt_order_context(w.o, 3);
	krt_domain s = krt_order_stream(w.o, c, BL), l = krt_order_stream(w.o, c, LEG);
	struct krt_order_stats st;

	touch_on(s, 0, true);
	touch_on(l, 1, true);
	rec_on(l, 0);
	krt_order_stream_end(w.o, l); /* of no effect on a legacy stream */
	touch_on(l, 1, true);
	krt_order_context_end(w.o, c);
	krt_order_context_end(w.o, c);
	cr_assert_eq(krt_order_stream(w.o, c, NB), 0);
	cr_assert_eq(krt_order_begin(w.o, s).domain, 0, "nothing begins on an ended stream");
	wr(1, 0); /* its work is still going on */
	expect(1);
	wait(1, 0);
	wr(1, 0);
	expect(1);
	krt_order_host_join_device(w.o, 3, BOTH);
	krt_order_get_stats(w.o, &st);
	cr_assert_eq(st.domains_live, 16);
	cr_assert(!krt_order_host_join_context(w.o, c, BOTH));
	cr_assert_null(krt_order_record_context(w.o, c));
	wr(2, 1);
	expect(1);
}

/* --- host joins
 * ------------------------------------------------------------------------------------ */

Test(order, host_join_of_one_operation)
{
	struct krt_stamp a = wr(1, 0), b = wr(1, 1), c = wr(1, 2);

	cr_assert(krt_order_host_join_stamp(w.o, b, BOTH));
	cr_assert(!krt_order_host_join_stamp(w.o, a, BOTH));
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, a));
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, b));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_DOC, c));
}

/* An earlier operation does not bring in what its stream waited for later. */
Test(order, host_join_of_an_older_operation)
{
	struct krt_stamp a, x, b;

	a = wr(1, 0);
	x = wr(2, 1);
	rec(2, 0);
	wait(1, 0);
	b = wr(1, 2);
	krt_order_host_join_stamp(w.o, a, BOTH);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_OBS, a));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, x));
	krt_order_host_join_stamp(w.o, b, BOTH);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, x));
}

/* Two changes of what the stream knows lie in between. */
Test(order, host_join_of_a_much_older_operation)
{
	struct krt_stamp a, x, b, y;

	a = wr(1, 0);
	x = wr(2, 1);
	rec(2, 0);
	wait(1, 0);
	b = wr(1, 2);
	y = wr(3, 3);
	rec(3, 1);
	wait(1, 1);
	krt_order_host_join_stamp(w.o, a, BOTH);
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, x));
	krt_order_host_join_stamp(w.o, b, BOTH);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, x));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, y));
}

/* That the observed view knew it all does not make the documented one forget. */
Test(order, host_join_of_an_older_operation_by_view)
{
	struct krt_stamp a, x, z;

	z = wr(3, 3);
	rec(3, 3);
	wait(1, 3);
	a = wr(1, 0);
	krt_order_host_join_stream(w.o, w.s[1], OBS);
	x = wr(2, 1);
	rec(2, 0);
	wait(1, 0);
	krt_order_host_join_stamp(w.o, a, BOTH);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, a));
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, z));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_DOC, x));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, x));
}

/* A stream's sync brings in what the stream waited for. */
Test(order, host_join_is_transitive)
{
	wr(1, 0);
	rec(1, 0);
	wait(2, 0);
	cr_assert(krt_order_host_join_stream(w.o, w.s[2], BOTH));
	wr(3, 0);
	expect(0);
	cr_assert(!krt_order_host_join_stream(w.o, w.s[1], BOTH));
}

Test(order, snapshots)
{
	struct krt_stamp a = wr(1, 0), b = wr(2, 1), c;
	struct krt_snapshot *j, *h;

	rec(1, 0);
	rec(2, 1);
	c = wr(2, 2);
	j = krt_snapshot_join(w.o, w.event[0], w.event[1]);
	cr_assert(krt_snapshot_has(j, KRT_VIEW_DOC, a));
	cr_assert(krt_snapshot_has(j, KRT_VIEW_DOC, b));
	cr_assert(!krt_snapshot_has(j, KRT_VIEW_OBS, c));
	cr_assert(!krt_snapshot_has(w.event[0], KRT_VIEW_OBS, b));
	cr_assert_eq(krt_snapshot_stamp(w.event[0]).domain, w.s[1]);
	cr_assert_eq(krt_snapshot_stamp(w.event[0]).epoch, a.epoch);
	cr_assert(krt_order_wait(w.o, w.s[3], j, BOTH));
	cr_assert(!krt_order_wait(w.o, w.s[3], j, BOTH));
	wr(3, 0);
	wr(3, 1);
	expect(0);
	cr_assert_eq(krt_snapshot_ref(j), j);
	krt_snapshot_unref(w.o, j);
	cr_assert(krt_order_host_join(w.o, j, BOTH));
	krt_snapshot_unref(w.o, j);
	h = krt_order_record_host(w.o);
	cr_assert(krt_snapshot_has(h, KRT_VIEW_DOC, a));
	cr_assert(!krt_snapshot_has(h, KRT_VIEW_OBS, c));
	cr_assert(!krt_order_wait(w.o, w.s[4], h, BOTH));
	cr_assert(!krt_order_host_join(w.o, h, BOTH));
	krt_snapshot_unref(w.o, h);
	cr_assert_null(krt_snapshot_join(w.o, NULL, w.event[0]));
}

Test(order, known_and_last)
{
	struct krt_stamp a = wr(1, 0), b;

	rec(1, 0);
	b = wr(1, 1);
	wait(2, 0);
	cr_assert_eq(krt_order_known(w.o, KRT_VIEW_DOC, w.s[1], w.s[2]), a.epoch);
	cr_assert_eq(krt_order_known(w.o, KRT_VIEW_DOC, w.s[1], w.s[3]), 0);
	cr_assert_eq(krt_order_known(w.o, KRT_VIEW_DOC, w.s[1], 0), 0);
	cr_assert_eq(krt_order_known(w.o, KRT_VIEW_DOC, w.s[1], w.s[1]), b.epoch);
	cr_assert_eq(krt_order_last(w.o, w.s[1]), b.epoch);
	krt_order_host_join_stream(w.o, w.s[1], OBS);
	cr_assert_eq(krt_order_known(w.o, KRT_VIEW_DOC, w.s[1], 0), 0);
	cr_assert_eq(krt_order_known(w.o, KRT_VIEW_OBS, w.s[1], 0), b.epoch);
	cr_assert_eq(krt_order_known(w.o, KRT_VIEW_OBS, w.s[1], w.s[3]), b.epoch);
	cr_assert_eq(krt_order_last(w.o, 0), 0);
	cr_assert_eq(krt_order_known(w.o, KRT_VIEW_DOC, 0, w.s[1]), UINT64_MAX);
}

/* A wait for what is known is redundant, in all its forms. */
Test(order, redundant)
{
	wr(1, 0);
	rec(1, 0);
	rec(1, 1);
	cr_assert(wait(2, 0));
	cr_assert(!wait(2, 0));
	cr_assert(!wait(2, 1), "two records of the same state");
	cr_assert(!wait(1, 1), "its own record");
	wr(3, 1);
	cr_assert(krt_order_host_join_stream(w.o, w.s[1], BOTH));
	cr_assert(!krt_order_host_join_stream(w.o, w.s[1], BOTH));
	cr_assert(!wait(4, 1), "the host knew it");
	rec(5, 2);
	cr_assert(!wait(3, 2), "a stream without work");
	cr_assert(krt_order_host_join_context(w.o, w.ctx, BOTH));
	cr_assert(!krt_order_host_join_context(w.o, w.ctx, BOTH));
	cr_assert(!krt_order_host_join_device(w.o, 0, BOTH));
	rec(3, 3);
	cr_assert(!krt_order_wait_context(w.o, w.ctx, w.event[3], BOTH));
	wr(3, 1);
	rec(3, 3);
	cr_assert(krt_order_wait_context(w.o, w.ctx, w.event[3], BOTH));
	cr_assert(!krt_order_wait_context(w.o, w.ctx, w.event[3], OBS));
}

/* Unknown ids are complete, and order nothing. */
Test(order, strangers)
{
	struct krt_stamp s = wr(1, 0), none = { 0, 0 }, odd = { 12345, 1 };

	cr_assert(krt_order_before_stream(w.o, KRT_VIEW_DOC, none, w.s[1]));
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, odd));
	cr_assert(krt_order_settled(w.o, odd));
	cr_assert(!krt_order_before_stream(w.o, KRT_VIEW_DOC, s, 12345));
	cr_assert_eq(krt_order_begin(w.o, 12345).domain, 0);
	cr_assert_null(krt_order_record(w.o, 12345));
	cr_assert(!krt_order_host_join_stream(w.o, 12345, BOTH));
	cr_assert(!krt_order_host_join_stamp(w.o, odd, BOTH));
	cr_assert_eq(krt_order_stream(w.o, 999, NB), 0);
	krt_order_stream_end(w.o, 12345);
	krt_order_context_end(w.o, 999);
}

/* --- calls in flight
 * --------------------------------------------------------------------------------- */

/* An enqueue that began before a sync of another thread returned is not after it. */
Test(order, enqueue_in_flight_during_a_sync)
{
	krt_order_at(w.o, 1, 2);
	wr(1, 0);
	krt_order_at(w.o, 3, 6);
	krt_order_host_join_stream(w.o, w.s[1], BOTH);
	krt_order_at(w.o, 5, 7); /* began at 5 */
	wr(2, 0);
	expect(1);
	krt_order_at(w.o, 8, 9);
	wr(3, 1);
	krt_order_at(w.o, 10, 11);
	krt_order_host_join_stream(w.o, w.s[3], BOTH);
	krt_order_at(w.o, 12, 13);
	wr(4, 1);
	expect(1);
}

/* A sync covers what was enqueued when it began. */
Test(order, enqueue_during_a_sync)
{
	struct krt_stamp a, b;

	krt_order_at(w.o, 1, 2);
	a = wr(1, 0);
	krt_order_at(w.o, 4, 5);
	b = wr(1, 1);
	krt_order_at(w.o, 3, 6);
	krt_order_host_join_stream(w.o, w.s[1], BOTH);
	krt_order_at(w.o, 7, 8);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_OBS, a));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, b));
	krt_order_at(w.o, 9, 10);
	krt_order_host_join_context(w.o, w.ctx, BOTH);
	krt_order_at(w.o, 11, 12);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, b));
	krt_order_at(w.o, 0, 0);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, b));
}

/* A call that began before others returned knows what it waited for itself, told before it or not. */
Test(order, call_in_flight_that_waits)
{
	struct krt_stamp a, b, c;

	krt_order_at(w.o, 1, 2);
	a = wr(1, 0);
	krt_order_at(w.o, 4, 5);
	b = wr(2, 1);
	krt_order_at(w.o, 3, 6); /* began at 3 */
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, a));
	krt_order_host_join_context(w.o, w.ctx, BOTH);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_OBS, a));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, b));
	krt_order_at(w.o, 7, 8);
	c = wr(1, 0);
	krt_order_at(w.o, 10, 11); /* another thread waits for it as well, and is told first */
	krt_order_host_join_context(w.o, w.ctx, BOTH);
	krt_order_at(w.o, 9, 12);
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_DOC, c));
	krt_order_host_join_context(w.o, w.ctx, 1u << KRT_VIEW_OBS);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_OBS, c));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_DOC, c)); /* as far as this call goes */
	krt_order_at(w.o, 9, 13); /* nor does the next one know what that one waited for */
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, c));
	krt_order_host_join_stream(w.o, w.s[1], BOTH);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, c));
}

/* A call that began early follows the legacy stream, and with it what that knew of the host. */
Test(order, early_call_behind_a_barrier)
{
	krt_context c = krt_order_context(w.o, 1);
	krt_domain b = krt_order_stream(w.o, w.ctx, BL), l = krt_order_stream(w.o, w.ctx, LEG);
	krt_domain x = krt_order_stream(w.o, c, NB);

	krt_order_at(w.o, 1, 2);
	wr(1, 0);
	krt_order_at(w.o, 4, 5);
	krt_order_host_join_stream(w.o, w.s[1], BOTH);
	krt_order_at(w.o, 6, 7);
	krt_order_begin(w.o, l);
	krt_order_at(w.o, 3, 8); /* before the sync returned, but enqueued behind l's operation */
	rec_on(b, 0);
	krt_order_at(w.o, 3, 9);
	cr_assert(wait(2, 0));
	wr(2, 0);
	expect(0);
	/* the same through a wait of a whole context */
	krt_order_at(w.o, 3, 10);
	krt_order_wait_context(w.o, c, w.event[0], BOTH);
	krt_order_at(w.o, 3, 11);
	rec_on(x, 1);
	krt_order_at(w.o, 3, 12);
	wait(3, 1);
	krt_order_at(w.o, 3, 13);
	cr_assert(
		krt_order_before_stream(w.o, KRT_VIEW_DOC, (struct krt_stamp){w.s[1], 1}, w.s[3]));
	cr_assert(
		!krt_order_before_stream(w.o, KRT_VIEW_OBS, (struct krt_stamp){w.s[1], 1}, w.s[4]));
}

/* What was in flight too long is taken as ordered; nothing grows. */
Test(order, in_flight_for_ages)
{
	struct krt_stamp old = { 0, 0 };
	struct krt_order_stats st;
	uint64_t t = 1, bytes = 0;

	for (unsigned i = 0; i < 20 * KRT_ORDER_TIMES; i++) {
		krt_domain s;

		krt_order_at(w.o, t, t + 1);
		if (i == 10) {
			old = krt_order_begin(w.o, w.s[5]);
			krt_order_host_join_stamp(w.o, old, BOTH);
		}
		s = krt_order_stream(w.o, w.ctx, i % 2 ? NB : BL);
		touch_on(s, 0, true);
		rec_on(s, 0);
		krt_order_stream_end(w.o, s);
		krt_order_at(w.o, t + 2, t + 3);
		krt_order_host_join(w.o, w.event[0], BOTH);
		t += 4;
		krt_order_get_stats(w.o, &st);
		if (i == 2 * KRT_ORDER_TIMES)
			bytes = st.clock_bytes;
		else if (i > 2 * KRT_ORDER_TIMES)
			cr_assert_eq(st.clock_bytes, bytes);
	}
	expect(0);
	krt_order_at(w.o, 2, t);
	cr_assert(krt_order_before_host(w.o, KRT_VIEW_DOC, old));
	cr_assert(!krt_order_before_host(w.o, KRT_VIEW_OBS, w.b[0].write));
	wr(1, 0);
	expect(1);
	krt_order_get_stats(w.o, &st);
	cr_assert_leq(st.domains_live, 16 + KRT_ORDER_TIMES);
}

/* --- memory
 * ------------------------------------------------------------------------------------------- */

Test(order, streams_come_and_go)
{
	unsigned rounds = scaled(100000, 2000);
	krt_domain l = krt_order_stream(w.o, w.ctx, LEG), first = 0, last = 0;
	struct krt_stamp old[3] = { { 0, 0 } };
	struct krt_order_stats st;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < rounds; i++) {
		krt_domain s = krt_order_stream(w.o, w.ctx, i % 3 ? NB : BL);

		first = first ? first : s;
		cr_assert_gt(s, last, "ids are not reused");
		last = s;
		wait_on(s, 0);
		touch_on(s, i % 4, true);
		rec_on(s, 0);
		wait(1, 0);
		krt_order_stream_end(w.o, s);
		if (i % 7 == 0)
			krt_order_begin(w.o, l);
		if (i % 50 == 49) {
			old[0] = w.b[0].write;
			cr_assert(!krt_order_settled(w.o, w.b[i % 4].write));
			krt_order_host_join_stream(w.o, w.s[1], BOTH);
			krt_order_host_join_context(w.o, w.ctx, BOTH);
			cr_assert(krt_order_settled(w.o, old[0]));
			krt_order_get_stats(w.o, &st);
			cr_assert_eq(st.domains_live, 17);
			cr_assert_leq(st.slots, 17 + 50);
			if (i < rounds / 4)
				bytes = st.clock_bytes;
			else
				cr_assert_leq(st.clock_bytes, bytes + bytes / 4);
		}
	}
	expect(0);
	/* a stamp of the first stream of all, whose slot had many owners since */
	cr_assert(krt_order_before_stream(w.o, KRT_VIEW_DOC, (struct krt_stamp){first, 1}, w.s[9]));
	cr_assert_eq(krt_order_last(w.o, first), 0);
	krt_order_get_stats(w.o, &st);
	cr_assert_eq(st.domains_ever, 17 + rounds);
}

/* Never a word to the host: ended streams stay, but an idle program does not grow. */
Test(order, week_without_growth)
{
	unsigned rounds = scaled(200000, 4000);
	krt_domain a = krt_order_stream(w.o, w.ctx, BL), l = krt_order_stream(w.o, w.ctx, LEG);
	struct krt_order_stats st;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < rounds; i++) {
		unsigned from = i % 16, to = (i * 7 + 3) % 16;

		krt_order_begin(w.o, w.s[from]);
		rec(from, from);
		wait(to, from);
		if (i % 5 == 0)
			krt_order_begin(w.o, a);
		if (i % 11 == 0)
			krt_order_begin(w.o, l);
		if (i % 1000 == 0)
			krt_order_host_join_device(w.o, 0, OBS);
		krt_order_get_stats(w.o, &st);
		if (i == rounds / 2)
			bytes = st.clock_bytes;
		else if (i > rounds / 2)
			cr_assert_leq(st.clock_bytes, bytes + bytes / 2);
	}
}

/* 3,000 streams that know one another: wide clocks, shared and dropped again. */
Test(order, wide)
{
	unsigned n = scaled(3000, 300);
	krt_domain *s = calloc(n, sizeof(*s));
	struct krt_stamp *st = calloc(n, sizeof(*st));
	struct krt_snapshot *e;
	struct krt_order_stats stats;

	for (unsigned i = 0; i < n; i++) {
		s[i] = krt_order_stream(w.o, w.ctx, NB);
		st[i] = krt_order_begin(w.o, s[i]);
		if (i) {
			e = krt_order_record(w.o, s[i - 1]);
			if (i != n / 2)
				cr_assert(krt_order_wait(w.o, s[i], e, BOTH));
			krt_snapshot_unref(w.o, e);
		}
	}
	for (unsigned i = 0; i < n; i++)
		cr_assert_eq(krt_order_before_stream(w.o, KRT_VIEW_DOC, st[i], s[n - 1]),
			     i >= n / 2, "%u", i);
	krt_order_get_stats(w.o, &stats);
	cr_assert_lt(stats.clock_bytes / n, 4096, "trees are shared: %lu bytes a stream",
		     (unsigned long)(stats.clock_bytes / n));
	/* hub: one waits for all, all wait for it */
	e = krt_order_record_context(w.o, w.ctx);
	cr_assert(krt_order_wait(w.o, w.s[0], e, BOTH));
	krt_snapshot_unref(w.o, e);
	e = krt_order_record(w.o, w.s[0]);
	for (unsigned i = 0; i < n; i++)
		krt_order_wait(w.o, s[i], e, BOTH);
	krt_snapshot_unref(w.o, e);
	for (unsigned i = 0; i < n; i++)
		cr_assert(krt_order_before_stream(w.o, KRT_VIEW_DOC, st[i], s[(i * 17) % n]));
	krt_order_host_join_context(w.o, w.ctx, BOTH);
	for (unsigned i = 0; i < n; i++) {
		krt_order_begin(w.o, s[i]);
		krt_order_stream_end(w.o, s[i]);
	}
	krt_order_host_join_context(w.o, w.ctx, BOTH);
	krt_order_get_stats(w.o, &stats);
	cr_assert_eq(stats.domains_live, 16);
	free(s);
	free(st);
}

/*
 * Any call in any order with any id, for long: nothing breaks, nothing grows.
 * A device sync every so often is all the order that the program has.
 */
Test(order, stress)
{
	unsigned rounds = scaled(600000, 8000);
	krt_context ctx[8] = { w.ctx };
	krt_domain s[256] = { 0 };
	struct krt_snapshot *e[64] = { NULL };
	struct krt_stamp st[256] = { { 0, 0 } };
	struct krt_order_stats stats;
	uint64_t x = 0x2545f4914f6cdd1dull, t = 1, peak = 0;

	for (unsigned i = 0; i < rounds; i++) {
		unsigned a, b, c, k;
		struct krt_snapshot *snap = NULL;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		a = x >> 8 & 255;
		b = x >> 16 & 255;
		c = x >> 24 & 7;
		k = x >> 32 & 63;
		t += 2;
		krt_order_at(w.o, x % 5 ? t : t > 200 ? t - 2 * a % 200 : 1, t + 1);
		switch (x >> 40 & 31) {
		case 0: case 1:
			krt_order_stream_end(w.o, s[a]);
			s[a] = krt_order_stream(w.o, ctx[c], (enum krt_stream_kind)(x >> 50) % 3);
			break;
		case 2:
			if (c && x >> 52 & 1) {
				krt_order_context_end(w.o, ctx[c]);
				ctx[c] = krt_order_context(w.o, (uint32_t)(x >> 53 & 3));
			}
			break;
		case 3:
			snap = krt_order_record_context(w.o, ctx[c]);
			break;
		case 4:
			krt_order_wait_context(w.o, ctx[c], e[k], 1 + (x >> 50) % 3);
			break;
		case 5:
			snap = krt_snapshot_join(w.o, e[k], e[a & 63]);
			break;
		case 6:
			krt_order_host_join(w.o, e[k], 1 + (x >> 50) % 3);
			break;
		case 7:
			krt_order_host_join_stamp(w.o, st[b], 1 + (x >> 50) % 3);
			break;
		case 8:
			krt_order_host_join_stream(w.o, s[b], KRT_IN_OBS);
			break;
		case 9: case 10: case 11: case 12: case 13:
			snap = krt_order_record(w.o, s[a]);
			break;
		case 14: case 15: case 16: case 17: case 18:
			krt_order_wait(w.o, s[b], e[k], (x >> 50) % 4);
			break;
		case 19:
			(void)krt_order_known(w.o, KRT_VIEW_DOC, s[a], s[b]);
			/* fallthrough */
		case 20: case 21:
			/* a later view knows no less */
			cr_assert(!krt_order_before_stream(w.o, KRT_VIEW_DOC, st[a], s[b]) ||
				  krt_order_before_stream(w.o, KRT_VIEW_OBS, st[a], s[b]));
			cr_assert(!krt_order_settled(w.o, st[a]) ||
				  krt_order_before_host(w.o, KRT_VIEW_DOC, st[a]));
			break;
		default:
			st[a] = krt_order_begin(w.o, s[a]);
		}
		if (snap) {
			krt_snapshot_unref(w.o, e[k]);
			e[k] = snap;
		}
		if (i % 2000 == 0)
			for (unsigned d = 0; d < 4; d++)
				krt_order_host_join_device(w.o, d, BOTH);
		krt_order_get_stats(w.o, &stats);
		if (i < rounds / 4)
			peak = stats.clock_bytes > peak ? stats.clock_bytes : peak;
		else
			cr_assert_leq(stats.clock_bytes, 2 * peak, "round %u", i);
	}
	for (unsigned k = 0; k < 64; k++)
		krt_snapshot_unref(w.o, e[k]);
}
