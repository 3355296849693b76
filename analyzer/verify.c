/* SPDX-License-Identifier: Apache-2.0 */
/* Findings' edges tried out: see verify.h.  Signals set one flag; one thread works. */
#include "verify.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)

static volatile sig_atomic_t stopped;

/* What came of an order, or of several at once. */
struct outcome {
	struct krt_report *after;    /* what is found with it; NULL: not known */
	struct krt_finding **by_key; /* its findings */
	struct krt_finding *new;     /* the first that was not there before; NULL: none */
	bool cycle, streams;
	const char *why;
};

/* An order that was tried. */
struct tried {
	struct krt_change change;
	unsigned process;
	bool known, cycle;
	uint64_t left; /* errors and warnings */
};

struct work {
	struct krt_report *r;
	const struct krt_verify *v;
	struct tried tried[2 * KRT_VERIFY_FINDINGS];
	unsigned n, orders; /* orders: an event for each stream is no other one */
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

static int by_key(const void *a, const void *b)
{
	const struct krt_finding *x = *(struct krt_finding *const *)a,
				 *y = *(struct krt_finding *const *)b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static struct krt_finding *with_key(const struct outcome *o, uint64_t key)
{
	const struct krt_finding f = {.key = key}, *p = &f;
	struct krt_finding **at = o->after->nfindings ? bsearch(&p, o->by_key, o->after->nfindings,
								sizeof(*o->by_key), by_key)
						      : NULL;

	return at ? *at : NULL;
}

static bool lacks_order(const struct krt_finding *f)
{
	return f->edge.record_after && f->level > KRT_LEVEL_NOTE;
}

#define OLD UINT_MAX /* as process of a finding that was there before */

/* False: no memory. */
static bool compare(struct outcome *o, const struct krt_report *r, unsigned process)
{
	size_t n = o->after->nfindings;

	o->by_key = calloc(n + 1, sizeof(*o->by_key));
	if (!o->by_key)
		return false;
	for (size_t i = 0; i < n; i++)
		o->by_key[i] = &o->after->finding[i];
	qsort(o->by_key, n, sizeof(*o->by_key), by_key);
	for (size_t i = 0; i < r->nfindings; i++) {
		struct krt_finding *f =
			r->finding[i].process == process ? with_key(o, r->finding[i].key) : NULL;

		if (f)
			f->process = OLD;
	}
	for (size_t i = 0; i < n && !o->new; i++)
		if (o->after->finding[i].process != OLD &&
		    o->after->finding[i].level > KRT_LEVEL_NOTE)
			o->new = &o->after->finding[i];
	return true;
}

static void outcome_free(struct outcome *o)
{
	krt_report_destroy(o->after);
	free(o->by_key);
}

static void also(struct work *w, struct krt_finding *f, const struct outcome *o)
{
	const struct krt_report *r = w->r;
	uint64_t *list = krt_arena_alloc(r->arena, r->nfindings * sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; list && i < r->nfindings; i++) {
		const struct krt_finding *g = &r->finding[i];

		if (g->process == f->process && g->key != f->key &&
		    g->fingerprint != f->fingerprint && !with_key(o, g->key))
			list[n++] = g->fingerprint;
	}
	f->edge.also = n ? list : NULL;
	f->edge.nalso = krt_fingerprints_sort(list, n);
}

/* What the order does to one finding. */
static void judge(struct work *w, const struct krt_change *c, const struct outcome *o,
		  struct krt_finding *f)
{
	struct krt_arena *a = w->r->arena;
	struct krt_finding *left, *new;
	struct krt_missing *m = &f->edge;

	if (!o->after) {
		not_tried(f, o->why);
		return;
	}
	m->each = c->each;
	if (o->cycle) {
		m->verified = KRT_VERIFIED_CYCLE;
		m->why = "what is waited for comes, by another way, behind the wait";
		return;
	}
	left = with_key(o, f->key);
	new = left ? NULL : o->new; /* the order only exchanged one for another */
	m->verified = left || new ? KRT_VERIFIED_KEEPS : KRT_VERIFIED_REMOVES;
	if (left || new)
		w->v->name(w->v->user, f->process, left ? left : new, o->after->arena);
	if (left)
		m->why = krt_arena_printf(
			a, "still there, %" PRIu64 " of %" PRIu64 " times%s: %s", left->count,
			f->count,
			c->after.stack
				? ""
				: " (without call stacks a call is known by its function and "
				  "stream alone)",
			left->message);
	else if (!new)
		m->why = c->each ? "it takes an event for each stream" : NULL;
	else
		m->why = krt_arena_printf(a, "%s is there instead: %s", krt_rules[new->rule].id,
					  new->message);
	also(w, f, o);
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

static void try(struct work *w, unsigned process, const struct krt_change *c, unsigned n,
		struct outcome *o)
{
	struct krt_engine *e;
	struct krt_report *r;

	memset(o, 0, sizeof(*o));
	if (!may_feed(w, process)) {
		o->why = w->stop;
		return;
	}
	e = w->v->again(w->v->user, process, c, n, &o->why);
	if (!e)
		return;
	r = krt_report_new();
	if (r && krt_engine_report(e, r)) {
		krt_report_destroy(r);
		r = NULL;
	}
	o->after = r;
	if (r && !compare(o, w->r, process)) {
		outcome_free(o);
		o->after = NULL;
		o->by_key = NULL;
	}
	o->why = o->after ? NULL : "no memory to try it";
	for (unsigned i = 0; i < n; i++)
		o->cycle |= krt_engine_cycle(e, i);
	o->streams = krt_engine_streams(e, 0);
	krt_engine_destroy(e);
}

static uint64_t failing(const struct krt_report *r)
{
	return krt_report_count(r, KRT_LEVEL_ERROR) + krt_report_count(r, KRT_LEVEL_WARNING);
}

/* Not looked at yet, and it lacks just this order. */
static bool lacks(struct work *w, const struct krt_finding *f, unsigned process,
		  const struct krt_change *c)
{
	struct krt_engine *e;
	struct krt_change own;

	if (f->process != process || !lacks_order(f))
		return false;
	e = w->v->engine(w->v->user, process);
	return e && krt_engine_missing(e, f->key, &own) && krt_change_same(&own, c);
}

/*
 * An order is tried, and all findings from number `first` on that lack it are judged;
 * again: those that it did not remove as one event for all streams.  Was it recorded on
 * several streams, and is one of them left?
 */
static bool try_order(struct work *w, size_t first, unsigned process, struct krt_change c,
		      bool again)
{
	struct tried *t = &w->tried[w->n++];
	struct krt_change as = c;
	struct outcome o;
	bool left = false;

	as.each = again;
	try(w, process, &as, 1, &o);
	*t = (struct tried){.change = as, .process = process, .known = o.after, .cycle = o.cycle};
	if (o.after)
		t->left = failing(o.after);
	for (size_t i = first; i < w->r->nfindings; i++) {
		struct krt_finding *f = &w->r->finding[i];

		if ((again && (f->edge.verified != KRT_VERIFIED_KEEPS || !o.after)) ||
		    !lacks(w, f, process, &c))
			continue;
		judge(w, &as, &o, f);
		left |= f->edge.verified == KRT_VERIFIED_KEEPS;
	}
	outcome_free(&o);
	return left && o.streams;
}

static void try_finding(struct work *w, size_t i)
{
	struct krt_finding *f = &w->r->finding[i];
	struct krt_engine *e;
	struct krt_change c;

	if (!f->edge.record_after || f->edge.verified != KRT_VERIFIED_NOT_TRIED || f->edge.why)
		return;
	if (f->edge.kind == KRT_EDGE_MOVE_KIND) {
		f->edge.verified = KRT_VERIFIED_CYCLE;
		f->edge.why = "the free has to move";
		return;
	}
	if (f->edge.kind == KRT_EDGE_JOIN_KIND) {
		not_tried(f, "the capture gave no graph to judge");
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
	if (w->orders == KRT_VERIFY_FINDINGS) {
		not_tried(f, "only " TEXT(KRT_VERIFY_FINDINGS) " orders are tried");
		return;
	}
	w->orders++;
	if (try_order(w, i, f->process, c, false))
		try_order(w, i, f->process, c, true);
}

/* Of a finding that its own order alone does not remove. */
static void also_with_all(struct work *w, struct krt_finding *f, const struct outcome *o)
{
	if (f->edge.verified != KRT_VERIFIED_KEEPS || !f->edge.why)
		return;
	f->edge.why = krt_arena_printf(
		w->r->arena, "%s; with the orders of all findings at once it %s", f->edge.why,
		o->cycle	      ? "would wait for itself"
		: with_key(o, f->key) ? "stays"
				      : "goes");
}

/* All orders of a process at once: what is left?  KRT_UNKNOWN: that is not known. */
static uint64_t try_all(struct work *w, unsigned process)
{
	struct krt_change all[2 * KRT_VERIFY_FINDINGS];
	const struct tried *alone = NULL;
	struct outcome o;
	unsigned n = 0;
	uint64_t left;

	for (unsigned i = 0; i < w->n; i++) {
		const struct tried *t = &w->tried[i];

		if (t->process != process || t->cycle)
			continue;
		if (!t->known)
			return KRT_UNKNOWN;
		all[n++] = t->change;
		alone = t;
	}
	if (n == 1)
		return alone->left;
	if (!n)
		return KRT_UNKNOWN;
	try(w, process, all, n, &o);
	if (!o.after)
		return KRT_UNKNOWN;
	left = failing(o.after);
	for (size_t i = 0; i < w->r->nfindings; i++)
		if (w->r->finding[i].process == process)
			also_with_all(w, &w->r->finding[i], &o);
	outcome_free(&o);
	return left;
}

/* Has an order before number n the same process? */
static bool seen(const struct work *w, unsigned process, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (w->tried[i].process == process)
			return true;
	return false;
}

static void sum_up(struct work *w)
{
	struct krt_report *r = w->r;
	uint64_t left;

	for (unsigned i = 0; i < w->n; i++) {
		r->orders_tried += w->tried[i].known && !w->tried[i].change.each;
		if (seen(w, w->tried[i].process, i))
			continue;
		left = try_all(w, w->tried[i].process);
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
	free(w);
}
