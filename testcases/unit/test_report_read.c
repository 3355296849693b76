/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON report read back: the same bytes again, newer keys, damage.
 */
#define _GNU_SOURCE
#include "reports/report_read.h"
#include "sample_report.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char err[512];

static char *written(const struct krt_report *r, size_t *len)
{
	static const struct krt_writer w;
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	cr_assert_eq(krt_write_json(f, r, &w), 0);
	fclose(f);
	return text;
}

static struct krt_report *parse(const char *text)
{
	return krt_report_parse(text, strlen(text), "r.json", err, sizeof(err));
}

static void same_again(const struct krt_report *r)
{
	size_t n, m;
	char *a = written(r, &n), *b;
	struct krt_report *back = parse(a);

	cr_assert(back, "%s", err);
	b = written(back, &m);
	cr_assert_str_eq(a, b);
	free(a);
	free(b);
	krt_report_destroy(back);
}

/* What the sample leaves out. */
static struct krt_report *fuller_report(void)
{
	static const uint64_t also[] = {1, UINT64_MAX};
	struct krt_report *r = sample_report();
	struct krt_finding *f = &r->finding[0], *s;

	f->edge = (struct krt_missing){.record_after = 1839,
				       .record_stream = "stream 2 (0x55c0)",
				       .wait_before = 1842,
				       .api = KRT_USER_TORCH,
				       .code = HOSTILE,
				       .verified = KRT_VERIFIED_CYCLE,
				       .why = HOSTILE,
				       .nalso = 2,
				       .also = also};
	f->baseline = KRT_BASELINE_KNOWN;
	f->buffer.gaps = true;
	f->current.nvtx = HOSTILE;
	r->finding[1].baseline = KRT_BASELINE_NEW;
	r->finding[1].buffer.open = true;
	r->finding[1].current.range_len = 5;
	s = krt_report_add_suppressed(r);
	*s = r->finding[1];
	s->suppressed_by = "supp:3";
	s->suppressed_why = HOSTILE;
	r->possible_total = 77;
	for (unsigned k = 0; k < KRT_NR_TIERS; k++)
		r->process[0].coverage.launches_by[k] = k + 1;
	snprintf(r->process[0].coverage.timing, sizeof(r->process[0].coverage.timing), "recorded");
	r->process[0].coverage.device_times = 6;
	snprintf(r->process[0].coverage.python, sizeof(r->process[0].coverage.python), HOSTILE);
	krt_coverage_reason(&r->process[0].coverage, KRT_REASON_DROPPED, "%d", 5);
	krt_coverage_reason(&r->process[1].coverage, KRT_REASON_GRAPH, NULL);
	krt_coverage_reason(&r->own, KRT_REASON_LOST, "process %d", 9);
	krt_coverage_reason(&r->own, KRT_REASON_GRAPH, "of the run itself");
	return r;
}

Test(report_read, the_same_bytes_again)
{
	struct krt_report *r = krt_report_new();

	same_again(r);
	krt_report_destroy(r);
	r = sample_report();
	same_again(r);
	krt_report_destroy(r);
	r = fuller_report();
	same_again(r);
	krt_report_destroy(r);
}

Test(report_read, keeps_what_the_gate_asks)
{
	struct krt_report *r = fuller_report(), *back;
	size_t n;
	char *a = written(r, &n);

	back = parse(a);
	cr_assert(back, "%s", err);
	cr_assert_eq(back->nfindings, r->nfindings);
	cr_assert_eq(back->nsuppressed, 1);
	cr_assert_eq(back->nprocesses, 2);
	cr_assert_eq(krt_report_verdict(back), krt_report_verdict(r));
	cr_assert_eq(krt_report_complete(back), krt_report_complete(r));
	for (size_t i = 0; i < r->nfindings; i++) {
		cr_assert_eq(back->finding[i].rule, r->finding[i].rule);
		cr_assert_eq(back->finding[i].level, r->finding[i].level);
		cr_assert_eq(back->finding[i].fingerprint, r->finding[i].fingerprint);
		cr_assert_eq(back->finding[i].baseline, r->finding[i].baseline);
		cr_assert_eq(back->finding[i].buffer.open, r->finding[i].buffer.open);
	}
	cr_assert_eq(back->own.reasons, 1u << KRT_REASON_LOST | 1u << KRT_REASON_GRAPH);
	cr_assert_str_eq(back->own.detail[KRT_REASON_LOST], "process 9");
	krt_report_destroy(back);
	krt_report_destroy(r);
	free(a);
}

/* text with the first `from` replaced; malloc'd. */
static char *changed(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *s;

	cr_assert(at, "%s", from);
	cr_assert_gt(asprintf(&s, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)), 0);
	return s;
}

Test(report_read, newer_keys_are_passed_over)
{
	struct krt_report *r = fuller_report(), *back;
	size_t n;
	char *a = written(r, &n), *b, *c, *again;

	b = changed(a, "\"schema_version\": 1,",
		    "\"schema_version\": 1, \"more\": [{\"x\": 1.5}],");
	c = changed(b, "\"rule\": \"KRT-RACE-RAW\"", "\"new\": {}, \"rule\": \"KRT-RACE-RAW\"");
	back = parse(c);
	cr_assert(back, "%s", err);
	again = written(back, &n);
	cr_assert_str_eq(a, again);
	free(again);
	free(c);
	free(b);
	krt_report_destroy(back);
	/* and those that an older one lacks */
	b = changed(a, "\"possible_total\": 77,", "");
	c = changed(b, "\"baseline\": \"known\",", "");
	back = parse(c);
	cr_assert(back, "%s", err);
	cr_assert_eq(back->possible_total, 0);
	cr_assert_eq(back->finding[0].baseline, KRT_BASELINE_NONE);
	krt_report_destroy(back);
	krt_report_destroy(r);
	free(a);
	free(b);
	free(c);
}

Test(report_read, mistakes_are_told)
{
	static const struct {
		const char *from, *to, *says;
	} row[] = {
		{"\"schema_version\": 1", "\"schema_version\": 2",
		 "r.json: schema_version: 2 is another version than the one that this krtsan reads "
		 "(1)"},
		{"\"schema_version\": 1", "\"schema_version\": \"1\"", "not a report of krtsan"},
		{"\"schema_version\"", "\"version\"", "not a report of krtsan"},
		{"\"pid\": 4711", "\"pid\": \"x\"", "processes[0].pid: wants a whole number"},
		{"\"pid\": 4711", "\"pid\": 4711000000000",
		 "processes[0].pid: 4711000000000 is out of"},
		{"\"calls\": 18205", "\"calls\": -1", "r.json: coverage.calls: -1 is out of range"},
		{"\"calls\": 18205", "\"calls\": 99999999999999999999", "r.json:"},
		{"\"calls\": 18205", "\"calls\": 1, \"calls\": 2", "duplicate object key"},
		{"\"rule\": \"KRT-RACE-RAW\"", "\"rule\": \"KRT-\\u001b[31mNEW\"",
		 "findings[0].rule: \"KRT-?[31mNEW\" is not known to this krtsan"},
		{"\"rule\": \"KRT-RACE-RAW\"", "\"rule\": null", "findings[0].rule: is missing"},
		{"\"level\": \"error\",\n", "\"level\": \"fatal\",\n",
		 "findings[0].level: \"fatal\" is not known"},
		{"\"level\": \"error\",\n", "", "findings[0].level: is missing"},
		{"\"fingerprint\": \"00003f9c21a07b44\"", "\"fingerprint\": \"3F\"",
		 "findings[0].fingerprint: wants a text of hexadecimal digits"},
		{"\"findings\": [", "\"found\": [", "findings: is missing"},
		{"\"findings\": [", "\"findings\": [7,", "findings[0]: wants an object"},
		{"\"reason\": \"records were dropped\"", "\"reason\": \"tired\"",
		 "coverage.reasons[0].reason: \"tired\" is not known"},
		{"\"pc\": \"0x7f0000001000\"", "\"pc\": \"7f\"",
		 "stack[0].pc: wants a text of hexadecimal digits after 0x"},
		{"\"api\": \"torch\"", "\"api\": \"jax\"", "findings[0].edge.api: \"jax\" is not"},
		{"\"verdict\"", "verdict", "r.json:"},
		{"\"edges\": [", "\"edges\": [[9999, 0, 0, 0],",
		 "edges[0]: [0] is no place in a list of"},
		{"\"operations\": [", "\"operations\": [[1, null]", "r.json:"},
		{"\"operations\": [", "\"operations\": [[1, null],",
		 "timeline.processes[0].operations[0]: [1] is missing"},
		{"\"offset_ns\": ", "\"offset_ns\": true, \"x\": ", "offset_ns: wants a whole number"},
	};
	struct krt_report *r = fuller_report();
	size_t n;
	char *a = written(r, &n);

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		char *b = changed(a, row[i].from, row[i].to);

		cr_expect_null(parse(b), "%s", row[i].to);
		cr_expect(strstr(err, row[i].says), "%s: %s", row[i].to, err);
		cr_expect_eq(strncmp(err, "report: r.json:", 15), 0, "%s", err);
		free(b);
	}
	krt_report_destroy(r);
	free(a);
}

Test(report_read, every_cut_is_an_error)
{
	struct krt_report *r = fuller_report();
	size_t n;
	char *a = written(r, &n);

	for (size_t i = 0; i < n - 1; i += i < n - 200 ? 97 : 1)
		if (i + 2 < n) /* the last bytes are "}\n" */
			cr_assert_null(krt_report_parse(a, i, "r.json", err, sizeof(err)), "%zu",
				       i);
	cr_assert_null(krt_report_parse(a, 400, "r.json", err, sizeof(err)));
	cr_assert(strstr(err, "r.json:1"), "line and column: %s", err);
	cr_assert_null(krt_report_parse("", 0, "r.json", err, sizeof(err)));
	cr_assert_null(krt_report_read("/nonexistent/r.json", err, sizeof(err)));
	cr_assert_str_eq(
		err, "report: /nonexistent/r.json: cannot be opened: No such file or directory");
	cr_assert_null(krt_report_read("/", err, sizeof(err)));
	krt_report_destroy(r);
	free(a);
}
