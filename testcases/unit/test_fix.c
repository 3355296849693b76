/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding's fix in the user's API: which API stacks tell of, the lines to paste, the
 * sentence, names that are no identifiers.
 */
#include "analyzer/user_api.h"

#include <criterion/criterion.h>
#include <string.h>

static struct krt_frame cur_frame[3], prev_frame[3];
static struct krt_report *r;
static struct krt_finding *f;
static const struct krt_user_process nothing;

static void frame(struct krt_frame *at, const char *module, const char *function, const char *file,
		  unsigned line)
{
	*at = (struct krt_frame){
		.pc = 1, .module = module, .function = function, .file = file, .line = line};
}

/* A race of the driver's API at two lines. */
static void setup(void)
{
	r = krt_report_new();
	f = krt_report_add_finding(r);
	f->rule = KRT_RULE_RACE_RAW;
	f->level = KRT_LEVEL_ERROR;
	f->fix = "wait: cuStreamSynchronize, cuMemFreeAsync or xcuMemFree";
	f->message = "a message";
	f->edge = (struct krt_missing){.kind = KRT_EDGE_WAIT_KIND,
				       .record_after = 10,
				       .wait_before = 20,
				       .record_stream = "stream 3 (0x55d0)",
				       .wait_stream = "stream \"my copy\""};
	f->previous = (struct krt_operation){.api = "cuMemcpyHtoDAsync", .sequence = 10};
	f->current = (struct krt_operation){.api = "kernel k", .sequence = 20};
	frame(&prev_frame[0], "/home/u/app", "load", "/home/u/loader.cc", 57);
	frame(&prev_frame[1], "/home/u/app", "main", "/home/u/main.cc", 1);
	frame(&cur_frame[0], "/home/u/app", "run", "/home/u/model.cc", 211);
	frame(&cur_frame[1], "/home/u/app", "main", "/home/u/main.cc", 2);
	f->previous.stack = (struct krt_stack){2, prev_frame};
	f->current.stack = (struct krt_stack){2, cur_frame};
}

static void teardown(void)
{
	krt_report_destroy(r);
}

TestSuite(fix, .init = setup, .fini = teardown);

static void fixed(const char *code, const char *sentence)
{
	krt_user_fix(f, &nothing, r->arena);
	cr_assert_str_eq(f->edge.code, code);
	cr_assert_str_eq(f->fix, sentence);
}

Test(fix, driver)
{
	fixed("CUevent done; cuEventCreate(&done, CU_EVENT_DISABLE_TIMING);  // once\n"
	      "cuEventRecord(done, stream3);  // after loader.cc:57\n"
	      "cuStreamWaitEvent(my_copy, done, 0);  // before model.cc:211\n"
	      "// stream3: stream 3, of loader.cc:57",
	      "wait: cuStreamSynchronize, cuMemFreeAsync or xcuMemFree");
}

Test(fix, runtime)
{
	cur_frame[2] = cur_frame[1];
	cur_frame[1] = cur_frame[0];
	frame(&cur_frame[0], "/opt/lib/libcudart.so.13", NULL, NULL, 0);
	cur_frame[0].internal = true;
	f->current.stack.depth = 3;
	fixed("cudaEvent_t done; cudaEventCreateWithFlags(&done, cudaEventDisableTiming);  // "
	      "once\n"
	      "cudaEventRecord(done, stream3);  // after loader.cc:57\n"
	      "cudaStreamWaitEvent(my_copy, done, 0);  // before model.cc:211\n"
	      "// stream3: stream 3, of loader.cc:57",
	      "wait: cudaStreamSynchronize, cudaFreeAsync or xcuMemFree");
}

Test(fix, python_without_torch)
{
	cur_frame[0].python = true;
	fixed("CUevent done; cuEventCreate(&done, CU_EVENT_DISABLE_TIMING);  # once\n"
	      "cuEventRecord(done, stream3);  # after loader.cc:57\n"
	      "cuStreamWaitEvent(my_copy, done, 0);  # before model.cc:211\n"
	      "# stream3: stream 3, of loader.cc:57",
	      "wait: cuStreamSynchronize, cuMemFreeAsync or xcuMemFree");
}

/* Behind a call that is neither operation. */
Test(fix, join)
{
	struct krt_frame work = {.pc = 1, .function = "work", .file = "/home/u/work.cc", .line = 7};

	f->edge.kind = KRT_EDGE_JOIN_KIND;
	f->edge.record_after = 15;
	f->mention[0] = (struct krt_mention){.sequence = 12, .stack = {1, &prev_frame[0]}};
	f->mention[1] = (struct krt_mention){
		.sequence = 15, .thing = "event 0x1", .stack = {1, &prev_frame[0]}};
	f->mention[2] = (struct krt_mention){.sequence = 15, .stack = {1, &work}};
	fixed("CUevent done; cuEventCreate(&done, CU_EVENT_DISABLE_TIMING);  // once\n"
	      "cuEventRecord(done, stream3);  // after work.cc:7\n"
	      "cuStreamWaitEvent(my_copy, done, 0);  // before the end of the capture at "
	      "model.cc:211\n"
	      "// stream3: stream 3, of work.cc:7",
	      "wait: cuStreamSynchronize, cuMemFreeAsync or xcuMemFree");
}

Test(fix, torch)
{
	prev_frame[0].module = "/x/torch/lib/libtorch_cuda.so";
	prev_frame[0].file = NULL;
	frame(&prev_frame[1], NULL, "step", "/home/u/train.py", 30);
	prev_frame[1].python = true;
	frame(&cur_frame[0], NULL, "step", "/home/u/train.py", 33);
	cur_frame[0].python = true;
	f->edge.wait_stream = "legacy stream";
	fixed("torch.cuda.current_stream().wait_stream(side)  # before train.py:33\n"
	      "# side: stream 3, of train.py:30",
	      "make legacy stream, current at #20, wait for stream 3 before that: "
	      "torch.cuda.current_stream().wait_stream(side)");
}

Test(fix, torch_host)
{
	prev_frame[0].module = "/x/torch/lib/libc10_cuda.so";
	f->edge.kind = KRT_EDGE_HOST_KIND;
	f->edge.host = true;
	f->edge.wait_stream = NULL;
	f->edge.record_stream = "legacy stream";
	krt_user_fix(f, &nothing, r->arena);
	cr_assert_str_eq(f->edge.code,
			 "torch.cuda.default_stream().synchronize()  # before model.cc:211");
}

Test(fix, torch_reuse)
{
	prev_frame[0].module = "/x/torch/lib/libc10_cuda.so";
	f->edge.kind = KRT_EDGE_REUSE_KIND;
	f->buffer.freed_at = (struct krt_stack){1, &cur_frame[1]};
	krt_user_fix(f, &nothing, r->arena);
	cr_assert_str_eq(
		f->edge.code,
		"tensor.record_stream(side)  # after main.cc:1; tensor: the one that is "
		"given up at main.cc:2\n# side: stream 3, of main.cc:1");
}

Test(fix, a_free_in_stream_order)
{
	frame(&cur_frame[0], "/home/u/app", "libcudart_static_1234abcd", NULL, 0);
	f->edge.kind = KRT_EDGE_FREE_KIND;
	f->edge.host = true;
	f->edge.wait_stream = NULL;
	krt_user_fix(f, &nothing, r->arena);
	cr_assert(strstr(f->edge.code, "cudaFreeAsync(memory, stream3);"), "%s", f->edge.code);
}

/* Every kind of order has lines in every API. */
Test(fix, every_kind_in_every_api)
{
	for (unsigned api = 0; api < KRT_NR_USER_APIS; api++)
		for (unsigned k = KRT_EDGE_NONE_KIND + 1; k < KRT_NR_EDGE_KINDS; k++) {
			teardown();
			setup();
			prev_frame[0].module = api == KRT_USER_TORCH	 ? "/x/libtorch_cuda.so"
					       : api == KRT_USER_RUNTIME ? "/x/libcudart.so.12"
									 : "/home/u/app";
			f->edge.kind = k;
			krt_user_fix(f, &nothing, r->arena);
			cr_assert_eq(f->edge.api, api);
			cr_assert(f->edge.code && *f->edge.code, "kind %u, api %u", k, api);
			cr_assert(!strpbrk(f->edge.code, "{}"), "%s", f->edge.code);
			cr_assert(!strpbrk(f->fix, "{}"), "%s", f->fix);
		}
}

/* Names are the program's own: they stay what they are, on their line. */
Test(fix, hostile_names)
{
	f->edge.record_stream = "stream \"9a\n\"; system(1)\"";
	f->edge.wait_stream = "stream \"done\"";
	prev_frame[0].file = "/x/a\nb.c";
	krt_user_fix(f, &nothing, r->arena);
	cr_assert_str_eq(
		f->edge.code,
		"CUevent done_event; cuEventCreate(&done_event, CU_EVENT_DISABLE_TIMING);  "
		"// once\n"
		"cuEventRecord(done_event, _9a____system_1_);  // after a?b.c:57\n"
		"cuStreamWaitEvent(done, done_event, 0);  // before model.cc:211");
}

/* The waiting thread cannot name the other one's stream. */
Test(fix, per_thread_stream)
{
	f->edge.kind = KRT_EDGE_HOST_KIND;
	f->edge.host = true;
	f->edge.wait_stream = NULL;
	f->edge.record_stream = "per-thread stream of thread 2";
	fixed("CUevent done; cuEventCreate(&done, CU_EVENT_DISABLE_TIMING);  // once\n"
	      "cuEventRecord(done, CU_STREAM_PER_THREAD);  // after loader.cc:57\n"
	      "cuEventSynchronize(done);  // before model.cc:211",
	      f->fix);
}

Test(fix, a_name_of_several_streams)
{
	f->edge.record_stream = "stream \"copy\" (3)";
	f->edge.wait_stream = "stream \"copy\" (4)";
	fixed("CUevent done; cuEventCreate(&done, CU_EVENT_DISABLE_TIMING);  // once\n"
	      "cuEventRecord(done, copy3);  // after loader.cc:57\n"
	      "cuStreamWaitEvent(copy4, done, 0);  // before model.cc:211\n"
	      "// copy3: stream \"copy\" (3), of loader.cc:57\n"
	      "// copy4: stream \"copy\" (4), of model.cc:211",
	      f->fix);
}

Test(fix, two_streams_of_one_name)
{
	f->edge.record_stream = "stream \"s-1\"";
	f->edge.wait_stream = "stream \"s.1\"";
	krt_user_fix(f, &nothing, r->arena);
	cr_assert(strstr(f->edge.code, "(done, s_1)") && strstr(f->edge.code, "(s_12, done"), "%s",
		  f->edge.code);
}

Test(fix, stacks_that_say_nothing)
{
	const struct krt_user_process runtime = {.runtime = true},
				      torch = {.runtime = true, .torch = true};

	cr_assert_eq(krt_user_api_of(f, &torch), KRT_USER_DRIVER, "the stacks tell");
	f->current.stack.depth = f->previous.stack.depth = 0;
	cr_assert_eq(krt_user_api_of(f, &nothing), KRT_USER_DRIVER);
	cr_assert_eq(krt_user_api_of(f, &runtime), KRT_USER_RUNTIME);
	cr_assert_eq(krt_user_api_of(f, &torch), KRT_USER_TORCH);
	krt_user_fix(f, &runtime, r->arena);
	cr_assert(strstr(f->edge.code, "// after #10\n"), "%s", f->edge.code);
	cr_assert(strstr(f->edge.code, "// before #20\n"), "%s", f->edge.code);
}

Test(fix, without_an_order)
{
	f->edge = (struct krt_missing){0};
	frame(&cur_frame[0], "/opt/lib/libcudart.so.13", NULL, NULL, 0);
	krt_user_fix(f, &nothing, r->arena);
	cr_assert_null(f->edge.code);
	cr_assert_str_eq(f->fix, "wait: cudaStreamSynchronize, cudaFreeAsync or xcuMemFree");
}
