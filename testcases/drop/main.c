/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clean programs without one of their waits, syncs or records: is what the engine says then
 * what the judge says?
 *
 *   drop [-v] [-o VERDICTS] <LIST
 *
 * A line of the list is NAME<tab>KRTSAN_OPTIONS<tab>folder of its trace; of the verdicts,
 * NAME<tab>number of the call for sim_drop<tab>findings.
 *
 * The engine reads the trace without that call's record, the judge the same run as a program
 * without that operation.  Programs with something that the judge does not have are told, and
 * counted.
 */
#include "convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	unsigned long programs, lacking, dropped, found, vague, operations, passed, failed;
} sum;
static bool verbose;
static FILE *verdicts;
static bool seen[NR_FAULTS]; /* a judge with that fault says something else of some program */

static void not_ok(const char *name, const struct converted *c, int without, const char *why)
{
	static const char *const what[] = {
#define X(text) #text,
		OPERATIONS(X)
#undef X
	};

	if (without < 0)
		printf("not ok %s: %s\n", name, why);
	else
		printf("not ok %s without %d (%s, call %lu): %s\n", name, without,
		       what[c->p.op[without].what], c->ticket[without], why);
}

/* Everything that both say, for who looks for the reason. */
static void tell_all(const struct trial *t, const struct converted *c, const struct krt_report *r)
{
	for (size_t i = 0; i < r->nfindings; i++)
		printf("#   %s (%s): %s\n", krt_rules[r->finding[i].rule].id,
		       krt_confidence_name(r->finding[i].confidence), r->finding[i].message);
	for (unsigned i = 0; i < t->n; i++)
		printf("#   engine: %s of %d with %d, buffer %u, cells %lx%s\n",
		       krt_rules[t->told[i].rule].id, t->told[i].cur, t->told[i].prev,
		       t->told[i].buffer, t->told[i].cells,
		       t->told[i].in_view[OBS] ? "" : ", documented");
	for (unsigned i = 0; i < t->verdict.n; i++) {
		const struct pair *q = &t->verdict.pair[i];

		printf("#   judge: %s of %d with %d, buffer %u, cells %lx, need %lx%s\n",
		       krt_rules[q->rule].id, q->cur, q->prev, q->buffer, q->cells[DOC],
		       q->need[DOC], q->in_view[OBS] ? "" : ", documented");
	}
	for (unsigned i = 0; i < c->p.n; i++) {
		const struct op *o = &c->p.op[i];

		printf("#   %u: call %lu, %d, stream %u, context %u, thread %u, event %u", i,
		       c->ticket[i], o->what, o->stream, o->ctx, o->thread, o->event);
		for (unsigned k = 0; k < o->nranges; k++)
			printf(", %s %u/%lx", o->range[k].write ? "w" : "r", o->range[k].buffer,
			       o->range[k].cells);
		printf("\n");
	}
}

/* Possible ones too: what a kernel may touch it does touch in some run. */
static unsigned told(const struct krt_report *r)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->nfindings; i++)
		n += is_judged((int)r->finding[i].rule);
	return n;
}

static bool one(const char *name, struct trace *t, struct converted *c, int without,
		const struct krt_report *whole)
{
	static struct trial trial;
	struct krt_report *r = NULL;
	bool ok;

	trial.why[0] = 0;
	if (without >= 0)
		c->p.left_out[without] = true;
	judge(&c->p, &trial.verdict, FAULT_NONE);
	leave_vague_out(&trial.verdict, c);
	if (!whole)
		r = trace_report(t, c->record[without]);
	take_findings(&trial, c, whole ? whole : r);
	if (r && verdicts && c->open && c->number[without])
		fprintf(verdicts, "%s\t%u\t%u\n", name, c->number[without], told(r));
	ok = !trial.why[0] && same(&trial, &c->p);
	if (!ok)
		not_ok(name, c, without, trial.why);
	if (!ok && verbose)
		tell_all(&trial, c, whole ? whole : r);
	if (r)
		krt_report_destroy(r);
	if (without >= 0) {
		c->p.left_out[without] = false;
		sum.dropped++;
		sum.found += trial.n > 0;
	}
	return ok;
}

/* Of the whole program. */
static void try_wrong_judges(struct converted *c, const struct krt_report *whole)
{
	static struct trial trial;

	for (unsigned f = FAULT_NONE + 1; f < NR_FAULTS; f++) {
		if (seen[f])
			continue;
		trial.why[0] = 0;
		judge(&c->p, &trial.verdict, (enum fault)f);
		leave_vague_out(&trial.verdict, c);
		take_findings(&trial, c, whole);
		seen[f] = !same(&trial, &c->p);
	}
}

static void program(const char *name, const char *options, const char *dir)
{
	static struct converted c;
	struct krt_report *whole = NULL;
	struct trace t;
	char why[512];
	bool ok;

	sum.programs++;
	if (trace_open(&t, dir, options, why, sizeof(why))) {
		whole = trace_report(&t, -1);
		convert(&c, &t);
		snprintf(why, sizeof(why), "%s", c.lacks);
	}
	if (why[0]) {
		printf("# %s: not judged: %s\n", name, why);
		sum.lacking++;
	} else {
		for (unsigned i = 0; i < c.p.n; i++)
			sum.vague += c.vague[i];
		sum.operations += c.p.n;
		ok = one(name, &t, &c, -1, whole);
		try_wrong_judges(&c, whole);
		for (unsigned i = 0; i < c.p.n; i++)
			if (c.drops[i])
				ok &= one(name, &t, &c, (int)i, NULL);
		if (ok && verbose)
			printf("ok %s\n", name);
		sum.passed += ok;
		sum.failed += !ok;
	}
	if (whole)
		krt_report_destroy(whole);
	trace_close(&t);
}

int main(int argc, char **argv)
{
	char line[4096];
	int c;

	while ((c = getopt(argc, argv, "vo:")) >= 0)
		if (c == 'v')
			verbose = true;
		else if (c != 'o' || !(verdicts = fopen(optarg, "w")))
			return 1;
	while (fgets(line, sizeof(line), stdin)) {
		char *at = line, *name = strsep(&at, "\t"), *options = strsep(&at, "\t"),
		     *dir = strsep(&at, "\n");

		if (!dir) {
			fprintf(stderr, "drop: not a line of a list: %s\n", line);
			return 1;
		}
		program(name, options, dir);
	}
	if (verdicts && fclose(verdicts))
		return 1;
	/* those that every clean program leans on; a few may not */
	if (sum.passed > 100 &&
	    (!seen[FAULT_FIFO] || !seen[FAULT_CALL] || !seen[FAULT_WAIT] || !seen[FAULT_SYNC])) {
		printf("not ok: a wrong judge says the same of all programs\n");
		sum.failed++;
	}
	printf("%lu of %lu operations are not compared: kernels that wait for others, are atomic "
	       "or use "
	       "variables\n",
	       sum.vague, sum.operations);
	printf("%lu programs, %lu not judged; %lu times without a call, %lu of them with "
	       "findings\n",
	       sum.programs, sum.lacking, sum.dropped, sum.found);
	printf("%lu passed, %lu failed\n", sum.passed, sum.failed);
	return sum.failed != 0;
}
