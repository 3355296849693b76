/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suppressions and baselines: the language and its mistakes, what fits and what
 * does not, the day a line expires, lines made for findings.
 */
#define _GNU_SOURCE
#include "reports/baseline.h"
#include "reports/gate.h"
#include "reports/output.h"
#include "reports/suppress.h"
#include "sample_report.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TODAY 20300615

static char err[2048];

static struct krt_suppressions *parsed(const char *text)
{
	struct krt_suppressions *s = krt_suppressions_new();

	if (!krt_suppressions_parse(s, text, "a.supp", TODAY, err, sizeof(err)))
		return s;
	krt_suppressions_free(s);
	return NULL;
}

static struct krt_frame forward_frames[] = {
	{.function = "cuLaunchKernel", .module = "/x/libkrtsan.so", .internal = true},
	{.function = "net::forward(float*, int)",
	 .file = "/src/net/model.cc",
	 .line = 3,
	 .module = "/opt/app/libnet.so"},
	{.function = "main", .file = "/src/main.cc", .line = 9, .module = "/opt/app/app"},
};
static struct krt_frame upload_frames[] = {
	{.function = "loader.upload", .file = "/src/loader.py", .line = 7, .python = true},
	{.function = "main", .file = "/src/main.cc", .line = 8, .module = "/opt/app/app"},
};

/* A race of a kernel that upload()'s copy races with. */
static struct krt_finding race(void)
{
	return (struct krt_finding){
		.rule = KRT_RULE_RACE_RAW,
		.level = KRT_LEVEL_ERROR,
		.confidence = KRT_CERTAIN,
		.pid = 1,
		.fingerprint = 0x3f9c21a07b44d15e,
		.count = 1,
		.message = "one\ntwo",
		.current = {.api = "kernel _Z7softmaxPfi",
			    .what = "read",
			    .kernel = "_Z7softmaxPfi",
			    .stream = "stream \"compute\"",
			    .nvtx = "step 3",
			    .stack = STACK(forward_frames)},
		.previous = {.api = "cuMemcpyHtoDAsync_v2",
			     .what = "write",
			     .stream = "stream \"copy\"",
			     .stack = STACK(upload_frames)},
		.buffer = {.kind = "device", .name = "kv_cache"},
	};
}

static bool fits(const char *line, const struct krt_finding *f)
{
	struct krt_suppressions *s = parsed(line);
	bool r;

	cr_assert(s, "%s: %s", line, err);
	r = krt_suppressions_fit(s, f);
	krt_suppressions_free(s);
	return r;
}

Test(suppress, what_fits)
{
	static const char *const yes[] = {
		"race:softmax",
		"race:kernel=*softmax*",
		"race:kernel=^softmax$",
		"race:kernel=^_Z7softmaxPfi$",
		"race:kernel=softmax(float*, int)",
		"race-raw:forward",
		"RACE-RAW:forward",
		"krt-race-raw:forward",
		"KRT-RACE-RAW:func=^net::forward$",
		"KRT-RACE-RAW:func=forward(float*, int),file=model.cc",
		"raw:func=net::*",
		"*:model.cc",
		"*:file=net/*.cc",
		"*:file=.cc$",
		"*:module=libnet.so",
		"*:libnet",
		"*:kv_",
		"*:buffer=kv_*",
		"*:buffer=^kv_cache$",
		"\xef\xbb\xbf*:func=^net::forward$",
		"*:func=^loader.upload$",
		"*:stream=compute",
		"*:stream=copy",
		"*:api=cuMemcpyHtoD",
		"*:nvtx=step",
		"*:fingerprint=3f9c21a07b44d15e",
		"*:fingerprint=^3f9c21a0",
		"*:*",
		"*:\"forward\"",
		"*:func=\"forward\" , buffer=\"kv_cache\"",
		"  race:softmax # with a comment",
		"race:softmax,reason=\"a, b # \\\"c\\\"\"",
		"race:softmax,reason=known for long,expires=2030-06-15",
		"race:softmax, expires=2999-12-31",
		"# only a comment\n\n\trace:softmax\r\n",
		"race:nothing\nrace:softmax\n",
		"*:func=forward,kernel=softmax,other_func=upload,other_api=cuMemcpyHtoD",
		"*:func=upload,other_func=forward,other_nvtx=step,buffer=kv_cache",
		"*:func=main,other_func=main",
		"*:softmax,other_func=^loader.upload$",
		"*:other_file=loader.py,other_stream=copy",
		"*:other_module=libnet,file=loader.py",
	};
	static const char *const no[] = {
		"race-war:softmax",
		"perf:softmax",
		"race:kernel=^max$",
		"race:kernel=max(int",
		"race:kernel=^soft$",
		"race:Softmax",
		"KRT-RACE-RAW:func=^forward$",
		"KRT-RACE-RAW:func=net::forward,file=other.cc",
		"*:file=^model.cc",
		"*:func=kv_cache",
		"*:buffer=softmax",
		"*:module=libnccl.so*",
		"*:stream=side",
		"*:copy", /* a stream is no plain pattern's */
		"*:fingerprint=4f9c21a07b44d15e",
		"race:softmax,expires=2030-06-14",
		"#race:softmax",
		/* both in one operation, or one of them in none */
		"*:func=forward,other_func=forward",
		"*:kernel=softmax,other_kernel=softmax",
		"*:func=forward,other_kernel=softmax",
		"*:func=forward,api=cuMemcpyHtoD,other_func=main",
		"*:func=main,other_func=none",
		"\n \n",
		"",
	};
	struct krt_finding f = race();

	for (unsigned i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		cr_expect(fits(yes[i], &f), "%s does not fit", yes[i]);
	for (unsigned i = 0; i < sizeof(no) / sizeof(*no); i++)
		cr_expect_not(fits(no[i], &f), "%s fits", no[i]);
}

/* Which rules a class stands for. */
static unsigned rules_of(const char *class, enum krt_rule_id has)
{
	struct krt_finding f = race();
	unsigned n = 0;
	char line[128];

	snprintf(line, sizeof(line), "%s:softmax", class);
	for (unsigned i = 0; i < KRT_NR_RULES; i++) {
		f.rule = i;
		n += fits(line, &f);
	}
	f.rule = has;
	cr_expect(fits(line, &f), "%s", line);
	return n;
}

Test(suppress, classes_come_from_the_rules)
{
	cr_expect_eq(rules_of("*", KRT_RULE_UNFINISHED), KRT_NR_RULES);
	for (unsigned i = 0; i < KRT_NR_RULES; i++) {
		cr_expect_eq(rules_of(krt_rules[i].id, i), 1, "%s", krt_rules[i].id);
		cr_expect_eq(rules_of(krt_rules[i].id + 4, i), 1, "%s", krt_rules[i].id);
	}
	cr_expect_eq(rules_of("race", KRT_RULE_REUSE_RACE), 6);
	cr_expect_eq(rules_of("stale-graph", KRT_RULE_GRAPH_STALE_HOST), 3);
	cr_expect_eq(rules_of("sync-hot", KRT_RULE_PERF_SYNC_HOT), 1);
	cr_expect_eq(rules_of("free-in-use", KRT_RULE_FREE_IN_USE), 1);
}

Test(suppress, mistakes_are_told)
{
	static const char *const row[][2] = {
		{"softmax", "a.supp:1: softmax: wants RULE:PATTERN"},
		{":softmax", "a.supp:1: :softmax: wants RULE:PATTERN"},
		{"\n\nrase:softmax",
		 "a.supp:3: rase: no such rule; known are *, words of ids as race, and "
		 "KRT-RACE-RAW KRT-RACE-WAR"},
		{"KRT-RACE:softmax", "a.supp:1: KRT-RACE: no such rule"},
		{"race-:softmax", "a.supp:1: race-: no such rule"},
		{"race:", "a.supp:1: wants a pattern"},
		{"race:  # x", "a.supp:1: wants a pattern"},
		{"race:^$", "a.supp:1: wants a pattern"},
		{"race:func=", "a.supp:1: func= wants a pattern"},
		{"race:fnuc=a", "a.supp:1: fnuc: unknown key; known are func, file, module"},
		{"race:func=a,fiel=b", "a.supp:1: fiel: unknown key"},
		{"race:other_buffer=a", "a.supp:1: other_buffer: unknown key"},
		{"race:other_=a", "a.supp:1: other_: unknown key"},
		{"race:other_func=", "a.supp:1: other_func= wants a pattern"},
		{"race:func=\"a", "a.supp:1: a quote does not end"},
		{"race:func=\"a\"b", "a.supp:1: b: wants a comma"},
		{"race:\"a\",b", "a.supp:1: b: wants KEY=PATTERN"},
		{"race:reason=x", "a.supp:1: wants a pattern"},
		{"race:a,expires=soon", "a.supp:1: expires=soon: wants a day as 2030-12-31"},
		{"race:a,expires=2030-13-01", "wants a day"},
		{"race:a,expires=2030-02-30", "wants a day"},
		{"race:a,expires=2030-2-3", "wants a day"},
		{"race:a,expires=2030-12-311", "wants a day"},
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		cr_expect_null(parsed(row[i][0]), "%s", row[i][0]);
		cr_expect(strstr(err, row[i][1]), "%s: %s", row[i][0], err);
	}
	cr_assert_null(parsed("race:a\nrace:\n"), "one bad line is a bad file");
	/* what looks like a key, in a name */
	for (unsigned i = 0; i < 2; i++) {
		struct krt_suppressions *good =
			parsed(i ? "race:operator==(a, b)" : "race:\"a,b=c\"");

		cr_assert(good, "%s", err);
		krt_suppressions_free(good);
	}
}

Test(suppress, files)
{
	struct krt_suppressions *s = krt_suppressions_new();
	char path[] = "/tmp/krtsuppXXXXXX";
	int fd = mkstemp(path);

	cr_assert_eq(krt_suppressions_load(s, "/nonexistent/a", TODAY, err, sizeof(err)), -1);
	cr_assert_str_eq(err,
			 "suppressions: /nonexistent/a: cannot be read: No such file or directory");
	cr_assert_eq(krt_suppressions_load(s, "/tmp", TODAY, err, sizeof(err)), -1);
	cr_assert_str_eq(err, "suppressions: /tmp: cannot be read: Is a directory");
	cr_assert_eq(krt_suppressions_load(s, path, TODAY, err, sizeof(err)), 0, "%s", err);
	cr_assert_eq(write(fd, "race:a\0b", 8), 8);
	cr_assert_eq(krt_suppressions_load(s, path, TODAY, err, sizeof(err)), -1);
	cr_assert(strstr(err, "not a text"));
	unlink(path);
	krt_suppressions_free(s);
}

static char *told(const struct krt_suppressions *s, bool all)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	krt_suppressions_tell(s, all, f);
	fclose(f);
	return text;
}

Test(suppress, applied_and_told)
{
	struct krt_suppressions *s = parsed("race:softmax,reason=\"known\"\n*:forward\nrace:other\n"
					    "race:softmax,expires=2030-06-14\n");
	struct krt_report *r = krt_report_new();
	char *text;

	for (unsigned i = 0; i < 3; i++) {
		*krt_report_add_finding(r) = race();
		r->finding[i].fingerprint = i;
	}
	r->finding[1].current.kernel = NULL;
	r->finding[1].current.stack.depth = 0;
	r->finding[1].rule = KRT_RULE_UNFINISHED;
	krt_suppressions_apply(s, r);
	cr_assert_eq(r->nfindings, 1);
	cr_assert_eq(r->finding[0].fingerprint, 1);
	cr_assert_eq(r->nsuppressed, 2);
	cr_assert_eq(r->suppressed[1].fingerprint, 2);
	cr_assert_str_eq(r->suppressed[0].suppressed_by, "a.supp:1");
	cr_assert_str_eq(r->suppressed[0].suppressed_why, "known");
	text = told(s, false);
	cr_assert_str_eq(text,
			 "krtsan: suppressions: a.supp:4: EXPIRED on 2030-06-14, it suppresses "
			 "nothing any more: race:softmax,expires=2030-06-14\n");
	free(text);
	text = told(s, true);
	cr_assert(strstr(text, "a.supp:1: fits 2 findings: race:softmax"), "%s", text);
	cr_assert(strstr(text, "a.supp:2: fits 2 findings: *:forward"),
		  "also where another was first");
	cr_assert(strstr(text, "a.supp:3: unused: race:other\n"), "%s", text);
	cr_assert_null(strstr(text, "a.supp:4: unused"));
	free(text);
	krt_suppressions_free(s);
	krt_report_destroy(r);
}

/* The line for each finding of r fits that one alone. */
static void lines_are_exact(const struct krt_report *r)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		bool chosen[16] = {false};
		char *line;

		chosen[i] = true;
		line = krt_suppression_of(r, chosen, i);
		for (size_t k = 0; k < r->nfindings; k++)
			cr_expect_eq(fits(line, &r->finding[k]), k == i, "%zu: %s", k, line);
		free(line);
	}
}

Test(suppress, lines_for_findings_are_exact)
{
	static struct krt_frame odd_frames[] = {
		{.function = "odd\"a, file=b#^$", .file = "/src/a.c", .line = 1}};
	struct krt_report *r = krt_report_new();
	bool chosen[16] = {true};
	char *line;

	*krt_report_add_finding(r) = race();
	line = krt_suppression_of(r, chosen, 0);
	cr_assert_str_eq(line, "KRT-RACE-RAW:func=^net::forward$,kernel=^softmax$,"
			       "other_func=^loader.upload$,other_api=^cuMemcpyHtoDAsync_v2$,"
			       "buffer=^kv_cache$");
	free(line);
	for (unsigned i = 1; i < 7; i++)
		*krt_report_add_finding(r) = race();
	r->finding[1].current.kernel = "_Z3expPf";
	r->finding[2].buffer.name = "weights";
	r->finding[3].rule = KRT_RULE_RACE_WAR;
	r->finding[4].previous.stack.depth = 0;
	r->finding[5].current.stack = (struct krt_stack)STACK(odd_frames);
	r->finding[6].current.stack.depth = r->finding[6].previous.stack.depth = 0;
	r->finding[6].current.kernel = r->finding[6].buffer.name = NULL;
	for (unsigned i = 0; i < 7; i++)
		r->finding[i].fingerprint = i;
	lines_are_exact(r);
	krt_report_destroy(r);
	r = sample_report();
	lines_are_exact(r);
	krt_report_destroy(r);
}

/* All of a program has main() in its stacks, and all of a script its <module>. */
Test(suppress, a_line_is_for_no_finding_to_come)
{
	struct krt_report *r = krt_report_new();
	struct krt_finding later = race();
	const bool chosen[1] = {true};
	char *line;

	later.fingerprint = 1;
	later.current.kernel = later.buffer.name = NULL;
	later.current.stack = (struct krt_stack){.depth = 1, .frame = forward_frames + 2};
	*krt_report_add_finding(r) = later;
	later.fingerprint = 2;
	later.current.stack = (struct krt_stack)STACK(forward_frames);
	line = krt_suppression_of(r, chosen, 0);
	cr_expect_str_eq(line, "KRT-RACE-RAW:func=^main$,api=^kernel _Z7softmaxPfi$,"
			       "other_func=^loader.upload$,other_api=^cuMemcpyHtoDAsync_v2$,"
			       "fingerprint=^0000000000000001$");
	cr_expect_not(fits(line, &later));
	free(line);
	r->finding[0].current.stack.depth = r->finding[0].previous.stack.depth = 0;
	line = krt_suppression_of(r, chosen, 0);
	cr_expect_not(fits(line, &later), "%s", line);
	free(line);
	krt_report_destroy(r);
}

/* JSON has U+FFFD for what is no UTF-8: the line fits the name as it was. */
Test(suppress, names_that_are_no_text)
{
	struct krt_report *r = krt_report_new();
	struct krt_finding f = race();
	const bool chosen[1] = {true};
	char *line;

	f.buffer.name = "a\xef\xbf\xbd, \xef\xbf\xbd\\z";
	*krt_report_add_finding(r) = f;
	line = krt_suppression_of(r, chosen, 0);
	f.buffer.name = "a\xc3, \xff\xfe\\z";
	cr_expect(fits(line, &f), "%s", line);
	f.buffer.name = "b\xc3, \xff\xfe\\z";
	cr_expect_not(fits(line, &f), "%s", line);
	free(line);
	krt_report_destroy(r);
}

static struct krt_frame step_1[] = {
	{.function = "launch", .file = "/src/a.c", .line = 5, .pc = 0x50},
	{.function = "step", .file = "/src/a.c", .line = 9, .pc = 0x90},
	{.function = "main", .file = "/src/a.c", .line = 30, .pc = 0x300}};
static struct krt_frame step_2[] = {
	{.function = "launch", .file = "/src/a.c", .line = 5, .pc = 0x50},
	{.function = "step", .file = "/src/a.c", .line = 10, .pc = 0xa0},
	{.function = "main", .file = "/src/a.c", .line = 30, .pc = 0x300}};
static struct krt_frame other_2[] = {
	{.function = "launch", .file = "/src/a.c", .line = 5, .pc = 0x50},
	{.function = "other", .file = "/src/a.c", .line = 15, .pc = 0xf0},
	{.function = "main", .file = "/src/a.c", .line = 31, .pc = 0x310}};
static struct krt_frame step_memset[] = {
	{.function = "step", .file = "/src/a.c", .line = 8, .pc = 0x80},
	{.function = "main", .file = "/src/a.c", .line = 30, .pc = 0x300}};

static struct krt_finding wrapped(struct krt_stack cur, struct krt_stack prev)
{
	return (struct krt_finding){
		.rule = KRT_RULE_RACE_RAW,
		.current = {.api = "kernel twice", .what = "read", .kernel = "twice", .stack = cur},
		.previous = {.api = "kernel twice",
			     .what = "write",
			     .kernel = "twice",
			     .stack = prev},
	};
}

/* All of a program launches through one function: its name alone says nothing. */
Test(suppress, a_line_for_a_shared_launcher_hides_no_other_defect)
{
	const struct krt_stack one = STACK(step_1), two = STACK(step_2), elsewhere = STACK(other_2);
	struct krt_finding later[] = {wrapped(one, elsewhere), wrapped(elsewhere, elsewhere),
				      wrapped(two, (struct krt_stack)STACK(step_memset))};
	struct krt_finding reversed = wrapped(one, two);
	struct krt_report *r = krt_report_new();
	const bool chosen[1] = {true};
	char *line;

	later[2].previous.api = "cuMemsetD32Async";
	later[2].previous.kernel = NULL;
	*krt_report_add_finding(r) = wrapped(two, one);
	line = krt_suppression_of(r, chosen, 0);
	cr_expect_str_eq(line, "KRT-RACE-RAW:func=^step$,kernel=^twice$,other_func=^step$,"
			       "other_kernel=^twice$");
	cr_expect(fits(line, &r->finding[0]));
	cr_expect(fits(line, &reversed));
	for (unsigned i = 0; i < 3; i++)
		cr_expect_not(fits(line, &later[i]), "%u: %s", i, line);
	free(line);
	/* a loop: the stacks differ nowhere */
	r->finding[0] = wrapped(one, one);
	line = krt_suppression_of(r, chosen, 0);
	cr_expect(fits(line, &r->finding[0]));
	for (unsigned i = 0; i < 3; i++)
		cr_expect_not(fits(line, &later[i]), "%u: %s", i, line);
	free(line);
	/* all is called in main() */
	step_1[1].function = step_2[1].function = other_2[1].function = "main";
	step_1[2].function = step_2[2].function = other_2[2].function = "__libc_start_main";
	r->finding[0] = wrapped(two, one);
	r->finding[0].fingerprint = 1;
	line = krt_suppression_of(r, chosen, 0);
	cr_expect(fits(line, &r->finding[0]));
	for (unsigned i = 0; i < 3; i++)
		cr_expect_not(fits(line, &later[i]), "%u: %s", i, line);
	free(line);
	step_1[1].function = "step";
	step_1[2].function = "main";
	/* of one operation */
	r->finding[0] = wrapped(one, one);
	r->finding[0].previous = (struct krt_operation){0};
	line = krt_suppression_of(r, chosen, 0);
	cr_expect_str_eq(line, "KRT-RACE-RAW:func=^launch$,func=^step$,func=^main$,"
			       "kernel=^twice$");
	cr_expect_not(fits(line, &later[1]), "%s", line);
	free(line);
	krt_report_destroy(r);
}

/* --- baselines --------------------------------------------------------------------- */

Test(baseline, new_known_absent)
{
	struct krt_options *o = malloc(sizeof(*o));
	struct krt_report *r = krt_report_new();
	struct krt_idset known;
	size_t absent;

	krt_options_init(o);
	for (unsigned i = 0; i < 3; i++) {
		*krt_report_add_finding(r) = race();
		r->finding[i].fingerprint = i ? 7 : 5;
	}
	cr_assert_eq(krt_idset_of(&known, r->finding, r->nfindings), 0);
	cr_assert_eq(known.n, 2);
	cr_assert_eq(krt_idset_mark(&known, r, &absent), 0);
	cr_assert_eq(absent, 0);
	cr_assert_eq(r->finding[2].baseline, KRT_BASELINE_KNOWN);
	cr_assert_not(krt_output_fails(r, o), "all are known");
	cr_assert_eq(krt_report_verdict(r), KRT_VERDICT_FINDINGS, "and findings all the same");
	r->finding[0].fingerprint = 6;
	cr_assert_eq(krt_idset_mark(&known, r, &absent), 0);
	cr_assert_eq(absent, 1);
	cr_assert_eq(r->finding[0].baseline, KRT_BASELINE_NEW);
	cr_assert(krt_output_fails(r, o));
	/* suppressed: neither new nor gone */
	*krt_report_add_suppressed(r) = r->finding[1];
	r->nfindings = 1;
	r->finding[0].confidence = KRT_POSSIBLE;
	cr_assert_eq(krt_idset_mark(&known, r, &absent), 0);
	cr_assert_eq(absent, 1);
	cr_assert_not(krt_output_fails(r, o), "what is only possible fails no run");
	krt_idset_free(&known);
	cr_assert_eq(krt_idset_of(&known, NULL, 0), 0);
	cr_assert_not(krt_idset_has(&known, 0));
	krt_idset_free(&known);
	krt_report_destroy(r);
	free(o);
}

Test(gate, bad_files)
{
	struct krt_options *o = malloc(sizeof(*o));
	struct krt_gate *g;

	krt_options_init(o);
	g = krt_gate_open(o, NULL, err, sizeof(err));
	cr_assert(g);
	krt_gate_close(g);
	cr_assert_eq(krt_options_parse(o, "baseline=/nonexistent.json", err, sizeof(err)), 0);
	cr_assert_null(krt_gate_open(o, "/bin/true", err, sizeof(err)));
	cr_assert_str_eq(
		err,
		"baseline: report: /nonexistent.json: cannot be opened: No such file or directory");
	cr_assert_eq(krt_options_parse(o, "suppressions=none.supp", err, sizeof(err)), 0);
	cr_assert_null(krt_gate_open(o, "/bin/true", err, sizeof(err)));
	cr_assert_str_eq(err, "suppressions: none.supp: cannot be read: No such file or directory");
	free(o);
}
