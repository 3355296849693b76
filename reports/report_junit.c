/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUnit XML, as Jenkins, GitLab and others read it: a test case for each rule,
 * so that a clean run shows what was looked for, and `analysis-complete`.
 *   failure  a finding that fails the run
 *   skipped  else, a finding that would but is suppressed or in the baseline;
 *            of analysis-complete: inconclusive, but that does not fail the run
 *   error    of analysis-complete: inconclusive, and that fails the run
 * The findings are told in the failure, or in system-out where they fail nothing.
 * So a file has a failure or an error where krtsan's own exit code has one.  The reason of a skip
 * is the element's text: some readers know no attribute of it.
 *
 * The few elements are written here by hand: a library would be far larger than
 * its use, and the rest, making any bytes valid XML, is one function.
 */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS	100 /* findings of a rule that are told in full */
#define MESSAGE 300

struct junit {
	FILE *out;
	const struct krt_report *r;
	struct krt_writer w; /* of a text that goes to no terminal */
};

/* What a finding is for its rule's case. */
enum kind {
	FAILS,
	EXCUSED, /* it would fail, but is suppressed or in the baseline */
	OTHER,
	HIDDEN, /* of a confidence below show, and fails nothing */
	NR_KINDS
};

struct tally {
	size_t n[NR_KINDS];
	const struct krt_finding *first; /* that fails */
};

/* U+FFFE and U+FFFF are no characters of XML, nor are most control characters. */
static bool legal(const char *s, unsigned n)
{
	unsigned char c = (unsigned char)*s;

	if (n == 1)
		return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
	return n && memcmp(s, "\xef\xbf\xbe", 3) && memcmp(s, "\xef\xbf\xbf", 3);
}

/* Any bytes, at most max of them, as content or as the value of an attribute. */
static void escaped(FILE *out, const char *s, size_t max)
{
	const char *end = s + strnlen(s, max);

	while (s < end) {
		unsigned n = krt_utf8_length(s);

		if (n > (size_t)(end - s))
			break;
		if (!legal(s, n))
			fputs("\xef\xbf\xbd", out);
		else if (n > 1)
			fwrite(s, 1, n, out);
		else if (strchr("<>&\"\t\r", *s))
			fprintf(out, "&#%d;", *s);
		else
			fputc(*s, out);
		s += n ? n : 1;
	}
	fputs(*s ? "..." : "", out);
}

static enum kind kind_of(const struct junit *j, const struct krt_finding *f)
{
	if (j->w.fails && krt_finding_fails(f, j->w.fail_level))
		return FAILS;
	if (f->confidence < j->w.show)
		return HIDDEN;
	return j->w.fails && f->level >= j->w.fail_level ? EXCUSED : OTHER;
}

static void count(const struct junit *j, struct tally *tally, const struct krt_finding *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct tally *t = &tally[f[i].rule];
		enum kind kind = kind_of(j, &f[i]);

		if (kind == FAILS && !t->first)
			t->first = &f[i];
		t->n[kind]++;
	}
}

static void told(const struct junit *j, FILE *out, enum krt_rule_id rule, bool fails,
		 const struct krt_finding *f, size_t n, size_t *left)
{
	for (size_t i = 0; i < n && *left; i++) {
		enum kind kind = f[i].rule == rule ? kind_of(j, &f[i]) : HIDDEN;

		if (kind == HIDDEN || (kind == FAILS) != fails)
			continue;
		if (f[i].suppressed_by)
			fputs("Suppressed:\n", out);
		krt_text_finding(out, j->r, &j->w, &f[i]);
		--*left;
	}
}

/* The findings of a rule that fail the run, or the others, in full. */
static bool text_of(const struct junit *j, const struct tally *t, enum krt_rule_id rule, bool fails)
{
	size_t all = fails ? t->n[FAILS] : t->n[EXCUSED] + t->n[OTHER], left = TEXTS, len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return false;
	told(j, out, rule, fails, j->r->finding, j->r->nfindings, &left);
	told(j, out, rule, fails, j->r->suppressed, j->r->nsuppressed, &left);
	if (all > TEXTS)
		fprintf(out, "%zu more: the JSON report has all\n", all - TEXTS);
	if (!fails && t->n[HIDDEN])
		fprintf(out, "%zu of a confidence below show\n", t->n[HIDDEN]);
	if (fclose(out)) {
		free(text);
		return false;
	}
	escaped(j->out, text, len);
	free(text);
	return true;
}

static void open_case(const struct junit *j, const char *name)
{
	fprintf(j->out, "    <testcase classname=\"krtsan\" name=\"%s\" time=\"0\">\n", name);
}

static void plural(FILE *out, size_t n, const char *what)
{
	fprintf(out, "%zu %s%s", n, what, n == 1 ? "" : "s");
}

static bool rule_case(const struct junit *j, const struct tally *t, enum krt_rule_id rule)
{
	const struct krt_rule *about = &krt_rules[rule];
	bool fine = true;

	open_case(j, about->id);
	if (t->n[FAILS]) {
		fprintf(j->out, "      <failure type=\"%s\" message=\"", about->id);
		plural(j->out, t->n[FAILS], "finding");
		fputs(", first: ", j->out);
		escaped(j->out, t->first->message ? t->first->message : about->title, MESSAGE);
		fputs("\">", j->out);
		fine = text_of(j, t, rule, true);
		fputs("</failure>\n", j->out);
	} else if (t->n[EXCUSED]) {
		fputs("      <skipped>", j->out);
		plural(j->out, t->n[EXCUSED], "finding");
		fputs(", suppressed or in the baseline</skipped>\n", j->out);
	}
	if (t->n[EXCUSED] || t->n[OTHER] || t->n[HIDDEN]) {
		fputs("      <system-out>", j->out);
		fine &= text_of(j, t, rule, false);
		fputs("</system-out>\n", j->out);
	}
	fputs("    </testcase>\n", j->out);
	return fine;
}

static void complete_case(const struct junit *j, const struct krt_coverage *sum)
{
	const char *element = j->w.needs_complete ? "error" : "skipped", *sep = "";

	open_case(j, "analysis-complete");
	if (sum->reasons) {
		fprintf(j->out, "      <%s%s>", element,
			j->w.needs_complete
				? " type=\"inconclusive\" message=\"analysis incomplete\""
				: "");
		for (unsigned k = 0; k < KRT_NR_REASONS; k++) {
			if (!(sum->reasons & 1u << k))
				continue;
			fprintf(j->out, "%s%s", sep, krt_reason_text(k));
			if (sum->detail[k][0]) {
				fputs(": ", j->out);
				escaped(j->out, sum->detail[k], sizeof(sum->detail[k]));
			}
			sep = "\n";
		}
		fprintf(j->out, "</%s>\n", element);
	}
	fputs("    </testcase>\n", j->out);
}

int krt_write_junit(FILE *out, const struct krt_report *r, const struct krt_writer *w)
{
	struct junit j = {.out = out, .r = r, .w = *w};
	struct tally tally[KRT_NR_RULES] = {0};
	size_t failures = 0, skipped, errors;
	struct krt_coverage sum;
	bool fine = true;

	j.w.color = false;
	j.w.columns = 0;
	krt_report_coverage(r, &sum);
	errors = sum.reasons && w->needs_complete;
	skipped = sum.reasons && !w->needs_complete;
	count(&j, tally, r->finding, r->nfindings);
	count(&j, tally, r->suppressed, r->nsuppressed);
	for (unsigned i = 0; i < KRT_NR_RULES; i++) {
		failures += tally[i].n[FAILS] > 0;
		skipped += !tally[i].n[FAILS] && tally[i].n[EXCUSED];
	}
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	fprintf(out, "<testsuites name=\"krtsan\" tests=\"%d\" failures=\"%zu\" errors=\"%zu\">\n",
		KRT_NR_RULES + 1, failures, errors);
	fprintf(out,
		"  <testsuite name=\"krtsan\" tests=\"%d\" failures=\"%zu\" errors=\"%zu\" "
		"skipped=\"%zu\" time=\"0\">\n",
		KRT_NR_RULES + 1, failures, errors, skipped);
	complete_case(&j, &sum);
	for (unsigned i = 0; i < KRT_NR_RULES; i++)
		fine &= rule_case(&j, &tally[i], i);
	fputs("  </testsuite>\n</testsuites>\n", out);
	if (!fine)
		errno = ENOMEM;
	return fflush(out) || ferror(out) || !fine ? -1 : 0;
}
