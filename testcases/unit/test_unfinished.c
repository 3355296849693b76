/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KRT-UNFINISHED on records made by hand: each way to wait for a copy to the host is
 * one, and what is given to other processes is judged by what follows.
 */
#include <criterion/criterion.h>

#include "interposer/cuabi.h"
#include "rec_build.h"

#define S1 0x101ull
#define S2 0x102ull
#define SB 0x103ull /* blocking */
#define E1 0x201ull
#define E2 0x202ull
#define N  4096

#define expect(w, want)	    cr_assert_str_eq(world_close(w), want, "%s", (w)->text)
#define expect_all(w, want) cr_assert_str_eq(world_close_as(w, true), want, "%s", (w)->text)

static void open1(struct world *w)
{
	world_open(w, NULL);
	context(w, 0xc0, 0, true);
	kernel(w, 7, "k", 1, NULL);
	stream(w, S1, 1);
	stream(w, S2, 1);
	stream(w, SB, 0);
	event(w, E1);
	event(w, E2);
	alloc(w, DEV, 4 * N);
	alloc_pinned(w, PIN, 4 * N);
}

static void copying(struct world *w)
{
	open1(w);
	d2h(w, PIN, DEV, N, S1);
}

static void leave(struct world *w)
{
	mark(w, KRT_MARK_EXITING);
}

/* --- copies to the host ------------------------------------------------------------------ */

Test(copy, nothing_waits)
{
	struct world w;

	copying(&w);
	sync_stream(&w, S2);
	record(&w, E1, S1);
	call_failed(&w, cuEventQuery, 600, A(E1));
	leave(&w);
	expect(&w, "UNFINISHED:warning:1");
}

/* The last call began before another thread's wait returned: at the end that is known. */
Test(copy, last_call_overlaps_the_wait)
{
	for (int waits = 0; waits < 2; waits++) {
		struct world w;
		uint64_t began;

		copying(&w);
		began = w.ticket++;
		if (waits)
			sync_stream(&w, S1);
		thread(&w, 2, 2);
		w.began = began;
		set(&w, DEV + 2 * N, 64, S2);
		leave(&w);
		expect(&w, waits ? "" : "UNFINISHED:warning:1");
	}
}

/* One of each stream, the newest. */
Test(copy, of_each_stream)
{
	struct world w;

	open1(&w);
	for (int i = 0; i < 3; i++) {
		d2h(&w, PIN, DEV, 16, S1);
		d2h(&w, PIN + N, DEV + N, 16, S2);
	}
	sync_stream(&w, S1);
	d2h(&w, PIN, DEV, 16, S1);
	sync_stream(&w, S1);
	leave(&w);
	expect(&w, "UNFINISHED:warning:1");
}

Test(copy, stream_destroyed)
{
	struct world w;

	copying(&w);
	call(&w, cuStreamDestroy_v2, A(S1));
	leave(&w);
	expect(&w, "UNFINISHED:warning:1");

	copying(&w);
	call(&w, cuStreamDestroy_v2, A(S1));
	sync_ctx(&w);
	leave(&w);
	expect_all(&w, "");
}

/* Another context's end is no matter. */
Test(copy, context_destroyed)
{
	struct world w;

	copying(&w);
	context(&w, 0xc1, 0, false);
	stream(&w, 0x110, 1);
	call(&w, cuCtxDestroy_v2, A(0xc1));
	w.ctx = 0xc0;
	sync_ctx(&w);
	call(&w, cuCtxDestroy_v2, A(0xc0));
	leave(&w);
	expect_all(&w, "");

	copying(&w);
	call(&w, cuCtxDestroy_v2, A(0xc0));
	expect(&w, "UNFINISHED:warning:1");

	copying(&w);
	call(&w, cuDevicePrimaryCtxReset_v2, A(0));
	expect(&w, "UNFINISHED:warning:1");
}

/* Killed, or a wait may have been lost: nothing is said. */
Test(copy, end_not_seen)
{
	struct world w;

	copying(&w);
	expect_all(&w, "");

	copying(&w);
	leave(&w);
	krt_engine_finish(w.e, KRT_TROUBLE_BOUND, 0);
	expect_all(&w, "");

	copying(&w);
	leave(&w);
	krt_engine_finish(w.e, 0, 3);
	expect_all(&w, "");
}

static void by_stream(struct world *w)
{
	sync_stream(w, S1);
}
static void by_query(struct world *w)
{
	call(w, cuStreamQuery, A(S1));
}
static void by_event(struct world *w)
{
	record(w, E1, S1);
	sync_event(w, E1);
}
static void by_event_query(struct world *w)
{
	record(w, E1, S1);
	call(w, cuEventQuery, A(E1));
}
static void by_timing(struct world *w)
{
	record(w, E1, S1);
	record(w, E2, S1);
	call(w, cuEventElapsedTime, A(0), A(E1), A(E2));
}
static void by_other_stream(struct world *w)
{
	record(w, E1, S1);
	wait_event(w, S2, E1);
	sync_stream(w, S2);
}
static void by_pageable_copy(struct world *w)
{
	d2h(w, HEAP, DEV, 64, S1);
}
static void by_free(struct world *w)
{
	alloc(w, DEV + 0x100000, 64);
	call(w, cuMemFree_v2, A(DEV + 0x100000));
}
static void by_exit_handler(struct world *w)
{
	leave(w);
	sync_ctx(w);
}
static void by_token(struct world *w)
{
	call(w, krtsan_impl_order_release, A(0x7), A(S1));
}
static void by_flag(struct world *w)
{
	call(w, cuStreamWriteValue32_v2, A(S1), A(PIN + 2 * N), A(1), A(0));
}
static void by_kernel(struct world *w)
{
	launch(w, S1, 7, PIN + 2 * N);
}
static void by_declared_kernel(struct world *w)
{
	kernel_writes(w, S1, PIN + 2 * N, 4);
}
static void by_kernel_elsewhere(struct world *w)
{
	record(w, E1, S1);
	wait_event(w, S2, E1);
	launch(w, S2, 7, PIN + 2 * N);
}
static void by_graph(struct world *w)
{
	call(w, cuGraphLaunch, A(0x600), A(S1));
}
static void by_semaphore(struct world *w)
{
	call(w, cuSignalExternalSemaphoresAsync, A(0), A(0), A(1), A(S1));
}
static void by_exported_event(struct world *w)
{
	call(w, cuIpcGetEventHandle, A(0), A(E1));
	record(w, E1, S1);
}

Test(copy, waited_for)
{
	void (*const ways[])(struct world *) = {
		by_stream,	    by_query,	  by_event,	by_event_query,
		by_timing,	    by_free,	  by_flag,	by_other_stream,
		by_pageable_copy,   by_token,	  by_kernel,	by_exit_handler,
		by_graph,	  by_semaphore, by_declared_kernel,
		by_kernel_elsewhere, by_exported_event, sync_ctx,
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct world w;

		copying(&w);
		ways[i](&w);
		leave(&w);
		world_close_as(&w, true);
		cr_assert_str_empty(w.text, "way %u: %s", i, w.text);
	}
}

/* What a kernel does elsewhere, or reads, tells nobody of this copy. */
Test(copy, no_word_of_it)
{
	struct world w;

	copying(&w);
	launch(&w, S1, 7, DEV + 2 * N);
	launch(&w, S2, 7, PIN + 2 * N);
	kernel_reads(&w, S1, PIN + 2 * N, 4);
	call(&w, cuStreamWriteValue32_v2, A(S2), A(PIN + 2 * N), A(1), A(0));
	leave(&w);
	expect(&w, "UNFINISHED:warning:1");
}

/* Copies that are done when they return, and copies to elsewhere. */
Test(copy, none_to_wait_for)
{
	struct world w;

	open1(&w);
	alloc_managed(&w, DEV + 0x100000, N);
	d2h(&w, HEAP, DEV, N, S1);
	call(&w, cuMemcpyDtoH_v2, A(PIN), A(DEV), A(N));
	h2d(&w, DEV, PIN, N, S1);
	d2d(&w, DEV + N, DEV, N, S1);
	d2d(&w, DEV + 0x100000, DEV, N, S1);
	d2h(&w, PIN + N, DEV, 0, S1);
	leave(&w);
	expect_all(&w, "");
}

/* One root, one finding. */
Test(copy, told_otherwise)
{
	struct world w;

	copying(&w);
	host_read(&w, PIN, N);
	leave(&w);
	expect(&w, "HOST-READ-RACE:error:1");
}

Test(copy, not_judged)
{
	struct world w;

	open1(&w);
	w.flags = KRT_RF_IGNORE;
	d2h(&w, PIN, DEV, N, S1);
	w.flags = 0;
	leave(&w);
	expect_all(&w, "");

	copying(&w);
	call_failed(&w, cuStreamSynchronize, 700, A(S1));
	leave(&w);
	expect_all(&w, "");
}

Test(copy, batch)
{
	uint64_t dst[2] = {PIN, PIN + N}, src[2] = {DEV, DEV + N}, size[2] = {N, N};
	struct world w;

	for (int fixed = 0; fixed < 2; fixed++) {
		open1(&w);
		call_begin(&w, KRT_API_cuMemcpyBatchAsync_v2, A(0), A(0), A(0), A(2), A(0), A(0),
			   A(0), A(S1));
		call_blob(&w, 0, KRT_BLOB_BYTES, dst, sizeof(dst));
		call_blob(&w, 1, KRT_BLOB_BYTES, src, sizeof(src));
		call_blob(&w, 2, KRT_BLOB_BYTES, size, sizeof(size));
		call_end(&w, 0);
		if (fixed)
			sync_stream(&w, S1);
		leave(&w);
		expect(&w, fixed ? "" : "UNFINISHED:warning:1");
	}
}

/* Many streams that come and go leave nothing behind. */
Test(copy, bounded)
{
	struct world w;

	open1(&w);
	for (uint64_t i = 0; i < 20000; i++) {
		stream(&w, 0x1000 + i, 1);
		d2h(&w, PIN, DEV, 16, 0x1000 + i);
		sync_stream(&w, 0x1000 + i);
		call(&w, cuStreamDestroy_v2, A(0x1000 + i));
	}
	leave(&w);
	expect_all(&w, "");

	open1(&w);
	for (uint64_t i = 0; i < 6000; i++) {
		stream(&w, 0x1000 + i, 1);
		d2h(&w, PIN, DEV, 16, 0x1000 + i);
	}
	sync_ctx(&w);
	leave(&w);
	world_close(&w); /* that they race with each other is another matter */
	cr_assert_null(strstr(w.text, "UNFINISHED"));
}

/* --- memory for other processes ------------------------------------------------------------ */

static void export(struct world *w)
{
	call(w, cuIpcGetMemHandle, A(0), A(DEV));
}

Test(memory, exported_too_early)
{
	struct world w;

	open1(&w);
	kernel_writes(&w, S1, DEV, N);
	export(&w);
	leave(&w);
	expect(&w, "UNFINISHED:warning:1");
}

Test(memory, waited_for)
{
	for (int way = 0; way < 5; way++) {
		struct world w;

		open1(&w);
		kernel_writes(&w, S1, DEV, N);
		if (way == 0)
			sync_stream(&w, S1);
		export(&w);
		switch (way) {
		case 1:
			sync_stream(&w, S1);
			break;
		case 2:
			by_exported_event(&w);
			break;
		case 3: /* exported afterwards, recorded again */
			record(&w, E1, S1);
			call(&w, cuIpcGetEventHandle, A(0), A(E1));
			break;
		case 4:
			by_flag(&w);
			break;
		}
		leave(&w);
		world_close_as(&w, true);
		cr_assert_str_empty(w.text, "way %d: %s", way, w.text);
	}
}

Test(memory, only_read_or_written_later)
{
	struct world w;

	open1(&w);
	kernel_reads(&w, S1, DEV, N);
	export(&w);
	kernel_writes(&w, S1, DEV, N);
	leave(&w);
	expect_all(&w, "");
}

/* The free comes before any wait: what it waits for itself is too late. */
Test(memory, freed)
{
	struct world w;

	open1(&w);
	kernel_writes(&w, S1, DEV, N);
	export(&w);
	call(&w, cuMemFree_v2, A(DEV));
	leave(&w);
	expect(&w, "FREE-IN-USE:warning:1 UNFINISHED:warning:1");
}

/* --- events for other processes -------------------------------------------------------------- */

static void timed(struct world *w, enum krt_api_id api, uint64_t a, uint64_t b, uint64_t at)
{
	w->now = at;
	w->took = 1000;
	call_begin(w, api, a, b);
	call_end(w, 0);
	w->now = w->took = 0;
}

Test(event, destroyed)
{
	static const struct {
		uint64_t at;
		bool synced;
		const char *want;
	} rows[] = {
		{1010000, false, "UNFINISHED:warning:1"},
		{9000000, false, ""}, /* an answer may have come */
		{1010000, true, ""},
		{0, false, ""}, /* times are not known */
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world w;

		open1(&w);
		kernel_writes(&w, S1, DEV, N);
		record(&w, E1, S1);
		timed(&w, KRT_API_cuIpcGetEventHandle, 0, E1, rows[i].at ? 1000000 : 0);
		if (rows[i].synced)
			sync_event(&w, E1);
		timed(&w, KRT_API_cuEventDestroy_v2, E1, 0, rows[i].at);
		sync_ctx(&w);
		leave(&w);
		world_close_as(&w, true);
		cr_assert_str_eq(w.text, rows[i].want, "row %u: %s", i, w.text);
	}
}

/* Another process may have waited for us before it recorded what we wait for. */
Test(event, of_another_process)
{
	struct world w;

	for (int host = 0; host < 2; host++) {
		open1(&w);
		call_begin(&w, KRT_API_cuIpcOpenEventHandle, A(0), A(0));
		call_out(&w, 0, 0x300);
		call_end(&w, 0);
		kernel_writes(&w, S1, DEV, N);
		if (host)
			sync_event(&w, 0x300);
		else
			wait_event(&w, S2, 0x300);
		kernel_reads(&w, S2, DEV, N);
		expect_all(&w, "");
	}

	/* of an exported one what is seen counts as well */
	open1(&w);
	call(&w, cuIpcGetEventHandle, A(0), A(E1));
	kernel_writes(&w, S1, DEV, N);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	kernel_reads(&w, S2, DEV, N);
	expect_all(&w, "");
}

Test(unfinished, no_memory)
{
	for (unsigned long at = 1; at < 200; at++) {
		struct krt_engine_config cfg = {
			.hot_min = 16, .possible_max = 100, .fail_at = at};
		struct world w;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		context(&w, 0xc0, 0, true);
		stream(&w, S1, 1);
		alloc(&w, DEV, N);
		alloc_pinned(&w, PIN, N);
		kernel_writes(&w, S1, DEV, N);
		d2h(&w, PIN, DEV, N, S1);
		export(&w);
		call(&w, cuStreamDestroy_v2, A(S1));
		leave(&w);
		world_close(&w);
	}
}
