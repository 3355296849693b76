/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan suppress: for findings of a report the lines of a suppressions file.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "../reports/report.h"
#include "../reports/suppress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct krt_usage usage = {
	.command = "suppress",
	.args = "REPORT.json [ID...]",
	.about = "Prints the lines that suppress these findings of a JSON report and no other (all "
		 "that\n"
		 "are more than possible where no ID is given), for a file that\n"
		 "--suppressions=FILE names. Add reason=\"...\" and expires=YYYY-MM-DD, with "
		 "commas.\n"
		 "Exit code: 0; 125: the report cannot be read, or holds no such finding.",
	.mixed = true,
};

/* The findings that an argument names; how many. */
static size_t choose(const struct krt_report *r, const char *id, bool *chosen)
{
	size_t n = 0;
	char text[17];

	for (size_t i = 0; i < r->nfindings; i++) {
		snprintf(text, sizeof(text), "%016" PRIx64, r->finding[i].fingerprint);
		if (id ? !strcasecmp(id, text) : r->finding[i].confidence > KRT_POSSIBLE) {
			chosen[i] = true;
			n++;
		}
	}
	return n;
}

/* What the message says, on the one line of a comment. */
static void comment(const struct krt_finding *f)
{
	const char *s = f->message ? f->message : krt_rules[f->rule].title;
	unsigned n;

	fputs("# ", stdout);
	for (; *s; s += n ? n : 1) {
		n = krt_printable_length(s);
		printf("%.*s", n ? (int)n : 1, n ? s : " ");
	}
	fputc('\n', stdout);
}

static int print(const struct krt_report *r, const bool *chosen)
{
	char **line = calloc(r->nfindings + 1, sizeof(*line));
	int code = line ? 0 : krt_fail("suppress: no memory");

	for (size_t i = 0; !code && i < r->nfindings; i++) {
		bool again = false;

		if (!chosen[i])
			continue;
		line[i] = krt_suppression_of(r, chosen, i);
		if (!line[i])
			code = krt_fail("suppress: no memory");
		for (size_t k = 0; k < i && line[i]; k++)
			again |= line[k] && !strcmp(line[k], line[i]);
		if (code || again)
			continue;
		comment(&r->finding[i]);
		puts(line[i]);
	}
	for (size_t i = 0; line && i < r->nfindings; i++)
		free(line[i]);
	free(line);
	return code;
}

int krt_cmd_suppress(int argc, char **argv)
{
	int code, next = krt_cli_parse(&usage, argc, argv, NULL, &code);
	struct krt_report *r;
	bool *chosen;

	if (next < 0)
		return code;
	if (next == argc)
		return krt_fail("suppress: no report given; usage: krtsan suppress %s", usage.args);
	r = krt_load_report("suppress", argv[next]);
	if (!r)
		return KRT_EXIT_FAILED;
	code = 0;
	chosen = calloc(r->nfindings + 1, sizeof(*chosen));
	if (!chosen)
		code = krt_fail("suppress: no memory");
	else if (next + 1 == argc)
		choose(r, NULL, chosen);
	for (int i = next + 1; i < argc && !code; i++)
		if (!choose(r, argv[i], chosen))
			code = krt_fail("suppress: %s: no such finding in %s", argv[i], argv[next]);
	if (!code)
		code = print(r, chosen);
	if (fflush(stdout))
		code = krt_fail("suppress: cannot be written");
	free(chosen);
	krt_report_destroy(r);
	return code;
}
