/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs made again and again: which loops are a storm, and what the finding says of them. */
#include <criterion/criterion.h>

#include "graph_build.h"

#define S1 0x101ull
#define N  4096

static struct graph_build b;

static void open1(struct world *w)
{
	static const uint64_t pc[] = {0x400100, 0x400200}, other[] = {0x400900, 0x400200};

	world_open(w, NULL);
	context(w, 0xc0, 0, true);
	stream(w, S1, 1);
	for (int i = 0; i < 64; i++)
		alloc(w, DEV + i * 65536ull, N);
	kernel(w, 1, "scale", 2, NULL);
	stack(w, 1, 2, pc);
	stack(w, 2, 2, other);
	w->stack = 1;
}

#define expect(w, text) cr_assert_str_eq(world_close(w), text)

static void expect_says(struct world *w, const char *message, const char *fix)
{
	struct krt_report *r = world_report(w);

	cr_assert(r);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_str_eq(krt_rules[r->finding[0].rule].id, "KRT-PERF-CAPTURE-STORM");
	cr_assert(strstr(r->finding[0].message, message), "%s", r->finding[0].message);
	cr_assert(strstr(r->finding[0].fix, fix), "%s", r->finding[0].fix);
	krt_report_destroy(r);
	krt_engine_destroy(w->e);
}

/* One step: a set of `size` bytes and a kernel of `grid` blocks on buffer `at` with a value. */
static void step(struct world *w, int i, uint64_t at, uint32_t grid, uint64_t value, int launches)
{
	uint64_t exec = 0x8000 + (uint64_t)i, graph = 0x9000 + (uint64_t)i;

	graph_open(&b, graph);
	graph_set(&b, at, 64);
	graph_kernel(&b, 1, grid, at, value);
	graph_edge(&b, 0, 1);
	instantiate(w, exec, graph, &b);
	for (int k = 0; k < launches; k++)
		graph_launch(w, exec, S1);
	exec_destroy(w, exec);
}

Test(storm, same_each_time)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++)
		step(&w, i, DEV, 4, 7, 1);
	expect_says(&w, "made 20 graphs (first at #", "keep the executable and launch it again");
}

Test(storm, ratio_and_addresses)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++)
		step(&w, i, DEV + (uint64_t)i * 65536, 4, 7, 2);
	expect_says(&w, "2.0 launches a graph; the graphs have the same shape and other addresses, "
			"first at node 0, set of 64 bytes",
		    "static buffers");
}

Test(storm, values)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++)
		step(&w, i, DEV, 4, (uint64_t)i, 1);
	expect_says(&w, "parameter values only, first at node 1, kernel scale (256 threads)",
		    "cuGraphExecKernelNodeSetParams");
}

Test(storm, shapes)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++)
		step(&w, i, DEV, 4 + (uint32_t)i, 7, 1);
	expect_says(&w, "node 1, kernel scale (1472 threads), was kernel scale (1408 threads)",
		    "a few buckets");
}

Test(storm, few_shapes)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++)
		step(&w, i, DEV, 4 + (uint32_t)i % 3, 7, 1);
	expect_says(&w, "few different shapes", "for each shape (3 were seen)");
}

/* --- what is none ---------------------------------------------------------------------- */

Test(storm, fifteen)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 15; i++)
		step(&w, i, DEV, 4, 7, 1);
	expect(&w, "");
}

Test(storm, launched_often)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++)
		step(&w, i, DEV, 4, 7, 4);
	expect(&w, "");
}

/* All captured first, launched later: a warm-up, whatever comes after it. */
Test(storm, warm_up)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++) {
		graph_open(&b, 0x9000);
		graph_set(&b, DEV, 64 + (uint64_t)i);
		instantiate(&w, 0x8000 + (uint64_t)i, 0x9000, &b);
	}
	for (int i = 0; i < 20; i++)
		graph_launch(&w, 0x8000 + (uint64_t)i, S1);
	expect(&w, "");
}

/* Captured when first seen, then launched a thousand times. */
Test(storm, lazy_warm_up)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++) {
		graph_open(&b, 0x9000);
		graph_set(&b, DEV, 64 + (uint64_t)i);
		instantiate(&w, 0x8000 + (uint64_t)i, 0x9000, &b);
		graph_launch(&w, 0x8000 + (uint64_t)i, S1);
	}
	for (int i = 0; i < 1000; i++)
		graph_launch(&w, 0x8000 + (uint64_t)i % 20, S1);
	expect(&w, "");
}

/* --- updates ---------------------------------------------------------------------------- */

static void update_loop(struct world *w, bool changes, int launches)
{
	graph_open(&b, 0x9000);
	graph_kernel(&b, 1, 4, DEV, 0);
	instantiate(w, 0x8000, 0x9000, &b);
	w->stack = 2;
	for (int i = 0; i < 20; i++) {
		graph_open(&b, 0x9001);
		graph_kernel(&b, 1, 4, DEV, changes ? (uint64_t)i : 0);
		exec_update(w, 0x8000, 0x9001, &b);
		for (int k = 0; k < launches; k++)
			graph_launch(w, 0x8000, S1);
	}
}

Test(storm, update_with_the_same)
{
	struct world w;

	open1(&w);
	update_loop(&w, false, 1);
	expect_says(&w, "cuGraphExecUpdate was given 20 graphs", "leave the capture and the update away");
}

Test(storm, update_with_another)
{
	struct world w;

	open1(&w);
	update_loop(&w, true, 1);
	expect(&w, "");
}

Test(storm, update_now_and_then)
{
	struct world w;

	open1(&w);
	update_loop(&w, false, 3);
	expect(&w, "");
}

/* Handles are no difference; a graph that could not be read tells no reason. */
Test(storm, unread)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 20; i++) {
		call_begin(&w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(0x9000), A(0));
		call_out(&w, 0, 0x8000);
		call_end(&w, 0);
		graph_launch(&w, 0x8000, S1);
	}
	expect_says(&w, "1.0 launches a graph", "where the graph stays the same");
}

Test(storm, no_memory)
{
	for (unsigned long i = 1; i < 300; i++) {
		struct krt_engine_config cfg = {.hot_min = 4, .possible_max = 1000, .fail_at = i};
		struct world w;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		context(&w, 0xc0, 0, true);
		stream(&w, S1, 1);
		for (int k = 0; k < 6; k++)
			step(&w, k, DEV, 4, (uint64_t)k, 1);
		krt_report_destroy(world_report(&w));
		krt_engine_destroy(w.e);
	}
}
