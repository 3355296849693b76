/* SPDX-License-Identifier: Apache-2.0 */
/* Loops and the rules about what is done in them: shapes of loops, exact figures. */
#include "rec_build.h"

#include <criterion/criterion.h>

#define S1 0x100
#define E1 0x200
#define N  4096

/* Call sites: 1 the sync, 2 the kernel, ... each a stack of its own. */
enum { SYNC = 1, KERNEL, INNER, UPLOAD, FETCH, FIRST, ALLOC, FREE, MAKE, DROP, RECORD, WAIT, OTHER, SITES };

static void open_with(struct world *w, const struct krt_engine_config *cfg)
{
	world_open(w, cfg);
	if (!w->e)
		return;
	context(w, 0xc0, 0, true);
	for (uint32_t i = 1; i < SITES; i++) {
		uint64_t pc = 0x1000 * i;

		stack(w, i, 1, &pc);
	}
	kernel(w, 1, "step", 2, NULL);
	w->stack = OTHER;
	stream(w, S1, 1);
	event(w, E1);
	event(w, E1 + 1);
	alloc(w, DEV, 8 << 20);
	alloc_pinned(w, PIN, 1 << 20);
	w->now = 1;
}

static void open_sites(struct world *w)
{
	open_with(w, NULL);
}

static void kernel_at(struct world *w, uint32_t site, uint64_t arg)
{
	w->stack = site;
	w->took = 6000;
	launch(w, S1, 1, DEV, arg);
}

static void sync_at(struct world *w, uint32_t site)
{
	w->stack = site;
	w->took = 50000;
	sync_stream(w, S1);
}

static void upload(struct world *w)
{
	w->stack = UPLOAD;
	w->took = 2000;
	h2d(w, DEV, PIN, 64, S1);
}

static void fetch(struct world *w, uint64_t bytes)
{
	w->stack = FETCH;
	w->took = 2000;
	d2h(w, PIN, DEV, bytes, S1);
}

/* --- shapes of loops: is the sync in it hot? ------------------------------------------ */

static void every_round(struct world *w)
{
	for (int i = 0; i < 16; i++) {
		kernel_at(w, KERNEL, 1);
		sync_at(w, SYNC);
	}
}

static void too_few(struct world *w)
{
	for (int i = 0; i < 15; i++) {
		kernel_at(w, KERNEL, 1);
		sync_at(w, SYNC);
	}
}

static void every_second(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		kernel_at(w, KERNEL, 1);
		if (i % 2)
			sync_at(w, SYNC);
	}
}

static void every_third(struct world *w)
{
	for (int i = 0; i < 120; i++) {
		kernel_at(w, KERNEL, 1);
		if (i % 3 == 0)
			sync_at(w, SYNC);
	}
}

static void every_tenth(struct world *w)
{
	for (int i = 0; i < 400; i++) {
		kernel_at(w, KERNEL, 1);
		if (i % 10 == 9)
			sync_at(w, SYNC);
	}
}

static void every_tenth_with_input(struct world *w)
{
	for (int i = 0; i < 400; i++) {
		upload(w);
		kernel_at(w, KERNEL, 1);
		if (i % 10 == 9) {
			fetch(w, 4);
			sync_at(w, SYNC);
		}
	}
}

static void once_an_epoch(struct world *w)
{
	for (int epoch = 0; epoch < 40; epoch++) {
		kernel_at(w, FIRST, 1);
		for (int i = 0; i < 10; i++) {
			upload(w);
			kernel_at(w, KERNEL, 1);
		}
		fetch(w, 4);
		sync_at(w, SYNC);
	}
}

static void epoch_and_step(struct world *w)
{
	for (int epoch = 0; epoch < 20; epoch++) {
		for (int i = 0; i < 10; i++) {
			kernel_at(w, KERNEL, 1);
			sync_at(w, SYNC);
		}
		sync_at(w, OTHER); /* nothing is enqueued before it: not even redundant the first time */
	}
}

static void after_the_loop(struct world *w)
{
	for (int i = 0; i < 400; i++)
		kernel_at(w, KERNEL, 1);
	sync_at(w, SYNC);
}

static void warm_up(struct world *w)
{
	for (int i = 0; i < 200; i++) {
		kernel_at(w, KERNEL, 1);
		if (i < 30)
			sync_at(w, SYNC);
	}
}

static void warm_up_elsewhere(struct world *w)
{
	for (int i = 0; i < 30; i++) {
		kernel_at(w, FIRST, 1);
		sync_at(w, SYNC);
	}
	for (int i = 0; i < 200; i++)
		kernel_at(w, KERNEL, 1);
}

static void second_loop_as_hot(struct world *w)
{
	for (int i = 0; i < 30; i++) {
		kernel_at(w, FIRST, 1);
		sync_at(w, SYNC);
	}
	for (int i = 0; i < 200; i++) {
		kernel_at(w, KERNEL, 1);
		sync_at(w, OTHER);
	}
}

static void inner_loop(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		upload(w);
		for (int k = 0; k < 12; k++)
			kernel_at(w, INNER, 1);
		fetch(w, 4);
		sync_at(w, SYNC);
	}
}

static void inner_loop_first(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 4; k++)
			kernel_at(w, INNER, (uint64_t)k);
		sync_at(w, SYNC);
	}
}

static void inner_loops_nested(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, FIRST, 1);
		for (int k = 0; k < 6; k++) {
			for (int j = 0; j < 5; j++)
				kernel_at(w, INNER, 1);
			kernel_at(w, KERNEL, 1);
		}
		sync_at(w, SYNC);
	}
}

static void inner_loop_of_syncs(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		for (int k = 0; k < 4; k++)
			sync_at(w, SYNC);
	}
}

static void branches(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		kernel_at(w, i % 3 ? KERNEL : INNER, 1);
		if (i % 5 == 0)
			upload(w);
		sync_at(w, SYNC);
	}
}

static void nothing_between(struct world *w)
{
	kernel_at(w, KERNEL, 1);
	for (int i = 0; i < 14; i++)
		sync_at(w, SYNC);
}

static void phases(struct world *w)
{
	for (int outer = 0; outer < 20; outer++) {
		for (int i = 0; i < 20; i++) {
			kernel_at(w, KERNEL, 1);
			sync_at(w, SYNC);
		}
		for (int i = 0; i < 50; i++)
			kernel_at(w, INNER, 1);
		fetch(w, 64);
	}
}

static void polling(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = RECORD;
		record(w, E1, S1);
		w->stack = SYNC;
		for (int k = 0; k < 5; k++)
			call_failed(w, cuEventQuery, 600, A(E1));
		call(w, cuEventQuery, A(E1));
	}
}

static void asking(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		w->stack = SYNC;
		if (i)
			call(w, cuEventQuery, A(E1));
		kernel_at(w, KERNEL, 1);
		w->stack = RECORD;
		record(w, E1, S1);
		w->stack = SYNC;
		call_failed(w, cuEventQuery, 600, A(E1));
		kernel_at(w, INNER, 1);
	}
}

/* a round stays in flight */
static void round_before(struct world *w)
{
	for (unsigned i = 0; i < 40; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = RECORD;
		record(w, E1 + i % 2, S1);
		w->stack = SYNC;
		if (i)
			sync_event(w, E1 + (i + 1) % 2);
	}
}

static void this_round(struct world *w)
{
	for (unsigned i = 0; i < 40; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = RECORD;
		record(w, E1 + i % 2, S1);
		w->stack = SYNC;
		sync_event(w, E1 + i % 2);
	}
}

static void other_thread_syncs(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		w->lane = 0;
		kernel_at(w, KERNEL, 1);
		w->lane = 1;
		sync_at(w, SYNC);
	}
	w->lane = 0;
}

/* a batch of several tensors, then the step */
static void uploads_in_a_row(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 5; k++)
			upload(w);
		kernel_at(w, KERNEL, (uint64_t)i);
		fetch(w, 4);
		sync_at(w, SYNC);
	}
}

/* three values a step, and one kernel everywhere in between */
static void three_syncs(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		upload(w);
		for (uint32_t k = 0; k < 3; k++) {
			kernel_at(w, KERNEL, (uint64_t)i);
			kernel_at(w, INNER, (uint64_t)i);
			kernel_at(w, KERNEL, (uint64_t)i);
			sync_at(w, k == 0 ? SYNC : k == 1 ? OTHER : WAIT);
		}
	}
}

/* the same call site from two depths: before the loop, and several times a step */
static void site_from_two_depths(struct world *w)
{
	uint64_t pc[6] = {0x9000, 0x9100, 0x9200, 0x9300, 0xa000, 0};

	stack(w, 40, 5, pc);
	pc[5] = 0xb000;
	stack(w, 41, 6, pc);
	kernel_at(w, 40, 1);
	for (int i = 0; i < 20; i++) {
		upload(w);
		for (int k = 0; k < 12; k++) {
			kernel_at(w, 41, (uint64_t)i);
			kernel_at(w, INNER, (uint64_t)i);
		}
		sync_at(w, SYNC);
	}
}

/* the same without kernels */
static void sets(struct world *w, int rounds, int every)
{
	for (int i = 0; i < rounds; i++) {
		w->stack = INNER;
		set(w, DEV, N, S1);
		if (i % every == 0)
			sync_at(w, SYNC);
	}
}

static void sets_each(struct world *w)
{
	sets(w, 20, 1);
}

static void sets_second(struct world *w)
{
	sets(w, 40, 2);
}

static void sets_tenth(struct world *w)
{
	sets(w, 200, 10);
}

/* two threads, each waits for its own; the other's work is always newer */
static void two_threads(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		for (w->lane = 0; w->lane < 2; w->lane++) {
			w->stack = KERNEL;
			launch(w, S1 + w->lane, 1, DEV, 1);
		}
		for (w->lane = 0; w->lane < 2; w->lane++) {
			w->stack = SYNC;
			sync_stream(w, S1 + w->lane);
		}
	}
	w->lane = 0;
}

Test(hot, shapes)
{
	static const struct {
		void (*loop)(struct world *w);
		const char *text;
	} row[] = {
		{every_round, "PERF-SYNC-HOT:note:1"},
		{too_few, ""},
		{every_second, "PERF-SYNC-HOT:note:1"},
		{every_third, ""},
		{every_tenth, ""},
		{every_tenth_with_input, ""},
		{once_an_epoch, ""},
		{epoch_and_step, "PERF-SYNC-HOT:note:1 PERF-REDUNDANT-SYNC:note:1"},
		{after_the_loop, ""},
		{warm_up, ""},
		{warm_up_elsewhere, ""},
		{second_loop_as_hot, "PERF-SYNC-HOT:note:2"},
		{inner_loop, "PERF-SYNC-HOT:note:1"},
		{inner_loop_first, "PERF-SYNC-HOT:note:1"},
		{inner_loops_nested, "PERF-SYNC-HOT:note:1"},
		{inner_loop_of_syncs, "PERF-SYNC-HOT:note:1"},
		{branches, "PERF-SYNC-HOT:note:1"},
		{nothing_between, ""},
		{phases, "PERF-SYNC-HOT:note:1"},
		{polling, "PERF-SYNC-HOT:note:1"},
		{asking, ""},
		{round_before, ""},
		{this_round, "PERF-SYNC-HOT:note:1"},
		{sets_each, "PERF-SYNC-HOT:note:1"},
		{sets_second, "PERF-SYNC-HOT:note:1"},
		{sets_tenth, ""},
		{uploads_in_a_row, "PERF-SYNC-HOT:note:1"},
		{three_syncs, "PERF-SYNC-HOT:note:3"},
		{site_from_two_depths, "PERF-SYNC-HOT:note:1"},
		{two_threads, "PERF-SYNC-HOT:note:2"},
		{other_thread_syncs, "PERF-SYNC-HOT:note:1"},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct world w;

		open_sites(&w);
		row[i].loop(&w);
		cr_expect_str_eq(world_close(&w), row[i].text, "%u: %s", i, w.text);
	}
}

/* --- the other rules ------------------------------------------------------------------------ */

static void alloc_free(struct world *w)
{
	for (int i = 0; i < 17; i++) {
		w->stack = ALLOC;
		w->took = 10000;
		alloc(w, DEV + (2 << 20), 512);
		kernel_at(w, KERNEL, 1);
		w->stack = FREE;
		w->took = 90000;
		call(w, cuMemFree_v2, A(DEV + (2 << 20)));
	}
}

static void alloc_alone(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		w->stack = ALLOC;
		alloc(w, DEV + (2ull << 20) + 4096ull * (uint64_t)i, 4096);
		upload(w);
	}
}

static void free_alone(struct world *w)
{
	alloc_alone(w);
	w->stack = FREE;
	for (uint64_t i = 0; i < 40; i++) {
		kernel_at(w, KERNEL, i);
		w->stack = FREE;
		call(w, cuMemFree_v2, A(DEV + (2ull << 20) + 4096 * i));
	}
}

static void alloc_per_epoch(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		w->stack = ALLOC;
		alloc(w, DEV + (2 << 20), 512);
		for (int k = 0; k < 10; k++) {
			upload(w);
			kernel_at(w, KERNEL, 1);
		}
		w->stack = FREE;
		call(w, cuMemFree_v2, A(DEV + (2 << 20)));
	}
}

static void alloc_pool(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		w->stack = ALLOC;
		alloc_async(w, DEV + (2 << 20), 512, S1);
		kernel_at(w, KERNEL, 1);
		w->stack = FREE;
		call(w, cuMemFreeAsync, A(DEV + (2 << 20)), A(S1));
	}
}

static void pinned_each_round(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		w->stack = ALLOC;
		alloc_pinned(w, PIN + (2 << 20), 512);
		kernel_at(w, KERNEL, 1);
		w->stack = FREE;
		call(w, cuMemFreeHost, A(PIN + (2 << 20)));
	}
}

static void pageable_fetch(struct world *w)
{
	for (int i = 0; i < 16; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = FETCH;
		w->took = 30000;
		d2h(w, HEAP, DEV, 4096, S1);
	}
}

static void pageable_fetch_and_sync(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = FETCH;
		d2h(w, HEAP, DEV, 4, S1);
		sync_at(w, SYNC);
	}
}

static void alloc_sync_free(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		w->stack = ALLOC;
		alloc(w, DEV + (2 << 20), 512);
		kernel_at(w, KERNEL, 1);
		sync_at(w, SYNC);
		w->stack = FREE;
		call(w, cuMemFree_v2, A(DEV + (2 << 20)));
	}
}

static void alloc_fetch_free(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		w->stack = ALLOC;
		alloc(w, DEV + (2 << 20), 512);
		kernel_at(w, KERNEL, 1);
		fetch(w, 64);
		sync_at(w, SYNC);
		w->stack = FREE;
		call(w, cuMemFree_v2, A(DEV + (2 << 20)));
	}
}

static void pageable_small_upload(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		w->stack = UPLOAD;
		h2d(w, DEV, HEAP, 4096, S1);
		kernel_at(w, KERNEL, 1);
	}
}

static void pageable_large_upload(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		w->stack = UPLOAD;
		h2d(w, DEV, HEAP, 4 << 20, S1);
		kernel_at(w, KERNEL, 1);
	}
}

static void pinned_fetch(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		kernel_at(w, KERNEL, 1);
		fetch(w, 4096);
	}
}

static void event_each_round(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = MAKE;
		event(w, E1 + 2);
		w->stack = RECORD;
		record(w, E1 + 2, S1);
		w->stack = WAIT;
		wait_event(w, 0, E1 + 2);
		w->stack = DROP;
		call(w, cuEventDestroy_v2, A(E1 + 2));
	}
}

static void events_kept(struct world *w)
{
	for (unsigned i = 0; i < 40; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = MAKE;
		event(w, E1 + 2 + i);
		w->stack = RECORD;
		record(w, E1 + 2 + i, S1);
	}
}

static void stream_each_round(struct world *w)
{
	for (unsigned i = 0; i < 20; i++) {
		w->stack = MAKE;
		stream(w, S1 + 1, 1);
		w->stack = KERNEL;
		set(w, DEV + 16 * i, 16, S1 + 1);
		w->stack = DROP;
		call(w, cuStreamDestroy_v2, A(S1 + 1));
	}
}

static void module_each_round(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		w->stack = MAKE;
		call_begin(w, KRT_API_cuModuleLoadData, A(0), A(0x5000));
		call_out(w, 0, 0x900);
		call_end(w, 0);
		kernel_at(w, KERNEL, 1);
		w->stack = DROP;
		call(w, cuModuleUnload, A(0x900));
	}
}

static void wait_for_itself(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = RECORD;
		record(w, E1, S1);
		w->stack = WAIT;
		wait_event(w, S1, E1);
	}
}

static void sync_twice(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		fetch(w, 4096);
		sync_at(w, SYNC);
		sync_at(w, OTHER);
	}
}

/* the second sync is the library's */
static void sync_twice_by(struct world *w, const char *library)
{
	struct {
		struct krt_rec_module r;
		char path[32];
	} module = {.r = {.h = {.kind = KRT_REC_MODULE, .size = sizeof(module)},
			  .base = 0x900000, .end = 0x910000, .role = KRT_MODULE_CUDA,
			  .path_len = (uint16_t)strlen(library)}};
	uint64_t pc[2] = {0x900010, 0x1000 * OTHER};

	memcpy(module.r.path, library, strlen(library));
	krt_engine_feed(w->e, &module.r.h, sizeof(module), 0);
	stack(w, 60, 2, pc);
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		fetch(w, 4096);
		sync_at(w, SYNC);
		sync_at(w, 60);
	}
}

static void sync_in_library(struct world *w)
{
	sync_twice_by(w, "/lib/libcublas.so.13");
}

static void sync_in_runtime(struct world *w)
{
	sync_twice_by(w, "/lib/libcudart.so.13");
}

/* work is in flight behind the second wait, which is for what the first had waited for */
static void wait_again_with_work(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = RECORD;
		record(w, E1, S1);
		sync_at(w, SYNC);
		kernel_at(w, KERNEL, 2);
		w->stack = OTHER;
		call(w, cuEventSynchronize, A(E1));
	}
}

/* the other thread records, or waits now and then */
static void with_other_thread(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		kernel_at(w, KERNEL, 1);
		w->lane = i % 2 ? 0 : 1;
		w->stack = RECORD;
		record(w, E1, S1);
		w->lane = 0;
		w->stack = WAIT;
		wait_event(w, S1, E1);
	}
}

static void beside_other_thread(struct world *w)
{
	w->lane = 1;
	sync_at(w, OTHER);
	w->lane = 0;
	wait_for_itself(w);
}

static void once_of_use(struct world *w)
{
	for (int i = 0; i < 40; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = RECORD;
		record(w, E1, S1);
		w->stack = WAIT;
		wait_event(w, i == 20 ? 0 : S1, E1);
	}
}

/* a query may tell before the wait does: by luck */
static void query_then_sync(struct world *w)
{
	for (int i = 0; i < 20; i++) {
		kernel_at(w, KERNEL, 1);
		w->stack = RECORD;
		record(w, E1, S1);
		w->stack = OTHER;
		call(w, cuEventQuery, A(E1));
		w->stack = SYNC;
		call(w, cuEventSynchronize, A(E1));
	}
}

/* the same code in two threads: in one of them it waits for the other's stream */
static void needed_elsewhere(struct world *w)
{
	wait_for_itself(w);
	w->lane = 1;
	w->stack = WAIT;
	wait_event(w, 0, E1);
	w->lane = 0;
}

/* once each: loaded, waited for, saved */
static void weights(struct world *w)
{
	for (uint64_t i = 0; i < 40; i++) {
		w->stack = UPLOAD;
		h2d(w, DEV + (i << 17), HEAP, 128 << 10, S1);
		sync_at(w, SYNC);
	}
	for (uint64_t i = 0; i < 40; i++) {
		w->stack = OTHER;
		d2h(w, HEAP, DEV + (i << 17), 4096, S1);
	}
}

Test(hot, rules)
{
	static const struct {
		void (*loop)(struct world *w);
		const char *text;
	} row[] = {
		{alloc_free, "PERF-ALLOC-HOT:note:1"},
		{alloc_alone, ""},
		{free_alone, ""},
		{alloc_per_epoch, ""},
		{alloc_pool, ""},
		{pinned_each_round, "PERF-ALLOC-HOT:note:1"},
		{pageable_fetch, "PERF-PAGEABLE-ASYNC:note:1"},
		{pageable_fetch_and_sync, "PERF-SYNC-HOT:note:1"},
		{alloc_sync_free, "PERF-ALLOC-HOT:note:1"},
		{alloc_fetch_free, "PERF-SYNC-HOT:note:1 PERF-ALLOC-HOT:note:1"},
		{pageable_small_upload, ""},
		{pageable_large_upload, "PERF-PAGEABLE-ASYNC:note:1"},
		{pinned_fetch, ""},
		{event_each_round, "PERF-CHURN:note:1"},
		{events_kept, ""},
		{stream_each_round, "PERF-CHURN:note:1"},
		{module_each_round, "PERF-CHURN:note:1"},
		{wait_for_itself, "PERF-REDUNDANT-SYNC:note:1"},
		{sync_twice, "PERF-SYNC-HOT:note:1 PERF-REDUNDANT-SYNC:note:1"},
		{sync_in_library, "PERF-SYNC-HOT:note:1"},
		{sync_in_runtime, "PERF-SYNC-HOT:note:1 PERF-REDUNDANT-SYNC:note:1"},
		{wait_again_with_work, "PERF-SYNC-HOT:note:1 PERF-REDUNDANT-SYNC:note:1"},
		{with_other_thread, ""},
		{beside_other_thread, ""},
		{once_of_use, ""},
		{query_then_sync, "PERF-SYNC-HOT:note:1"},
		{needed_elsewhere, ""},
		{weights, ""},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct world w;

		open_sites(&w);
		row[i].loop(&w);
		cr_expect_str_eq(world_close(&w), row[i].text, "%u: %s", i, w.text);
	}
}

/* --- figures ---------------------------------------------------------------------------------- */

static const struct krt_finding *only(struct krt_report *r)
{
	cr_assert_eq(r->nfindings, 1);
	return &r->finding[0];
}

static void expect_cost(const struct krt_cost *c, uint64_t times, uint64_t rounds, uint64_t submit,
			uint64_t blocked)
{
	cr_expect_eq(c->times, times, "times %lu", (unsigned long)c->times);
	cr_expect_eq(c->rounds, rounds, "rounds %lu", (unsigned long)c->rounds);
	cr_expect_eq(c->submit_ns, submit, "submit %lu", (unsigned long)c->submit_ns);
	cr_expect_eq(c->blocked_ns, blocked, "blocked %lu", (unsigned long)c->blocked_ns);
	cr_expect_eq(c->service_ns, KRT_UNKNOWN);
	cr_expect_eq(c->queue_ns, KRT_UNKNOWN);
}

Test(hot, sync_cost)
{
	struct world w;
	struct krt_report *r;
	const struct krt_finding *f;

	open_sites(&w);
	inner_loop(&w);
	r = world_report(&w);
	f = only(r);
	/* submission from the second round on: 12 kernels and two copies a round */
	expect_cost(&f->cost, 20, 20, 19 * (12 * 6000 + 2 * 2000), 20 * 50000);
	cr_expect(strstr(f->message, "fetched 4 bytes behind kernel step"), "%s", f->message);
	cr_expect(strstr(f->message, "1000 us in the wait"), "%s", f->message);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(hot, alloc_cost)
{
	struct world w;
	struct krt_report *r;
	const struct krt_finding *f;

	open_sites(&w);
	alloc_free(&w);
	r = world_report(&w);
	f = only(r);
	expect_cost(&f->cost, 16, 17, 16 * 6000, 16 * 10000 + 17 * 90000);
	cr_expect(strstr(f->message, "512 bytes each time; 1530 us in cuMemFree"), "%s", f->message);
	cr_expect_str_eq(f->previous.api, "cuMemFree");
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(hot, redundant_cost)
{
	struct world w;
	struct krt_report *r;
	const struct krt_finding *f = NULL;

	open_sites(&w);
	wait_again_with_work(&w);
	r = world_report(&w);
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->finding[i].rule == KRT_RULE_PERF_REDUNDANT_SYNC)
			f = &r->finding[i];
	cr_assert(f);
	cr_expect(strstr(f->message, "none of the 20 calls of cuEventSynchronize"), "%s", f->message);
	cr_expect_eq(f->cost.times, 20);
	cr_expect_neq(f->current.sequence, 0);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(hot, times_not_recorded)
{
	struct world w;
	struct krt_report *r;

	open_sites(&w);
	w.now = 0;
	for (int i = 0; i < 20; i++) {
		w.stack = KERNEL;
		w.took = 0;
		launch(&w, S1, 1, DEV, 1);
		w.stack = SYNC;
		sync_stream(&w, S1);
	}
	r = world_report(&w);
	expect_cost(&only(r)->cost, 20, 20, KRT_UNKNOWN, KRT_UNKNOWN);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* --- who sets the pace --------------------------------------------------------------------- */

struct pace {
	int rounds, kernels;
	uint64_t service, delay; /* of a kernel; from its call to its start */
	bool late;		 /* times come when all is over */
	int missing;		 /* the time of this kernel of each round never comes */
};

/* Rounds of kernels at 6 us a submission and a wait. */
static void paced(struct world *w, const struct pace *p)
{
	struct {
		uint64_t t0, start;
	} all[64 * 128];
	int n = 0, told = 0;

	mark(w, KRT_MARK_TIMING);
	for (int i = 0; i < p->rounds; i++) {
		uint64_t free_at = 0;

		for (int k = 0; k < p->kernels; k++) {
			uint64_t t0 = w->ticket, start;

			kernel_at(w, INNER, 1);
			start = (w->now > free_at ? w->now : free_at) + p->delay;
			free_at = start + p->service;
			if (k + 1 == p->missing)
				continue;
			all[n].t0 = t0;
			all[n++].start = start;
		}
		sync_at(w, SYNC);
		for (; !p->late && told < n; told++)
			device_time(w, all[told].t0, all[told].start, all[told].start + p->service);
	}
	for (; told < n; told++)
		device_time(w, all[told].t0, all[told].start, all[told].start + p->service);
}

Test(pace, rule)
{
	static const struct {
		struct pace p;
		bool bound;
	} row[] = {
		{{.rounds = 20, .kernels = 120, .service = 2000}, true},
		{{.rounds = 20, .kernels = 120, .service = 2000, .late = true}, true},
		{{.rounds = 20, .kernels = 120, .service = 40000}, false},
		{{.rounds = 20, .kernels = 120, .service = 5999}, true},
		{{.rounds = 20, .kernels = 120, .service = 6000}, false},
		{{.rounds = 15, .kernels = 120, .service = 2000}, false},
		{{.rounds = 20, .kernels = 7, .service = 2000}, false},
		/* something else has the device */
		{{.rounds = 20, .kernels = 120, .service = 2000, .delay = 100000}, false},
		{{.rounds = 20, .kernels = 120, .service = 2000, .missing = 60}, false},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct world w;
		const char *text;

		open_sites(&w);
		paced(&w, &row[i].p);
		text = world_close(&w);
		cr_expect_eq(strstr(text, "PERF-LAUNCH-BOUND:note:1") != NULL, row[i].bound, "%u: %s",
			     i, text);
	}
}

Test(pace, figures)
{
	struct pace p = {.rounds = 20, .kernels = 120, .service = 2000, .delay = 500};
	const struct krt_finding *f = NULL;
	struct krt_report *r;
	struct world w;

	open_sites(&w);
	paced(&w, &p);
	r = world_report(&w);
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->finding[i].rule == KRT_RULE_PERF_LAUNCH_BOUND)
			f = &r->finding[i];
	cr_assert(f);
	cr_expect_eq(f->cost.times, 2400);
	cr_expect_eq(f->cost.rounds, 20);
	cr_expect_eq(f->cost.submit_ns, 20 * 720000);
	cr_expect_eq(f->cost.service_ns, 20 * 240000);
	cr_expect_eq(f->cost.queue_ns, 2400 * 500);
	cr_expect_eq(f->cost.blocked_ns, KRT_UNKNOWN);
	cr_expect(strstr(f->message, "720 us of submission against 240 us of device service"), "%s",
		  f->message);
	cr_expect(strstr(f->fix, "one graph launch instead of 120 launches saves up to 714 us"),
		  "%s", f->fix);
	cr_expect_eq(r->process[0].coverage.device_times, 2400);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* A sync's own figures, from its second wait on. */
Test(pace, sync)
{
	struct krt_report *r;
	struct world w;

	open_sites(&w);
	mark(&w, KRT_MARK_TIMING);
	for (int i = 0; i < 20; i++) {
		uint64_t t0 = w.ticket, at;

		kernel_at(&w, KERNEL, 1);
		at = w.now;
		fetch(&w, 4); /* a stretch of its own ends here */
		device_time(&w, t0, at + 100, at + 40100);
		device_time(&w, w.ticket - 3, at + 40100, at + 41100);
		sync_at(&w, SYNC);
	}
	r = world_report(&w);
	cr_expect_eq(only(r)->cost.service_ns, 19 * 41000);
	/* 17 us from the end of a round's copy to the next kernel: calls take 58 us, 41 are worked */
	cr_expect(strstr(only(r)->message, "the device ran dry for 306 us after it"), "%s",
		  only(r)->message);
	/* the kernel 100 ns, the copy from the end of its call on */
	cr_expect_eq(only(r)->cost.queue_ns, 19 * (100 + 40100 - 2000));
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* Every allocation may fail, and memory stays flat however long a loop runs. */
Test(hot, memory)
{
	struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000};
	struct world w;
	uint64_t peak[2];

	for (unsigned long n = 1; n < 600; n++) {
		cfg.fail_at = n;
		open_with(&w, &cfg);
		if (!w.e)
			continue;
		alloc_free(&w);
		event_each_round(&w);
		inner_loop(&w);
		krt_report_destroy(world_report(&w));
		krt_engine_destroy(w.e);
	}
	for (int i = 0; i < 2; i++) {
		struct krt_report *r;

		open_sites(&w);
		for (int k = 0; k < (i ? 40 : 4); k++) {
			phases(&w);
			alloc_free(&w);
			event_each_round(&w);
		}
		r = world_report(&w);
		peak[i] = r->process[0].peak_bytes;
		krt_report_destroy(r);
		krt_engine_destroy(w.e);
	}
	cr_expect_leq(peak[1], peak[0] + 4096, "%lu, then %lu", (unsigned long)peak[0],
		      (unsigned long)peak[1]);
}
