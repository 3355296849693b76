/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders that are judged as if they were there (analyzer/change.h): streams, the host,
 * graphs, loops, one event or one for each stream, without stacks, a wait for itself.
 */
#include <criterion/criterion.h>

#include "graph_build.h"

#define S1 0x101ull
#define S2 0x102ull
#define S3 0x103ull
#define E1 0x201ull
#define N  4096
#define X  0x8000ull
#define G  0x9000ull

static struct krt_change change[2];

static void open3(struct world *w, unsigned changes)
{
	const struct krt_engine_config cfg = {
		.hot_min = 16, .possible_max = 1000, .changes = change, .nchanges = changes};
	uint64_t pc = 0x1000;

	world_open(w, &cfg);
	context(w, 0xc0, 0, true);
	stream(w, S1, 1);
	stream(w, S2, 1);
	stream(w, S3, 1);
	event(w, E1);
	alloc(w, DEV, N);
	for (uint32_t id = 1; id < 8; id++, pc += 0x100)
		stack(w, id, 1, &pc);
}

#define expect(w, text) cr_assert_str_eq(world_close(w), text)

/* What the only finding of a program lacks, as change number n; its count. */
static uint64_t missing(void (*program)(struct world *w), unsigned n)
{
	struct krt_report *r;
	struct world w;
	uint64_t count;

	open3(&w, 0);
	program(&w);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(krt_engine_missing(w.e, r->finding[0].key, &change[n]));
	count = r->finding[0].count;
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
	return count;
}

/* The program again with what it lacked. */
static void mended(void (*program)(struct world *w), const char *text)
{
	struct world w;

	missing(program, 0);
	open3(&w, 1);
	program(&w);
	expect(&w, text);
}

static void at(struct world *w, uint32_t stack)
{
	w->stack = stack;
}

/* --- streams and the host ------------------------------------------------------------- */

static void two_sets(struct world *w)
{
	at(w, 1);
	set(w, DEV, N, S1);
	at(w, 2);
	set(w, DEV, N, S2);
}

Test(change, a_stream_waits)
{
	mended(two_sets, "");
	cr_assert_eq(change[0].kind, KRT_CHANGE_WAIT);
	cr_assert_eq(change[0].after.stack, 1);
	cr_assert_eq(change[0].before.stack, 2);
}

Test(change, elsewhere_it_does_nothing)
{
	struct world w;

	missing(two_sets, 0);
	change[0].before.stack = 3;
	open3(&w, 1);
	two_sets(&w);
	expect(&w, "RACE-WAW:error:1");
	missing(two_sets, 0);
	change[0].after.stack = 3;
	open3(&w, 1);
	two_sets(&w);
	expect(&w, "RACE-WAW:error:1");
}

static void read_too_early(struct world *w)
{
	alloc_pinned(w, PIN, N);
	at(w, 1);
	d2h(w, PIN, DEV, N, S1);
	at(w, 2);
	host_read(w, PIN, N);
	sync_stream(w, S1);
}

Test(change, the_host_waits)
{
	mended(read_too_early, "");
	cr_assert_eq(change[0].kind, KRT_CHANGE_HOST_WAIT);
}

static void free_too_early(struct world *w)
{
	at(w, 1);
	set(w, DEV, N, S1);
	at(w, 2);
	call(w, cuMemFreeAsync, DEV, S2);
}

Test(change, a_free_waits)
{
	mended(free_too_early, "");
}

static void unfinished(struct world *w)
{
	alloc_pinned(w, PIN, N);
	at(w, 1);
	d2h(w, PIN, DEV, N, S1);
	mark(w, KRT_MARK_EXITING);
}

Test(change, the_end_waits)
{
	mended(unfinished, "");
	cr_assert_eq(change[0].kind, KRT_CHANGE_END_WAIT);
}

/* --- loops -------------------------------------------------------------------------------- */

static void loop(struct world *w)
{
	for (int i = 0; i < 5; i++) {
		at(w, 1);
		set(w, DEV, N, S1);
		at(w, 2);
		d2d(w, DEV + 0x10000, DEV, N, S2);
		record(w, E1, S2);
		wait_event(w, S1, E1);
	}
}

Test(change, every_round)
{
	cr_assert_eq(missing(loop, 0), 5);
	mended(loop, "");
}

/* Without stacks the calls of one function on one stream are told from others. */
static void bare_loop(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		set(w, DEV, N, S1);
		d2d(w, DEV + 0x10000, DEV, N, S2);
		record(w, E1, S2);
		wait_event(w, S1, E1);
	}
}

Test(change, every_round_without_stacks)
{
	cr_assert_eq(missing(bare_loop, 0), 3);
	cr_assert(!change[0].after.once);
	mended(bare_loop, "");
}

static void bare(struct world *w)
{
	set(w, DEV, N, S1);
	set(w, DEV, N, S2);
}

Test(change, once_without_stacks)
{
	mended(bare, "");
	cr_assert(change[0].after.once && change[0].before.once);
}

/* The same line on two streams, then a reader. */
static void two_writers(struct world *w)
{
	at(w, 1);
	set(w, DEV, N / 2, S1);
	set(w, DEV + N / 2, N / 2, S2);
	at(w, 2);
	d2d(w, DEV + 0x10000, DEV, N, S3);
}

Test(change, one_event_of_two_streams)
{
	struct world w;

	cr_assert_eq(missing(two_writers, 0), 2);
	mended(two_writers, "RACE-RAW:error:1");
	change[0].each = true;
	open3(&w, 1);
	two_writers(&w);
	expect(&w, "");
}

Test(change, streams_are_counted)
{
	struct world w;

	missing(two_writers, 0);
	open3(&w, 1);
	two_writers(&w);
	cr_assert(krt_engine_streams(w.e, 0));
	cr_assert(!krt_engine_streams(w.e, 1));
	world_close(&w);
	missing(two_sets, 0);
	open3(&w, 1);
	two_sets(&w);
	cr_assert(!krt_engine_streams(w.e, 0));
	world_close(&w);
}

/* Memory that runs out is told, and nothing is lost. */
Test(change, out_of_memory)
{
	bool failed = true;

	missing(two_writers, 0);
	change[0].each = true;
	for (unsigned long n = 1; failed && n < 2000; n++) {
		const struct krt_engine_config cfg = {.hot_min = 16,
						      .possible_max = 1000,
						      .changes = change,
						      .nchanges = 1,
						      .fail_at = n};
		struct world w;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		context(&w, 0xc0, 0, true);
		stream(&w, S1, 1);
		stream(&w, S2, 1);
		stream(&w, S3, 1);
		alloc(&w, DEV, N);
		two_writers(&w);
		failed = w.rc != 0;
		world_close(&w);
	}
	cr_assert(!failed, "each allocation failed once");
}

/* --- a wait for itself ------------------------------------------------------------------------ */

/* S1 works behind a value that S2 writes behind its own work. */
static void handshake(struct world *w)
{
	call(w, cuStreamWaitValue32_v2, S1, DEV + 0x10000, 5ull, 0ull);
	at(w, 1);
	set(w, DEV, N, S1);
	at(w, 2);
	set(w, DEV, N, S2);
	at(w, 0);
	call(w, cuStreamWriteValue32_v2, S2, DEV + 0x10000, 5ull, 0ull);
}

static bool host_waits; /* and not a stream */

static bool waits_for_itself(void (*program)(struct world *w))
{
	struct world w;
	bool cycle;

	change[0] = (struct krt_change){
		.kind = host_waits ? KRT_CHANGE_HOST_WAIT : KRT_CHANGE_WAIT,
		.after = {.stack = 1, .any_api = true},
		.before = {.stack = 2, .any_api = true},
	};
	open3(&w, 1);
	program(&w);
	cycle = krt_engine_cycle(w.e, 0);
	world_close(&w);
	return cycle;
}

Test(change, cycle_by_a_value)
{
	cr_assert(waits_for_itself(handshake));
	cr_assert(!waits_for_itself(two_sets));
}

/* The value is written before the work that would wait. */
static void handshake_before(struct world *w)
{
	call(w, cuStreamWaitValue32_v2, S1, DEV + 0x10000, 5ull, 0ull);
	at(w, 1);
	set(w, DEV, N, S1);
	at(w, 0);
	call(w, cuStreamWriteValue32_v2, S2, DEV + 0x10000, 5ull, 0ull);
	at(w, 2);
	set(w, DEV, N, S2);
}

Test(change, no_cycle_where_it_is_written_before)
{
	cr_assert(!waits_for_itself(handshake_before));
}

/* The host would wait for S1 before it has the value written that S1 waits for. */
static void handshake_host(struct world *w)
{
	call(w, cuStreamWaitValue32_v2, S1, DEV + 0x10000, 5ull, 0ull);
	at(w, 1);
	set(w, DEV, N, S1);
	at(w, 2);
	call(w, cuMemFree_v2, DEV);
	at(w, 0);
	call(w, cuStreamWriteValue32_v2, S2, DEV + 0x10000, 5ull, 0ull);
}

/* The value is written before that. */
static void handshake_host_after(struct world *w)
{
	call(w, cuStreamWaitValue32_v2, S1, DEV + 0x10000, 5ull, 0ull);
	at(w, 1);
	set(w, DEV, N, S1);
	at(w, 0);
	call(w, cuStreamWriteValue32_v2, S2, DEV + 0x10000, 5ull, 0ull);
	at(w, 2);
	call(w, cuMemFree_v2, DEV);
}

Test(change, cycle_by_a_wait_of_the_host)
{
	host_waits = true;
	cr_assert(waits_for_itself(handshake_host));
	cr_assert(!waits_for_itself(handshake_host_after));
}

/* --- graphs --------------------------------------------------------------------------------------
 */

static struct graph_build b;

/* Two sets of the same bytes are captured, behind each other where `chained`. */
static void captured_sets(struct world *w, bool chained)
{
	graph_open(&b, G);
	graph_set(&b, DEV, N);
	graph_set(&b, DEV + 64, 64);
	if (chained)
		graph_edge(&b, 0, 1);
	capture_begin(w, S1, G);
	for (uint32_t i = 0; i < 2; i++) {
		at(w, i + 1);
		captured(w, &b, i, S1);
	}
	at(w, 0);
	capture_end(w, S1, G);
	instantiate(w, X, G, &b);
	graph_launch(w, X, S1);
}

static void unordered_nodes(struct world *w)
{
	captured_sets(w, false);
}

static void ordered_nodes(struct world *w)
{
	captured_sets(w, true);
}

Test(change, nodes)
{
	mended(unordered_nodes, "");
	cr_assert_eq(change[0].kind, KRT_CHANGE_NODES);
}

Test(change, nodes_of_other_calls)
{
	struct world w;

	missing(unordered_nodes, 0);
	change[0].after.stack = 5;
	open3(&w, 1);
	unordered_nodes(&w);
	expect(&w, "GRAPH-UNORDERED-NODES:error:1");
}

/* The way back is there already. */
Test(change, nodes_in_a_circle)
{
	struct world w;

	missing(unordered_nodes, 0);
	change[1] = change[0];
	change[1].after = change[0].before;
	change[1].before = change[0].after;
	change[0] = change[1];
	open3(&w, 1);
	ordered_nodes(&w);
	cr_assert(krt_engine_cycle(w.e, 0));
	expect(&w, "");
	missing(unordered_nodes, 0);
	open3(&w, 1);
	ordered_nodes(&w);
	cr_assert(!krt_engine_cycle(w.e, 0));
	expect(&w, "");
}

static void unseen_nodes(struct world *w)
{
	graph_open(&b, G);
	graph_set(&b, DEV, N);
	graph_set(&b, DEV + 64, 64);
	instantiate(w, X, G, &b);
	graph_launch(w, X, S1);
}

Test(change, nodes_that_nobody_was_seen_to_make)
{
	struct krt_report *r;
	struct world w;

	open3(&w, 0);
	unseen_nodes(&w);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_eq(r->finding[0].edge.record_after, 0);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}
