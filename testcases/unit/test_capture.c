/* SPDX-License-Identifier: Apache-2.0 */
/* Stream captures on records made by hand: what breaks them, with and without what the driver says. */
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

#define GLOBAL	     0
#define THREAD_LOCAL 1
#define RELAXED	     2

static void open3(struct world *w)
{
	world_open(w, NULL);
	context(w, 0xc0, 0, true);
	thread(w, 1, 1);
	stream(w, S1, NB);
	stream(w, S2, NB);
	stream(w, S3, NB);
	event(w, E1);
	event(w, E2);
	alloc(w, DEV, N);
	name(w, S1, 0, "one");
	name(w, S2, 0, "two");
	name(w, S3, 0, "three");
	name(w, E1, 0, "ready");
}

#define expect(w, text) cr_assert_str_eq(world_close(w), text)

/* The texts of the one finding. */
static void expect_says(struct world *w, const char *message, const char *fix, const char *prev)
{
	struct krt_report *r = world_report(w);

	cr_assert(r);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_str_eq(krt_rules[r->finding[0].rule].id, "KRT-CAPTURE-ISOLATION");
	cr_assert(strstr(r->finding[0].message, message), "%s", r->finding[0].message);
	cr_assert(strstr(r->finding[0].fix, fix), "%s", r->finding[0].fix);
	if (prev)
		cr_assert_str_eq(r->finding[0].previous.api, prev);
	else
		cr_assert_null(r->finding[0].previous.api);
	krt_report_destroy(r);
	krt_engine_destroy(w->e);
}

static void begin_as(struct world *w, uint64_t s, unsigned mode)
{
	call(w, cuStreamBeginCapture_v2, A(s), A(mode));
}

static void end(struct world *w, uint64_t s, int result)
{
	call_begin(w, KRT_API_cuStreamEndCapture, A(s), A(0));
	if (!result)
		call_out(w, 1, 0x9000);
	call_end(w, result);
}

static void wait_failed(struct world *w, uint64_t s, uint64_t ev, int result)
{
	call_failed(w, cuStreamWaitEvent, result, A(s), A(ev), A(0));
}

static void fork_to(struct world *w, uint64_t from, uint64_t to, uint64_t ev)
{
	record(w, ev, from);
	wait_event(w, to, ev);
}

/* --- foreign events ----------------------------------------------------------------- */

Test(capture, foreign_before)
{
	struct world w;

	open3(&w);
	set(&w, DEV, N, S2);
	record(&w, E1, S2);
	begin_as(&w, S1, GLOBAL);
	wait_failed(&w, S1, E1, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "wait for event \"ready\", recorded by cuEventRecord #", "CU_EVENT_WAIT_EXTERNAL",
		    "cuEventRecord");
}

Test(capture, foreign_stream)
{
	struct world w;

	open3(&w);
	record(&w, E1, S3);
	begin_as(&w, S1, GLOBAL);
	wait_event(&w, S2, E1); /* the pool's stream waits for something else */
	set(&w, DEV, N, S2);
	record(&w, E2, S2);
	wait_failed(&w, S1, E2, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "a stream that was not forked into the capture", "fork stream \"two\" first",
		    "cuEventRecord");
}

Test(capture, external_and_recorded_again)
{
	struct world w;

	open3(&w);
	record(&w, E1, S2);
	begin_as(&w, S1, GLOBAL);
	call(&w, cuStreamWaitEvent, A(S1), A(E1), A(1));
	call(&w, cuEventRecordWithFlags, A(E2), A(S1), A(1));
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	record(&w, E1, S2);
	wait_event(&w, S1, E1);
	end(&w, S1, 0);
	expect(&w, "");
}

/* --- forks --------------------------------------------------------------------------- */

Test(capture, unjoined)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	fork_to(&w, S1, S2, E1);
	fork_to(&w, S1, S3, E2);
	set(&w, DEV, 16, S2);
	set(&w, DEV + 64, 16, S3);
	fork_to(&w, S3, S1, E2); /* joined; the other one is not */
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	expect_says(&w, "stream \"two\", pulled into it by cuStreamWaitEvent #",
		    "make stream \"one\" wait for it", "cuStreamWaitEvent");
}

Test(capture, unjoined_since_the_join)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	fork_to(&w, S1, S2, E1);
	fork_to(&w, S2, S1, E1);
	set(&w, DEV, 16, S2);
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	expect_says(&w, "holds cuMemsetD8Async #", "record an event on stream \"two\"",
		    "cuStreamWaitEvent");
}

Test(capture, joined_through_another)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	fork_to(&w, S1, S2, E1);
	fork_to(&w, S1, S3, E1);
	set(&w, DEV, 16, S2);
	fork_to(&w, S2, S3, E2);
	fork_to(&w, S3, S1, E2);
	end(&w, S1, 0);
	set(&w, DEV, 16, S1);
	expect(&w, "");
}

/* --- other captures -------------------------------------------------------------------- */

Test(capture, merge)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	begin_as(&w, S2, GLOBAL);
	record(&w, E1, S2);
	wait_failed(&w, S1, E1, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end(&w, S2, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "would join two captures", "one graph", "cuEventRecord");
}

Test(capture, unmatched_end)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	fork_to(&w, S1, S2, E1);
	end(&w, S2, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	fork_to(&w, S2, S1, E1);
	end(&w, S1, 0);
	expect_says(&w, "is called on stream \"two\"", "stream \"one\"", "cuStreamBeginCapture");
}

/* --- forbidden calls --------------------------------------------------------------------- */

Test(capture, sync_by_another_thread)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	thread(&w, 2, 2);
	call_failed(&w, cuCtxSynchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	call_failed(&w, cuCtxSynchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	w.lane = 1;
	call_failed(&w, cuMemsetD8Async, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, A(DEV), A(0), A(N),
		    A(S1));
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "by another thread, is not allowed during a capture",
		    "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL", "cuStreamBeginCapture");
}

Test(capture, alloc_by_the_same_thread)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, THREAD_LOCAL);
	call_failed(&w, cuMemAlloc_v2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, A(0), A(64));
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "in thread-local mode", "behind its end", "cuStreamBeginCapture");
}

/* Two captures: the thread's own is the one that the call broke. */
Test(capture, which_capture)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, THREAD_LOCAL);
	thread(&w, 2, 2);
	begin_as(&w, S2, THREAD_LOCAL);
	call_failed(&w, cuMemAlloc_v2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, A(0), A(64));
	end(&w, S2, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	w.lane = 1;
	end(&w, S1, 0);
	expect_says(&w, "on stream \"two\"", "behind its end", "cuStreamBeginCapture");
}

Test(capture, sync_of_the_stream)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, RELAXED);
	call_failed(&w, cuStreamSynchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, A(S1));
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "is not allowed on stream \"one\"", "behind its end", "cuStreamBeginCapture");
}

Test(capture, legacy_stream)
{
	struct world w;

	open3(&w);
	stream(&w, 0x104, 0);
	begin_as(&w, 0x104, RELAXED);
	call_failed(&w, cuMemsetD8_v2, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, A(DEV), A(0), A(N));
	end(&w, 0x104, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "uses the legacy stream", "CU_STREAM_NON_BLOCKING", "cuStreamBeginCapture");
}

Test(capture, refused_on_legacy)
{
	struct world w;

	open3(&w);
	call_failed(&w, cuStreamBeginCapture_v2, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, A(0), A(0));
	expect_says(&w, "the legacy stream cannot capture", "cuStreamCreate", NULL);
}

Test(capture, captured_event)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, RELAXED);
	record(&w, E1, S1);
	call_failed(&w, cuEventSynchronize, CUDA_ERROR_CAPTURED_EVENT, A(E1));
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	wait_failed(&w, S2, E1, CUDA_ERROR_CAPTURED_EVENT); /* a consequence */
	expect_says(&w, "it has not happened", "behind the launch", "cuEventRecord");
}

Test(capture, event_of_an_ended_capture)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, RELAXED);
	record(&w, E1, S1);
	end(&w, S1, 0);
	call_failed(&w, cuEventQuery, CUDA_ERROR_CAPTURED_EVENT, A(E1));
	expect_says(&w, "a capture that has ended", "outside of the capture", "cuEventRecord");
}

/* As drivers answer: the event is no event any more, and the wait breaks the next capture. */
Test(capture, event_of_an_ended_capture_in_another)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, RELAXED);
	record(&w, E1, S1);
	end(&w, S1, 0);
	begin_as(&w, S2, RELAXED);
	wait_failed(&w, S2, E1, CUDA_ERROR_INVALID_VALUE);
	set(&w, DEV, N, S2);
	end(&w, S2, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "in a capture that has ended", "inside of the capture", "cuEventRecord");
}

Test(capture, event_of_an_ended_capture_asked_for)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, RELAXED);
	record(&w, E1, S1);
	end(&w, S1, 0);
	call_failed(&w, cuEventSynchronize, CUDA_ERROR_INVALID_VALUE, A(E1));
	expect_says(&w, "a capture that has ended", "outside of the capture", "cuEventRecord");

	open3(&w);
	begin_as(&w, S1, RELAXED);
	record(&w, E1, S1);
	end(&w, S1, 0);
	wait_failed(&w, S2, E1, CUDA_ERROR_INVALID_VALUE);
	record(&w, E1, S1);
	wait_event(&w, S2, E1);
	expect_says(&w, "a capture that has ended", "outside of the capture", "cuEventRecord");

	open3(&w); /* of any other event it says nothing about a capture */
	call_failed(&w, cuEventQuery, CUDA_ERROR_INVALID_VALUE, A(E1));
	record(&w, E1, S1);
	call_failed(&w, cuEventQuery, CUDA_ERROR_INVALID_VALUE, A(E1));
	expect(&w, "");
}

Test(capture, wrong_thread)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, THREAD_LOCAL);
	thread(&w, 2, 2);
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	w.lane = 1;
	end(&w, S1, 0);
	expect_says(&w, "from another thread", "CU_STREAM_CAPTURE_MODE_RELAXED", "cuStreamBeginCapture");
}

Test(capture, something_unseen)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	set(&w, DEV, N, S1);
	call_failed(&w, cuMemsetD8Async, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, A(DEV), A(0), A(N),
		    A(S1));
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "cuMemsetD8Async #", "other threads", "cuStreamBeginCapture");
}

/* The call that broke it returns after another one has met it. */
Test(capture, culprit_returns_late)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	call_failed(&w, cuMemsetD8Async, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, A(DEV), A(0), A(N),
		    A(S1));
	thread(&w, 2, 2);
	call_failed(&w, cuCtxSynchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	w.lane = 1;
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "cuCtxSynchronize #", "THREAD_LOCAL", "cuStreamBeginCapture");
}

Test(capture, failed_call_before)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	call_failed(&w, cuMemsetD8Async, CUDA_ERROR_INVALID_VALUE, A(DEV), A(0), A(N), A(S1));
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect_says(&w, "had failed with 1", "check the result", "cuMemsetD8Async");
}

/* A second capture of the same site is a second one; a good one in between is none. */
Test(capture, counted)
{
	struct world w;

	open3(&w);
	for (int i = 0; i < 3; i++) {
		begin_as(&w, S1, GLOBAL);
		if (i != 1)
			call_failed(&w, cuCtxSynchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
		end(&w, S1, i != 1 ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : 0);
	}
	expect(&w, "CAPTURE-ISOLATION:error:2");
}

Test(capture, ignored)
{
	struct world w;

	open3(&w);
	w.flags = KRT_RF_IGNORE;
	begin_as(&w, S1, GLOBAL);
	call_failed(&w, cuCtxSynchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	w.flags = 0;
	end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	expect(&w, "");
}

/* --- what the driver says --------------------------------------------------------------- */

static void captured_set(struct world *w, uint64_t s, uint64_t id)
{
	struct krt_capture_rec r = {.id = id, .graph = 0x77, .node = 0x78, .status = 1};

	call_begin(w, KRT_API_cuMemsetD8Async, A(DEV), A(0), A(N), A(s));
	call_blob(w, 255, KRT_BLOB_CAPTURE, &r, sizeof(r));
	call_end(w, 0);
}

/* Begun before the records: its work is no live work. */
Test(capture, begun_unseen)
{
	struct world w;

	open3(&w);
	captured_set(&w, S1, 5);
	captured_set(&w, S2, 5);
	end(&w, S1, 0);
	set(&w, DEV, N, S3);
	expect(&w, "");
}

/* A call that the capture refused, and that did not break it. */
Test(capture, refused_and_goes_on)
{
	struct krt_capture_rec r = {.id = 5, .graph = 0x77, .node = 0x78, .status = 1};
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	captured_set(&w, S1, 5);
	call_begin(&w, KRT_API_cuMemsetD8Async, A(DEV), A(0), A(N), A(S1));
	call_blob(&w, 255, KRT_BLOB_CAPTURE, &r, sizeof(r));
	call_end(&w, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	captured_set(&w, S1, 5);
	end(&w, S1, 0);
	expect(&w, "");
}

Test(capture, live_again_after_the_end)
{
	struct world w;

	open3(&w);
	begin_as(&w, S1, GLOBAL);
	captured_set(&w, S1, 5);
	fork_to(&w, S1, S2, E1);
	captured_set(&w, S2, 5);
	fork_to(&w, S2, S1, E1);
	end(&w, S1, 0);
	set(&w, DEV, N, S1);
	set(&w, DEV, N, S2);
	expect(&w, "RACE-WAW:error:1");
}

/* Nothing is lost or leaked wherever memory runs out. */
Test(capture, no_memory)
{
	for (unsigned long i = 1; i < 400; i++) {
		struct krt_engine_config cfg = {.hot_min = 16, .possible_max = 1000, .fail_at = i};
		struct world w;

		world_open(&w, &cfg);
		if (!w.e)
			continue;
		context(&w, 0xc0, 0, true);
		stream(&w, S1, NB);
		stream(&w, S2, NB);
		event(&w, E1);
		begin_as(&w, S1, GLOBAL);
		fork_to(&w, S1, S2, E1);
		set(&w, DEV, N, S2);
		call_failed(&w, cuCtxSynchronize, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
		end(&w, S1, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
		begin_as(&w, S1, GLOBAL);
		krt_report_destroy(world_report(&w));
		krt_engine_destroy(w.e);
	}
}
