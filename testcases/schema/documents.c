/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports that are hard to write down, in every format: documents DIR makes
 * DIR/NAME.FORMAT of each report below.  check.py looks at them.
 */
#define _GNU_SOURCE
#include "../unit/sample_report.h"

#include <stdlib.h>
#include <string.h>

#define ROOT "/src/the app"
#define MANY 6000

static char *repeated(struct krt_report *r, const char *what, size_t times)
{
	char *text = krt_arena_alloc(r->arena, strlen(what) * times + 1), *p = text;

	while (text && times--)
		p = stpcpy(p, what);
	return text;
}

static struct krt_process *process(struct krt_report *r, int pid, const char *exe)
{
	struct krt_process *p = krt_report_add_process(r);

	p->pid = pid;
	p->exe = exe;
	p->used_cuda = true;
	p->exit_code = 0;
	return p;
}

static struct krt_stack stack_of(struct krt_report *r, const char *file, unsigned line,
				 const char *function)
{
	struct krt_frame *f = krt_arena_alloc(r->arena, 3 * sizeof(*f));

	f[0] = (struct krt_frame){.module = "/lib/libcudart.so",
				  .function = "cudaMemcpy",
				  .file = "/cuda/cudart.c",
				  .line = 1,
				  .internal = true};
	f[1] = (struct krt_frame){
		.module = "/bin/app", .function = function, .file = file, .line = line};
	f[2] = (struct krt_frame){.module = "/lib/libc.so.6",
				  .function = "__libc_start_call_main",
				  .file = "sysdeps/libc_start_call_main.h",
				  .line = 58};
	return (struct krt_stack){.depth = 3, .frame = f};
}

static struct krt_finding *finding(struct krt_report *r, int pid, uint64_t fingerprint)
{
	struct krt_finding *f = krt_report_add_finding(r);

	f->rule = KRT_RULE_RACE_WAW;
	f->level = KRT_LEVEL_ERROR;
	f->confidence = KRT_CERTAIN;
	f->pid = pid;
	f->fingerprint = fingerprint;
	f->count = 1;
	f->message = "two writes with no order between them";
	f->current = (struct krt_operation){.what = "write",
					    .api = "cuMemsetD8Async",
					    .stream = "stream 2",
					    .sequence = 15,
					    .knowledge = "api"};
	f->previous = (struct krt_operation){.what = "write",
					     .api = "cuMemsetD8Async",
					     .stream = "stream 1",
					     .sequence = 13,
					     .knowledge = "api"};
	return f;
}

/* --- the reports --------------------------------------------------------------------- */

static void hostile(struct krt_report *r)
{
	struct krt_report *sample = sample_report();

	*r = *sample;
}

static void nothing(struct krt_report *r)
{
	(void)r;
}

static void clean(struct krt_report *r)
{
	process(r, 1, ROOT "/build/app");
	r->program_exit = 0;
}

static void incomplete(struct krt_report *r)
{
	struct krt_process *p = process(r, 1, ROOT "/build/app");

	for (unsigned k = 0; k < KRT_NR_REASONS; k++)
		krt_coverage_reason(&p->coverage, k, "%s", k & 1 ? HOSTILE "{0} [x](1)" : "");
}

static void no_frames(struct krt_report *r)
{
	struct krt_finding *f;

	process(r, 1, ROOT "/build/app");
	process(r, 2, "/usr/bin/python3");
	finding(r, 1, 1);
	finding(r, 2, 2);
	finding(r, 3, 3); /* of no process that is known */
	f = finding(r, 1, 4);
	f->message = NULL;
	f->current = (struct krt_operation){.api = "cuCtxSynchronize"};
	f->previous = (struct krt_operation){0};
	f = finding(r, 1, 5); /* a module, no source */
	f->current.stack = stack_of(r, NULL, 0, "no_source");
	f->current.stack.frame[1].module = ROOT "/build/libplugin.so";
}

static void files(struct krt_report *r)
{
	static const char *const file[] = {
		ROOT "/plain.c",
		ROOT "/a b/100%/ü#?.c",
		ROOT "/bytes\xff\x01\".c",
		ROOT "/<script>.c",
		ROOT "/./sub/../other//k.c",
		ROOT "/scheme:c.c",
		"relative.c",
		"../outside.c",
		"/elsewhere/x y.c",
		"/src/the application/not_below.c",
		"/",
		"",
		".",
		"<string>",
		ROOT "/[link](javascript:x).c",
	};
	struct krt_finding *f;

	process(r, 1, ROOT "/build/app");
	for (unsigned i = 0; i < sizeof(file) / sizeof(*file); i++) {
		f = finding(r, 1, 100 + i);
		f->current.stack = stack_of(r, file[i], i, HOSTILE);
		f->current.sequence = i;
	}
	f = finding(r, 1, 200); /* the earlier side is known, this one is not */
	f->previous.stack = stack_of(r, ROOT "/earlier.c", 7, "earlier");
	f = finding(r, 1, 201); /* below the root before what is not */
	f->current.stack = stack_of(r, "/usr/include/c++/vector", 7, "push_back");
	f->current.stack.frame[2] = (struct krt_frame){.file = ROOT "/mine.c", .line = 70};
	krt_report_sort(r);
}

static void words(struct krt_report *r)
{
	static const char *const text[] = {
		HOSTILE,
		"{0} {1} [click](http://example.org) {lambda()#1} {}",
		"[x](1)",
		"]](((",
		"",
		"\xe2\x82",
		"\xef\xbf\xbe\xef\xbf\xbf\xed\xa0\x80",
		"a\rb\x0b\x0c\x1b[0m\x7f",
		"]]>",
	};

	process(r, 1, HOSTILE);
	for (unsigned i = 0; i < sizeof(text) / sizeof(*text); i++) {
		struct krt_finding *f = finding(r, 1, i);

		f->message = f->fix = f->order_exists = f->order_missing = text[i];
		f->current.what = f->current.api = f->current.kernel = f->current.stream = text[i];
		f->current.nvtx = f->current.knowledge = text[i];
		f->current.stack = stack_of(r, ROOT "/plain.c", i + 1, text[i]);
		f->previous = f->current;
		f->buffer = (struct krt_buffer){.kind = text[i],
						.name = text[i],
						.freed_by = text[i],
						.allocated_by = text[i],
						.freed_at = f->current.stack};
		f->edge = (struct krt_missing){.record_after = 1,
					       .wait_before = 2,
					       .code = text[i],
					       .why = text[i],
					       .record_stream = text[i]};
	}
}

static void very_long(struct krt_report *r)
{
	struct krt_finding *f;

	process(r, 1, ROOT "/build/app");
	f = finding(r, 1, 1);
	f->message = f->fix = repeated(r, "ü", 60000);
	f->current.kernel = f->current.nvtx = repeated(r, "_Z", 50000);
	f->current.api = krt_arena_printf(r->arena, "kernel %s", f->current.kernel);
	f->current.stack = stack_of(r, repeated(r, "/dir", 3000), 1, repeated(r, "f<", 40000));
}

static void many(struct krt_report *r)
{
	process(r, 1, ROOT "/build/app");
	for (unsigned i = 0; i < MANY; i++) {
		struct krt_finding *f = finding(r, 1, i);

		f->level = i % 3; /* as confidence goes */
		f->confidence = i % 3;
		f->current.sequence = i;
		f->current.stack = stack_of(r, ROOT "/many.c", i + 1, "many");
		f->previous.stack = f->current.stack;
	}
	krt_report_sort(r);
}

static void twice(struct krt_report *r)
{
	struct krt_finding *f;

	for (int pid = 10; pid < 13; pid++) {
		process(r, pid, ROOT "/build/app");
		f = finding(r, pid, 77);
		f->count = 5;
		f->current.stack = stack_of(r, ROOT "/rank.c", 9, "step");
	}
	f->current.stack = stack_of(r, ROOT "/rank.c", 11, "step"); /* another place */
}

static void excused(struct krt_report *r)
{
	struct krt_finding *f;

	process(r, 1, ROOT "/build/app");
	f = finding(r, 1, 1);
	f->baseline = KRT_BASELINE_KNOWN;
	f = finding(r, 1, 2);
	f->rule = KRT_RULE_RACE_RAW;
	f->baseline = KRT_BASELINE_NEW;
	f->edge = (struct krt_missing){
		.record_after = 13,
		.wait_before = 15,
		.verified = KRT_VERIFIED_REMOVES,
		.code = "cuEventRecord(e, one);\ncuStreamWaitEvent(two, e, 0)\n"};
	f = finding(r, 1, 3);
	f->rule = KRT_RULE_UNFINISHED;
	f->level = KRT_LEVEL_WARNING;
	f->baseline = KRT_BASELINE_NEW;
	f = finding(r, 1, 4);
	f->rule = KRT_RULE_FREE_IN_USE;
	f->suppressed_by = "a.supp:3";
	f->suppressed_why = "vendor bug " HOSTILE;
	f->baseline = KRT_BASELINE_NEW;
	/* the last one is not among the findings */
	r->suppressed = malloc(sizeof(*f));
	*r->suppressed = *f;
	r->nsuppressed = 1;
	r->nfindings--;
}

static void torn(struct krt_report *r)
{
	excused(r);
	krt_coverage_reason(&r->own, KRT_REASON_LOST, "pid 77");
}

/* --- all of them --------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*make)(struct krt_report *r);
	struct krt_writer w;
} documents[] = {
	{"hostile", hostile, {.show = KRT_POSSIBLE}},
	{"nothing", nothing, {.exit_code = -1}},
	{"clean", clean, {0}},
	{"incomplete", incomplete, {.needs_complete = true}},
	{"no_frames", no_frames, {0}},
	{"files", files, {0}},
	{"words", words, {.category = HOSTILE}},
	{"very_long", very_long, {0}},
	{"many", many, {.show = KRT_LIKELY}},
	{"many_possible", many, {.show = KRT_POSSIBLE}},
	{"twice", twice, {.category = "unit-tests"}},
	{"excused", excused, {.suppressed = true}},
	{"torn", torn, {.exit_code = 66}},
};

static int write_as(const char *dir, const char *name, const struct krt_format *format,
		    const struct krt_report *r, const struct krt_writer *w)
{
	char path[4096];
	FILE *out;
	int err;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, format->name);
	out = fopen(path, "w");
	err = out ? format->write(out, r, w) : -1;
	if (out && fclose(out))
		err = -1;
	if (err)
		perror(path);
	return err;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 125;
	for (unsigned i = 0; i < sizeof(documents) / sizeof(*documents); i++) {
		struct krt_writer w = documents[i].w;
		struct krt_report *r = krt_report_new();

		w.strip = w.repository = ROOT;
		w.fails = true;
		w.fail_level = KRT_LEVEL_ERROR;
		r->options = "exitcode=66";
		documents[i].make(r);
		for (const struct krt_format *f = krt_formats; f->name; f++)
			if (write_as(argv[1], documents[i].name, f, r, &w))
				return 1;
	}
	return 0;
}
