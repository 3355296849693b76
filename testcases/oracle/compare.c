/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is what the engine tells what the judge says?  Each finding must be a pair of the
 * judge's, with its rule and view, in cells where it is one.  The other way round: each
 * cell in which a pair races must be told, unless the earlier access was overwritten in
 * between (then the overwriting one races with one of the two, and that must be told);
 * each free must be told once where something may still use the memory, each use before
 * an allocation or after a free always.
 */
#include "trial.h"
#include "rules/finding.h"

bool is_race(int rule)
{
	return rule == KRT_RULE_RACE_RAW || rule == KRT_RULE_RACE_WAR || rule == KRT_RULE_RACE_WAW;
}

bool is_host(int rule)
{
	return rule == KRT_RULE_HOST_READ_RACE || rule == KRT_RULE_HOST_WRITE_RACE;
}

bool is_free(int rule)
{
	return rule == KRT_RULE_FREE_IN_USE || rule == KRT_RULE_HOST_FREE_IN_USE;
}

/* Bytes in which a launch, or the nodes of a graph, meet something. */
bool is_of_graphs(int rule)
{
	return rule == KRT_RULE_GRAPH_EXEC_OVERLAP || rule == KRT_RULE_GRAPH_UNORDERED_NODES;
}

static bool is_event(int rule)
{
	return rule == KRT_RULE_EVENT_UNRECORDED || rule == KRT_RULE_EVENT_OVERWRITTEN ||
	       rule == KRT_RULE_EVENT_FAILED;
}

/* Of one operation: two of its buffers are one finding, where they are from the same call. */
static bool is_alone(int rule)
{
	return rule == KRT_RULE_COPY_BOUNDS || rule == KRT_RULE_WRONG_DEVICE;
}

/* Rules that recorded programs, and those with graphs, are not held to. */
bool is_aside(int rule)
{
	return is_event(rule) || is_alone(rule) || rule == KRT_RULE_UNFINISHED ||
	       rule == KRT_RULE_REUSE_RACE;
}

/* The rules that the judge knows. */
bool is_judged(int rule)
{
	return is_race(rule) || is_host(rule) || is_free(rule) || rule == KRT_RULE_UAF_STREAM ||
	       rule == KRT_RULE_UBA_STREAM || rule == KRT_RULE_UNFINISHED ||
	       rule == KRT_RULE_REUSE_RACE || is_event(rule) || is_alone(rule) ||
	       is_of_graphs(rule) || rule == KRT_RULE_GRAPH_STALE_ADDR ||
	       rule == KRT_RULE_GRAPH_STALE_HOST;
}

/* A launch is told of each life once, by any of its nodes. */
static bool is_stale(int rule)
{
	return rule == KRT_RULE_GRAPH_STALE_ADDR || rule == KRT_RULE_GRAPH_STALE_HOST;
}

/* --- comparison ---------------------------------------------------------------------- */

/* It reads bytes that it writes as well. */
static bool updates(const struct op *o)
{
	for (unsigned i = 0; o->what == OP_KERNEL && i < o->nranges; i++)
		for (unsigned k = 0; k < o->nranges; k++)
			if (o->range[i].write && !o->range[k].write &&
			    o->range[i].buffer == o->range[k].buffer &&
			    cells_of(o, &o->range[i]) & cells_of(o, &o->range[k]))
				return true;
	return false;
}

/* Kernels that meet in one buffer in several ways are told once, and so is who updates. */
static bool same_rule(const struct program *p, int a, int b, int cur, int prev)
{
	return a == b || (is_race(a) && is_race(b) &&
			  ((p->op[cur].what == OP_KERNEL && p->op[prev].what == OP_KERNEL) ||
			   updates(&p->op[cur]) || updates(&p->op[prev])));
}

static bool complain(struct trial *t, const char *who, int rule, int cur, int prev,
		     const char *what)
{
	snprintf(t->why, sizeof(t->why), "%s: %s of %d with %d %s", who, krt_rules[rule].id, cur,
		 prev, what);
	return false;
}

/* A finding must be true. */
static bool is_true(struct trial *t, const struct program *p, const struct told *x)
{
	cells_t cells[VIEWS] = {0}, need = 0;
	bool in_view[VIEWS] = {0};

	for (unsigned i = 0; i < t->verdict.n; i++) {
		const struct pair *q = &t->verdict.pair[i];

		if (q->cur != x->cur || q->prev != x->prev || q->buffer != x->buffer ||
		    !same_rule(p, q->rule, x->rule, q->cur, q->prev))
			continue;
		need |= q->need[OBS];
		for (int v = 0; v < VIEWS; v++) {
			cells[v] |= q->cells[v];
			in_view[v] |= q->in_view[v];
		}
	}
	if (!in_view[DOC])
		return complain(t, "engine alone", x->rule, x->cur, x->prev, "");
	/* of a former owner's writes one may hide the other where the view is stronger */
	if (x->rule == KRT_RULE_REUSE_RACE && !need && !x->in_view[OBS])
		in_view[OBS] = false;
	if (in_view[OBS] != x->in_view[OBS])
		return complain(t, "engine", x->rule, x->cur, x->prev, "in the wrong view");
	if (x->ends & ~cells[DOC])
		return complain(t, "engine", x->rule, x->cur, x->prev,
				"in bytes that are in order");
	return true;
}

/* Two launches of one executable, the second one after the first. */
static bool same_exec(const struct program *p, int a, int b)
{
	const struct op *o = &p->op[a];

	if (o->what != OP_GRAPH_LAUNCH || p->op[b].what != OP_GRAPH_LAUNCH ||
	    o->exec % EXEC_SLOTS != p->op[b].exec % EXEC_SLOTS)
		return false;
	for (int i = a; i < b; i++)
		if (!p->left_out[i] && p->op[i].what == OP_INSTANTIATE &&
		    o->exec % EXEC_SLOTS == p->op[i].exec % EXEC_SLOTS)
			return false;
	return true;
}

/* A free is told of the last use on each stream, or of the last launch. */
static bool same_stream(const struct op *a, const struct op *b)
{
	unsigned s = stream_of_op(a);

	return s == stream_of_op(b) && a->ctx == b->ctx &&
	       (stream_slot[s].kind != PER_THREAD || a->thread == b->thread);
}

/* A use that comes after this one, on its stream or by a launch of its executable, is told. */
static bool later_use_told(const struct trial *t, const struct program *p, const struct pair *q,
			   int v)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->told[i].rule == q->rule && t->told[i].cur == q->cur &&
		    t->told[i].buffer == q->buffer && t->told[i].in_view[v] &&
		    (t->told[i].prev == q->prev ||
		     (same_stream(&p->op[t->told[i].prev], &p->op[q->prev]) &&
		      program_later(p, q->prev, t->told[i].prev))))
			return true;
	for (unsigned i = 0; i < t->verdict.n; i++) {
		const struct pair *k = &t->verdict.pair[i];

		if (k->rule == q->rule && k->cur == q->cur && k->buffer == q->buffer &&
		    k->prev > q->prev &&
		    (same_stream(&p->op[k->prev], &p->op[q->prev]) ||
		     same_exec(p, q->prev, k->prev)) &&
		    later_use_told(t, p, k, v))
			return true;
	}
	return false;
}

/*
 * Of two nodes one may stand for others that meet in the same bytes; what a launch met
 * was not before the executable's next launch either.
 */
static bool stands_for(const struct program *p, const struct told *x, const struct pair *q)
{
	return q->rule == KRT_RULE_GRAPH_UNORDERED_NODES ||
	       ((q->rule == KRT_RULE_GRAPH_EXEC_OVERLAP || q->rule == KRT_RULE_UBA_STREAM) &&
		x->prev == q->prev && x->cur < q->cur && same_exec(p, x->cur, q->cur));
}

/* A pair must be told, or another that says the same. */
static bool is_told(struct trial *t, const struct program *p, const struct pair *q, int v)
{
	cells_t cells = 0;
	bool told = q->optional;

	for (unsigned i = 0; i < t->n; i++) {
		const struct told *x = &t->told[i];

		if ((x->cur != q->cur && !stands_for(p, x, q)) ||
		    (x->buffer != q->buffer && !is_alone(q->rule)) || !x->in_view[v] ||
		    !same_rule(p, q->rule, x->rule, q->cur, x->prev))
			continue;
		cells |= x->cells;
		told |= x->prev == q->prev || is_stale(q->rule) ||
			q->rule == KRT_RULE_EVENT_OVERWRITTEN ||
			(q->rule == KRT_RULE_REUSE_RACE &&
			 q->later[x->prev / 64] >> x->prev % 64 & 1);
	}
	if (is_free(q->rule))
		told |= !q->need[v] || later_use_told(t, p, q, v);
	if (q->rule == KRT_RULE_REUSE_RACE)
		told |= !q->need[v];
	if (is_race(q->rule) || is_host(q->rule) || is_of_graphs(q->rule))
		told = !(q->need[v] & ~cells);
	return told || complain(t, v == DOC ? "judge alone" : "judge alone (observed)", q->rule,
				q->cur, q->prev, "");
}

static bool leaves_aside(const struct program *p)
{
#ifdef KRT_ORACLE_RECORDED
	(void)p;
	return true;
#else
	for (unsigned i = 0; i < p->n; i++)
		if (p->op[i].what == OP_CAPTURE_BEGIN || p->op[i].what == OP_GRAPH_NEW)
			return true;
	return false;
#endif
}

bool same(struct trial *t, const struct program *p)
{
	bool aside = leaves_aside(p);

	for (unsigned i = 0; i < t->n; i++)
		if (!(aside && is_aside(t->told[i].rule)) && !is_true(t, p, &t->told[i]))
			return false;
	for (unsigned i = 0; i < t->verdict.n; i++)
		for (int v = 0; v < VIEWS; v++)
			if (t->verdict.pair[i].in_view[v] &&
			    !(aside && is_aside(t->verdict.pair[i].rule)) &&
			    !is_told(t, p, &t->verdict.pair[i], v))
				return false;
	return true;
}
