/* SPDX-License-Identifier: Apache-2.0 */
/* Whose code a frame is, names and paths of frames, and what a fingerprint holds. */
#define _GNU_SOURCE
#include "sample_report.h"

#include <criterion/criterion.h>
#include <string.h>

Test(frame, whose_code)
{
	static const struct {
		struct krt_frame frame;
		enum krt_frame_kind kind;
	} row[] = {
		{{.module = "/home/u/app", .function = "main"}, KRT_FRAME_USER},
		{{.module = "/home/u/app"}, KRT_FRAME_USER},
		{{.pc = 1}, KRT_FRAME_USER},
		{{.module = "/opt/x/libmine.so"}, KRT_FRAME_USER},
		{{.module = "/home/u/app", .internal = true}, KRT_FRAME_INTERNAL},
		{{.module = "/lib/x86_64-linux-gnu/libc.so.6", .function = "qsort"},
		 KRT_FRAME_LIBRARY},
		{{.module = "/nix/store/1-glibc/lib/libc.so.6"}, KRT_FRAME_LIBRARY},
		{{.module = "/opt/conda/lib/libstdc++.so.6.0.33"}, KRT_FRAME_LIBRARY},
		{{.module = "/home/a/.pyenv/versions/3.13.0/lib/python3.13/lib-dynload/_ctypes.so"},
		 KRT_FRAME_LIBRARY},
		{{.module = "/home/a/python3-demo/libtorch.so.d/app", .function = "step"},
		 KRT_FRAME_USER},
		{{.module = "/opt/conda/bin/python3.11", .function = "_PyEval_EvalFrameDefault"},
		 KRT_FRAME_LIBRARY},
		{{.module = "/opt/libtorch/lib/libtorch_cuda.so"}, KRT_FRAME_LIBRARY},
		{{.module = "/v/lib/python3.12/site-packages/x/_C.so"}, KRT_FRAME_LIBRARY},
		{{.module = "/lib64/libc.so.6", .function = "__libc_start_call_main"},
		 KRT_FRAME_START},
		{{.module = "/home/u/static", .function = "__libc_start_main_impl"},
		 KRT_FRAME_START},
		{{.module = "/home/u/static", .function = "start_thread"}, KRT_FRAME_START},
		/* compiled into the user's module */
		{{.module = "/home/u/app", .function = "std::thread::_Invoker<int>::operator()()"},
		 KRT_FRAME_LIBRARY},
		{{.module = "/home/u/app", .function = "void std::__invoke_impl<void>(int)"},
		 KRT_FRAME_LIBRARY},
		{{.module = "/home/u/app", .function = "my::std_copy(int)"}, KRT_FRAME_USER},
		{{.module = "/home/u/app",
		  .function = "f",
		  .file = "/usr/local/cuda-13.0/targets/x86_64-linux/include/thrust/copy.h"},
		 KRT_FRAME_LIBRARY},
		{{.module = "/home/u/app",
		  .function = "f",
		  .file = "/home/u/deps/cccl/thrust/thrust/copy.h"},
		 KRT_FRAME_LIBRARY},
		{{.module = "/home/u/app",
		  .function = "f",
		  .file = "/usr/include/c++/12/functional"},
		 KRT_FRAME_LIBRARY},
		{{.module = "/home/u/app", .function = "f", .file = "/home/u/include/cudax/copy.h"},
		 KRT_FRAME_USER},
		/* Python */
		{{.python = true, .function = "step", .file = "/home/u/train.py"}, KRT_FRAME_USER},
		{{.python = true, .function = "std::x", .file = "train.py"}, KRT_FRAME_USER},
		{{.python = true,
		  .function = "Module._call_impl",
		  .file = "/v/lib/python3.12/site-packages/torch/nn/modules/module.py"},
		 KRT_FRAME_LIBRARY},
		{{.python = true,
		  .function = "Thread.run",
		  .file = "/usr/lib/python3.11/threading.py"},
		 KRT_FRAME_LIBRARY},
		{{.python = true, .function = "_call", .file = "<frozen importlib._bootstrap>"},
		 KRT_FRAME_LIBRARY},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		cr_assert_eq(krt_frame_kind(&row[i].frame), row[i].kind, "row %u: %s %s", i,
			     row[i].frame.module, row[i].frame.function);
}

Test(frame, the_innermost_of_the_user_leads)
{
	struct krt_frame f[] = {
		{.module = "/app", .function = "cudaMalloc", .internal = true},
		{.module = "/app", .function = "thrust::copy<int>(int)"},
		{.module = "/app", .function = "fill"},
		{.module = "/app", .function = "main"},
		{.module = "/lib/libc.so.6", .function = "__libc_start_call_main"},
	};
	struct krt_stack s = STACK(f);

	cr_assert_eq(krt_stack_site(&s), &f[2]);
	s.depth = 2;
	cr_assert_eq(krt_stack_site(&s), &f[1], "a library's where there is nothing else");
	s.depth = 1;
	cr_assert_null(krt_stack_site(&s));
	s = (struct krt_stack){.depth = 1, .frame = &f[4]};
	cr_assert_null(krt_stack_site(&s));
}

static void sites_are(const struct krt_stack *cur, const struct krt_stack *prev, int at_cur,
		      int at_prev, const char *why)
{
	struct krt_finding f = {.current.stack = *cur, .previous.stack = *prev};
	const struct krt_frame *a, *b;

	krt_finding_sites(&f, &a, &b);
	cr_expect_eq(a, at_cur < 0 ? NULL : &cur->frame[at_cur], "%s", why);
	cr_expect_eq(b, at_prev < 0 ? NULL : &prev->frame[at_prev], "%s", why);
	f = (struct krt_finding){.current.stack = *prev, .previous.stack = *cur};
	krt_finding_sites(&f, &b, &a);
	cr_expect_eq(a, at_cur < 0 ? NULL : &cur->frame[at_cur], "%s, turned", why);
	cr_expect_eq(b, at_prev < 0 ? NULL : &prev->frame[at_prev], "%s, turned", why);
}

Test(frame, through_one_function_the_callers_lead)
{
#define AT(name, n, address)                                                                       \
	{                                                                                          \
		.function = name, .file = "/a.c", .line = n, .pc = address                         \
	}
	struct krt_frame x[] = {
		{.internal = true}, AT("launch", 5, 5), AT("step", 9, 9), AT("main", 30, 30)};
	struct krt_frame y[] = {{.internal = true},
				AT("launch", 5, 5),
				AT("std::invoke", 1, 1),
				AT("step", 10, 10),
				AT("main", 30, 30)};
	struct krt_frame same_line[] = {
		{.internal = true}, AT("launch", 5, 5), AT("step", 9, 8), AT("main", 30, 30)};
	struct krt_frame inlined_1[] = {AT("launch", 5, 9), AT("step", 9, 9), AT("main", 30, 30)};
	struct krt_frame inlined_2[] = {AT("launch", 5, 8), AT("step", 9, 8), AT("main", 30, 30)};
	struct krt_frame direct[] = {AT("step", 8, 7), AT("main", 30, 30)};
	struct krt_frame other_line[] = {AT("launch", 6, 6), AT("step", 9, 9), AT("main", 30, 30)};
	struct krt_frame bare_1[] = {{.module = "/app", .offset = 5, .pc = 5},
				     {.module = "/app", .offset = 9, .pc = 9}};
	struct krt_frame bare_2[] = {{.module = "/app", .offset = 5, .pc = 5},
				     {.module = "/app", .offset = 7, .pc = 7}};
	struct krt_stack a = STACK(x), b = STACK(y), none = {0};
	struct krt_stack a_same = STACK(same_line), in1 = STACK(inlined_1), in2 = STACK(inlined_2);
	struct krt_stack d = STACK(direct), o = STACK(other_line);
	struct krt_stack b1 = STACK(bare_1), b2 = STACK(bare_2), shorter = STACK(x);

	y[2].file = "/usr/include/c++/12/bits/invoke.h";
	shorter.depth = 2;
	sites_are(&a, &b, 2, 3, "the line of step");
	sites_are(&a, &a_same, 2, 2, "two calls in one line");
	sites_are(&in1, &in2, 1, 1, "the same, inlined");
	sites_are(&a, &a, 1, 1, "a loop");
	sites_are(&a, &shorter, 1, 1, "no frame that differs is known");
	sites_are(&a, &o, 1, 0, "another line of launch");
	sites_are(&a, &d, 2, 0, "one of step itself, one through launch");
	d = (struct krt_stack){.depth = 1, .frame = direct + 1};
	sites_are(&a, &d, 1, 0, "one of main itself");
	sites_are(&b1, &b2, 1, 1, "without names");
	sites_are(&a, &none, 1, -1, "one operation");
#undef AT
}

Test(frame, a_runtime_that_is_linked_statically)
{
	/* what nvcc puts into a program */
	static const char *const function[] = {
		"libcudart_static_7e4b2d1c3a5f6980",
		"cudaMemcpyAsync_ptsz",
		"cudaMalloc",
		"cudaError cudaMallocAsync<float>(float**, unsigned long, CUstream_st*)",
		"__cudaUnregisterBinaryUtil()",
		"__sti____cudaRegisterAll()",
		"__nv_cudaEntityRegisterCallback(void**)",
	};

	for (unsigned i = 0; i < sizeof(function) / sizeof(*function); i++) {
		struct krt_frame f[] = {
			{.internal = true}, {.function = function[i]}, {.function = "main"}};
		struct krt_stack s = STACK(f);

		krt_stack_fold(&s);
		cr_assert(f[1].internal, "%s", function[i]);
		cr_assert_not(f[2].internal);
	}
}

Test(frame, a_runtime_that_the_user_wrote)
{
	struct krt_frame f[] = {
		{.function = "cuLaunchKernel", .internal = true},
		{.function = "cudaLaunchKernel"},
		{.function = "cudaCheckedLaunch", .file = "/home/u/launch.cc"},
	};
	struct krt_stack s = STACK(f);

	krt_stack_fold(&s);
	cr_assert(f[1].internal);
	cr_assert_not(f[2].internal, "it has lines, and they are not in CUDA's headers");
}

Test(frame, names_that_compilers_agree_on)
{
	static const struct {
		const char *readable, *plain;
	} row[] = {
		{"main", "main"},
		{"", ""},
		{"step.constprop.0", "step"},
		{"step.part.3.isra.0.cold", "step"},
		{".cold", ".cold"},
		{"step(float*) [clone .constprop.0]", "step"},
		{"void app::run<int, std::vector<float> >(int)", "app::run"},
		{"app::ring<char, 4096>::pop(unsigned long long)", "app::ring::pop"},
		{"main::{lambda(float*, int)#2}::operator()(float*, int) const",
		 "main::{lambda#2}::operator()"},
		{"(anonymous namespace)::grow(unsigned long)", "(anonymous namespace)::grow"},
		{"_INTERNAL_1d6e7d5f_4_k_cu_7ac5f7d1::grow(int)", "(anonymous namespace)::grow"},
		{"name[abi:cxx11](int)", "name"},
		{"bool app::operator<(app::x const&, app::x const&)", "app::operator<"},
		{"app::x::operator bool() const", "app::x::operator bool"},
		{"app::x::operator->() const", "app::x::operator->"},
		{"_Z", "_Z"},
		{"operator", "operator"},
		{"a<b", "a"},
		{")>}]", ")>}]"},
		{"x::{lambda", "x::{lambda"},
	};
	char plain[KRT_SHORT_NAME], longest[400];

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		krt_readable_plain(row[i].readable, plain);
		cr_assert_str_eq(plain, row[i].plain, "%s: %s", row[i].readable, plain);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	krt_readable_plain(longest, plain);
	cr_assert_eq(strlen(plain), KRT_SHORT_NAME - 1);
}

Test(frame, paths_of_sources)
{
	cr_assert_str_eq(krt_source_path("/src/a/b.c", "/src"), "a/b.c");
	cr_assert_str_eq(krt_source_path("/src/a/b.c", "/src//"), "a/b.c");
	cr_assert_str_eq(krt_source_path("/srcs/b.c", "/src"), "/srcs/b.c");
	cr_assert_str_eq(krt_source_path("/src/", "/src"), "/src/");
	cr_assert_str_eq(krt_source_path("b.c", "/src"), "b.c");
	cr_assert_str_eq(krt_source_path("/src/b.c", ""), "/src/b.c");
	cr_assert_str_eq(krt_source_path("/src/b.c", NULL), "/src/b.c");
	cr_assert_str_eq(krt_source_path("/src/b.c", "/"), "/src/b.c");
}

/* --- fingerprints ------------------------------------------------------------------ */

static struct krt_frame frames[6];
static struct krt_finding finding;

static void setup(void)
{
	static const struct krt_frame usual[6] = {
		{.module = "/usr/lib/libkrtsan.so", .internal = true},
		{.module = "/a/lib/libfast.so.1.2.3", .offset = 1},
		{.module = "/a/app",
		 .function = "app::run<int>(int)",
		 .file = "/a/run.cc",
		 .line = 4},
		{.module = "/a/app", .function = "main", .file = "/a/main.c", .line = 9},
		{.module = "/lib/libc.so.6", .function = "__libc_start_call_main"},
		{.module = "/lib/libc.so.6", .function = "__libc_start_main@@GLIBC_2.34"},
	};

	memcpy(frames, usual, sizeof(frames));
	finding = (struct krt_finding){
		.rule = KRT_RULE_RACE_RAW,
		.current = {.what = "read",
			    .api = "kernel _Z1fIiEvT_",
			    .kernel = "_Z1fIiEvT_",
			    .stack = STACK(frames)},
		.previous = {.what = "write", .api = "cuMemcpyHtoDAsync"},
	};
}

TestSuite(fingerprint, .init = setup);

Test(fingerprint, the_same_on_another_machine)
{
	uint64_t was = krt_fingerprint(&finding);

	frames[1].module = "/opt/b/libfast.so.1.2.9";
	frames[1].offset = 99;
	frames[2].module = frames[3].module = "/srv/ci/build-77/app";
	frames[2].function = "void app::run<long>(long)";
	frames[2].file = "/srv/ci/src/run.cc";
	frames[2].line += 20;
	frames[4].function = "generic_start_main";
	frames[5] = (struct krt_frame){.module = "/lib64/ld-linux-x86-64.so.2"};
	cr_assert_eq(krt_fingerprint(&finding), was);
	frames[2].function = "app::walk<int>(int)";
	cr_assert_neq(krt_fingerprint(&finding), was);
}

Test(fingerprint, kernels_of_a_file_of_its_own)
{
	uint64_t was;

	finding.current.kernel = "_ZN36_GLOBAL__N__1d6e7d5f_4_k_cu_7ac5f7d15scaleEPf";
	was = krt_fingerprint(&finding);
	finding.current.kernel = "_ZN36_GLOBAL__N__ffffffff_4_k_cu_000000005scaleEPf";
	cr_assert_eq(krt_fingerprint(&finding), was);
	finding.current.kernel = "_ZN36_GLOBAL__N__ffffffff_4_k_cu_000000005clearEPf";
	cr_assert_neq(krt_fingerprint(&finding), was);
	finding.current.kernel = "__nv_static_31__1234_k_cu__Z1fIiEvT_";
	was = krt_fingerprint(&finding);
	finding.current.kernel = "__nv_static_31__9999_k_cu__Z1fIiEvT_";
	cr_assert_eq(krt_fingerprint(&finding), was);
	/* damaged ones */
	finding.current.kernel = "_ZN99999999999999999999_GLOBAL__N_";
	krt_fingerprint(&finding);
	finding.current.kernel = "";
	krt_fingerprint(&finding);
}

Test(fingerprint, stripped_and_python)
{
	uint64_t was;

	frames[2].function = frames[3].function = NULL;
	was = krt_fingerprint(&finding);
	frames[2].pc = frames[2].offset = 0x4444;
	cr_assert_eq(krt_fingerprint(&finding), was);
	frames[3].module = "/a/other";
	cr_assert_neq(krt_fingerprint(&finding), was);

	frames[2] = (struct krt_frame){.python = true,
				       .function = "Net.step.<locals>.run",
				       .file = "/a/train.py",
				       .line = 3};
	was = krt_fingerprint(&finding);
	frames[2].file = "/b/train.py";
	frames[2].line = 23;
	cr_assert_eq(krt_fingerprint(&finding), was);
	frames[2].function = "Net.step.<locals>.walk";
	cr_assert_neq(krt_fingerprint(&finding), was);
}
