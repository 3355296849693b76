/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text report: what a reader must find in it, what must never be in it.
 */
#define _GNU_SOURCE
#include "analyzer/demangle.h"
#include "sample_report.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *text;

static void render(const struct krt_report *r, struct krt_writer w)
{
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(krt_write_text(out, r, &w), 0);
	fclose(out);
}

static const char *last_line(void)
{
	char *end = text + strlen(text) - 1, *nl;

	cr_assert_eq(*end, '\n');
	*end = 0;
	nl = strrchr(text, '\n');
	*end = '\n';
	return nl ? nl + 1 : text;
}

Test(text, a_finding_says_it_all)
{
	static const char *const line[] = {
		"==4711== krtsan: error KRT-RACE-RAW (certain)  [id 00003f9c21a07b44]\n",
		"==4711==   the copy reads what the other still writes\n",
		/* library frames folded, the call site leads, nothing below main */
		"==4711==   read at model.cc:211 forward <- main.cc:8 main\n",
		"==4711==     by cuMemcpyDtoHAsync_v2 #1842 on stream 3 (0x55d0)\n",
		"==4711==   after write at libapp.so+0x4000 <- 0x42\n",
		"==4711==     by cuLaunchKernel #1839 \"gemm_f16\" on stream 2 (0x55c0) "
		"(annotation: declared by the program)\n",
		"==4711==   bytes +0x0..+0x400000 (4 MiB) of device memory \"act0\" (64 MiB) at "
		"0x7f1000000000\n",
		"==4711==     allocated by cuMemAlloc_v2 #12 at model.cc:211 forward <- main.cc:8 "
		"main\n",
		"==4711==     freed by cuMemFree_v2 #20\n",
		"==4711==   order that exists: stream 3 last waited for stream 2 at #1790\n",
		"==4711==   missing edge: #1839 on stream 2 to #1842 on stream 3\n",
		"==4711==   fix: record an event on stream 2 after #1839",
		"==4711==     + cuEventRecord(e, s2); /* behind #1839 */\n",
		"==4711==     + cuStreamWaitEvent(s3, e, 0);\n",
		"==4711==     verified: with this edge the finding and 2 others disappear\n",
		"==4711==   seen 1,200 times\n",
		"==4711== SUMMARY: krtsan: error KRT-RACE-RAW model.cc:211 in forward\n",
	};
	static const uint64_t also[] = {1, 2};
	struct krt_report *r = sample_report();
	const char *at;

	r->finding[0].edge = (struct krt_missing){
		.record_after = 1839,
		.wait_before = 1842,
		.code = "cuEventRecord(e, s2); /* behind #1839 */\ncuStreamWaitEvent(s3, e, 0);\n",
		.verified = KRT_VERIFIED_REMOVES,
		.nalso = 2,
		.also = also,
	};
	render(r, (struct krt_writer){ .pid = 4711, .show = KRT_LIKELY, .strip = "/src" });
	at = text;
	for (unsigned i = 0; i < sizeof(line) / sizeof(*line); i++) {
		at = strstr(at, line[i]);
		cr_assert(at, "line %u missing or out of place: %s\n%s", i, line[i], text);
	}
	cr_assert(strstr(text, "documented view only"));
	cr_assert_str_eq(last_line(),
			 "==4711== krtsan: 1 error, 1 warning, 1 note; findings; analysis complete "
			 "(18,205 calls, 0 dropped)\n");
	cr_assert_not(strstr(text, "KRT-PERF-SYNC-HOT"), "possible ones are only counted");
	cr_assert(strstr(text, "1 finding below show=likely not shown"));
	free(text);
	krt_report_destroy(r);
}

Test(text, kernels_by_their_readable_names)
{
	static const struct {
		const char *name, *brief;
	} row[] = {
		{"scale", "scale"},
		{"", ""},
		{"_Z5saxpyPKfPfmf", "saxpy"},
		{"_Z1fIfLi4EEvPT_i", "f<float, 4>"},
		{"__nv_static_42__1234_a_cu__Z1fIfLi4EEvPT_i", "f<float, 4>"},
		{"_ZN12_GLOBAL__N_11kIiEEvT_", "(anonymous namespace)::k<int>"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"
		 "St5arrayIPcLm3EEEEviT0_T1_",
		 "at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
		 "...>"},
	};
	char brief[KRT_SHORT_NAME], longest[300];

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		krt_demangle_short(row[i].name, brief);
		cr_assert_str_eq(brief, row[i].brief);
	}
	/* no more than fits, and no half of a character */
	for (unsigned from = 0; from < 4; from++) {
		memset(longest, 'a', from);
		for (unsigned i = from; i + 2 < sizeof(longest); i += 2)
			memcpy(longest + i, "\xc3\xa9", 3);
		krt_demangle_short(longest, brief);
		cr_assert_leq(strlen(brief), KRT_SHORT_NAME - 1);
		cr_assert_str_eq(brief + strlen(brief) - 3, "...");
		for (const char *c = brief; *c; c += krt_utf8_length(c))
			cr_assert_gt(krt_utf8_length(c), 0);
	}
}

Test(text, an_operation_of_a_kernel_has_its_readable_name)
{
	struct krt_report *r = sample_report();

	for (size_t i = 0; i < r->nfindings; i++)
		if (r->finding[i].previous.api) {
			r->finding[i].previous.api = "kernel _Z5saxpyPKfPfmf";
			r->finding[i].previous.kernel = "_Z5saxpyPKfPfmf";
		}
	render(r, (struct krt_writer){ .pid = 4711 });
	cr_assert(strstr(text, "    by kernel saxpy #1839 on stream 2"), "%s", text);
	cr_assert_not(strstr(text, "_Z5saxpy"));
	free(text);
	krt_report_destroy(r);
}

Test(text, bytes_without_a_known_end_have_none)
{
	struct krt_report *r = sample_report();
	struct krt_buffer *b = &r->finding[0].buffer;

	cr_assert_str_eq(b->name, "act0");
	b->offset = 0x40;
	b->len = 1;
	render(r, (struct krt_writer){ .pid = 4711 });
	cr_assert(strstr(text, "   bytes +0x40..+0x41 (1 byte) of device memory"), "%s", text);
	free(text);
	b->gaps = true;
	render(r, (struct krt_writer){ .pid = 4711 });
	cr_assert(strstr(text, "   within bytes +0x40..+0x41 (1 byte) of device memory"), "%s",
		  text);
	free(text);
	b->open = true;
	render(r, (struct krt_writer){ .pid = 4711 });
	cr_assert(strstr(text, "   bytes from +0x40 on of device memory"), "%s", text);
	free(text);
	krt_report_destroy(r);
}

Test(text, one_screen_a_finding)
{
	struct krt_report *r = sample_report();
	unsigned lines = 0;

	r->nfindings = 1;
	render(r, (struct krt_writer){ .pid = 1 });
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	cr_assert_leq(lines, 24);
	free(text);
	krt_report_destroy(r);
}

static unsigned longest_line(void)
{
	unsigned most = 0, n = 0;

	for (const char *c = text; *c; c++) {
		n = *c == '\n' ? 0 : n + ((*c & 0xc0) != 0x80);
		most = n > most ? n : most;
	}
	return most;
}

Test(text, a_terminal_gets_lines_that_fit)
{
	struct krt_report *r = sample_report();
	char *whole, *broken;

	r->nfindings = 1;
	render(r, (struct krt_writer){ .pid = 4711 });
	cr_assert_gt(longest_line(), 80);
	whole = text;
	render(r, (struct krt_writer){ .pid = 4711, .columns = 80 });
	cr_assert_leq(longest_line(), 80);
	cr_assert(strstr(text, "\n==4711==         "), "a broken line goes on further in: %s", text);
	broken = text;
	/* breaks are at spaces, and nothing is lost */
	for (const char *w = whole, *b = broken;; w++, b++) {
		while (*w == ' ')
			w++;
		while (*b == ' ' || (*b == '\n' && *w != '\n')) {
			if (*b == '\n')
				b += strlen("==4711==");
			b++;
		}
		cr_assert_eq(*w, *b, "%.30s\n%.30s", w, b);
		if (!*w)
			break;
	}
	free(broken);
	render(r, (struct krt_writer){ .pid = 4711, .columns = 3 });
	cr_assert_str_eq(text, whole, "no room at all: as it comes");
	free(text);
	free(whole);
	krt_report_destroy(r);
}

Test(text, what_was_seen_of_the_edge)
{
	static const struct {
		enum krt_verified verified;
		const char *why, *line;
	} row[] = {
		{KRT_VERIFIED_REMOVES, NULL, "     verified: with this edge the finding disappears\n"},
		{KRT_VERIFIED_KEEPS, "two more copies", "     not enough alone: with this edge the finding "
							 "stays: two more copies\n"},
		{KRT_VERIFIED_CYCLE, NULL, "     not possible as the calls are: "},
		{KRT_VERIFIED_NOT_TRIED, "no trace", "     not verified: no trace\n"},
	};
	struct krt_report *r = sample_report();

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		r->finding[0].edge = (struct krt_missing){
			.record_after = 1,
			.verified = row[i].verified,
			.why = row[i].why,
		};
		render(r, (struct krt_writer){ .pid = 1 });
		cr_assert(strstr(text, row[i].line), "%s", text);
		free(text);
	}
	krt_report_destroy(r);
}

Test(text, known_and_suppressed_ones_are_counted)
{
	struct krt_report *r = sample_report();

	r->finding[0].baseline = KRT_BASELINE_KNOWN;
	r->nsuppressed = 3;
	render(r, (struct krt_writer){ .pid = 1 });
	cr_assert(strstr(text, "KRT-RACE-RAW (certain, known in the baseline)"), "%s", text);
	cr_assert(strstr(last_line(), "1 note (1 known in the baseline, 3 suppressed); "), "%s",
		  last_line());
	free(text);
	r->nsuppressed = 0;
	krt_report_destroy(r);
}

Test(text, frames_of_libraries_do_not_lead)
{
	static struct krt_frame python[] = {
		{.pc = 1, .module = "/usr/lib/x86_64-linux-gnu/libcuda.so.1", .internal = true},
		{.pc = 2, .module = "/venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so",
		 .function = "at::native::copy_(at::Tensor&, at::Tensor const&)"},
		{.function = "Tensor.to", .python = true,
		 .file = "/venv/lib/python3.11/site-packages/torch/_tensor.py", .line = 9},
		{.function = "Net.forward.<locals>.step", .python = true, .file = "/src/train.py",
		 .line = 12},
		{.function = "Module._call_impl", .python = true,
		 .file = "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", .line = 1},
		{.function = "<module>", .python = true, .file = "/src/train.py", .line = 40},
		{.pc = 3, .module = "/usr/bin/python3.11", .function = "Py_RunMain"},
		{.pc = 4, .module = "/usr/lib/libc.so.6", .function = "__libc_start_call_main"},
	};
	struct krt_report *r = sample_report();

	r->finding[0].current.stack = (struct krt_stack)STACK(python);
	render(r, (struct krt_writer){ .pid = 1, .strip = "/src/" });
	cr_assert(strstr(text, "   read at train.py:12 Net.forward.<locals>.step <- ... <- train.py:40 "
			       "<module>\n"),
		  "%s", text);
	cr_assert(strstr(text, "SUMMARY: krtsan: error KRT-RACE-RAW train.py:12 in "
			       "Net.forward.<locals>.step\n"));
	free(text);
	/* nothing but libraries: the innermost */
	r->finding[0].current.stack.depth = 3;
	render(r, (struct krt_writer){ .pid = 1 });
	cr_assert(strstr(text, "   read at at::native::copy_ (libtorch_cuda.so+0x0)"), "%s", text);
	free(text);
	krt_report_destroy(r);
}

Test(text, no_control_character_reaches_the_terminal)
{
	struct krt_report *r = sample_report();

	krt_coverage_reason(&r->process[0].coverage, KRT_REASON_INTERNAL, "%s", HOSTILE);
	for (unsigned full = 0; full < 2; full++) {
		render(r, (struct krt_writer){.pid = 1, .show = KRT_POSSIBLE, .full_stacks = full});
		for (const char *c = text; *c; c++) {
			cr_assert((unsigned char)*c >= 0x20 || *c == '\n', "byte %02x", *c);
			if (*c == '\n')
				cr_assert(!c[1] || !strncmp(c + 1, "==", 2),
					  "a line without prefix: %.40s", c + 1);
		}
		cr_assert(strstr(text, "\\x1b[31m"));
		cr_assert(strstr(text, "\\xc2\\x9b"));
		cr_assert(strstr(text, "\xc3\xa9"));
		free(text);
	}
	krt_report_destroy(r);
}

Test(text, colours_only_when_asked)
{
	struct krt_report *r = sample_report();

	r->nfindings = 1;
	render(r, (struct krt_writer){ .pid = 1 });
	cr_assert_null(strchr(text, '\033'));
	free(text);
	render(r, (struct krt_writer){ .pid = 1, .color = true });
	cr_assert(strstr(text, "\033[1;31mkrtsan: error KRT-RACE-RAW\033[0m"));
	free(text);
	krt_report_destroy(r);
}

Test(text, full_stacks)
{
	struct krt_report *r = sample_report();

	r->nfindings = 1;
	render(r, (struct krt_writer){ .pid = 1, .full_stacks = true });
	cr_assert(strstr(text, "       #0  cuMemcpyDtoHAsync_v2 (libkrtsan.so+0x1000)\n"));
	cr_assert(strstr(text, "       #4  __libc_start_main (libc.so.6+0x271ca)\n"));
	free(text);
	krt_report_destroy(r);
}

Test(text, why_it_is_incomplete)
{
	struct krt_report *r = krt_report_new();
	struct krt_process *p;

	render(r, (struct krt_writer){ .pid = 5 });
	cr_assert_str_eq(
		text,
		"==5== krtsan: 0 errors, 0 warnings, 0 notes; inconclusive; analysis incomplete: "
		"no CUDA call seen (0 calls, 0 dropped)\n");
	free(text);
	p = krt_report_add_process(r);
	p->used_cuda = true;
	p->coverage.calls = 1;
	p->coverage.dropped = 1234;
	krt_coverage_reason(&p->coverage, KRT_REASON_DROPPED, "%d records", 1234);
	krt_coverage_reason(&p->coverage, KRT_REASON_LOST, NULL);
	render(r, (struct krt_writer){ .pid = 5 });
	cr_assert_str_eq(
		text,
		"==5== krtsan: 0 errors, 0 warnings, 0 notes; inconclusive; analysis incomplete: "
		"records were dropped: 1234 records; a process of the tree was lost (1 call, 1,234 "
		"dropped)\n");
	free(text);
	krt_report_destroy(r);
}

Test(text, a_flood_is_cut_and_counted)
{
	struct krt_report *r = sample_report();

	for (unsigned i = 0; i < 500; i++)
		*krt_report_add_finding(r) = (struct krt_finding){ .rule = KRT_RULE_RACE_WAW,
								   .level = KRT_LEVEL_ERROR,
								   .confidence = KRT_CERTAIN };
	krt_report_sort(r);
	render(r, (struct krt_writer){ .pid = 5, .show = KRT_LIKELY });
	cr_assert(strstr(text, "402 more not printed"), "%s", last_line());
	cr_assert(strstr(last_line(), "501 errors, 1 warning, 1 note; findings"));
	free(text);
	krt_report_destroy(r);
}

Test(text, what_steers_a_terminal_is_not_printable)
{
	char s[] = "a\x1b[2J\x7f \xc2\x9b" "2J \xff \xc3\xa9 \xe2\x82\xac \xe2\x82";

	krt_make_printable(s);
	cr_assert_str_eq(s, "a?[2J? ??2J ? \xc3\xa9 \xe2\x82\xac ??");
}
