/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine on records made by hand: the ordering cases with exact counts, the
 * scenarios (each hazard with its fixed twin), the traps that must stay silent.
 */
#include <criterion/criterion.h>

#include "rec_build.h"

#define S1 0x101ull
#define S2 0x102ull
#define S3 0x103ull
#define E1 0x201ull
#define E2 0x202ull
#define NB 1
#define N  4096

static void open3(struct world *w)
{
	world_open(w, NULL);
	context(w, 0xc0, 0, true);
	stream(w, S1, NB);
	stream(w, S2, NB);
	stream(w, S3, NB);
	event(w, E1);
	event(w, E2);
	alloc(w, DEV, N);
}

#define expect(w, text) cr_assert_str_eq(world_close(w), text)
#define expect_all(w, text) cr_assert_str_eq(world_close_as(w, true), text)

static void rd(struct world *w, uint64_t s) { kernel_reads(w, s, DEV, N); }
static void wr(struct world *w, uint64_t s) { kernel_writes(w, s, DEV, N); }

static void hop(struct world *w, uint64_t from, uint64_t to, uint64_t ev)
{
	record(w, ev, from);
	wait_event(w, to, ev);
}

/* --- ordering cases ------------------------------------------------------------------ */

Test(cases, no_tensors)
{
	struct world w;

	open3(&w);
	access_note(&w, S1, 0, 0, 1);
	launch_of(&w, KRT_API_cuLaunchKernel, S1, 0, 0, NULL);
	expect(&w, "");
}

Test(cases, read_read)
{
	struct world w;

	open3(&w);
	rd(&w, S1);
	rd(&w, S2);
	expect(&w, "");
}

Test(cases, read_write)
{
	struct world w;

	open3(&w);
	rd(&w, S1);
	wr(&w, S2);
	expect(&w, "RACE-WAR:error:1");
}

Test(cases, read_wait_write)
{
	struct world w;

	open3(&w);
	rd(&w, S1);
	hop(&w, S1, S2, E1);
	wr(&w, S2);
	expect(&w, "");
}

Test(cases, every_read_against_last_write)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	hop(&w, S1, S2, E1);
	rd(&w, S2);
	rd(&w, S3);
	expect(&w, "RACE-RAW:error:1");
}

Test(cases, write_against_every_read)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	wait_event(&w, S3, E1);
	rd(&w, S2);
	rd(&w, S3);
	wr(&w, S2);
	expect(&w, "RACE-WAR:error:1");
}

Test(cases, chain_of_ten)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	for (uint64_t i = 0; i < 10; i++) {
		stream(&w, 0x300 + i, NB);
		hop(&w, i ? 0x300 + i - 1 : S1, 0x300 + i, E1);
	}
	wr(&w, 0x309);
	expect(&w, "");
}

Test(cases, expired_record)
{
	struct world w;

	open3(&w);
	rd(&w, S1);
	record(&w, E1, S1);
	rd(&w, S1);
	wait_event(&w, S2, E1);
	wr(&w, S2);
	expect(&w, "RACE-WAR:error:1");
}

Test(cases, event_deleted)
{
	for (int how = 0; how < 3; how++) {
		struct world w;

		open3(&w);
		rd(&w, S1);
		record(&w, E1, S1);
		if (how != 1)
			call(&w, cuEventDestroy_v2, A(E1));
		if (how)
			event(&w, E1); /* the same handle, another event */
		if (how != 0)
			wait_event(&w, S2, E1);
		wr(&w, S2);
		cr_assert_str_eq(world_close(&w), how ? "RACE-WAR:error:1 EVENT-UNRECORDED:warning:1" : "RACE-WAR:error:1");
	}
}

Test(cases, ten_readers)
{
	for (int all = 0; all < 2; all++) {
		struct world w;

		open3(&w);
		for (uint64_t i = 0; i < 10; i++) {
			stream(&w, 0x300 + i, NB);
			rd(&w, 0x300 + i);
			if (i < 9 || all)
				hop(&w, 0x300 + i, S1, E1);
		}
		wr(&w, S1);
		cr_assert_str_eq(world_close(&w), all ? "" : "RACE-WAR:error:1");
	}
}

Test(cases, ten_tensors)
{
	struct world w;

	open3(&w);
	for (uint64_t i = 1; i <= 10; i++)
		alloc(&w, DEV + i * 0x10000, N);
	for (int k = 0; k < 2; k++) {
		for (uint64_t i = 1; i <= 10; i++)
			access_note(&w, k ? S2 : S1, DEV + i * 0x10000, N, 2);
		launch_of(&w, KRT_API_cuLaunchKernel, k ? S2 : S1, 0, 0, NULL);
	}
	expect(&w, "RACE-WAW:error:10");
}

Test(cases, clocks_merge)
{
	struct world w;

	open3(&w);
	alloc(&w, DEV + 0x10000, N);
	wr(&w, S1);
	kernel_writes(&w, S2, DEV + 0x10000, N);
	record(&w, E1, S1);
	record(&w, E2, S2);
	wait_event(&w, S2, E1);
	wait_event(&w, S1, E2);
	rd(&w, S2);
	kernel_reads(&w, S1, DEV + 0x10000, N);
	hop(&w, S2, S3, E1);
	wr(&w, S3);
	expect(&w, "");
}

Test(cases, record_override)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	record(&w, E1, S1);
	record(&w, E1, S2);
	wait_event(&w, S3, E1);
	wr(&w, S3);
	expect(&w, "RACE-WAW:error:1 EVENT-OVERWRITTEN:warning:1");
}

Test(cases, one_event_two_waiters)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	rd(&w, S2);
	wait_event(&w, S3, E1);
	rd(&w, S3);
	expect(&w, "");
}

Test(cases, device_sync)
{
	struct world w;

	open3(&w);
	for (uint64_t i = 0; i < 9; i++) {
		stream(&w, 0x300 + i, NB);
		alloc(&w, DEV + (i + 1) * 0x10000, N);
		kernel_writes(&w, 0x300 + i, DEV + (i + 1) * 0x10000, N);
	}
	sync_ctx(&w);
	for (uint64_t i = 0; i < 9; i++)
		kernel_writes(&w, S1, DEV + (i + 1) * 0x10000, N);
	expect(&w, "");
}

Test(cases, device_sync_is_one_shot)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	sync_ctx(&w);
	wr(&w, S1);
	wr(&w, S2);
	expect(&w, "RACE-WAW:error:1");
}

Test(cases, stream_made_after_sync)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	sync_ctx(&w);
	stream(&w, 0x300, NB);
	wr(&w, 0x300);
	expect(&w, "");
}

Test(cases, stream_sync)
{
	struct world w;

	open3(&w);
	alloc(&w, DEV + 0x10000, N);
	wr(&w, S1);
	kernel_writes(&w, S2, DEV + 0x10000, N);
	sync_stream(&w, S1);
	rd(&w, S2);
	rd(&w, S3);
	kernel_reads(&w, S3, DEV + 0x10000, N);
	expect(&w, "RACE-RAW:error:1");
}

Test(cases, event_sync)
{
	struct world w;

	open3(&w);
	alloc(&w, DEV + 0x10000, N);
	wr(&w, S1);
	record(&w, E1, S1);
	kernel_writes(&w, S1, DEV + 0x10000, N);
	sync_event(&w, E1);
	rd(&w, S2);
	kernel_reads(&w, S2, DEV + 0x10000, N);
	expect(&w, "RACE-RAW:error:1");
}
