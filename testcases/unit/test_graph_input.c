/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs that replays went without, on records made by hand. */
#include <criterion/criterion.h>

#include "graph_build.h"

#define S1   0x101ull
#define N    4096
#define X    0x8000ull
#define Y    0x8001ull
#define G    0x9000ull
#define IN1  DEV
#define IN2  (DEV + 0x100000)
#define OUT  (DEV + 0x200000)
#define MID  (DEV + 0x300000)
#define NEW  (DEV + 0x400000)

static struct graph_build b;

/* Each write has a call site of its own, as a program's have. */
static void site(struct world *w, uint32_t id)
{
	w->stack = id;
}

static void open1(struct world *w)
{
	world_open(w, NULL);
	context(w, 0xc0, 0, true);
	stream(w, S1, 1);
	for (uint32_t i = 1; i < 12; i++) {
		uint64_t pc[2] = {0x400000 + i * 16, 0x400000};

		stack(w, i, 2, pc);
	}
	alloc(w, IN1, N);
	alloc(w, IN2, N);
	alloc(w, OUT, N);
	alloc(w, MID, N);
	name(w, IN1, N, "tokens");
	name(w, IN2, N, "table");
	kernel(w, 1, "make", 1, NULL);
	kernel(w, 2, "use", 1, NULL);
}

/* OUT = IN1, IN2 */
static void two_inputs(struct world *w)
{
	graph_open(&b, G);
	graph_copy(&b, OUT, IN1, N / 2);
	graph_copy(&b, OUT + N / 2, IN2, N / 2);
	instantiate(w, X, G, &b);
}

static void put(struct world *w, uint64_t to, uint32_t from_site)
{
	site(w, from_site);
	h2d(w, to, PIN, N, S1);
}

static void replay(struct world *w, uint64_t exec)
{
	site(w, 9);
	graph_launch(w, exec, S1);
}

#define expect(w, text) cr_assert_str_eq(world_close(w), text)
#define TOLD		"GRAPH-STALE-INPUT:note:1"

/* with: a bit a replay, whether the second input was written before it. */
static void replays(struct world *w, unsigned n, uint32_t with)
{
	two_inputs(w);
	for (unsigned i = 0; i < n; i++) {
		put(w, IN1, 1);
		if (with >> i & 1)
			put(w, IN2, 2);
		replay(w, X);
	}
}

Test(input, left_out_once)
{
	struct krt_report *r;
	struct world w;

	open1(&w);
	replays(&w, 6, 0x37);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].message, "replay 4, reads"), "%s", r->finding[0].message);
	cr_assert(strstr(r->finding[0].message, "\"table\""));
	cr_assert(strstr(r->finding[0].message, "each of the 3 replays before it"));
	cr_assert(strstr(r->finding[0].message, "although device buffer \"tokens\""));
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(input, told_at_the_destroy_and_once)
{
	struct world w;

	open1(&w);
	replays(&w, 12, 0x7f7);
	exec_destroy(&w, X);
	expect(&w, TOLD);
}

Test(input, two_replays_are_too_few)
{
	struct world w;

	open1(&w);
	replays(&w, 6, 0x3b);
	expect(&w, "");
}

Test(input, written_when_it_changes)
{
	struct world w;

	open1(&w);
	replays(&w, 30, 0x0101010f);
	expect(&w, "");
}

/* The first replay came before any write: counted from there on. */
Test(input, warm_up_first)
{
	struct world w;

	open1(&w);
	two_inputs(&w);
	replay(&w, X);
	for (unsigned i = 0; i < 6; i++) {
		put(&w, IN1, 1);
		if (i != 4)
			put(&w, IN2, 2);
		replay(&w, X);
	}
	expect(&w, TOLD);
}

Test(input, launches_in_a_row)
{
	struct world w;

	open1(&w);
	replays(&w, 5, 0x1f);
	for (int i = 0; i < 50; i++)
		replay(&w, X);
	expect(&w, "");
}

/* Rows of one buffer from one loop: a smaller batch is no hazard. */
Test(input, fewer_rows)
{
	struct world w;

	open1(&w);
	two_inputs(&w);
	for (unsigned i = 0; i < 8; i++) {
		put(&w, IN1, 1);
		site(&w, 2);
		for (unsigned r = 0; r < (i == 5 ? 1u : 4u); r++)
			h2d(&w, IN2 + r * 64, PIN, 64, S1);
		replay(&w, X);
	}
	expect(&w, "");
}

Test(input, written_from_elsewhere)
{
	struct world w;

	open1(&w);
	two_inputs(&w);
	for (unsigned i = 0; i < 8; i++) {
		put(&w, IN1, 1);
		if (i == 5)
			set(&w, IN2, N, S1); /* another call */
		else
			put(&w, IN2, 2);
		replay(&w, X);
	}
	expect(&w, "");
}

Test(input, a_kernel_may_have_written_it)
{
	struct world w;

	open1(&w);
	two_inputs(&w);
	for (unsigned i = 0; i < 8; i++) {
		put(&w, IN1, 1);
		if (i == 5)
			launch(&w, S1, 1, IN2);
		else
			put(&w, IN2, 2);
		replay(&w, X);
	}
	expect(&w, "");
}

Test(input, another_graph_writes_it)
{
	struct world w;

	open1(&w);
	two_inputs(&w);
	graph_open(&b, G + 1);
	graph_copy(&b, IN2, MID, N);
	instantiate(&w, Y, G + 1, &b);
	for (unsigned i = 0; i < 8; i++) {
		put(&w, IN1, 1);
		if (i >= 5)
			replay(&w, Y);
		else
			put(&w, IN2, 2);
		replay(&w, X);
	}
	expect(&w, "");
}

/* What the graph writes itself is a state, not an input. */
Test(input, state)
{
	struct world w;

	open1(&w);
	graph_open(&b, G);
	graph_copy(&b, OUT, IN1, N);
	graph_copy(&b, MID, IN2, N);
	graph_set(&b, IN2, N);
	graph_edge(&b, 1, 2);
	instantiate(&w, X, G, &b);
	for (unsigned i = 0; i < 8; i++) {
		put(&w, IN1, 1);
		if (i != 5)
			put(&w, IN2, 2);
		replay(&w, X);
	}
	expect(&w, "");
}

/* --- fresh data elsewhere --------------------------------------------------------------- */

enum how { UNREAD, COPIED_IN, READ_LATER, ALIVE };

static void fresh(struct world *w, unsigned steps, unsigned from, enum how how, uint32_t first)
{
	site(w, 3);
	launch(w, S1, first, IN1); /* warm-up: what made the input once */
	graph_open(&b, G);
	graph_copy(&b, OUT, IN1, N);
	instantiate(w, X, G, &b);
	for (unsigned i = 0; i < steps; i++) {
		uint64_t at = NEW + (how == ALIVE ? i * 0x10000ull : 0);

		if (i >= from) {
			site(w, 4);
			alloc(w, at, N);
			site(w, 3);
			launch(w, S1, 1, at);
			site(w, 5);
			if (how == COPIED_IN)
				d2d(w, IN1, at, N, S1);
		}
		replay(w, X);
		sync_stream(w, S1);
		if (i >= from) {
			site(w, 6);
			if (how == READ_LATER)
				d2h(w, PIN, at, N, S1);
			sync_stream(w, S1);
			if (how != ALIVE)
				call(w, cuMemFree_v2, A(at));
		}
	}
}

Test(fresh, nobody_reads_it)
{
	struct world w;

	open1(&w);
	fresh(&w, 4, 0, UNREAD, 1);
	expect(&w, TOLD);
}

Test(fresh, kept)
{
	struct world w;

	open1(&w);
	fresh(&w, 4, 0, ALIVE, 1);
	exec_destroy(&w, X);
	expect(&w, TOLD);
}

Test(fresh, once_is_chance)
{
	struct world w;

	open1(&w);
	fresh(&w, 2, 1, UNREAD, 1);
	expect(&w, "");
}

Test(fresh, seldom)
{
	struct world w;

	open1(&w);
	fresh(&w, 12, 10, UNREAD, 1);
	expect(&w, "");
}

Test(fresh, copied_in)
{
	struct world w;

	open1(&w);
	fresh(&w, 6, 0, COPIED_IN, 1);
	expect(&w, "");
}

Test(fresh, a_result)
{
	struct world w;

	open1(&w);
	fresh(&w, 6, 0, READ_LATER, 1);
	expect(&w, "");
}

/* The input was made by something else: a weight, say. */
Test(fresh, of_another_making)
{
	struct world w;

	open1(&w);
	fresh(&w, 6, 0, UNREAD, 2);
	expect(&w, "");
}

Test(input, no_memory)
{
	for (unsigned long i = 1; i < 600; i++) {
		struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000, .fail_at = i};
		struct world w;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		context(&w, 0xc0, 0, true);
		stream(&w, S1, 1);
		alloc(&w, IN1, N);
		alloc(&w, IN2, N);
		alloc(&w, OUT, N);
		kernel(&w, 1, "make", 1, NULL);
		replays(&w, 5, 0x17);
		exec_destroy(&w, X);
		fresh(&w, 3, 0, UNREAD, 1);
		krt_report_destroy(world_report(&w));
		krt_engine_destroy(w.e);
	}
}
