/* SPDX-License-Identifier: Apache-2.0 */
/*
 * krtsan diff: the findings of two reports, by fingerprint.
 */
#define _GNU_SOURCE
#include "cli.h"
#include "../reports/baseline.h"
#include "../reports/json.h"
#include "../reports/output.h"
#include "../reports/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *as_json;
static const struct krt_flag flags[] = {
	{"json", NULL, "as JSON", &as_json},
	{NULL},
};
static const char *const obeyed[] = {"fail_on", "exitcode", NULL};
static const struct krt_usage usage = {
	.command = "diff",
	.args = "[options] OLD.json NEW.json",
	.about = "Tells which findings of NEW are new, which of OLD are fixed or suppressed, and "
		 "which\n"
		 "are in both, by their ids.\n"
		 "Exit code: 66 when one at or above --fail-on is new; 0; 125: a report cannot be "
		 "read.",
	.flags = flags,
	.options = true,
	.mixed = true,
	.obeyed = obeyed,
};

struct side {
	struct krt_report *r;
	struct krt_idset known, suppressed;
};

enum change { NEW, FIXED, SUPPRESSED, UNCHANGED, NR_CHANGES };
static const char *const change_text[] = {"new", "fixed", "suppressed", "unchanged"};

static int open_side(struct side *s, const char *path)
{
	s->r = krt_load_report("diff", path);
	if (!s->r)
		return -1;
	if (!krt_idset_of(&s->known, s->r->finding, s->r->nfindings) &&
	    !krt_idset_of(&s->suppressed, s->r->suppressed, s->r->nsuppressed))
		return 0;
	krt_fail("diff: no memory");
	return -1;
}

static void close_side(struct side *s)
{
	krt_idset_free(&s->known);
	krt_idset_free(&s->suppressed);
	krt_report_destroy(s->r);
}

/* A finding of NEW, or one that is in OLD alone. */
static enum change change_of(const struct krt_finding *f, const struct side *old,
			     const struct side *new, bool of_new)
{
	if (of_new)
		return krt_idset_has(&old->known, f->fingerprint) ? UNCHANGED : NEW;
	return krt_idset_has(&new->suppressed, f->fingerprint) ? SUPPRESSED : FIXED;
}

/* Is it the first with its fingerprint that is of the change? */
static bool takes_part(const struct krt_report *r, size_t i, const struct side *old,
		       const struct side *new, bool of_new, enum change c)
{
	const struct krt_finding *f = &r->finding[i];

	if ((!of_new && krt_idset_has(&new->known, f->fingerprint)) ||
	    change_of(f, old, new, of_new) != c)
		return false;
	for (size_t k = 0; k < i; k++)
		if (r->finding[k].fingerprint == f->fingerprint)
			return false;
	return true;
}

static void as_text(const struct krt_finding *f, enum change c)
{
	const struct krt_frame *site, *previous;
	char function[KRT_SHORT_NAME] = "", line[512];

	krt_finding_sites(f, &site, &previous);
	if (site)
		krt_frame_function(site, function);
	if (site && site->file)
		snprintf(line, sizeof(line), " %s:%u%s%s", site->file, site->line,
			 *function ? " in " : "", function);
	else
		snprintf(line, sizeof(line), "%s%s", *function ? " in " : "", function);
	krt_make_printable(line);
	printf("%-10s %-7s %-24s [id %016" PRIx64 "]%s\n", change_text[c], krt_level_name(f->level),
	       krt_rules[f->rule].id, f->fingerprint, line);
}

static void as_object(struct krt_json *j, const struct krt_finding *f)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, f->fingerprint);
	krt_json_open_flat(j, NULL, '{');
	krt_json_string(j, "fingerprint", id);
	krt_json_string(j, "rule", krt_rules[f->rule].id);
	krt_json_string(j, "level", krt_level_name(f->level));
	krt_json_string(j, "confidence", krt_confidence_name(f->confidence));
	krt_json_string(j, "message", f->message ? f->message : krt_rules[f->rule].title);
	krt_json_close(j, '}');
}

/* Tells of one kind of change; how many. */
static size_t tell(struct krt_json *j, const struct side *old, const struct side *new,
		   enum change c)
{
	bool of_new = c == NEW || c == UNCHANGED;
	const struct krt_report *r = of_new ? new->r : old->r;
	size_t n = 0;

	if (j)
		krt_json_open(j, change_text[c], '[');
	for (size_t i = 0; i < r->nfindings; i++) {
		if (!takes_part(r, i, old, new, of_new, c))
			continue;
		n++;
		if (j)
			as_object(j, &r->finding[i]);
		else
			as_text(&r->finding[i], c);
	}
	if (j)
		krt_json_close(j, ']');
	return n;
}

static int compare(const struct side *old, struct side *new, const struct krt_options *o)
{
	struct krt_json j;
	size_t n[NR_CHANGES], absent;
	int code;

	if (as_json) {
		krt_json_begin(&j, stdout);
		krt_json_open(&j, NULL, '{');
		krt_json_uint(&j, "schema_version", 1);
	}
	for (enum change c = 0; c < NR_CHANGES; c++)
		n[c] = tell(as_json ? &j : NULL, old, new, c);
	if (as_json)
		krt_json_close(&j, '}');
	else
		printf("krtsan: %zu new, %zu fixed, %zu suppressed, %zu unchanged\n", n[NEW],
		       n[FIXED], n[SUPPRESSED], n[UNCHANGED]);
	if (as_json ? krt_json_end(&j) : fflush(stdout))
		return krt_fail("diff: cannot be written");
	/* What the first report has is known, as to a run with that baseline. */
	code = krt_idset_mark(&old->known, new->r, &absent) ? krt_fail("diff: no memory") : 0;
	if (!code && krt_output_fails(new->r, o))
		code = (int)o->exitcode;
	return code;
}

int krt_cmd_diff(int argc, char **argv)
{
	struct krt_options *o = malloc(sizeof(*o));
	struct side old = {0}, new = {0};
	int code, next;

	if (!o)
		return krt_fail("diff: no memory");
	next = krt_cli_parse(&usage, argc, argv, o, &code);
	if (next >= 0 && next + 2 != argc)
		code = krt_fail("diff: wants two reports; usage: krtsan diff %s", usage.args);
	else if (next >= 0)
		code = open_side(&old, argv[next]) || open_side(&new, argv[next + 1])
			       ? KRT_EXIT_FAILED
			       : compare(&old, &new, o);
	close_side(&old);
	close_side(&new);
	free(o);
	return code;
}
