/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets (fuzz.h) for what users keep: JSON reports, suppressions, and the two as
 * the files of a run.  A report that is read all
 * the same is written in every format, and its JSON read and written once more is
 * the same; suppressions that are read are held against findings.
 */
#define _GNU_SOURCE
#include "testcases/fuzz/fuzz.h"
#include "reports/gate.h"
#include "reports/report_read.h"
#include "reports/suppress.h"
#include "testcases/unit/sample_report.h"

#include <string.h>

static const struct krt_writer writer = {.show = KRT_POSSIBLE,
					 .full_stacks = true,
					 .strip = "/src",
					 .fails = true,
					 .suppressed = true};

static char *written(const struct krt_report *r, const struct krt_format *f, size_t *n)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, n);

	MUST(out && !f->write(out, r, &writer) && !fclose(out));
	return text;
}

void fuzz_report_seeds(void)
{
	struct krt_report *r = sample_report();
	size_t n;
	char *text;

	for (unsigned i = 0; i < 2; i++) {
		text = written(r, krt_format_by_name("json", 4), &n);
		fuzz_keep(text, n);
		free(text);
		r->nfindings = 1; /* a shorter one */
		for (size_t k = 0; k < r->nprocesses; k++)
			r->process[k].timeline = NULL;
	}
	krt_report_destroy(r);
}

void fuzz_report(const unsigned char *p, size_t n)
{
	const struct krt_format *json = krt_format_by_name("json", 4);
	char err[256] = "", *text, *again;
	struct krt_report *r = krt_report_parse((const char *)p, n, "fuzz", err, sizeof(err)),
			  *back;
	bool chosen[8] = {true};
	size_t len;

	MUST(r || !strncmp(err, "report: fuzz:", 13));
	for (const char *c = err; *c; c++)
		MUST((unsigned char)*c >= 0x20);
	if (!r)
		return;
	for (const struct krt_format *f = krt_formats; f->name; f++)
		free(written(r, f, &len));
	text = written(r, json, &len);
	back = krt_report_parse(text, len, "fuzz", err, sizeof(err));
	MUST(back);
	again = written(back, json, &len);
	MUST(!strcmp(text, again));
	if (r->nfindings && r->nfindings <= 8)
		free(krt_suppression_of(r, chosen, 0));
	free(again);
	free(text);
	krt_report_destroy(back);
	krt_report_destroy(r);
}

void fuzz_suppression_seeds(void)
{
	static const char *const text[] = {
		"race:softmax # why\n\n# a "
		"comment\nKRT-RACE-RAW:func=^main$,file=\"a,b\\\"\",reason=\"x\",expires=2030-12-"
		"31\n",
		"*:*\nstale-graph:kernel=*k*,buffer=act0,stream=3,api=cu*,nvtx=x,module=libapp,"
		"fingerprint=00003f9c\n",
	};

	for (unsigned i = 0; i < 2; i++)
		fuzz_keep(text[i], strlen(text[i]));
}

void fuzz_suppression(const unsigned char *p, size_t n)
{
	struct krt_suppressions *s = krt_suppressions_new();
	char *text = strndup((const char *)p, n), err[256] = "", *told = NULL;
	struct krt_report *r;
	size_t len, found;
	FILE *out;

	MUST(s && text);
	if (krt_suppressions_parse(s, text, "fuzz", 20300101, err, sizeof(err))) {
		MUST(!strncmp(err, "suppressions: fuzz:", 19));
	} else {
		r = sample_report();
		found = r->nfindings;
		krt_suppressions_apply(s, r);
		MUST(r->nfindings + r->nsuppressed == found);
		out = open_memstream(&told, &len);
		MUST(out);
		krt_suppressions_tell(s, true, out);
		fclose(out);
		free(told);
		krt_report_destroy(r);
	}
	krt_suppressions_free(s);
	free(text);
}

/* A file of suppressions, a line with %, a baseline; either may be missing. */
void fuzz_baseline(const unsigned char *p, size_t n)
{
	const unsigned char *cut = memmem(p, n, "\n%\n", 3);
	size_t first = cut ? (size_t)(cut - p) + 1 : 0, second = cut ? first + 2 : 0;
	const char *text[2] = {fuzz_file(0, p, first), fuzz_file(1, p + second, n - second)};
	struct krt_options *o = malloc(sizeof(*o));
	char err[2048] = "";
	struct krt_report *r;
	struct krt_gate *g;
	size_t found;

	MUST(o);
	krt_options_init(o);
	MUST(!krt_options_set(o, "suppressions", 12, text[0], strlen(text[0]), err, sizeof(err)));
	MUST(!krt_options_set(o, "baseline", 8, text[1], strlen(text[1]), err, sizeof(err)));
	g = krt_gate_open(o, "/nowhere/program", err, sizeof(err));
	MUST(g || !strncmp(err, "suppressions: ", 14) || !strncmp(err, "baseline: ", 10));
	if (g) {
		r = sample_report();
		found = r->nfindings;
		krt_gate_apply(g, r);
		MUST(r->nfindings + r->nsuppressed == found);
		for (size_t i = 0; i < r->nfindings; i++)
			MUST(r->finding[i].baseline == KRT_BASELINE_KNOWN ||
			     r->finding[i].baseline == KRT_BASELINE_NEW);
		krt_gate_tell(g);
		krt_report_destroy(r);
	}
	krt_gate_close(g);
	free(o);
}

void fuzz_baseline_seeds(void)
{
	static const char rules[] = "race:softmax # why\n%\n";
	struct krt_report *r = sample_report();
	size_t n;
	char *text = written(r, krt_format_by_name("json", 4), &n),
	     *both = malloc(sizeof(rules) + n);

	MUST(both);
	memcpy(both, rules, sizeof(rules) - 1);
	memcpy(both + sizeof(rules) - 1, text, n);
	fuzz_keep(both, sizeof(rules) - 1 + n);
	free(both);
	free(text);
	krt_report_destroy(r);
}

const char *const fuzz_report_words[] = {
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"\"",
	"\\u0000",
	"\\ud800",
	"\\ufffd",
	"null",
	"true",
	"false",
	"0",
	"-1",
	"1e9",
	"4294967296",
	"9223372036854775807",
	"99999999999999999999",
	"\"0x\"",
	"\"0xffffffffffffffff\"",
	"\"\"",
	"{}",
	"[]",
	"\"error\"",
	"\"note\"",
	"\"possible\"",
	"\"KRT-UNFINISHED\"",
	"\"known\"",
	"\"open\": true,",
	"[[[[[[[[",
	NULL,
};
const char *const fuzz_suppression_words[] = {
	"race",
	"KRT-RACE-RAW",
	"krt-",
	"*",
	":",
	"::",
	",",
	"=",
	"==",
	"^",
	"$",
	"\"",
	"\\\"",
	"\\",
	"#",
	" #",
	"func=",
	"file=",
	"module=",
	"kernel=",
	"buffer=",
	"stream=",
	"api=",
	"nvtx=",
	"fingerprint=",
	"reason=",
	"expires=",
	"2030-02-29",
	"2029-12-31",
	"\n",
	"\r\n",
	"\t",
	"fnuc=",
	"****************",
	NULL,
};
