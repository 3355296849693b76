/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suppressions and baseline of a run (gate.h).
 */
#define _GNU_SOURCE
#include "gate.h"
#include "baseline.h"
#include "report_read.h"
#include "suppress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct krt_gate {
	struct krt_suppressions *suppressions;
	bool print;
	const char *path; /* of the baseline, or NULL; the options' own */
	struct krt_idset known;
	size_t nknown, nnew, absent;
};

/* The file of suppressions beside the program; malloc'd, NULL: none is there. */
static char *beside(const char *program, const char *path)
{
	const char *slash = program ? strrchr(program, '/') : NULL;
	char *other;

	if (*path == '/' || !slash || !access(path, F_OK) ||
	    asprintf(&other, "%.*s/%s", (int)(slash - program), program, path) < 0)
		return NULL;
	if (!access(other, F_OK))
		return other;
	free(other);
	return NULL;
}

static int load_suppressions(struct krt_gate *g, const struct krt_options *o, const char *program,
			     char *err, size_t errlen)
{
	for (unsigned i = 0; i < o->suppressions.count; i++) {
		const char *path = o->suppressions.item[i];
		char *other = beside(program, path);
		int r = krt_suppressions_load(g->suppressions, other ? other : path, krt_today(),
					      err, errlen);

		free(other);
		if (r)
			return -1;
	}
	return 0;
}

static int load_baseline(struct krt_gate *g, char *err, size_t errlen)
{
	char why[1024] = "-: standard input is the program's";
	struct krt_report *r =
		strcmp(g->path, "-") ? krt_report_read(g->path, why, sizeof(why)) : NULL;
	int e = r ? krt_idset_of(&g->known, r->finding, r->nfindings) : -1;

	if (e)
		snprintf(err, errlen, "baseline: %s", r ? "no memory" : why);
	krt_report_destroy(r);
	return e;
}

struct krt_gate *krt_gate_open(const struct krt_options *o, const char *program, char *err,
			       size_t errlen)
{
	struct krt_gate *g = calloc(1, sizeof(*g));

	snprintf(err, errlen, "suppressions: no memory");
	if (!g)
		return NULL;
	g->print = o->print_suppressions;
	g->path = *o->baseline ? o->baseline : NULL;
	g->suppressions = krt_suppressions_new();
	if (g->suppressions && !load_suppressions(g, o, program, err, errlen) &&
	    (!g->path || !load_baseline(g, err, errlen)))
		return g;
	krt_gate_close(g);
	return NULL;
}

void krt_gate_apply(struct krt_gate *g, struct krt_report *r)
{
	krt_suppressions_apply(g->suppressions, r);
	if (!g->path)
		return;
	if (krt_idset_mark(&g->known, r, &g->absent))
		krt_coverage_reason(&r->own, KRT_REASON_INTERNAL, "no memory for the baseline");
	for (size_t i = 0; i < r->nfindings; i++) {
		g->nknown += r->finding[i].baseline == KRT_BASELINE_KNOWN;
		g->nnew += r->finding[i].baseline == KRT_BASELINE_NEW;
	}
}

void krt_gate_tell(const struct krt_gate *g)
{
	krt_suppressions_tell(g->suppressions, g->print, stderr);
	if (g->path)
		fprintf(stderr, "krtsan: baseline: %s: %zu finding%s known, %zu new, %zu gone\n",
			g->path, g->nknown, g->nknown == 1 ? "" : "s", g->nnew, g->absent);
}

void krt_gate_close(struct krt_gate *g)
{
	if (!g)
		return;
	krt_suppressions_free(g->suppressions);
	krt_idset_free(&g->known);
	free(g);
}
