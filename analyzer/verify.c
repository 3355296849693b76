/* SPDX-License-Identifier: Apache-2.0 */
/* Findings' edges tried out: see verify.h.  Signals set one flag; one thread works. */
#include "verify.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t stopped;

/* An order to be tried, for one finding or several. */
struct trial {
	struct krt_change change;
	unsigned process;
	struct krt_report *after; /* what was found with it; NULL: not known */
	bool cycle, streams;
	const char *why;
};

struct work {
	struct krt_report *r;
	const struct krt_verify *v;
	struct trial trial[2 * KRT_VERIFY_FINDINGS];
	unsigned n, findings;
	uint64_t fed;
	const char *stop; /* why the rest is not tried */
};

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

bool krt_verify_stopped(void)
{
	return stopped;
}

static void not_tried(struct krt_finding *f, const char *why)
{
	if (!f->edge.record_after || f->edge.verified != KRT_VERIFIED_NOT_TRIED || f->edge.why)
		return;
	f->edge.why = why;
}

void krt_verify_none(struct krt_report *r, const char *why)
{
	for (size_t i = 0; i < r->nfindings; i++)
		not_tried(&r->finding[i], why);
}

/* --- comparing -------------------------------------------------------------------- */

static struct krt_finding *with_key(const struct krt_report *r, uint64_t key)
{
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->finding[i].key == key)
			return &r->finding[i];
	return NULL;
}

/* Of the first report, where processes are told apart. */
static const struct krt_finding *of_process(const struct krt_report *r, unsigned process,
					    uint64_t key)
{
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->finding[i].key == key && r->finding[i].process == process)
			return &r->finding[i];
	return NULL;
}

static bool lacks_order(const struct krt_finding *f)
{
	return f->edge.record_after && f->level > KRT_LEVEL_NOTE;
}

/* A finding that was not there before: the order only exchanged one for another. */
static struct krt_finding *news(const struct work *w, const struct trial *t)
{
	for (size_t i = 0; i < t->after->nfindings; i++)
		if (t->after->finding[i].level > KRT_LEVEL_NOTE &&
		    !of_process(w->r, t->process, t->after->finding[i].key))
			return &t->after->finding[i];
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void also(struct work *w, const struct trial *t, struct krt_finding *f)
{
	const struct krt_report *r = w->r;
	uint64_t *list = krt_arena_alloc(r->arena, r->nfindings * sizeof(*list));
	size_t n = 0, unique = 0;

	for (size_t i = 0; list && i < r->nfindings; i++) {
		const struct krt_finding *g = &r->finding[i];

		if (g->process == t->process && g->key != f->key &&
		    g->fingerprint != f->fingerprint && !with_key(t->after, g->key))
			list[n++] = g->fingerprint;
	}
	f->edge.also = NULL;
	f->edge.nalso = 0;
	if (!n)
		return;
	qsort(list, n, sizeof(*list), by_value);
	for (size_t i = 0; i < n; i++)
		if (!unique || list[unique - 1] != list[i])
			list[unique++] = list[i];
	f->edge.also = list;
	f->edge.nalso = unique;
}

static void judge(struct work *w, const struct trial *t, struct krt_finding *f)
{
	struct krt_arena *a = w->r->arena;
	struct krt_finding *left, *new;
	struct krt_missing *m = &f->edge;

	if (!t->after) {
		not_tried(f, t->why);
		return;
	}
	left = with_key(t->after, f->key);
	new = left ? NULL : news(w, t);
	if (t->cycle) {
		m->verified = KRT_VERIFIED_CYCLE;
		m->why = "what is waited for comes, by another way, behind the wait";
		return;
	}
	if (left || new)
		w->v->name(w->v->user, t->process, left ? left : new, t->after->arena);
	m->each = t->change.each;
	m->verified = left || new ? KRT_VERIFIED_KEEPS : KRT_VERIFIED_REMOVES;
	m->why = NULL;
	if (left)
		m->why = krt_arena_printf(
			a, "still there, %" PRIu64 " of %" PRIu64 " times%s: %s", left->count, f->count,
			t->change.after.stack ? ""
					      : " (without call stacks a call is known by its "
						"function and stream alone)",
			left->message);
	else if (new)
		m->why = krt_arena_printf(a, "%s is there instead: %s", krt_rules[new->rule].id,
					  new->message);
	also(w, t, f);
}

/* --- trying ----------------------------------------------------------------------- */

static bool may_feed(struct work *w, unsigned process)
{
	uint64_t n = w->v->records(w->v->user, process);

	if (stopped)
		w->stop = "interrupted";
	else if (w->fed && n > KRT_VERIFY_RECORDS - w->fed)
		w->stop = "the run was too long to try every order";
	if (w->stop)
		return false;
	w->fed += n < KRT_VERIFY_RECORDS - w->fed ? n : KRT_VERIFY_RECORDS - w->fed;
	return true;
}

/* What is found with the changes; NULL and *why: not known.  *streams: of the first one. */
static struct krt_report *find_again(struct work *w, unsigned process, const struct krt_change *c,
				     unsigned n, bool *cycle, bool *streams, const char **why)
{
	struct krt_engine *e;
	struct krt_report *r;

	*why = NULL;
	if (!may_feed(w, process)) {
		*why = w->stop;
		return NULL;
	}
	e = w->v->again(w->v->user, process, c, n, why);
	if (!e)
		return NULL;
	r = krt_report_new();
	if (r && krt_engine_report(e, r)) {
		krt_report_destroy(r);
		r = NULL;
	}
	if (r && r->process[0].coverage.reasons & 1u << KRT_REASON_INTERNAL) {
		krt_report_destroy(r);
		r = NULL;
	}
	*why = r ? NULL : "no memory to try it";
	for (unsigned i = 0; i < n; i++)
		*cycle |= krt_engine_cycle(e, i);
	*streams = krt_engine_streams(e, 0);
	krt_engine_destroy(e);
	return r;
}

/* The trial of a change, made where it was not made for another finding.  NULL: no more. */
static struct trial *trial_of(struct work *w, unsigned process, const struct krt_change *c)
{
	struct trial *t = w->trial;

	for (; t < w->trial + w->n; t++)
		if (t->process == process && krt_change_same(&t->change, c))
			return t;
	if (!c->each && ++w->findings > KRT_VERIFY_FINDINGS)
		return NULL;
	*t = (struct trial){.change = *c, .process = process};
	w->n++;
	t->after = find_again(w, process, c, 1, &t->cycle, &t->streams, &t->why);
	return t;
}

static void try_finding(struct work *w, size_t i)
{
	struct krt_finding *f = &w->r->finding[i];
	struct krt_engine *e;
	struct krt_change c;
	struct trial *t;

	if (!f->edge.record_after)
		return;
	if (f->edge.kind == KRT_EDGE_MOVE_KIND) {
		f->edge.verified = KRT_VERIFIED_CYCLE;
		f->edge.why = "the free has to move";
		return;
	}
	if (f->level == KRT_LEVEL_NOTE) {
		not_tried(f, "it is a note");
		return;
	}
	e = w->v->engine(w->v->user, f->process);
	if (!e || !krt_engine_missing(e, f->key, &c)) {
		not_tried(f, "such an order cannot be tried");
		return;
	}
	t = trial_of(w, f->process, &c);
	if (!t) {
		not_tried(f, "only so many orders are tried");
		return;
	}
	judge(w, t, f);
	if (f->edge.verified != KRT_VERIFIED_KEEPS || !t->streams)
		return;
	c.each = true;
	t = trial_of(w, f->process, &c);
	if (t->after)
		judge(w, t, f);
}

/* Of a finding that its own order alone does not remove. */
static void also_with_all(struct work *w, struct krt_finding *f, const struct krt_report *after,
			  bool cycle)
{
	if (f->edge.verified != KRT_VERIFIED_KEEPS || !f->edge.why)
		return;
	f->edge.why = krt_arena_printf(
		w->r->arena, "%s; with the orders of all findings at once it %s", f->edge.why,
		cycle			  ? "would wait for itself"
		: with_key(after, f->key) ? "stays"
					  : "goes");
}

static uint64_t failing(const struct krt_report *r)
{
	return krt_report_count(r, KRT_LEVEL_ERROR) + krt_report_count(r, KRT_LEVEL_WARNING);
}

/* All orders of a process at once: what is left?  KRT_UNKNOWN: that is not known. */
static uint64_t try_all(struct work *w, unsigned process)
{
	struct krt_change all[2 * KRT_VERIFY_FINDINGS];
	struct trial *alone = NULL;
	struct krt_report *after;
	bool cycle = false, streams;
	const char *why;
	unsigned n = 0;
	uint64_t left;

	for (unsigned i = 0; i < w->n; i++) {
		struct trial *t = &w->trial[i];

		if (t->process != process || t->cycle)
			continue;
		if (!t->after)
			return KRT_UNKNOWN;
		all[n++] = t->change;
		alone = t;
	}
	if (n == 1)
		return failing(alone->after);
	after = n ? find_again(w, process, all, n, &cycle, &streams, &why) : NULL;
	if (!after)
		return KRT_UNKNOWN;
	left = failing(after);
	for (size_t i = 0; i < w->r->nfindings; i++)
		if (w->r->finding[i].process == process)
			also_with_all(w, &w->r->finding[i], after, cycle);
	krt_report_destroy(after);
	return left;
}

/* Has a trial before number n the same process? */
static bool seen(const struct work *w, unsigned process, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (w->trial[i].process == process)
			return true;
	return false;
}

static void sum_up(struct work *w)
{
	struct krt_report *r = w->r;
	uint64_t left;

	for (unsigned i = 0; i < w->n; i++) {
		r->orders_tried += w->trial[i].after && !w->trial[i].change.each;
		if (seen(w, w->trial[i].process, i))
			continue;
		left = try_all(w, w->trial[i].process);
		r->left_with_orders = left == KRT_UNKNOWN || r->left_with_orders == KRT_UNKNOWN
					      ? KRT_UNKNOWN
					      : r->left_with_orders + left;
	}
	for (size_t i = 0; i < r->nfindings; i++)
		if (r->left_with_orders != KRT_UNKNOWN && r->finding[i].level > KRT_LEVEL_NOTE &&
		    !seen(w, r->finding[i].process, w->n))
			r->left_with_orders++;
}

void krt_verify_report(struct krt_report *r, const struct krt_verify *v)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction old[sizeof(signals) / sizeof(*signals)];
	const struct sigaction act = {.sa_handler = stop};
	struct work *w;
	bool some = false;

	for (size_t i = 0; i < r->nfindings; i++)
		some |= lacks_order(&r->finding[i]);
	w = some ? calloc(1, sizeof(*w)) : NULL;
	if (!w) {
		krt_verify_none(r, some ? "no memory to try it" : "it is a note");
		return;
	}
	w->r = r;
	w->v = v;
	stopped = 0;
	for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &act, &old[i]);
	for (size_t i = 0; i < r->nfindings; i++)
		try_finding(w, i);
	sum_up(w);
	for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &old[i], NULL);
	for (unsigned i = 0; i < w->n; i++)
		krt_report_destroy(w->trial[i].after);
	free(w);
}
