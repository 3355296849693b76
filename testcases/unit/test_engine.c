/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine on records made by hand: the ordering cases with exact counts, the
 * scenarios (each hazard with its fixed twin), the traps that must stay silent.
 */
#include <criterion/criterion.h>

#include "interposer/cuabi.h"
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

#define expect(w, text)	    cr_assert_str_eq(world_close(w), text)
#define expect_all(w, text) cr_assert_str_eq(world_close_as(w, true), text)

static void rd(struct world *w, uint64_t s)
{
	kernel_reads(w, s, DEV, N);
}
static void wr(struct world *w, uint64_t s)
{
	kernel_writes(w, s, DEV, N);
}

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

Test(names, streams_that_share_one)
{
	struct world w;
	struct krt_report *r;
	const struct krt_finding *f;

	open3(&w);
	name(&w, S1, 0, "worker");
	name(&w, S2, 0, "worker");
	rd(&w, S1);
	wr(&w, S2);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	f = &r->finding[0];
	cr_assert(!strncmp(f->current.stream, "stream \"worker\" (", 17), "%s", f->current.stream);
	cr_assert_str_neq(f->current.stream, f->previous.stream);
	cr_assert(strstr(f->message, f->current.stream), "%s", f->message);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);

	open3(&w);
	name(&w, S1, 0, "worker");
	name(&w, S2, 0, "worker");
	name(&w, S2, 0, "other");
	rd(&w, S2);
	wr(&w, S3);
	r = world_report(&w);
	f = &r->finding[0];
	cr_assert_str_eq(f->previous.stream, "stream \"other\"");
	/* the handle where the operation is described, not in sentences */
	cr_assert(strstr(f->current.stream, " (0x"), "%s", f->current.stream);
	cr_assert_null(strstr(f->message, "(0x"), "%s", f->message);
	cr_assert_null(strstr(f->order_missing, "(0x"), "%s", f->order_missing);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
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
		cr_assert_str_eq(world_close(&w),
				 how ? "RACE-WAR:error:1 EVENT-UNRECORDED:warning:1"
				     : "RACE-WAR:error:1");
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

/* --- scenarios: hazard and fixed twin -------------------------------------------------- */

/* for (fixed = 0; fixed < 2; fixed++) over a fresh world */
#define TWIN(suite, id, hazard)                                                                    \
	static void suite##_##id(struct world *w, bool fixed);                                     \
	Test(suite, id)                                                                            \
	{                                                                                          \
		for (int fixed = 0; fixed < 2; fixed++) {                                          \
			struct world w;                                                            \
			open3(&w);                                                                 \
			suite##_##id(&w, fixed);                                                   \
			cr_assert_str_eq(world_close(&w), fixed ? "" : hazard, "fixed %d: %s",     \
					 fixed, w.text);                                           \
		}                                                                                  \
	}                                                                                          \
	static void suite##_##id(struct world *w, bool fixed)

/* A stream-ordered free on the allocating stream, the last use elsewhere. */
TWIN(scenario, s05, "FREE-IN-USE:error:1")
{
	alloc_async(w, DEV + 0x100000, N, S1);
	hop(w, S1, S2, E1);
	kernel_reads(w, S2, DEV + 0x100000, N);
	if (fixed)
		hop(w, S2, S1, E2);
	call(w, cuMemFreeAsync, A(DEV + 0x100000), A(S1));
}

/* The same with a kernel of which only the pointer is known. */
TWIN(scenario, s05_pointer, "FREE-IN-USE:error:1")
{
	kernel(w, 7, "use", 1, NULL);
	alloc_async(w, DEV + 0x100000, N, S1);
	hop(w, S1, S2, E1);
	launch(w, S2, 7, DEV + 0x100000);
	if (fixed)
		hop(w, S2, S1, E2);
	call(w, cuMemFreeAsync, A(DEV + 0x100000), A(S1));
}

/* Table overwritten while the forward pass still reads it; only one row in the twin without back
 * edge. */
TWIN(scenario, s08, "RACE-WAR:error:1")
{
	wr(w, S1);
	hop(w, S1, S2, E1);
	rd(w, S2);
	if (fixed)
		hop(w, S2, S1, E2);
	kernel_writes(w, S1, DEV + 64, 64);
}

static void batch_copy(struct world *w, uint64_t s, unsigned order, unsigned n, const uint64_t *dst,
		       const uint64_t *src, const uint64_t *size)
{
	uint32_t attr[6] = {order};
	uint64_t zero = 0;

	call_begin(w, KRT_API_cuMemcpyBatchAsync_v2, A(0), A(0), A(0), A(n), A(0), A(0), A(1),
		   A(s));
	call_blob(w, 0, KRT_BLOB_BYTES, dst, n * 8);
	call_blob(w, 1, KRT_BLOB_BYTES, src, n * 8);
	call_blob(w, 2, KRT_BLOB_BYTES, size, n * 8);
	call_blob(w, 4, KRT_BLOB_BYTES, attr, sizeof(attr));
	call_blob(w, 5, KRT_BLOB_BYTES, &zero, 8);
	call_end(w, 0);
}

static void batch_one(struct world *w, uint64_t s, unsigned order, uint64_t dst, uint64_t src,
		      uint64_t n)
{
	batch_copy(w, s, order, 1, &dst, &src, &n);
}

/* Offload before the cache block is written. */
TWIN(scenario, s09, "RACE-RAW:error:1")
{
	alloc_pinned(w, PIN, N);
	wr(w, S1);
	if (fixed)
		hop(w, S1, S2, E1);
	batch_one(w, S2, 1, PIN, DEV, N);
}

/* With order ANY the source may be read before the stream gets there: only a host wait helps. */
Test(scenario, s09_any)
{
	for (int how = 0; how < 2; how++) {
		struct world w;

		open3(&w);
		alloc_pinned(&w, PIN, N);
		wr(&w, S1);
		hop(&w, S1, S2, E1);
		if (how)
			sync_event(&w, E1);
		batch_one(&w, S2, 3, PIN, DEV, N);
		cr_assert_str_eq(world_close(&w), how ? "" : "RACE-RAW:error:1");
	}
}

/* Nor is memory there that the stream allocates before. */
Test(scenario, s09_any_allocated)
{
	for (int how = 0; how < 2; how++) {
		struct world w;

		open3(&w);
		alloc_async(&w, DEV + 0x100000, N, S1);
		if (how)
			sync_stream(&w, S1);
		batch_one(&w, S1, 3, DEV, DEV + 0x100000, N);
		cr_assert_str_eq(world_close(&w), how ? "" : "UBA-STREAM:error:1");
	}
}

TWIN(scenario, s10_waw, "RACE-WAW:error:1")
{
	alloc(w, DEV + 0x10000, N);
	alloc(w, DEV + 0x20000, N);
	d2d(w, DEV, DEV + 0x10000, N, S1);
	if (fixed)
		hop(w, S1, S2, E1);
	d2d(w, DEV, DEV + 0x20000, N, S2);
}

TWIN(scenario, s10_raw, "RACE-RAW:error:1")
{
	alloc(w, DEV + 0x10000, N);
	alloc(w, DEV + 0x20000, N);
	d2d(w, DEV, DEV + 0x10000, N, S1);
	if (fixed)
		hop(w, S1, S2, E1);
	d2d(w, DEV + 0x20000, DEV, N, S2);
}

/* The wait is for the wrong stream. */
TWIN(scenario, s11, "RACE-RAW:error:1")
{
	alloc(w, DEV + 0x10000, N);
	wr(w, S1);
	hop(w, fixed ? S1 : 0, S2, E1);
	d2d(w, DEV + 0x10000, DEV, N, S2);
}

/* Staging buffer used again. */
TWIN(scenario, s14, "HOST-WRITE-RACE:error:1")
{
	alloc_pinned(w, PIN, N);
	host_write(w, PIN, N);
	h2d(w, DEV, PIN, N, S1);
	rd(w, S1);
	if (fixed) {
		record(w, E1, S1);
		sync_event(w, E1);
	}
	host_write(w, PIN, N);
}

/* The guard covers the second buffer only. */
TWIN(scenario, s15, "HOST-WRITE-RACE:error:1")
{
	alloc_pinned(w, PIN, 2 * N);
	host_write(w, PIN, N);
	h2d(w, DEV, PIN, N, S1);
	host_write(w, PIN + N, N);
	h2d(w, DEV, PIN + N, N, S1);
	record(w, E1, S1);
	if (fixed)
		sync_event(w, E1);
	host_write(w, PIN, N);
	sync_event(w, E1);
	host_write(w, PIN + N, N);
}

TWIN(scenario, s16, "HOST-WRITE-RACE:error:1")
{
	uint64_t second = fixed ? PIN + N : PIN;

	alloc_pinned(w, PIN, N);
	alloc_pinned(w, PIN + N, N);
	host_write(w, PIN, N);
	record(w, E1, S2);
	wait_event(w, S1, E1);
	h2d(w, DEV, PIN, N, S1);
	host_write(w, second, N);
	h2d(w, DEV, second, N, S1);
}

/* A heap vector dies before the batch copy has read it. */
TWIN(scenario, s18, "HOST-FREE-IN-USE:error:1")
{
	batch_one(w, S1, 1, DEV, HEAP, N);
	if (fixed)
		sync_stream(w, S1);
	call(w, free, A(HEAP), A(N));
}

Test(scenario, s18_text)
{
	struct world w;
	struct krt_report *r;

	open3(&w);
	batch_one(&w, S1, 1, DEV, HEAP, N);
	call(&w, free, A(HEAP), A(N));
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 1);
	cr_assert(strstr(r->finding[0].message, "source order STREAM"), "%s",
		  r->finding[0].message);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* Pinned memory freed behind a set: drivers wait, nobody promises it. */
TWIN(scenario, s19, "HOST-FREE-IN-USE:warning:1")
{
	alloc_pinned(w, PIN, N);
	call(w, cuMemsetD32Async, A(PIN), A(0), A(N / 4), A(S1));
	if (fixed)
		sync_stream(w, S1);
	call(w, cuMemFreeHost, A(PIN));
}

/* Pageable destination read without a wait: drivers block in the call. */
TWIN(scenario, s21, "HOST-READ-RACE:warning:1")
{
	wr(w, S1);
	d2h(w, HEAP, DEV, N, S1);
	if (fixed)
		sync_stream(w, S1);
	host_read(w, HEAP, N);
}

TWIN(scenario, s22, "HOST-READ-RACE:error:1")
{
	alloc_pinned(w, PIN, N);
	wr(w, S1);
	d2h(w, PIN, DEV, 4, S1);
	if (fixed) {
		record(w, E1, S1);
		sync_event(w, E1);
	}
	host_read(w, PIN, 4);
}

/* One event, two streams, one wait: both the lint and the conflict. */
TWIN(scenario, s23, "RACE-RAW:error:1 EVENT-OVERWRITTEN:warning:1")
{
	alloc(w, DEV + 0x10000, N);
	wr(w, S1);
	record(w, E1, S1);
	kernel_writes(w, S2, DEV + 0x10000, N);
	record(w, fixed ? E2 : E1, S2);
	wait_event(w, S3, E1);
	if (fixed)
		wait_event(w, S3, E2);
	rd(w, S3);
	kernel_reads(w, S3, DEV + 0x10000, N);
}

/* A blocking copy does not see a non-blocking stream. */
TWIN(scenario, s26_copy, "RACE-RAW:error:1")
{
	alloc_pinned(w, PIN, N);
	wr(w, S1);
	if (fixed)
		sync_stream(w, S1);
	call(w, cuMemcpyDtoH_v2, A(PIN), A(DEV), A(N));
}

TWIN(scenario, s26_set, "RACE-RAW:error:1")
{
	if (fixed)
		set(w, DEV, N, S1);
	else
		call(w, cuMemsetD8_v2, A(DEV), A(0), A(N));
	rd(w, S1);
}

/* A pageable upload may still be on its way. */
TWIN(scenario, s27, "RACE-RAW:warning:1")
{
	call(w, cuMemcpyHtoD_v2, A(DEV), A(HEAP), A(N));
	if (fixed)
		sync_stream(w, 0);
	rd(w, S1);
}

/* Scratch cleared on another stream than the kernel's. */
TWIN(scenario, s28, "RACE-WAW:error:1")
{
	set(w, DEV, N, S1);
	wr(w, fixed ? S1 : 0);
}

/* --- lifetimes ----------------------------------------------------------------------------- */

TWIN(life, use_before_alloc, "UBA-STREAM:error:1")
{
	alloc_async(w, DEV + 0x100000, N, S1);
	if (fixed)
		hop(w, S1, S2, E1);
	set(w, DEV + 0x100000, N, S2);
}

TWIN(life, use_after_free_async, "UAF-STREAM:error:1")
{
	alloc_async(w, DEV + 0x100000, N, S1);
	if (!fixed)
		call(w, cuMemFreeAsync, A(DEV + 0x100000), A(S1));
	set(w, DEV + 0x100000, N, S1);
	if (fixed)
		call(w, cuMemFreeAsync, A(DEV + 0x100000), A(S1));
}

TWIN(life, use_after_free, "UAF-STREAM:error:1")
{
	kernel(w, 7, "use", 1, NULL);
	if (!fixed)
		call(w, cuMemFree_v2, A(DEV));
	launch(w, S1, 7, DEV + 16);
	sync_ctx(w);
	if (fixed)
		call(w, cuMemFree_v2, A(DEV));
}

/* Freed on a stream that does not know of the allocation yet. */
TWIN(life, free_before_alloc, "UBA-STREAM:error:1")
{
	alloc_async(w, DEV + 0x100000, N, S1);
	if (fixed)
		hop(w, S1, S2, E1);
	call(w, cuMemFreeAsync, A(DEV + 0x100000), A(S2));
}

/* The heap gets an address that was device memory once: no use after free. */
Test(life, heap_at_an_old_address)
{
	struct world w;

	open3(&w);
	alloc(&w, DEV + 0x10000, N);
	call(&w, cuMemFree_v2, A(DEV + 0x10000));
	call(&w, cuMemcpyAsync, A(DEV), A(DEV + 0x10000), A(N), A(S1));
	expect(&w, "");
}

TWIN(life, pool_pointer_freed_by_host, "FREE-IN-USE:error:1")
{
	alloc_async(w, DEV + 0x100000, N, S1);
	set(w, DEV + 0x100000, N, S1);
	if (fixed)
		sync_stream(w, S1);
	call(w, cuMemFree_v2, A(DEV + 0x100000));
}

TWIN(life, unmap, "FREE-IN-USE:error:1")
{
	call_begin(w, KRT_API_cuMemCreate, A(0), A(0x200000), A(0), A(0));
	call_out(w, 0, 0x77);
	call_end(w, 0);
	call(w, cuMemMap, A(DEV + 0x200000), A(0x200000), A(0), A(0x77), A(0));
	set(w, DEV + 0x200000, N, S1);
	if (fixed)
		sync_stream(w, S1);
	call(w, cuMemUnmap, A(DEV + 0x200000), A(0x200000));
}

/* Two addresses of the same physical memory. */
TWIN(life, alias, "RACE-WAW:error:1")
{
	call_begin(w, KRT_API_cuMemCreate, A(0), A(0x200000), A(0), A(0));
	call_out(w, 0, 0x77);
	call_end(w, 0);
	call(w, cuMemMap, A(DEV + 0x200000), A(0x200000), A(0), A(0x77), A(0));
	call(w, cuMemMap, A(DEV + 0x800000), A(0x200000), A(0), A(0x77), A(0));
	set(w, DEV + 0x200000, N, S1);
	set(w, DEV + 0x800000 + (fixed ? N : 0), N, S2);
}

/* What a later write through the other address hides goes on through the one that is unmapped. */
TWIN(life, alias_unmap, "FREE-IN-USE:error:1")
{
	call_begin(w, KRT_API_cuMemCreate, A(0), A(0x200000), A(0), A(0));
	call_out(w, 0, 0x77);
	call_end(w, 0);
	call(w, cuMemMap, A(DEV + 0x200000), A(0x200000), A(0), A(0x77), A(0));
	call(w, cuMemMap, A(DEV + 0x800000), A(0x200000), A(0), A(0x77), A(0));
	set(w, DEV + 0x200000, N, S1);
	set(w, DEV + 0x800000, N, S1);
	if (fixed)
		sync_stream(w, S1);
	call(w, cuMemUnmap, A(DEV + 0x200000), A(0x200000));
}

/* Registered, it is the same memory as before. */
TWIN(life, registered_in_use, "RACE-WAR:error:1")
{
	uint64_t dst = DEV, src = HEAP, size = N;

	batch_copy(w, S1, 3, 1, &dst, &src, &size);
	call(w, cuMemHostRegister_v2, A(HEAP), A(N), A(0));
	if (fixed)
		hop(w, S1, S2, E1);
	set(w, HEAP, N, S2);
}

/* Between host memory it is the CPU that copies, whatever the context asks for. */
TWIN(life, host_copy_memops, "HOST-READ-RACE:error:1")
{
	alloc_pinned(w, PIN, N);
	alloc_pinned(w, PIN + 0x100000, N);
	call(w, cuCtxSetFlags, A(CU_CTX_SYNC_MEMOPS));
	set(w, PIN, N, S1);
	if (fixed)
		sync_stream(w, S1);
	call(w, cuMemcpy, A(PIN + 0x100000), A(PIN), A(N));
}

TWIN(life, unregister, "HOST-FREE-IN-USE:warning:1")
{
	call(w, cuMemHostRegister_v2, A(HEAP), A(N), A(0));
	h2d(w, DEV, HEAP, N, S1);
	if (fixed)
		sync_stream(w, S1);
	call(w, cuMemHostUnregister, A(HEAP));
}

/* Registered heap memory handed back while the copy is pending. */
TWIN(life, free_registered, "HOST-FREE-IN-USE:error:1")
{
	call(w, cuMemHostRegister_v2, A(HEAP), A(N), A(0));
	h2d(w, DEV, HEAP, N, S1);
	if (fixed)
		sync_stream(w, S1);
	call(w, free, A(HEAP), A(N));
}

/* A free waits for the context of the memory, not for others of its device. */
TWIN(life, other_context, "FREE-IN-USE:error:1")
{
	context(w, 0xc1, 0, false);
	stream(w, 0x400, NB);
	context(w, 0xc0, 0, true);
	kernel_reads(w, 0x400, DEV, N); /* of the other context */
	if (fixed)
		sync_stream(w, 0x400);
	call(w, cuMemFree_v2, A(DEV));
}

TWIN(life, peer_device, "FREE-IN-USE:error:1")
{
	context(w, 0xc1, 1, true);
	stream(w, 0x400, NB);
	context(w, 0xc0, 0, true);
	kernel_reads(w, 0x400, DEV, N); /* of the other device */
	if (fixed)
		sync_stream(w, 0x400);
	call(w, cuMemFree_v2, A(DEV));
}

Test(life, exit_handlers_are_not_judged)
{
	struct world w;

	open3(&w);
	alloc_async(&w, DEV + 0x100000, N, S1);
	set(&w, DEV + 0x100000, N, S1);
	mark(&w, KRT_MARK_EXITING);
	call(&w, cuMemFree_v2, A(DEV + 0x100000));
	expect(&w, "");
}

/* --- bounds -------------------------------------------------------------------------------- */

TWIN(bounds, set, "COPY-BOUNDS:error:1")
{
	set(w, DEV + 16, fixed ? N - 16 : N, S1);
}

Test(bounds, refused)
{
	struct world w;

	open3(&w);
	alloc_pinned(&w, PIN, 2 * N);
	call_failed(&w, cuMemcpyDtoH_v2, 1, A(PIN), A(DEV), A(N + 4));
	expect(&w, "COPY-BOUNDS:error:1");
}

TWIN(bounds, rows, "COPY-BOUNDS:error:1")
{
	/* 4 rows of 1024 fill it; the last row of a set of width 512 ends before the pitch does */
	call(w, cuMemsetD2D8Async, A(DEV), A(1024), A(0), A(512), A(fixed ? 4 : 5), A(S1));
}

/* Beyond the end of an array there is nothing that two copies could share. */
TWIN(bounds, array, "RACE-WAW:error:1 COPY-BOUNDS:error:2")
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};

	call_begin(w, KRT_API_cuArrayCreate_v2, A(0), A(0));
	call_out(w, 0, 0x8800);
	call_blob(w, 1, KRT_BLOB_BYTES, &d, sizeof(d));
	call_end(w, 0);
	alloc_pinned(w, PIN, N);
	call(w, cuMemcpyHtoAAsync_v2, A(0x8800), A(0), A(PIN), A(fixed ? 32 : 128), A(S1));
	call(w, cuMemcpyHtoAAsync_v2, A(0x8800), A(32), A(PIN), A(fixed ? 32 : 128), A(S2));
}

/* --- traps: right programs ------------------------------------------------------------------ */

#define SILENT(id)                                                                                 \
	static void trap_##id(struct world *w);                                                    \
	Test(trap, id)                                                                             \
	{                                                                                          \
		struct world w;                                                                    \
		open3(&w);                                                                         \
		trap_##id(&w);                                                                     \
		expect(&w, "");                                                                    \
	}                                                                                          \
	static void trap_##id(struct world *w)

SILENT(t01)
{
	wr(w, S1);
	hop(w, S1, S3, E1);
	hop(w, S3, S2, E2);
	rd(w, S2);
}

SILENT(t02)
{
	alloc(w, DEV + 0x10000, N);
	stream(w, 0x300, NB);
	wr(w, S1);
	hop(w, S1, S2, E1);
	rd(w, S2);
	kernel_writes(w, S3, DEV + 0x10000, N);
	hop(w, S3, 0x300, E1);
	kernel_reads(w, 0x300, DEV + 0x10000, N);
}

SILENT(t04)
{
	thread(w, 1, 1);
	wr(w, S1);
	thread(w, 2, 2);
	sync_stream(w, S1);
	thread(w, 1, 1);
	wr(w, S2);
}

SILENT(t05)
{
	wr(w, S1);
	record(w, E1, S1);
	call_failed(w, cuEventQuery, 600, A(E1));
	call(w, cuEventQuery, A(E1));
	wr(w, S2);
	call_failed(w, cuStreamQuery, 600, A(S2));
	call(w, cuStreamQuery, A(S2));
	wr(w, S3);
}

Test(trap, t05_not_ready_is_no_edge)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	call_failed(&w, cuStreamQuery, 600, A(S1));
	wr(&w, S2);
	expect(&w, "RACE-WAW:error:1");
}

SILENT(t07)
{
	alloc_async(w, DEV + 0x100000, N, S1);
	set(w, DEV + 0x100000, N, S1);
	call(w, cuMemFreeAsync, A(DEV + 0x100000), A(S1));
	alloc_async(w, DEV + 0x100000, N, S2);
	set(w, DEV + 0x100000, N, S2);
}

SILENT(t11)
{
	stream(w, 0x300, 0);
	stream(w, 0x301, 0);
	alloc(w, DEV + 0x10000, N);
	wr(w, 0x300);
	kernel_writes(w, 0, DEV + 0x10000, N);
	rd(w, 0x301);
}

Test(trap, t11_not_for_non_blocking)
{
	struct world w;

	open3(&w);
	alloc(&w, DEV + 0x10000, N);
	wr(&w, S1);
	kernel_writes(&w, 0, DEV + 0x10000, N);
	rd(&w, S2);
	expect(&w, "RACE-RAW:error:1");
}

SILENT(t12)
{
	thread(w, 1, 1);
	wr(w, 2);
	wr(w, 1);
	wr(w, 2);
}

Test(trap, t12_two_per_thread_streams)
{
	struct world w;

	open3(&w);
	thread(&w, 1, 1);
	wr(&w, 2);
	thread(&w, 2, 2);
	call_begin(&w, KRT_API_cuMemsetD8Async_ptsz, A(DEV), A(0), A(N), A(0));
	call_end(&w, 0);
	expect(&w, "RACE-WAW:error:1");
}

Test(trap, t13)
{
	struct world w;

	open3(&w);
	rd(&w, S1);
	call(&w, cuMemFree_v2, A(DEV));
	expect(&w, "FREE-IN-USE:warning:1");
}

/* cuMemFree orders nothing else in the documented view. */
Test(trap, t13_no_cover)
{
	struct world w;

	open3(&w);
	alloc(&w, DEV + 0x10000, N);
	wr(&w, S1);
	call(&w, cuMemFree_v2, A(DEV + 0x10000));
	wr(&w, S2);
	expect(&w, "RACE-WAW:warning:1");
}

/* T14 is s21. */

SILENT(t15)
{
	kernel(w, 7, "forward", 1, NULL);
	h2d(w, DEV, HEAP, N, S1);
	record(w, E1, S1);
	wait_event(w, S2, E1);
	wait_event(w, S3, E1);
	launch(w, S2, 7, DEV);
	launch(w, S3, 7, DEV);
}

Test(trap, t15_counted_as_possible)
{
	struct world w;

	open3(&w);
	kernel(&w, 7, "forward", 1, NULL);
	launch(&w, S2, 7, DEV);
	launch(&w, S3, 7, DEV);
	expect_all(&w, "?RACE-RAW:1");
}

SILENT(t16)
{
	set(w, DEV, N / 2, S1);
	set(w, DEV + N / 2, N / 2, S2);
	sync_ctx(w);
	/* columns of one matrix */
	call(w, cuMemsetD2D8Async, A(DEV), A(64), A(0), A(32), A(16), A(S1));
	call(w, cuMemsetD2D8Async, A(DEV + 32), A(64), A(0), A(32), A(16), A(S3));
	sync_ctx(w);
}

Test(trap, t16_rows_that_meet)
{
	struct world w;

	open3(&w);
	call(&w, cuMemsetD2D8Async, A(DEV), A(64), A(0), A(33), A(16), A(S1));
	call(&w, cuMemsetD2D8Async, A(DEV + 32), A(64), A(0), A(32), A(16), A(S2));
	expect(&w, "RACE-WAW:error:1");
}

SILENT(t18)
{
	alloc_pinned(w, PIN, N);
	access_note(w, S1, PIN, 4, 1);
	launch_of(w, KRT_API_cuLaunchKernel, S1, 0, 0, NULL);
	host_write(w, PIN, 4);
	kernel(w, 7, "poll", 1, NULL);
	launch(w, S2, 7, PIN + 64);
	host_write(w, PIN + 64, 4);
}

SILENT(t19_write_then_wait)
{
	alloc(w, DEV + 0x10000, 64);
	wr(w, S1);
	call(w, cuStreamWriteValue32_v2, A(S1), A(DEV + 0x10000), A(5), A(0));
	call(w, cuStreamWaitValue32_v2, A(S2), A(DEV + 0x10000), A(5), A(0));
	rd(w, S2);
}

SILENT(t19_wait_then_write)
{
	alloc(w, DEV + 0x10000, 64);
	call(w, cuStreamWaitValue32_v2, A(S2), A(DEV + 0x10000), A(5), A(1));
	wr(w, S1);
	rd(w, S2); /* given up quietly: the wait is met by the write below */
	call(w, cuStreamWriteValue32_v2, A(S1), A(DEV + 0x10000), A(5), A(0));
	rd(w, S2);
}

Test(trap, t19_other_value)
{
	struct world w;

	open3(&w);
	alloc(&w, DEV + 0x10000, 64);
	call(&w, cuStreamWriteValue32_v2, A(S3), A(DEV + 0x10000), A(5), A(0));
	wr(&w, S1);
	call(&w, cuStreamWaitValue32_v2, A(S2), A(DEV + 0x10000), A(5), A(1));
	rd(&w, S2);
	expect(&w, "RACE-RAW:error:1");
}

/* What the waiting stream does in between is behind the write, though called before. */
SILENT(t19_between_wait_and_write)
{
	alloc(w, DEV + 0x10000, 64);
	call(w, cuStreamWaitValue32_v2, A(S2), A(DEV + 0x10000), A(5), A(1));
	rd(w, S2);
	wr(w, S1);
	call(w, cuStreamWriteValue32_v2, A(S1), A(DEV + 0x10000), A(5), A(0));
}

#define SEM1 0x51ull
#define SEM2 0x52ull

static void import_semaphore(struct world *w, uint64_t sem, uint32_t type)
{
	uint32_t desc[24] = {type};

	call_begin(w, KRT_API_cuImportExternalSemaphore, A(0), A(0));
	call_blob(w, 1, KRT_BLOB_BYTES, desc, sizeof(desc));
	call_out(w, 0, sem);
	call_end(w, 0);
}

static void semaphore(struct world *w, bool signal, uint64_t sem, uint64_t value, uint64_t s)
{
	uint64_t params[18] = {value};

	call_begin(w, signal ? KRT_API_cuSignalExternalSemaphoresAsync : KRT_API_cuWaitExternalSemaphoresAsync,
		   A(0), A(0), A(1), A(s));
	call_blob(w, 0, KRT_BLOB_BYTES, &sem, sizeof(sem));
	call_blob(w, 1, KRT_BLOB_BYTES, params, sizeof(params));
	call_end(w, 0);
}

static void timeline(struct world *w)
{
	import_semaphore(w, SEM1, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
	import_semaphore(w, SEM2, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD);
}

SILENT(semaphore_signal_then_wait)
{
	timeline(w);
	wr(w, S1);
	semaphore(w, true, SEM1, 1, S1);
	semaphore(w, false, SEM1, 1, S2);
	rd(w, S2);
}

SILENT(semaphore_wait_then_signal)
{
	timeline(w);
	semaphore(w, false, SEM1, 1, S2);
	rd(w, S2);
	wr(w, S1);
	semaphore(w, true, SEM1, 1, S1);
	rd(w, S2);
}

SILENT(semaphore_by_another_handle)
{
	timeline(w);
	wr(w, S1);
	semaphore(w, true, SEM2, 1, S1);
	semaphore(w, false, SEM1, 1, S2);
	rd(w, S2);
	sync_stream(w, S2);
	call(w, cuMemFree_v2, A(DEV));
}

SILENT(semaphore_binary)
{
	import_semaphore(w, SEM1, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD);
	wr(w, S1);
	call(w, cuSignalExternalSemaphoresAsync, A(0), A(0), A(1), A(S1));
	call(w, cuWaitExternalSemaphoresAsync, A(0), A(0), A(1), A(S2));
	rd(w, S2);
}

/* Who signals may itself have waited for something unseen. */
SILENT(semaphore_through_an_unseen_one)
{
	timeline(w);
	semaphore(w, false, SEM2, 7, S2);
	semaphore(w, true, SEM1, 1, S2);
	wr(w, S3);
	semaphore(w, false, SEM1, 1, S1);
	rd(w, S1);
	record(w, E1, S1);
	sync_event(w, E1);
	call(w, cuMemFree_v2, A(DEV));
}

/* Another API waits for it, and the program for that. */
SILENT(semaphore_for_others)
{
	timeline(w);
	wr(w, S1);
	semaphore(w, true, SEM1, 1, S1);
	call(w, cuMemFree_v2, A(DEV));
}

Test(order, semaphore_of_another_stream)
{
	struct world w;

	open3(&w);
	timeline(&w);
	semaphore(&w, true, SEM1, 1, S1);
	wr(&w, S3);
	semaphore(&w, false, SEM1, 1, S2);
	rd(&w, S2);
	expect(&w, "RACE-RAW:error:1");
}

Test(order, semaphore_work_behind_the_signal)
{
	struct world w;

	open3(&w);
	timeline(&w);
	semaphore(&w, true, SEM1, 1, S1);
	wr(&w, S1);
	semaphore(&w, false, SEM1, 1, S2);
	rd(&w, S2);
	expect(&w, "RACE-RAW:error:1");
}

Test(order, semaphore_before_the_wait)
{
	struct world w;

	open3(&w);
	timeline(&w);
	wr(&w, S1);
	rd(&w, S2);
	semaphore(&w, false, SEM1, 1, S2);
	expect(&w, "RACE-RAW:error:1");
}

/* Destroyed, and the handle given to another one: what the first was told is not the second's. */
Test(order, semaphore_handle_again)
{
	struct world w;

	open3(&w);
	timeline(&w);
	semaphore(&w, true, SEM1, 1, S1);
	call(&w, cuDestroyExternalSemaphore, A(SEM1));
	timeline(&w);
	wr(&w, S3);
	semaphore(&w, false, SEM1, 1, S2);
	rd(&w, S2);
	expect(&w, "");
}

SILENT(t21)
{
	call_begin(w, KRT_API_cuIpcOpenMemHandle_v2, A(0), A(0), A(1));
	call_out(w, 0, DEV + 0x40000000);
	call_end(w, 0);
	call_begin(w, KRT_API_cuIpcOpenEventHandle, A(0), A(0));
	call_out(w, 0, 0x2ff);
	call_end(w, 0);
	wait_event(w, S1, 0x2ff);
	d2d(w, DEV, DEV + 0x40000000, N, S1);
}

SILENT(t22)
{
	union {
		uint64_t w[16];
		char b[128];
	} cfg = {{0}};
	uint64_t s = S1;
	uint32_t pdl = 6, one = 1;

	wr(w, S1);
	memcpy(cfg.b + 32, &s, 8);
	memcpy(cfg.b + 56, &pdl, 4);
	memcpy(cfg.b + 64, &one, 4);
	access_note(w, S1, DEV, N, 1);
	call_begin(w, KRT_API_cuLaunchKernelEx, A(0), A(0xf0), A(0), A(0));
	call_blob(w, 0, KRT_BLOB_BYTES, cfg.b, 128);
	call_end(w, 0);
}

SILENT(t26)
{
	h2d(w, DEV, HEAP, 64, S1);
	host_write(w, HEAP, 64);
	call(w, free, A(HEAP), A(64));
	h2d(w, DEV, HEAP, N, S1);
	host_write(w, HEAP, 64);
}

SILENT(t27)
{
	alloc_pinned(w, PIN, N);
	call(w, cuStreamBeginCapture_v2, A(S1), A(0));
	d2h(w, PIN, DEV, N, S1);
	record(w, E1, S1);
	wait_event(w, S2, E1);
	wr(w, S2);
	hop(w, S2, S1, E2);
	host_read(w, PIN, N);
	call_begin(w, KRT_API_cuStreamEndCapture, A(S1), A(0));
	call_out(w, 1, 0x99);
	call_end(w, 0);
	wr(w, S1);
	hop(w, S1, S2, E1);
	wr(w, S2);
}

SILENT(t28)
{
	alloc_pinned(w, PIN, N);
	batch_one(w, S1, 2, DEV, PIN, N);
	host_write(w, PIN, N);
	batch_one(w, S1, 2, DEV, HEAP, N);
	call(w, free, A(HEAP), A(N));
}

Test(trap, t28_stream_order_is_not)
{
	struct world w;

	open3(&w);
	alloc_pinned(&w, PIN, N);
	batch_one(&w, S1, 1, DEV, PIN, N);
	host_write(&w, PIN, N);
	expect(&w, "HOST-WRITE-RACE:error:1");
}

SILENT(t29)
{
	uint32_t sizes[2] = {8, 32};

	kernel(w, 7, "numbers", 2, sizes);
	set(w, DEV, N, S1);
	/* a number that is no address; and an address inside a struct is a number for all we know
	 */
	launch(w, S2, 7, 12345, DEV, 1, 2, 3);
}

SILENT(t30)
{
	kernel(w, 7, "bias", 2, NULL);
	alloc(w, DEV + 0x10000, N);
	launch(w, S1, 7, 0, DEV);
	launch(w, S2, 7, DEV + 0x10000, DEV);
}

SILENT(t32)
{
	set(w, DEV, 0, S1);
	set(w, DEV, 0, S2);
	d2d(w, DEV, DEV, 0, S3);
	call(w, cuMemsetD2D8Async, A(DEV), A(64), A(0), A(0), A(16), A(S1));
}

SILENT(t34)
{
	struct krt_rec_stream r = {
		.h = {.size = sizeof(r), .kind = KRT_REC_STREAM}, .stream = 0x500, .ctx = 0xc0};

	krt_engine_feed(w->e, &r.h, sizeof(r), 0); /* made before us, blocking */
	wr(w, 0x500);
	wr(w, 0);
	wr(w, 0x500);
}

/* A kernel given a pointer into what a copy writes: likely. */
TWIN(launch, likely, "RACE-RAW:warning:1")
{
	kernel(w, 7, "k", 1, NULL);
	set(w, DEV, N, S1);
	if (fixed)
		hop(w, S1, S2, E1);
	launch(w, S2, 7, DEV + 100);
}

TWIN(launch, likely_the_other_way, "RACE-WAR:warning:1")
{
	kernel(w, 7, "k", 1, NULL);
	launch(w, S2, 7, DEV + 100);
	if (fixed)
		hop(w, S2, S1, E1);
	set(w, DEV, N, S1);
}

/* ... and only possible where the pointer lies outside the written bytes, or in a struct. */
Test(launch, possible)
{
	struct world w;
	uint32_t sizes[1] = {16};

	open3(&w);
	kernel(&w, 7, "k", 1, NULL);
	kernel(&w, 8, "s", 1, sizes);
	set(&w, DEV, 64, S1);
	launch(&w, S2, 7, DEV + 64);
	launch(&w, S3, 8, DEV, 0);
	expect_all(&w, "?RACE-RAW:3");
}

/* May never ends sure: the set behind the kernel's pointer is still found by the copy. */
Test(launch, may_does_not_hide_sure)
{
	struct world w;

	open3(&w);
	alloc_pinned(&w, PIN, N);
	kernel(&w, 7, "k", 1, NULL);
	set(&w, DEV, N, S1);
	launch(&w, S1, 7, DEV);
	d2h(&w, PIN, DEV, N, S2);
	expect(&w, "RACE-RAW:error:1");
}

TWIN(launch, atomics, "RACE-RAW:error:1")
{
	access_note(w, S1, DEV, 64, 4);
	launch_of(w, KRT_API_cuLaunchKernel, S1, 0, 0, NULL);
	access_note(w, S2, DEV, 64, 7); /* reads and writes, atomically */
	launch_of(w, KRT_API_cuLaunchKernel, S2, 0, 0, NULL);
	if (!fixed)
		kernel_reads(w, S1, DEV, 64);
}

TWIN(launch, cooperative, "COOP-SHARED:error:1")
{
	access_note(w, S1, DEV, 4, 4);
	launch_of(w, KRT_API_cuLaunchCooperativeKernel, S1, 0, 0, NULL);
	if (fixed)
		hop(w, S1, S2, E1);
	access_note(w, S2, DEV, 4, 4);
	launch_of(w, KRT_API_cuLaunchCooperativeKernel, S2, 0, 0, NULL);
}

Test(launch, coop_possible)
{
	struct world w;

	open3(&w);
	kernel(&w, 7, "k", 1, NULL);
	launch_coop(&w, S1, 7, DEV);
	launch_coop(&w, S2, 7, DEV);
	expect_all(&w, "?COOP-SHARED:1");
}

/* One of the two is not known to meet its grid, or not known to update the bytes. */
Test(launch, coop_in_part)
{
	struct world w;

	open3(&w);
	access_note(&w, S1, DEV, 4, 4);
	launch_of(&w, KRT_API_cuLaunchCooperativeKernel, S1, 0, 0, NULL);
	access_note(&w, S2, DEV, 4, 4);
	launch_of(&w, KRT_API_cuLaunchKernel, S2, 0, 0, NULL);
	expect_all(&w, "?COOP-SHARED:1");

	for (int swap = 0; swap < 2; swap++) {
		open3(&w);
		kernel(&w, 7, "k", 1, NULL);
		if (swap)
			launch_coop(&w, S2, 7, DEV);
		access_note(&w, S1, DEV, 4, 4);
		launch_of(&w, KRT_API_cuLaunchCooperativeKernel, S1, 0, 0, NULL);
		if (!swap)
			launch_coop(&w, S2, 7, DEV);
		expect_all(&w, "?COOP-SHARED:1");
	}
}

/* Sums, and the grids of one launch over two devices, which meet on purpose. */
Test(launch, coop_not)
{
	CUDA_LAUNCH_PARAMS p[2] = {{.gridDimX = 1, .hStream = (CUstream)S1},
				   {.gridDimX = 1, .hStream = (CUstream)S2}};
	struct world w;

	open3(&w);
	for (int i = 0; i < 2; i++) {
		access_note(&w, i ? S2 : S1, DEV, 4, 4);
		launch_of(&w, KRT_API_cuLaunchKernel, i ? S2 : S1, 0, 0, NULL);
	}
	expect_all(&w, "");

	open3(&w);
	access_note(&w, S1, DEV, 4, 4);
	access_note(&w, S2, DEV, 4, 4);
	call_begin(&w, KRT_API_cuLaunchCooperativeKernelMultiDevice, A(0), A(2), A(3));
	call_blob(&w, 0, KRT_BLOB_BYTES, p, sizeof(p));
	call_end(&w, 0);
	expect_all(&w, "");
}

/* A copy that waits for the CPU's word: the CPU fills its buffer first.  Not so without the wait. */
TWIN(values, cpu_writes_first, "HOST-WRITE-RACE:error:1")
{
	alloc_pinned(w, PIN, N);
	if (fixed)
		call(w, cuStreamWaitValue32_v2, A(S1), A(DEV + 2048), A(1), A(0));
	h2d(w, DEV, PIN, 64, S1);
	host_write(w, PIN, 64);
}

TWIN(batch, overlap, "RACE-WAW:error:1")
{
	uint64_t dst[2] = {DEV, fixed ? DEV + 64 : DEV + 32}, src[2] = {PIN, PIN + 64},
		 size[2] = {64, 64};

	alloc_pinned(w, PIN, N);
	batch_copy(w, S1, 1, 2, dst, src, size);
}

/* The call reads the first one's source while the second one's copy may be under way already. */
TWIN(batch, read_by_the_call, "RACE-WAR:error:1")
{
	uint64_t dst[2] = {DEV, PIN}, src[2] = {PIN, DEV + 128}, size[2] = {64, 64};

	alloc_pinned(w, PIN, N);
	if (fixed)
		dst[1] = PIN + 64;
	batch_copy(w, S1, 2, 2, dst, src, size);
	if (fixed) /* behind the call it is read no more */
		kernel_writes(w, S2, PIN, 64);
}

/* Two buffers of the program's own memory are two, not all that lies between them. */
TWIN(batch, two_heap_buffers, "RACE-WAR:error:2")
{
	uint64_t dst[2] = {DEV, DEV + 64}, src[2] = {HEAP, HEAP + 4096}, size[2] = {64, 64};

	batch_copy(w, S1, 1, 2, dst, src, size);
	if (fixed)
		hop(w, S1, S2, E1);
	batch_copy(w, S2, 1, 2, src, (uint64_t[]){DEV + 128, DEV + 192}, size);
}

/* What the stream read in its order is remembered beside it. */
TWIN(batch, read_before, "RACE-WAR:error:1")
{
	uint64_t dst[2] = {DEV, DEV + 64}, src[2] = {PIN, PIN}, size[2] = {64, 64};

	alloc_pinned(w, PIN, N);
	h2d(w, DEV + 128, PIN, 64, S1);
	batch_copy(w, S1, 2, 2, dst, src, size);
	if (fixed)
		hop(w, S1, S2, E1);
	kernel_writes(w, S2, PIN, 64);
}

TWIN(events, unrecorded, "EVENT-UNRECORDED:warning:1")
{
	if (fixed)
		record(w, E1, S1);
	wait_event(w, S2, E1);
}

/* All that the first record covered is covered by the second one: nothing is lost. */
TWIN(events, overwritten_covered, "EVENT-OVERWRITTEN:warning:1")
{
	stream(w, 0x300, 0);
	call(w, cuMemsetD8_v2, A(DEV), A(0), A(64));
	record(w, E1, 0x300);
	if (fixed) /* waits for it */
		call(w, cuMemcpyDtoH_v2, A(HEAP), A(DEV + 128), A(64));
	record(w, E1, S1);
	sync_event(w, E1);
}

/* Of two lost records the second one stays lost when the first one's work is covered. */
TWIN(events, overwritten_twice, "EVENT-OVERWRITTEN:warning:1")
{
	set(w, DEV, 64, S1);
	set(w, DEV + 64, 64, S2);
	record(w, E1, S1);
	record(w, E1, S2);
	record(w, E1, S3);
	if (fixed)
		hop(w, S2, S1, E2);
	record(w, E1, S1);
	sync_event(w, E1);
}

TWIN(events, failed_record, "EVENT-FAILED:warning:1")
{
	record(w, E1, S1);
	call_failed(w, cuEventRecord, 400, A(E1), A(S1));
	if (fixed)
		record(w, E1, S1);
	wait_event(w, S2, E1);
}

TWIN(notes, order, "RACE-RAW:error:1")
{
	wr(w, S1);
	if (fixed)
		call(w, krtsan_impl_order_release, A(0x5000), A(S1));
	call(w, krtsan_impl_order_acquire, A(0x5000), A(S2));
	rd(w, S2);
}

TWIN(notes, ignore, "RACE-WAR:error:1")
{
	rd(w, S1);
	w->flags = fixed ? KRT_RF_IGNORE : 0;
	wr(w, S2);
	w->flags = 0;
}

TWIN(hostfn, enter_is_completion, "HOST-WRITE-RACE:error:1")
{
	uint64_t token;

	alloc_pinned(w, PIN, N);
	h2d(w, DEV, PIN, N, S1);
	token = w->ticket;
	call(w, cuLaunchHostFunc, A(S1), A(1), A(2));
	if (fixed)
		call(w, hostfn_enter, A(token));
	host_write(w, PIN, N);
	if (fixed)
		call(w, hostfn_exit, A(token));
}

/* What comes after it in its stream has not begun while it runs. */
Test(hostfn, later_work_waits_for_it)
{
	struct world w;
	uint64_t token;

	open3(&w);
	alloc_pinned(&w, PIN, N);
	token = w.ticket;
	call(&w, cuLaunchHostFunc, A(S1), A(1), A(2));
	h2d(&w, DEV, PIN, N, S1);
	hop(&w, S1, S2, E1);
	d2h(&w, PIN, DEV, N, S2);
	thread(&w, 2, 2);
	call(&w, hostfn_enter, A(token));
	host_write(&w, PIN, N);
	call(&w, hostfn_exit, A(token));
	expect(&w, "");
}

/* All later work waits for a copy between devices, by the runtime's reference: the driver's says no such thing. */
Test(hostfn, later_work_is_told_to_wait_for_it)
{
	for (int peer = 0; peer < 2; peer++) {
		struct world w;
		uint64_t token;

		open3(&w);
		stream(&w, 0x109, 0);
		alloc_pinned(&w, PIN, N);
		context(&w, 0xc1, 1, true);
		alloc(&w, DEV + 0x10000, N);
		context(&w, 0xc0, 0, true);
		alloc(&w, DEV + 0x20000, N);
		token = w.ticket;
		call(&w, cuLaunchHostFunc, A(0x109), A(1), A(2));
		if (peer)
			call(&w, cuMemcpyPeer, A(DEV + 0x20000), A(0xc0), A(DEV + 0x10000), A(0xc1),
			     A(256));
		h2d(&w, DEV, PIN, N, S1);
		thread(&w, 2, 2);
		call(&w, hostfn_enter, A(token));
		host_write(&w, PIN, N);
		call(&w, hostfn_exit, A(token));
		expect(&w, peer ? "HOST-WRITE-RACE:warning:1" : "HOST-WRITE-RACE:error:1");
	}
}

/* It may run before the call that enqueued it has returned. */
Test(hostfn, runs_early)
{
	struct world w;
	uint64_t token;

	open3(&w);
	thread(&w, 1, 1);
	thread(&w, 2, 2);
	alloc_pinned(&w, PIN, N);
	h2d(&w, DEV, PIN, N, S1);
	token = w.ticket++;
	thread(&w, 1, 1);
	call(&w, hostfn_enter, A(token));
	host_write(&w, PIN, N);
	thread(&w, 2, 2);
	call_begin(&w, KRT_API_cuLaunchHostFunc, A(S1), A(1), A(2));
	w.u.call.t0 = token;
	call_end(&w, 0);
	w.lane = 1;
	host_write(&w, PIN, N);
	call(&w, hostfn_exit, A(token));
	h2d(&w, DEV, PIN, N, S1);
	host_write(&w, PIN, N); /* outside again */
	expect(&w, "HOST-WRITE-RACE:error:1");
}

/* A call that began before another's return: what it waits for itself, it knows with all before. */
Test(early, waits_for_more_than_its_stream)
{
	for (int hops = 0; hops < 2; hops++) {
		struct world w;
		uint64_t began;

		open3(&w);
		thread(&w, 2, 2);
		thread(&w, 1, 1);
		alloc_pinned(&w, PIN, N);
		alloc_pinned(&w, PIN + 0x10000, N);
		d2h(&w, PIN, DEV, N, S1);
		if (hops)
			hop(&w, S1, S2, E1);
		began = w.ticket++;
		sync_stream(&w, S1);
		w.lane = 2;
		w.began = began;
		call(&w, cuMemcpyAsync, A(PIN + 0x10000), A(PIN), A(N), A(S2));
		expect(&w, hops ? "" : "HOST-READ-RACE:error:1");
	}
}

/* A note does not tell the context: its stream 0 is that of the launch. */
Test(notes, access_on_the_null_stream)
{
	struct world w;

	open3(&w);
	set(&w, DEV, N, S1);
	w.ctx = 0;
	access_note(&w, 0, DEV, N, 1);
	w.ctx = 0xc0;
	launch_of(&w, KRT_API_cuLaunchKernel, 0, 0, 0, NULL);
	expect(&w, "RACE-RAW:error:1");
}

/* A wait is in time only for what began after it had ended. */
Test(threads, late_wait)
{
	for (int late = 0; late < 2; late++) {
		struct world w;
		uint64_t t0;

		open3(&w);
		thread(&w, 1, 1);
		thread(&w, 2, 2);
		wr(&w, S1);
		t0 = w.ticket++;
		thread(&w, 1, 1);
		sync_stream(&w, S1);
		thread(&w, 2, 2);
		call_begin(&w, KRT_API_cuMemsetD8Async, A(DEV), A(0), A(N), A(S2));
		if (late)
			w.u.call.t0 = t0; /* the set began before the wait had ended */
		call_end(&w, 0);
		cr_assert_str_eq(world_close(&w), late ? "RACE-WAW:error:1" : "");
	}
}

Test(sticky, ends_judgement)
{
	struct world w;
	struct krt_report *r;

	open3(&w);
	wr(&w, S1);
	call_failed(&w, cuStreamSynchronize, 700, A(S1));
	wr(&w, S2);
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 0);
	cr_assert(r->process[0].coverage.reasons & 1u << KRT_REASON_STICKY);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* Rows that are too many to compare are not passed over in silence. */
Test(coverage, too_many_rows)
{
	for (int over = 0; over < 2; over++) {
		struct world w;
		struct krt_report *r;

		open3(&w);
		alloc(&w, DEV + 0x1000000, 64u << 20);
		for (int i = 0; i < 2; i++)
			call(&w, cuMemsetD2D8Async, A(DEV + 0x1000000 + i), A(2), A(0), A(1),
			     A((1u << 18) + over), A(i ? S2 : S1));
		r = world_report(&w);
		cr_assert_eq(r->nfindings, 0);
		cr_assert_eq(!!(r->process[0].coverage.reasons & 1u << KRT_REASON_ROWS), over);
		krt_report_destroy(r);
		krt_engine_destroy(w.e);
	}
}

Test(failed, orders_and_touches_nothing)
{
	struct world w;

	open3(&w);
	wr(&w, S1);
	record(&w, E1, S1);
	call_failed(&w, cuStreamWaitEvent, 400, A(S2), A(E1), A(0));
	call_failed(&w, cuMemsetD8Async, 1, A(DEV), A(0), A(N), A(S3));
	rd(&w, S2);
	expect(&w, "RACE-RAW:error:1");
}

/* --- a bit of everything, for memory ---------------------------------------------------------- */

static void everything(struct world *w)
{
	uint64_t dst[2] = {DEV, DEV + 32}, src[2] = {HEAP, HEAP + 64}, size[2] = {64, 64},
		 pc[5] = {1, 2, 3, 4, 5};
	uint32_t sizes[3] = {8, 4, 32};
	struct {
		struct krt_rec_params r;
		uint64_t p[6];
	} shared = {.r = {.h = {.kind = KRT_REC_PARAMS}}};
	struct {
		struct krt_rec_module r;
		char path[8];
	} module = {.r = {.h = {.kind = KRT_REC_MODULE}}};
	uint32_t id = 5;
	uint64_t token;

	context(w, 0xc0, 0, true);
	module.r.h.size = sizeof(module);
	module.r.end = 100;
	module.r.path_len = 8;
	memcpy(module.r.path, "/bin/abc", 8);
	krt_engine_feed(w->e, &module.r.h, sizeof(module), 0);
	stack(w, 1, 5, pc);
	stack(w, 2, 2, pc);
	w->stack = 1;
	stream(w, S1, NB);
	stream(w, S2, 0);
	event(w, E1);
	event(w, E2);
	name(w, S1, 0, "one");
	name(w, E1, 0, "done");
	alloc(w, DEV, N);
	name(w, DEV, N, "table");
	alloc_managed(w, DEV + 0x10000, N);
	alloc_pinned(w, PIN, N);
	call_begin(w, KRT_API_cuMemHostGetDevicePointer_v2, A(0), A(PIN), A(0));
	call_out(w, 0, DEV + 0x50000000);
	call_end(w, 0);
	set(w, DEV, N, S1);
	set(w, DEV + 64, 64, S2);
	w->stack = 2;
	d2h(w, PIN, DEV, N, S2);
	host_read(w, PIN, N);
	record(w, E1, S1);
	record(w, E1, S2);
	wait_event(w, 0, E1);
	wait_event(w, 0, E2);
	call_failed(w, cuEventRecord, 400, A(E1), A(S1));
	call(w, cuEventQuery, A(E1));
	batch_copy(w, S1, 1, 2, dst, src, size);
	call(w, free, A(HEAP), A(N));
	call(w, cuMemsetD2D8Async, A(DEV), A(64), A(0), A(32), A(70), A(S1));
	kernel(w, 7, "kernel_with_a_name", 3, sizes);
	access_note(w, S1, DEV, N, 3);
	launch(w, S1, 7, DEV, 1, DEV, PIN, 0, 0);
	launch(w, S2, 7, DEV + 8, 1, DEV, PIN, 0, 0);
	shared.r.id = 5;
	shared.r.kernel = 7;
	shared.r.len = 48;
	shared.p[0] = DEV;
	shared.p[2] = PIN;
	shared.r.h.size = sizeof(shared);
	krt_engine_feed(w->e, &shared.r.h, sizeof(shared), 0);
	call_begin(w, KRT_API_cuLaunchKernel, A(1), A(1), A(1), A(1), A(1), A(1), A(1), A(0), A(S1),
		   A(0), A(0));
	call_blob(w, 9, KRT_BLOB_SHARED, &id, 4);
	call_end(w, 0);
	token = w->ticket;
	call(w, cuLaunchHostFunc, A(S1), A(0), A(0));
	call(w, hostfn_enter, A(token));
	call(w, hostfn_exit, A(token));
	alloc_async(w, DEV + 0x100000, N, S1);
	set(w, DEV + 0x100000, N, S2);
	call(w, cuMemFreeAsync, A(DEV + 0x100000), A(S1));
	set(w, DEV + 0x100000, N, S1);
	alloc(w, DEV + 0x100000 + 1024, 1024);
	call(w, cuStreamWaitValue32_v2, A(S2), A(DEV), A(1), A(0));
	call(w, cuStreamWriteValue32_v2, A(S1), A(DEV), A(1), A(0));
	call(w, krtsan_impl_order_release, A(9), A(S1));
	call(w, krtsan_impl_order_release, A(9), A(S2));
	call(w, krtsan_impl_order_acquire, A(9), A(S2));
	call_begin(w, KRT_API_krtsan_impl_block_alloc, A(1), A(DEV), A(256), A(S1));
	call_end(w, 0);
	launch(w, S2, 7, DEV + 8, 1, DEV, PIN, 0, 0);
	call_begin(w, KRT_API_cuArrayCreate_v2, A(0), A(0));
	call_out(w, 0, 0x8800);
	call_end(w, 0);
	call(w, cuMemcpyHtoA_v2, A(0x8800), A(0), A(PIN), A(64));
	call(w, cuArrayDestroy, A(0x8800));
	call_begin(w, KRT_API_cuMemCreate, A(0), A(0x200000), A(0), A(0));
	call_out(w, 0, 0x77);
	call_end(w, 0);
	call(w, cuMemMap, A(DEV + 0x200000), A(0x200000), A(0), A(0x77), A(0));
	call(w, cuMemRelease, A(0x77));
	set(w, DEV + 0x200000, N, S1);
	call(w, cuMemUnmap, A(DEV + 0x200000), A(0x200000));
	call(w, cuMemcpyPeer, A(DEV), A(0xc0), A(DEV + 0x10000), A(0xc1), A(64));
	call(w, cuCtxRecordEvent, A(0xc0), A(E2));
	call(w, cuCtxWaitEvent, A(0xc0), A(E2));
	call(w, cuMemFree_v2, A(DEV));
	call(w, cuMemFreeHost, A(PIN));
	call(w, cuStreamBeginCapture_v2, A(S1), A(0));
	set(w, DEV, N, S1);
	record(w, E1, S1);
	call_begin(w, KRT_API_cuStreamEndCapture, A(S1), A(0));
	call_end(w, 0);
	sync_ctx(w);
	call(w, cuStreamDestroy_v2, A(S1));
	call(w, cuEventDestroy_v2, A(E1));
	call(w, cuCtxDestroy_v2, A(0xc0));
}

Test(memory, everything_is_given_back)
{
	struct world w;

	world_open(&w, NULL);
	everything(&w);
	cr_assert_gt(strlen(world_close(&w)), 50);
}

Test(memory, every_allocation_fails_once)
{
	unsigned long n;

	for (n = 1;; n++) {
		struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000, .fail_at = n};
		struct krt_report *r;
		struct world w;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		everything(&w);
		r = world_report(&w);
		cr_assert_not_null(r);
		if (w.rc == 0) {
			krt_report_destroy(r);
			krt_engine_destroy(w.e);
			break;
		}
		cr_assert_eq(w.rc, -12);
		cr_assert(r->process[0].coverage.reasons & 1u << KRT_REASON_INTERNAL);
		krt_report_destroy(r);
		krt_engine_destroy(w.e);
	}
	cr_assert_gt(n, 200);
}

/* A long loop over a constant working set stays flat. */
static uint64_t peak_of(int rounds)
{
	struct world w;
	struct krt_report *r;
	uint64_t peak;

	open3(&w);
	alloc_pinned(&w, PIN, N);
	kernel(&w, 7, "k", 1, NULL);
	for (int i = 0; i < rounds; i++) {
		h2d(&w, DEV + (uint64_t)(i % 8) * 512, PIN + (uint64_t)(i % 8) * 512, 512, S1);
		hop(&w, S1, S2, E1);
		launch(&w, S2, 7, DEV + (uint64_t)(i % 64) * 64);
		hop(&w, S2, S1, E2);
		alloc_async(&w, DEV + 0x100000 + (uint64_t)(i % 16) * 0x10000, N, S1);
		set(&w, DEV + 0x100000 + (uint64_t)(i % 16) * 0x10000, N, S1);
		call(&w, cuMemFreeAsync, A(DEV + 0x100000 + (uint64_t)(i % 16) * 0x10000), A(S1));
		if (i % 100 == 99)
			sync_stream(&w, S2);
	}
	r = world_report(&w);
	cr_assert_eq(r->nfindings, 0);
	peak = r->process[0].peak_bytes;
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
	return peak;
}

Test(memory, loop_is_flat)
{
	uint64_t few = peak_of(2000), many = peak_of(20000);

	cr_assert_lt(many, few + few / 8, "%llu, then %llu", (unsigned long long)few,
		     (unsigned long long)many);
}

/* --- structs of the driver's interface -------------------------------------------------------- */

static void copy_2d(struct world *w, uint64_t dst, uint64_t x, uint64_t pitch, uint64_t width,
		    uint64_t rows, uint64_t s)
{
	CUDA_MEMCPY2D d = {0};

	d.srcMemoryType = CU_MEMORYTYPE_HOST;
	d.srcHost = (const void *)(uintptr_t)PIN;
	d.srcPitch = width;
	d.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	d.dstDevice = dst;
	d.dstXInBytes = x;
	d.dstPitch = pitch;
	d.WidthInBytes = width;
	d.Height = rows;
	call_begin(w, KRT_API_cuMemcpy2DAsync_v2, A(0), A(s));
	call_blob(w, 0, KRT_BLOB_BYTES, &d, sizeof(d));
	call_end(w, 0);
}

/* A copy by the CPU is one operation, however many rows it has. */
TWIN(structs, host_rows, "HOST-WRITE-RACE:error:1")
{
	CUDA_MEMCPY2D d = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = (void *)HEAP,
			   .srcPitch = 64,
			   .dstMemoryType = CU_MEMORYTYPE_HOST,
			   .dstHost = (void *)PIN,
			   .dstPitch = 64,
			   .WidthInBytes = 32,
			   .Height = 2};

	alloc_pinned(w, PIN, N);
	set(w, PIN, 128, S1);
	if (fixed)
		sync_stream(w, S1);
	call_begin(w, KRT_API_cuMemcpy2D_v2, A(0));
	call_blob(w, 0, KRT_BLOB_BYTES, &d, sizeof(d));
	call_end(w, 0);
}

/* Columns of one matrix: their boxes overlap, their bytes do not. */
TWIN(structs, columns, "RACE-WAW:error:1")
{
	alloc_pinned(w, PIN, N);
	copy_2d(w, DEV, 0, 64, fixed ? 32 : 33, 16, S1);
	copy_2d(w, DEV, 32, 64, 32, 16, S2);
}

TWIN(structs, box, "RACE-WAW:error:1")
{
	CUDA_MEMCPY3D d = {0};

	/* a box of 16 x 4 x 2 bytes in a volume of 64 x 8 x 4 */
	d.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	d.srcDevice = DEV + 2048;
	d.srcPitch = 16;
	d.srcHeight = 4;
	d.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	d.dstDevice = DEV;
	d.dstPitch = 64;
	d.dstHeight = 8;
	d.dstXInBytes = 16;
	d.dstY = 2;
	d.dstZ = 1;
	d.WidthInBytes = 16;
	d.Height = 4;
	d.Depth = 2;
	call_begin(w, KRT_API_cuMemcpy3DAsync_v2, A(0), A(S1));
	call_blob(w, 0, KRT_BLOB_BYTES, &d, sizeof(d));
	call_end(w, 0);
	/* the last byte of the box's last row, or the one behind it */
	set(w, DEV + 2 * 512 + 5 * 64 + 31 + fixed, 1, S2);
}

TWIN(structs, batch_3d, "RACE-WAW:error:1")
{
	CUDA_MEMCPY3D_BATCH_OP op[2];

	memset(op, 0, sizeof(op));
	for (int i = 0; i < 2; i++) {
		op[i].src.type = op[i].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
		op[i].src.op.ptr.ptr = DEV + 2048;
		op[i].dst.op.ptr.ptr = DEV + (i ? (fixed ? 32 : 31) : 0);
		op[i].dst.op.ptr.rowLength = 64;
		op[i].extent.width = 32;
		op[i].extent.height = 4;
		op[i].extent.depth = 1;
		op[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	}
	call_begin(w, KRT_API_cuMemcpy3DBatchAsync_v2, A(2), A(0), A(0), A(S1));
	call_blob(w, 1, KRT_BLOB_BYTES, op, sizeof(op));
	call_end(w, 0);
}

TWIN(structs, batch_mem_op, "RACE-RAW:error:1")
{
	CUstreamBatchMemOpParams p;

	memset(&p, 0, sizeof(p));
	alloc(w, DEV + 0x10000, 64);
	wr(w, S1);
	p.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	p.writeValue.address = DEV + 0x10000;
	p.writeValue.value64 = 1ull << 40;
	p.writeValue.flags = fixed ? 0 : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
	call_begin(w, KRT_API_cuStreamBatchMemOp_v2, A(S1), A(1), A(0), A(0));
	call_blob(w, 2, KRT_BLOB_BYTES, &p, sizeof(p));
	call_end(w, 0);
	call(w, cuStreamWaitValue64_v2, A(S2), A(DEV + 0x10000), A(1ull << 40), A(1));
	rd(w, S2);
}

/* An event that fires when the kernel's blocks have started says nothing of the kernel. */
TWIN(structs, launch_completion_event, "RACE-RAW:error:1")
{
	struct {
		CUlaunchConfig cfg;
		CUlaunchAttribute a;
	} b;

	memset(&b, 0, sizeof(b));
	b.cfg.hStream = (CUstream)(uintptr_t)S1;
	b.a.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
	b.a.value.launchCompletionEvent.event = (CUevent)(uintptr_t)E1;
	access_note(w, S1, DEV, 64, 2);
	call_begin(w, KRT_API_cuLaunchKernelEx, A(0), A(0xf0), A(0), A(0));
	call_blob(w, 0, KRT_BLOB_BYTES, &b, sizeof(b));
	call_end(w, 0);
	if (fixed)
		record(w, E1, S1);
	wait_event(w, S2, E1);
	kernel_reads(w, S2, DEV, 64);
}

/* A cooperative launch over two devices starts after, and ends before, the work of both streams. */
TWIN(structs, multi_device, "RACE-RAW:error:1")
{
	CUDA_LAUNCH_PARAMS p[2];

	memset(p, 0, sizeof(p));
	p[0].hStream = (CUstream)(uintptr_t)S1;
	p[1].hStream = (CUstream)(uintptr_t)S2;
	wr(w, S1);
	call_begin(w, KRT_API_cuLaunchCooperativeKernelMultiDevice, A(0), A(2), A(fixed ? 0 : 3));
	call_blob(w, 0, KRT_BLOB_BYTES, p, sizeof(p));
	call_end(w, 0);
	rd(w, S2);
}

/* cuMemcpyPeer within one device is an operation of the legacy stream and no more ... */
TWIN(structs, peer_near, "RACE-WAW:error:1")
{
	alloc(w, DEV + 0x10000, N);
	wr(w, S1);
	if (fixed)
		sync_stream(w, S1);
	call(w, cuMemcpyPeer, A(DEV), A(0xc0), A(DEV + 0x10000), A(0xc0), A(N));
}

/* ... and between two serialised with all streams of the contexts, by the runtime's reference. */
TWIN(structs, peer, "RACE-RAW:warning:1")
{
	wr(w, S1);
	if (fixed)
		sync_stream(w, S1);
	context(w, 0xc1, 1, true);
	w->ctx = 0xc1;
	alloc(w, DEV + 0x10000, N);
	w->ctx = 0xc0;
	call(w, cuMemcpyPeer, A(DEV + 0x10000), A(0xc1), A(DEV), A(0xc0), A(N));
}

/* --- untrusted records
 * ---------------------------------------------------------------------------- */

Test(malformed, cut_and_torn)
{
	struct world w;
	uint64_t seed = 88172645463325252ull;

	for (int round = 0; round < 3000; round++) {
		if (round % 100 == 0)
			open3(&w);
		call_begin(&w, (enum krt_api_id)(seed % KRT_NR_APIS), A(DEV), A(DEV), A(64), A(S1),
			   A(S2), A(seed), A(0), A(1), A(S1), A(2), A(3), A(4));
		for (unsigned k = 0; k < 4; k++) {
			uint64_t junk[32];

			for (unsigned i = 0; i < 32; i++) {
				seed ^= seed << 13;
				seed ^= seed >> 7;
				seed ^= seed << 17;
				junk[i] = seed % 5 ? seed % 7 ? seed >> (seed & 63)
							      : DEV + seed % 8192
						   : 0;
			}
			call_blob(&w, (unsigned)(seed % 11), (unsigned)(seed >> 8) % 5, junk,
				  (uint32_t)(seed >> 16) % 256);
		}
		if (seed % 3 == 0)
			w.at -= seed % 64 & ~7u;
		call_end(&w, seed % 4 ? 0 : (int)(seed % 1000));
		if (round % 100 == 99)
			world_close(&w);
	}
}

/* --- an address that another thread gets before the free is told ----------------------------- */

Test(recycled, device_memory)
{
	struct world w;
	uint64_t began;

	open3(&w);
	wr(&w, S1);
	sync_stream(&w, S1);
	began = w.ticket++;
	alloc(&w, DEV, N); /* the driver has freed it; the free has not returned */
	wr(&w, S2);
	call_begin(&w, KRT_API_cuMemFree_v2, A(DEV));
	w.u.call.t0 = began;
	call_end(&w, 0);
	wr(&w, S2);
	sync_stream(&w, S2);
	call(&w, cuMemFree_v2, A(DEV));
	wr(&w, S2); /* now it is freed */
	expect(&w, "UAF-STREAM:error:1");
}

Test(recycled, stream)
{
	struct world w;
	uint64_t began;

	open3(&w);
	began = w.ticket++;
	stream(&w, S1, NB); /* another thread's; the driver has destroyed the one before */
	wr(&w, S1);
	call_begin(&w, KRT_API_cuStreamDestroy_v2, A(S1));
	w.u.call.t0 = began;
	call_end(&w, 0);
	sync_stream(&w, S1);
	wr(&w, S2); /* ordered: it was the new one that was waited for */
	wr(&w, S1);
	expect(&w, "RACE-WAW:error:1");
}

Test(recycled, event)
{
	struct world w;
	uint64_t began;

	open3(&w);
	began = w.ticket++;
	event(&w, E1);
	wr(&w, S1);
	record(&w, E1, S1);
	call_begin(&w, KRT_API_cuEventDestroy_v2, A(E1));
	w.u.call.t0 = began;
	call_end(&w, 0);
	wait_event(&w, S2, E1);
	wr(&w, S2);
	wr(&w, S1);
	expect(&w, "RACE-WAW:error:1");
}

Test(recycled, pool_memory)
{
	struct world w;
	uint64_t began;

	open3(&w);
	alloc_async(&w, DEV + 0x100000, N, S1);
	began = w.ticket++;
	alloc_async(&w, DEV + 0x100000, N, S2);
	kernel_writes(&w, S2, DEV + 0x100000, N);
	call_begin(&w, KRT_API_cuMemFreeAsync, A(DEV + 0x100000), A(S1));
	w.u.call.t0 = began;
	call_end(&w, 0);
	kernel_writes(&w, S2, DEV + 0x100000, N);
	call(&w, cuMemFreeAsync, A(DEV + 0x100000), A(S2));
	expect(&w, "");
}

Test(recycled, pinned_memory)
{
	struct world w;
	uint64_t began;

	open3(&w);
	alloc_pinned(&w, PIN, N);
	began = w.ticket++;
	alloc_pinned(&w, PIN, N);
	h2d(&w, DEV, PIN, N, S1);
	call_begin(&w, KRT_API_cuMemFreeHost, A(PIN));
	w.u.call.t0 = began;
	call_end(&w, 0);
	h2d(&w, DEV, PIN, N, S1);
	expect(&w, "");
}
