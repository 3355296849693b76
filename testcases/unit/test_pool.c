/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools on records made by hand: who owns which bytes, and what a new owner's
 * operations meet.  At least as many cases must stay silent.
 */
#include <criterion/criterion.h>

#include "interposer/cuabi.h"
#include "rec_build.h"

#define S1   0x101ull
#define S2   0x102ull
#define S3   0x103ull
#define E1   0x201ull
#define E2   0x202ull
#define NB   1
#define N    4096
#define POOL 0x9001ull
#define SUB  0x9002ull
#define HPOOL 0x9003ull
#define PTR  7 /* a kernel of one pointer */
#define BOX  8 /* one parameter of 16 bytes */
#define LIST 9 /* one of 2048 */

static void open_pool(struct world *w)
{
	static const uint32_t box[] = {16};

	world_open(w, NULL);
	context(w, 0xc0, 0, true);
	stream(w, S1, NB);
	stream(w, S2, NB);
	stream(w, S3, NB);
	event(w, E1);
	event(w, E2);
	alloc(w, DEV, 1 << 20);
	alloc_pinned(w, PIN, 1 << 20);
	kernel(w, PTR, "ptr", 1, NULL);
	kernel(w, BOX, "box", 1, box);
	pool_create(w, POOL, 1, "pool");
	pool_create(w, HPOOL, 2, "staging");
}

#define expect(w, text)	    cr_assert_str_eq(world_close(w), text)
#define expect_all(w, text) cr_assert_str_eq(world_close_as(w, true), text)

static void hop(struct world *w, uint64_t from, uint64_t to, uint64_t ev)
{
	record(w, ev, from);
	wait_event(w, to, ev);
}

/* p for S1, produced there, read by S2 in order, given back. */
static void used_elsewhere(struct world *w)
{
	block_alloc(w, POOL, DEV, N, S1);
	launch(w, S1, PTR, DEV);
	hop(w, S1, S2, E1);
	d2h(w, PIN, DEV, N, S2);
	block_free(w, DEV);
}

/* --- hazards -------------------------------------------------------------------- */

Test(reuse, s01_copy_still_reads)
{
	struct world w;

	open_pool(&w);
	used_elsewhere(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, s02_forward_event_does_not_help)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	hop(&w, S1, S2, E1);
	launch(&w, S2, PTR, DEV);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	expect_all(&w, "REUSE-RACE:error:1");
}

/* The copy came after the set: to wait for it is to wait for both. */
Test(reuse, last_of_one_stream)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	d2h(&w, PIN, DEV, 256, S1);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	set(&w, DEV, N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, last_of_a_chain)
{
	struct world w;

	open_pool(&w);
	used_elsewhere(&w);
	block_alloc(&w, POOL, DEV, N, S3);
	launch(&w, S3, PTR, DEV);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, two_streams_without_order)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	wait_event(&w, S3, E1);
	d2h(&w, PIN, DEV, N, S2);
	d2h(&w, PIN + N, DEV, N, S3);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	expect_all(&w, "REUSE-RACE:error:2");
}

/* One finding a pair of operations: what comes later is the same hazard. */
Test(reuse, once)
{
	struct world w;

	open_pool(&w);
	used_elsewhere(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	for (int i = 0; i < 4; i++)
		launch(&w, S1, PTR, DEV);
	set(&w, DEV, N, S1);
	d2h(&w, PIN + N, DEV, N, S1);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, exact_both)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	h2d(&w, DEV, PIN, N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, declared_both)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	kernel_reads(&w, S1, DEV, N);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	kernel_writes(&w, S2, DEV, N);
	expect_all(&w, "REUSE-RACE:error:1");
}

/* The new owner's second operation, on a stream of its own, is the one without order. */
Test(reuse, second_operation)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, 512, S1);
	h2d(&w, DEV + 2048, PIN, 512, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, told_is_no_order)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	block_use(&w, DEV, S2);
	set(&w, DEV, N, S1);
	hop(&w, S1, S2, E1);
	d2h(&w, PIN, DEV, N, S2);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, event_too_early)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	hop(&w, S1, S2, E1);
	record(&w, E2, S2); /* before the use */
	d2h(&w, PIN, DEV, N, S2);
	block_free(&w, DEV);
	sync_event(&w, E2);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, s06_per_thread_streams)
{
	struct world w;

	open_pool(&w);
	thread(&w, 1, 1);
	block_alloc(&w, POOL, DEV, N, 2);
	launch(&w, 2, PTR, DEV);
	block_free(&w, DEV);
	thread(&w, 2, 2);
	block_alloc(&w, POOL, DEV, N, 2);
	launch(&w, 2, PTR, DEV);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, split)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N / 2, S1);
	set(&w, DEV, N / 2, S1);
	block_alloc(&w, POOL, DEV + N / 2, N / 2, S2);
	set(&w, DEV + N / 2, N / 2, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, merged)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	block_alloc(&w, POOL, DEV + N, N, S2);
	set(&w, DEV, N, S1);
	set(&w, DEV + N, N, S2);
	block_free(&w, DEV);
	block_free(&w, DEV + N);
	block_alloc(&w, POOL, DEV, 2 * N, S1);
	set(&w, DEV, 2 * N, S1);
	expect_all(&w, "REUSE-RACE:error:1");
}

/* The pointer of the new owner lies before the old bytes: it reaches them, or not. */
Test(reuse, pointer_beside_is_likely)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	block_alloc(&w, POOL, DEV + N, N, S2);
	set(&w, DEV + N, N, S2);
	block_free(&w, DEV);
	block_free(&w, DEV + N);
	block_alloc(&w, POOL, DEV, 2 * N, S1);
	launch(&w, S1, PTR, DEV);
	expect_all(&w, "REUSE-RACE:warning:1");
}

Test(reuse, old_pointer_outside_is_likely)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV + N / 2, N / 2, S2);
	set(&w, DEV + N / 2, N / 2, S2);
	expect_all(&w, "REUSE-RACE:warning:1");
}

/* A framework's kernels: pointers inside a struct, each a block's first byte. */
Test(reuse, word_at_the_start_is_likely)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, BOX, DEV, 0);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	launch(&w, S2, BOX, DEV, 0);
	expect_all(&w, "REUSE-RACE:warning:1");
}

Test(reuse, word_at_the_start_on_one_stream_is_silent)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, BOX, DEV, 0);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, BOX, DEV, 0);
	expect_all(&w, "");
}

Test(reuse, word_inside_is_possible)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, BOX, DEV + 64, 0);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	launch(&w, S2, PTR, DEV);
	expect_all(&w, "?REUSE-RACE:1");
}

/* Beside numbers lie words that nobody wrote: there it may be what the stack held. */
Test(reuse, word_beside_a_number_is_possible)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, BOX, DEV, 0x1234);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	launch(&w, S2, BOX, DEV, DEV + 512);
	expect_all(&w, "?REUSE-RACE:1");
}

/* Of a list of addresses a launch fills in some; the others are what the stack held. */
Test(reuse, word_in_a_list_is_possible)
{
	static const uint32_t list[] = {2048};
	static const uint64_t words[256] = {DEV};
	struct world w;

	open_pool(&w);
	kernel(&w, LIST, "list", 1, list);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	launch_of(&w, KRT_API_cuLaunchKernel, S2, LIST, 256, words);
	expect_all(&w, "?REUSE-RACE:1");
}

/* Nobody said that the blocks came back: an arena that starts anew. */
Test(reuse, arena_without_frees_is_likely)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_alloc(&w, POOL, DEV, N, S2);
	set(&w, DEV, N, S2);
	expect_all(&w, "REUSE-RACE:warning:1");
}

/* Two owners back, the second did nothing. */
Test(reuse, idle_owner_between)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	set(&w, DEV, N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, pool_destroyed_and_rebuilt)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	pool_destroy(&w, POOL);
	pool_create(&w, POOL, 1, "pool");
	block_alloc(&w, POOL, DEV, N, S2);
	set(&w, DEV, N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, in_a_pool_on_a_pool)
{
	struct world w;

	open_pool(&w);
	pool_create(&w, SUB, 1, "sub");
	block_alloc(&w, POOL, DEV, 16 * N, S1);
	block_alloc(&w, SUB, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	block_alloc(&w, SUB, DEV, N, S2);
	set(&w, DEV, N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

/* The outer block changes hands: what its inner ones did counts. */
Test(reuse, outer_block_of_a_pool_on_a_pool)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, 16 * N, S1);
	block_alloc(&w, SUB, DEV + N, N, S1);
	set(&w, DEV + N, N, S1);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, 16 * N, S2);
	set(&w, DEV, 16 * N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, over_two_mappings)
{
	struct world w;

	open_pool(&w);
	for (int i = 0; i < 2; i++) {
		call_begin(&w, KRT_API_cuMemCreate, A(0), A(0x200000), A(0), A(0));
		call_out(&w, 0, 0x77 + i);
		call_end(&w, 0);
		call(&w, cuMemMap, A(DEV + (1 << 24) + i * 0x200000), A(0x200000), A(0),
		     A(0x77 + i), A(0));
	}
	block_alloc(&w, POOL, DEV + (1 << 24), 0x400000, S1);
	set(&w, DEV + (1 << 24) + 0x300000, N, S1);
	block_free(&w, DEV + (1 << 24));
	block_alloc(&w, POOL, DEV + (1 << 24) + 0x200000, 0x200000, S2);
	set(&w, DEV + (1 << 24) + 0x200000, 0x200000, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

/* One operation over many blocks belongs to each of them. */
Test(reuse, one_set_over_blocks)
{
	struct world w;

	open_pool(&w);
	for (int i = 0; i < 4; i++)
		block_alloc(&w, POOL, DEV + i * N, N, S1);
	set(&w, DEV, 4 * N, S1);
	for (int i = 0; i < 4; i++)
		block_free(&w, DEV + i * N);
	sync_stream(&w, S2);
	for (int i = 0; i < 10000; i++) /* sweeps */
		set(&w, DEV + 8 * N, 64, S3);
	block_alloc(&w, POOL, DEV + 3 * N, N, S2);
	set(&w, DEV + 3 * N, N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

/* Before the first owner: the pool's memory is set, and handed out without a wait. */
Test(reuse, set_before_the_first_owner)
{
	struct world w;

	open_pool(&w);
	set(&w, DEV, 1 << 20, S1);
	block_alloc(&w, POOL, DEV, N, S2);
	set(&w, DEV, N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, host_pool)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, HPOOL, PIN, N, S1);
	host_write(&w, PIN, N);
	h2d(&w, DEV, PIN + 256, 128, S1); /* an interior pointer */
	block_free(&w, PIN);
	block_alloc(&w, HPOOL, PIN, N, S1);
	host_write(&w, PIN, N);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, host_pool_read_into)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, HPOOL, PIN, N, S1);
	d2h(&w, PIN, DEV, N, S1);
	block_free(&w, PIN);
	block_alloc(&w, HPOOL, PIN, N, S2);
	d2h(&w, PIN, DEV + 8 * N, N, S2);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(reuse, pageable_host_pool)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, HPOOL, HEAP, N, S1);
	call(&w, cuMemcpyDtoHAsync_v2, A(HEAP), A(DEV), A(64), A(S1));
	block_free(&w, HEAP);
	block_alloc(&w, HPOOL, HEAP, N, S1);
	host_write(&w, HEAP, N); /* drivers were seen to block in such a copy */
	expect_all(&w, "REUSE-RACE:warning:1");
}

/* The CPU may have filled the block: a kernel that only has a pointer may read, as the old one. */
Test(reuse, host_pool_kernels)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, HPOOL, PIN, N, S1);
	launch(&w, S1, PTR, PIN);
	h2d(&w, DEV, PIN + 128, 64, S1);
	block_free(&w, PIN);
	block_alloc(&w, HPOOL, PIN, N, S2);
	launch(&w, S2, PTR, PIN);
	h2d(&w, DEV + N, PIN + 128, 64, S2);
	expect(&w, "");
}

Test(reuse, host_pool_written_under_a_kernel)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, HPOOL, PIN, N, S1);
	launch(&w, S1, PTR, PIN);
	block_free(&w, PIN);
	block_alloc(&w, HPOOL, PIN, N, S2);
	host_write(&w, PIN, N);
	expect(&w, "REUSE-RACE:warning:1");
}

/* The relation that the driver has but does not promise. */
Test(reuse, documented_view_alone)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	alloc(&w, DEV + (1 << 24), N);
	call(&w, cuMemFree_v2, A(DEV + (1 << 24)));
	block_alloc(&w, POOL, DEV, N, S2);
	set(&w, DEV, N, S2);
	expect_all(&w, "REUSE-RACE:warning:1");
}

Test(reuse, segment_freed_under_a_former_owner)
{
	struct world w;

	open_pool(&w);
	call(&w, cuMemFree_v2, A(DEV));
	alloc_async(&w, DEV, 1 << 20, S1);
	sync_stream(&w, S1);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	call(&w, cuMemFreeAsync, A(DEV), A(S2));
	expect_all(&w, "FREE-IN-USE:error:1");
}

Test(reuse, segment_freed_under_a_former_owners_kernel)
{
	struct world w;

	open_pool(&w);
	call(&w, cuMemFree_v2, A(DEV));
	alloc_async(&w, DEV, 1 << 20, S1);
	sync_stream(&w, S1);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	block_free(&w, DEV);
	call(&w, cuMemFreeAsync, A(DEV), A(S2));
	expect_all(&w, "FREE-IN-USE:error:1");
}

/* --- a block that was given back --------------------------------------------------- */

Test(returned, read)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	d2h(&w, PIN, DEV, N, S1);
	expect_all(&w, "?UAF-STREAM:1");
}

Test(returned, pointer)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	block_free(&w, DEV);
	launch(&w, S1, PTR, DEV + 64);
	expect_all(&w, "?UAF-STREAM:1");
}

/* The pool may clear or poison what came back: in order it is its right. */
Test(returned, cleared)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	d2h(&w, PIN, DEV, N, S1);
	block_free(&w, DEV);
	set(&w, DEV, N, S1);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	expect(&w, "");
}

/* Out of order it is a hazard. */
Test(returned, cleared_too_early)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	d2h(&w, PIN, DEV, N, S1);
	block_free(&w, DEV);
	set(&w, DEV, N, S2);
	expect(&w, "REUSE-RACE:error:1");
}

Test(returned, pool_is_gone)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	block_free(&w, DEV);
	pool_destroy(&w, POOL);
	d2h(&w, PIN, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	expect_all(&w, "");
}

Test(returned, memory_is_gone)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	block_free(&w, DEV);
	call(&w, cuMemFree_v2, A(DEV));
	alloc(&w, DEV, 1 << 20);
	d2h(&w, PIN, DEV, N, S1);
	expect_all(&w, "");
}

/* --- silent ------------------------------------------------------------------------- */

Test(quiet, t08_same_stream)
{
	struct world w;

	open_pool(&w);
	for (int i = 0; i < 8; i++) {
		block_alloc(&w, POOL, DEV, N, S1);
		launch(&w, S1, PTR, DEV);
		set(&w, DEV, N, S1);
		block_free(&w, DEV);
	}
	expect_all(&w, "");
}

Test(quiet, waited_for_before_the_free)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	hop(&w, S1, S2, E1);
	d2h(&w, PIN, DEV, N, S2);
	hop(&w, S2, S1, E2);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	expect_all(&w, "");
}

Test(quiet, waited_for_after_the_hand_over)
{
	struct world w;

	open_pool(&w);
	used_elsewhere(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	hop(&w, S2, S1, E2);
	launch(&w, S1, PTR, DEV);
	expect_all(&w, "");
}

Test(quiet, t05_event_queried)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	hop(&w, S1, S2, E1);
	d2h(&w, PIN, DEV, N, S2);
	record(&w, E2, S2);
	block_free(&w, DEV);
	call_failed(&w, cuEventQuery, CUDA_ERROR_NOT_READY, A(E2));
	call(&w, cuEventQuery, A(E2));
	block_alloc(&w, POOL, DEV, N, S3);
	set(&w, DEV, N, S3);
	expect_all(&w, "");
}

Test(quiet, query_not_ready_is_no_order)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	record(&w, E2, S1);
	block_free(&w, DEV);
	call_failed(&w, cuEventQuery, CUDA_ERROR_NOT_READY, A(E2));
	block_alloc(&w, POOL, DEV, N, S3);
	set(&w, DEV, N, S3);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(quiet, synchronised)
{
	struct world w;

	open_pool(&w);
	used_elsewhere(&w);
	sync_ctx(&w);
	block_alloc(&w, POOL, DEV, N, S3);
	launch(&w, S3, PTR, DEV);
	expect_all(&w, "");
}

Test(quiet, bytes_do_not_overlap)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	d2h(&w, PIN, DEV, 512, S1);
	launch(&w, S1, PTR, DEV + 1024);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV + 512, 512, S2);
	set(&w, DEV + 512, 512, S2);
	launch(&w, S2, PTR, DEV + 512);
	expect_all(&w, "");
}

Test(quiet, split_with_care)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	hop(&w, S1, S2, E1);
	block_alloc(&w, POOL, DEV, N / 2, S1);
	set(&w, DEV, N / 2, S1);
	block_alloc(&w, POOL, DEV + N / 2, N / 2, S2);
	set(&w, DEV + N / 2, N / 2, S2);
	expect_all(&w, "");
}

Test(quiet, read_and_read)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	kernel_reads(&w, S1, DEV, N);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S2);
	kernel_reads(&w, S2, DEV, N);
	expect_all(&w, "");
}

/* Blocks side by side on streams of their own. */
Test(quiet, bins)
{
	struct world w;

	open_pool(&w);
	for (int i = 0; i < 8; i++)
		for (int s = 0; s < 2; s++) {
			uint64_t st = s ? S2 : S1, at = DEV + s * N;

			block_alloc(&w, POOL, at, N, st);
			launch(&w, st, PTR, at);
			d2h(&w, PIN + s * N, at, N, st);
			block_free(&w, at);
		}
	expect_all(&w, "");
}

Test(quiet, segment_grows_and_shrinks)
{
	struct world w;

	open_pool(&w);
	for (int i = 0; i < 4; i++) {
		alloc(&w, DEV + (1 << 24), 4 * N);
		block_alloc(&w, POOL, DEV + (1 << 24), N, S1);
		set(&w, DEV + (1 << 24), N, S1);
		sync_stream(&w, S1);
		block_free(&w, DEV + (1 << 24));
		call(&w, cuMemFree_v2, A(DEV + (1 << 24)));
	}
	expect_all(&w, "");
}

/* The memory itself is new: the driver took care. */
Test(quiet, t07_driver_pool)
{
	struct world w;

	open_pool(&w);
	for (int i = 0; i < 4; i++) {
		uint64_t s = i & 1 ? S2 : S1;

		alloc_async(&w, DEV + (1 << 24), N, s);
		block_alloc(&w, POOL, DEV + (1 << 24), N, s);
		launch(&w, s, PTR, DEV + (1 << 24));
		set(&w, DEV + (1 << 24), N, s);
		block_free(&w, DEV + (1 << 24));
		call(&w, cuMemFreeAsync, A(DEV + (1 << 24)), A(s));
	}
	expect_all(&w, "");
}

/* Physical memory mapped again elsewhere keeps its history, and it is no pool's. */
Test(quiet, vmm_remapped)
{
	struct world w;

	open_pool(&w);
	call_begin(&w, KRT_API_cuMemCreate, A(0), A(0x200000), A(0), A(0));
	call_out(&w, 0, 0x77);
	call_end(&w, 0);
	for (int i = 0; i < 3; i++) {
		uint64_t at = DEV + (1 << 24) + (uint64_t)i * 0x200000;

		call(&w, cuMemMap, A(at), A(0x200000), A(0), A(0x77), A(0));
		block_alloc(&w, POOL, at, N, S1);
		set(&w, at, N, S1);
		block_free(&w, at);
		sync_stream(&w, S1);
		call(&w, cuMemUnmap, A(at), A(0x200000));
	}
	expect_all(&w, "");
}

Test(quiet, pool_on_a_pool)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, 16 * N, S1);
	set(&w, DEV, 16 * N, S1);
	for (int i = 0; i < 4; i++) {
		block_alloc(&w, SUB, DEV, N, S1);
		block_alloc(&w, SUB, DEV + N, N, S1);
		launch(&w, S1, PTR, DEV);
		launch(&w, S1, PTR, DEV + N);
		block_free(&w, DEV + N);
		block_free(&w, DEV);
	}
	set(&w, DEV, 16 * N, S1);
	block_free(&w, DEV);
	expect_all(&w, "");
}

/* Free lists hold blocks that nobody asked for by name. */
Test(quiet, resized)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	call(&w, krtsan_impl_block_resize, A(DEV), A(2 * N));
	set(&w, DEV, 2 * N, S1);
	call(&w, krtsan_impl_block_resize, A(DEV), A(N));
	set(&w, DEV, N, S1);
	call(&w, krtsan_impl_block_resize, A(DEV), A(N));
	block_alloc(&w, POOL, DEV + N, N, S1);
	set(&w, DEV + N, N, S1);
	call(&w, krtsan_impl_block_resize, A(DEV + 64), A(N));
	call(&w, krtsan_impl_block_resize, A(DEV), A(0));
	expect_all(&w, "");
}

Test(reuse, end_of_a_resized_block)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, UINT64_MAX);
	launch(&w, S1, PTR, DEV);
	set(&w, DEV + N / 2, N / 2, S1);
	call(&w, krtsan_impl_block_resize, A(DEV), A(N / 2));
	block_alloc(&w, POOL, DEV + N / 2, N / 2, UINT64_MAX);
	set(&w, DEV + N / 2, N / 2, S2);
	set(&w, DEV, N / 2, S1);
	expect_all(&w, "REUSE-RACE:error:1");
}

Test(quiet, stray_notes)
{
	struct world w;

	open_pool(&w);
	block_free(&w, DEV);
	block_free(&w, DEV + 64);
	block_use(&w, DEV, S1);
	pool_destroy(&w, 0x1234);
	block_alloc(&w, 0x1234, DEV, N, S1);
	block_free(&w, DEV + 64); /* an interior pointer: not a block */
	launch(&w, S1, PTR, DEV);
	block_alloc(&w, POOL, 0, N, S1);
	block_alloc(&w, POOL, DEV, 0, S1);
	block_alloc(&w, POOL, UINT64_MAX - 8, N, S1);
	expect_all(&w, "");
}

Test(quiet, host_pool_waits)
{
	struct world w;

	open_pool(&w);
	for (int i = 0; i < 4; i++) {
		block_alloc(&w, HPOOL, PIN, N, S1);
		host_write(&w, PIN, N);
		h2d(&w, DEV, PIN + 256, 128, S1);
		record(&w, E1, S1);
		block_free(&w, PIN);
		sync_event(&w, E1);
	}
	expect_all(&w, "");
}

/* Two host blocks in turns. */
Test(quiet, host_pool_in_turns)
{
	struct world w;

	open_pool(&w);
	for (int i = 0; i < 6; i++) {
		uint64_t at = PIN + (i & 1 ? N : 0), ev = i & 1 ? E1 : E2;

		if (i > 1)
			sync_event(&w, ev);
		block_alloc(&w, HPOOL, at, N, S1);
		host_write(&w, at, N);
		h2d(&w, DEV, at, N, S1);
		record(&w, ev, S1);
		block_free(&w, at);
	}
	expect_all(&w, "");
}

Test(quiet, same_thread_same_per_thread_stream)
{
	struct world w;

	open_pool(&w);
	thread(&w, 1, 1);
	for (int i = 0; i < 3; i++) {
		block_alloc(&w, POOL, DEV, N, 2);
		launch(&w, 2, PTR, DEV);
		block_free(&w, DEV);
	}
	expect_all(&w, "");
}

/* Weights: their owner never changes. */
Test(quiet, shared_by_readers)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	h2d(&w, DEV, PIN, N, S1);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	wait_event(&w, S3, E1);
	for (int i = 0; i < 4; i++) {
		kernel_reads(&w, S2, DEV, N);
		kernel_reads(&w, S3, DEV, N);
	}
	expect_all(&w, "");
}

/* Known only once it is in use: readers on two streams had it before. */
Test(quiet, announced_late)
{
	struct world w;

	open_pool(&w);
	launch(&w, S1, PTR, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S2, PTR, DEV);
	expect(&w, "");
}

Test(quiet, ignored)
{
	struct world w;

	open_pool(&w);
	used_elsewhere(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	w.flags = KRT_RF_IGNORE;
	launch(&w, S1, PTR, DEV);
	w.flags = 0;
	expect_all(&w, "");
}

/* --- within one owner nothing changes --------------------------------------------------- */

Test(owner, ordinary_race)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	d2h(&w, PIN, DEV, N, S2);
	expect_all(&w, "RACE-RAW:error:1");
}

Test(owner, race_of_the_new_owner)
{
	struct world w;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	d2h(&w, PIN, DEV, N, S2);
	expect_all(&w, "RACE-RAW:error:1");
}

/* --- texts and places ---------------------------------------------------------------------- */

Test(texts, names_all_four)
{
	struct world w;
	struct krt_report *r;
	const struct krt_finding *f;

	open_pool(&w);
	w.stack = 1;
	block_alloc(&w, POOL, DEV + N, N, S1); /* 1 */
	launch(&w, S1, PTR, DEV + N);
	hop(&w, S1, S2, E1);
	w.stack = 2;
	d2h(&w, PIN, DEV + N, 256, S2); /* the old work */
	w.stack = 3;
	block_free(&w, DEV + N);
	w.stack = 4;
	block_alloc(&w, POOL, DEV + N, N / 2, S1);
	w.stack = 5;
	launch(&w, S1, PTR, DEV + N);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	f = &r->finding[0];
	cr_assert_str_eq(f->current.api, "kernel ptr");
	cr_assert_str_eq(f->previous.api, "cuMemcpyDtoHAsync");
	cr_assert_eq(f->current.stack_id, 5);
	cr_assert_eq(f->previous.stack_id, 2);
	cr_assert_eq(f->buffer.base, DEV + N);
	cr_assert_eq(f->buffer.size, N / 2);
	cr_assert_eq(f->buffer.offset, 0);
	cr_assert_str_eq(f->buffer.allocated_by, "block alloc");
	cr_assert_str_eq(f->buffer.freed_by, "block free");
	cr_assert(f->buffer.freed_seq > f->previous.sequence);
	cr_assert(f->buffer.allocated_seq > f->buffer.freed_seq);
	cr_assert(f->current.sequence > f->buffer.allocated_seq);
	cr_assert_not_null(strstr(f->message, "pool \"pool\""), "%s", f->message);
	cr_assert_not_null(strstr(f->fix, "krtsan_block_use"), "%s", f->fix);
	cr_assert_not_null(strstr(f->order_exists, "not told"), "%s", f->order_exists);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(texts, told)
{
	struct world w;
	struct krt_report *r;

	open_pool(&w);
	block_alloc(&w, POOL, DEV, N, S1);
	block_use(&w, DEV + 8, S2);
	launch(&w, S2, PTR, DEV);
	block_free(&w, DEV);
	block_alloc(&w, POOL, DEV, N, S1);
	launch(&w, S1, PTR, DEV);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_not_null(strstr(r->finding[0].fix, "the pool was told"), "%s", r->finding[0].fix);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(texts, nvtx_ranges)
{
	struct world w;
	struct krt_report *r;
	int forward = 0;

	open_pool(&w);
	thread(&w, 1, 1);
	range(&w, 1, "forward");
	block_alloc(&w, POOL, DEV, N, S1);
	set(&w, DEV, N, S1);
	block_free(&w, DEV);
	thread(&w, 2, 2); /* each thread has its own */
	block_alloc(&w, POOL, DEV, N, S2);
	w.stack = 1;
	set(&w, DEV, N / 2, S2);
	range(&w, 2, "backward");
	range(&w, 2, NULL);
	range(&w, 1, "forward");
	w.stack = 2;
	set(&w, DEV + N / 2, N / 2, S2);
	thread(&w, 2, 3); /* the lane's next user begins without */
	d2h(&w, PIN, DEV, N, S3);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 4);
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct krt_finding *f = &r->finding[i];

		if (f->rule == KRT_RULE_REUSE_RACE)
			cr_assert_str_eq(f->previous.nvtx, "forward");
		else
			cr_assert_null(f->current.nvtx);
		forward += f->current.nvtx && !strcmp(f->current.nvtx, "forward");
	}
	cr_assert_eq(forward, 1);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

Test(texts, block_in_other_rules)
{
	struct world w;
	struct krt_report *r;

	open_pool(&w);
	block_alloc(&w, POOL, DEV + N, N, S1);
	name(&w, DEV + N, N, "activations");
	set(&w, DEV + N, N, S1);
	d2h(&w, PIN, DEV + N + 64, 64, S2);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_eq(r->finding[0].buffer.base, DEV + N);
	cr_assert_eq(r->finding[0].buffer.size, N);
	cr_assert_eq(r->finding[0].buffer.offset, 64);
	cr_assert_str_eq(r->finding[0].buffer.name, "activations");
	cr_assert_str_eq(r->finding[0].buffer.allocated_by, "block alloc");
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* --- bounds ------------------------------------------------------------------------------------ */

static uint64_t churn(int rounds, int sync_each)
{
	struct world w;
	struct krt_report *r;
	uint64_t peak;

	open_pool(&w);
	for (int i = 0; i < rounds; i++) {
		uint64_t s = i & 1 ? S2 : S1, at = DEV + (uint64_t)(i % 61) * 256,
			 size = 256 * (1 + (uint64_t)i % 3);

		block_alloc(&w, POOL, at, size, s);
		launch(&w, s, PTR, at + 64);
		set(&w, at, 128, s);
		block_free(&w, at);
		if (i % sync_each == sync_each - 1)
			sync_ctx(&w);
	}
	r = world_report(&w);
	peak = r->process[0].peak_bytes;
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
	return peak;
}

Test(bounds, flat)
{
	uint64_t small = churn(4000, 8), large = churn(40000, 8);

	cr_assert(large < small + small / 4, "%llu, %llu", (unsigned long long)small,
		  (unsigned long long)large);
	/* nothing is ever waited for: the newest work of each stream is kept, not all of it */
	small = churn(16000, 1 << 30);
	large = churn(64000, 1 << 30);
	cr_assert(large < small + small / 4, "%llu, %llu", (unsigned long long)small,
		  (unsigned long long)large);
}

/* Every allocation of the engine fails once. */
Test(bounds, out_of_memory)
{
	struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000};
	struct world w;

	for (cfg.fail_at = 1; cfg.fail_at < 4000; cfg.fail_at++) {
		struct krt_report *r;
		bool failed;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		context(&w, 0xc0, 0, true);
		stream(&w, S1, NB);
		stream(&w, S2, NB);
		event(&w, E1);
		kernel(&w, PTR, "ptr", 1, NULL);
		alloc(&w, DEV, 1 << 20);
		pool_create(&w, POOL, 1, "pool");
		used_elsewhere(&w);
		block_alloc(&w, POOL, DEV, N / 2, S1);
		block_use(&w, DEV, S2);
		launch(&w, S1, PTR, DEV);
		call(&w, krtsan_impl_block_resize, A(DEV), A(N / 4));
		call(&w, krtsan_impl_block_resize, A(DEV), A(N));
		block_alloc(&w, SUB, DEV + 64, 64, S1);
		set(&w, DEV + 64, 64, S2);
		block_free(&w, DEV);
		d2h(&w, PIN, DEV + 64, 64, S1);
		block_alloc(&w, POOL, DEV + 128, 64, S1);
		pool_destroy(&w, POOL);
		failed = w.rc != 0;
		r = world_report(&w);
		krt_report_destroy(r);
		krt_engine_destroy(w.e);
		if (!failed)
			return;
	}
	cr_assert_fail("it never ran through");
}

/* Notes and operations in no sensible order: nothing breaks, and the books stay whole. */
static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

Test(bounds, any_order)
{
	static const uint64_t pools[] = {POOL, SUB, HPOOL, 0x9004};
	static const uint64_t streams[] = {S1, S2, S3, 1, 2, UINT64_MAX};

	for (uint64_t seed = 1; seed <= 24; seed++) {
		uint64_t s = seed * 0x9e3779b97f4a7c15ull;
		struct krt_report *r;
		struct world w;

		open_pool(&w);
		for (int i = 0; i < 1500; i++) {
			uint64_t k = next_random(&s), pool = pools[k >> 8 & 3];
			uint64_t st = streams[(k >> 16) % 6], op_st = streams[(k >> 16) % 4];
			uint64_t at = (k >> 40 & 1 ? PIN : DEV) + (k >> 24 & 63) * 64;
			uint64_t len = (k >> 32 & 31) * 64;

			switch (k & 15) {
			case 0:
			case 1:
			case 2:
				block_alloc(&w, pool, at, len, st);
				break;
			case 3:
			case 4:
				block_free(&w, at);
				break;
			case 5:
				block_use(&w, at, st);
				break;
			case 6:
				call(&w, krtsan_impl_block_resize, A(at), A(len));
				break;
			case 7:
				if (!(k >> 48 & 3))
					pool_destroy(&w, pool);
				break;
			case 8:
				launch(&w, op_st, PTR, at);
				break;
			case 9:
				launch(&w, op_st, BOX, at, at + len);
				break;
			case 10:
				set(&w, DEV + (k >> 24 & 63) * 64, len, op_st);
				break;
			case 11:
				d2h(&w, PIN + (k >> 24 & 63) * 64, DEV + (k >> 50 & 63) * 64, len, op_st);
				break;
			case 12:
				host_write(&w, at, len);
				break;
			case 13:
				hop(&w, streams[(k >> 16) % 3], streams[(k >> 20) % 3], E1);
				break;
			case 14:
				if (!(k >> 48 & 7))
					sync_ctx(&w);
				break;
			default:
				if (!(k >> 48 & 15)) {
					call(&w, cuMemFree_v2, A(DEV));
					alloc(&w, DEV, 1 << 20);
				}
				break;
			}
			cr_assert_eq(w.rc, 0);
		}
		r = world_report(&w);
		for (size_t i = 0; i < r->nfindings; i++) {
			cr_assert_not_null(r->finding[i].message);
			cr_assert_not_null(r->finding[i].fix);
		}
		krt_report_destroy(r);
		krt_engine_destroy(w.e);
	}
}
