/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the graph of values to the program that runs for pieces of a launch
 * (flow_piece.c): no conditions are used to narrow values, since a piece is cut
 * until they are the same for all of it.
 *
 * A value is compiled for a place: the loops that are still running there
 * (`live`).  A variable of another loop has its last value there, that of the
 * iteration in which the loop was left; whatever is computed in a block that
 * dominates the place was last computed in that iteration, too.
 */
#include "flow_comp.h"
#include <stdlib.h>
#include <string.h>

#define MAX_INS	     2000u
#define MAX_RUNS     12000u /* instructions of all groups */
#define MAX_PLACES   256u
#define MAX_EDGE     16u
#define COUNT_OF(L)  (0x80000000u | (L)) /* stands for a loop's count among the nodes */

struct exact {
	struct comp *c;
	struct vec ins, groups;
	struct memo memo[2];
	bool plain;          /* no S_INDEX: threads and blocks are used apart, too */
	uint64_t place[MAX_PLACES];
	uint32_t nplaces, top, runs;
	uint32_t mark;       /* per instruction: the last group that takes it */
	uint32_t *marks, cap_marks;
	uint32_t work;
	bool full;
};

static uint32_t value(struct exact *x, uint32_t n, uint64_t live, unsigned depth);

static uint32_t emit(struct exact *x, struct pins p)
{
	if (x->ins.n >= MAX_INS) {
		x->full = true;
		return x->top;
	}
	*(struct pins *)flow_push(x->c->fl, &x->ins, sizeof(p)) = p;
	return x->ins.n - 1;
}

static uint32_t place(struct exact *x, uint64_t live)
{
	uint32_t i = x->nplaces;

	while (i-- > 0)
		if (x->place[i] == live)
			return i;
	if (x->nplaces == MAX_PLACES) {
		x->full = true;
		return 0;
	}
	x->place[x->nplaces] = live;
	return x->nplaces++;
}

/* Where a loop's variables start. */
static uint64_t entry(const struct exact *x, uint32_t l, uint64_t live)
{
	const struct cfg *f = &x->c->g->cfg;

	return f->in_loop[VEC(f->loops, struct loop)[l].entry_pred] & live;
}

/* The loop is left by its test alone. */
static bool counted(const struct exact *x, uint32_t l)
{
	const struct tests *t = &x->c->tests[l];

	return t->only && t->n == 1 && VEC(x->c->g->cfg.loops, struct loop)[l].entry_pred != NONE;
}

/* How often the test of loop l is passed. */
static uint32_t count(struct exact *x, uint32_t l, uint64_t live, unsigned depth)
{
	const struct test *t = &x->c->tests[l].t[0];
	const struct node iv = *NODE(x->c->g, t->iv);
	uint32_t at, s;

	live = entry(x, l, live);
	at = place(x, live);
	s = *flow_memo(x->c->fl, &x->memo[x->plain], COUNT_OF(l), at);
	if (s != NONE)
		return s;
	*flow_memo(x->c->fl, &x->memo[x->plain], COUNT_OF(l), at) = x->top;
	s = emit(x, (struct pins){
			    .op = P_COUNT,
			    .w = t->w,
			    .cmp = t->cmp,
			    .sign = t->sign,
			    .a = value(x, iv.a, live, depth + 1),
			    .b = value(x, iv.b, live, depth + 1),
			    .c = t->delta == NONE ? NONE : value(x, t->delta, live, depth + 1),
			    .d = value(x, t->bound, live, depth + 1),
		    });
	*flow_memo(x->c->fl, &x->memo[x->plain], COUNT_OF(l), at) = s;
	return s;
}

static uint32_t variable(struct exact *x, const struct node *n, uint64_t live, unsigned depth)
{
	const struct cfg *f = &x->c->g->cfg;
	uint32_t l = (uint32_t)n->imm;
	uint64_t at;

	if (!counted(x, l))
		return x->top;
	at = entry(x, l, live);
	/* Inside of another loop that has ended: not followed. */
	if (f->in_loop[VEC(f->loops, struct loop)[l].entry_pred] & ~live)
		return x->top;
	return emit(x, (struct pins){
			       .op = live >> l & 1 ? P_NOW : P_LAST,
			       .w = n->w,
			       .a = value(x, n->a, at, depth + 1),
			       .b = value(x, n->b, at, depth + 1),
			       .c = count(x, l, live, depth + 1),
			       .imm = l,
		       });
}

static bool back_edge(const struct cfg *f, uint32_t from, uint32_t to)
{
	return flow_dominates(f, to, from);
}

/* A value that exists only if the edge from one block to another is taken. */
static uint32_t only(struct exact *x, uint32_t s, uint32_t from, uint32_t to, uint64_t live,
		     unsigned depth)
{
	const struct graph *g = x->c->g;
	const struct cfg *f = &g->cfg;
	uint64_t in = f->in_loop[to];
	uint32_t stop = f->idom[to], b = from, next = to;

	for (unsigned i = 0; i < MAX_EDGE; i++) {
		const struct fblock *fb = &VEC(x->c->fl->blocks, struct fblock)[b];
		bool two = fb->nsucc == 2 && fb->succ[0] != fb->succ[1];

		/* How a loop that has ended was left says nothing. */
		if (next != NONE && g->cond[b] != NONE && (fb->nsucc == 1 || two) &&
		    !(f->in_loop[b] & ~in))
			s = emit(x, (struct pins){
					    .op = P_ONLY,
					    .a = s,
					    .b = value(x, g->cond[b], f->in_loop[b] & live,
						       depth + 1),
					    .imm = two ? fb->cond_not != (fb->succ[1] == next)
						       : !fb->cond_not,
				    });
		if (b == stop)
			break;
		next = NONE;
		for (uint32_t k = 0, n = 0; k < f->npred[b]; k++) {
			if (back_edge(f, f->pred[b][k], b))
				continue;
			next = n++ ? NONE : b;
		}
		b = f->idom[b];
		if (b == NONE)
			break;
	}
	return s;
}

static uint32_t joined(struct exact *x, const struct node *n, uint64_t live, unsigned depth)
{
	const struct phi ph = VEC(x->c->g->phis, struct phi)[n->imm];
	const struct cfg *f = &x->c->g->cfg;
	uint32_t s = NONE;

	for (uint32_t i = 0; i < ph.n; i++)
		if (ph.val[i] != NONE && back_edge(f, f->pred[ph.block][i], ph.block))
			return x->top;
	for (uint32_t i = 0; i < ph.n; i++) {
		uint32_t from = f->pred[ph.block][i], v;
		uint64_t at = live & f->in_loop[ph.block] & f->in_loop[from];

		/* At the start of a loop that leaves it as it is. */
		if (f->order[from] == NONE || back_edge(f, from, ph.block))
			continue;
		v = ph.val[i] == NONE ? x->top : value(x, ph.val[i], at, depth + 1);
		v = only(x, v, from, ph.block, live & f->in_loop[ph.block], depth);
		s = s == NONE ? v : emit(x, (struct pins){ .op = P_EITHER, .a = s, .b = v });
	}
	return s == NONE ? x->top : s;
}

/* a | b is 0: both are. */
static uint32_t split_zero(struct exact *x, uint32_t n, struct node *node)
{
	struct graph *g = x->c->g;
	const struct node a = *NODE(g, node->a), b = *NODE(g, node->b);
	struct node one = *node;
	uint32_t s[2];

	if (a.op != N_OR || b.op != N_CONST || b.imm || a.w != node->w)
		return n;
	one.imm = C_EQ;
	one.deps = one.vary = 0;
	for (unsigned i = 0; i < 2; i++) {
		one.a = i ? a.b : a.a;
		s[i] = flow_node(g, one);
	}
	one = (struct node){ .op = N_PAND, .w = 1, .a = s[0], .b = s[1], .c = NONE };
	n = flow_node(g, one);
	if (node->imm == C_NE)
		n = flow_node(g, (struct node){
					 .op = N_PNOT, .w = 1, .a = n, .b = NONE, .c = NONE });
	*node = *NODE(g, n);
	return n;
}

static const struct node *low(const struct graph *g, const struct node *n)
{
	while (n->op == N_EXT && n->imm >= 32)
		n = NODE(g, n->a);
	return n;
}

static bool is_sreg(const struct node *n, int64_t first)
{
	return n->op == N_SREG && n->imm >= first && n->imm < first + 3;
}

/* ctaid * ntid + tid of one dimension: the number of it, or -1. */
static int indexed(const struct graph *g, const struct node *n)
{
	if (n->op != N_ADD)
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		const struct node *t = low(g, NODE(g, i ? n->a : n->b));
		const struct node *m = low(g, NODE(g, i ? n->b : n->a));

		if (!is_sreg(t, S_TID) || m->op != N_MUL)
			continue;
		for (unsigned k = 0; k < 2; k++) {
			const struct node *c = low(g, NODE(g, k ? m->a : m->b));
			const struct node *b = low(g, NODE(g, k ? m->b : m->a));

			if (is_sreg(c, S_CTAID) && is_sreg(b, S_NTID) &&
			    c->imm - S_CTAID == t->imm && b->imm - S_NTID == t->imm)
				return (int)t->imm;
		}
	}
	return -1;
}

static uint32_t value(struct exact *x, uint32_t n, uint64_t live, unsigned depth)
{
	struct node node;
	int dim;
	uint32_t s, at;

	if (n == NONE || depth > MAX_DEPTH || x->full || ++x->work > 100000)
		return x->top;
	node = *NODE(x->c->g, n);
	if (node.op == N_CMP && (node.imm == C_EQ || node.imm == C_NE))
		n = split_zero(x, n, &node);
	dim = x->plain ? -1 : indexed(x->c->g, &node);
	if (dim >= 0)
		node = (struct node){ .op = N_SREG, .w = 32, .imm = S_INDEX + dim };
	if (node.op < N_ADD && node.op != N_OPAQUE)
		live = 0;
	at = place(x, live);
	s = *flow_memo(x->c->fl, &x->memo[x->plain], n, at);
	if (s != NONE)
		return s;
	*flow_memo(x->c->fl, &x->memo[x->plain], n, at) = x->top; /* a cycle ends here */
	switch ((enum nop)node.op) {
	case N_PHI:
		s = joined(x, &node, live, depth);
		break;
	case N_IV:
		s = variable(x, &node, live, depth);
		break;
	default: {
		struct pins p = {
			.op = P_NODE,
			.nop = node.op,
			.w = node.w,
			.sign = node.sign,
			.cmp = node.op == N_CMP ? (uint8_t)node.imm : 0,
			.imm = node.imm,
			.a = NONE,
			.b = NONE,
			.c = NONE,
		};

		if (node.op >= N_ADD) {
			p.a = node.a == NONE ? NONE : value(x, node.a, live, depth + 1);
			p.b = node.b == NONE ? NONE : value(x, node.b, live, depth + 1);
			if (node.op == N_SEL)
				p.c = value(x, node.c, live, depth + 1);
		}
		s = emit(x, p);
		break;
	}
	}
	*flow_memo(x->c->fl, &x->memo[x->plain], n, at) = s;
	return s;
}

struct exact *flow_exact_new(struct comp *c)
{
	struct exact *x = flow_alloc(c->fl, sizeof(*x));

	x->c = c;
	x->top = emit(x, (struct pins){ .op = P_TOP });
	x->full = c->no_proofs || c->fl->detached.n ||
		  c->fl->flags & (KRT_FLOW_UNKNOWN_CALL | KRT_FLOW_UNKNOWN_INST);
	return x;
}

/* Takes an instruction and what it is made of. */
static void take(struct exact *x, struct vec *list, uint32_t s)
{
	uint32_t todo[256], n = 0;

	todo[n++] = s;
	while (n) {
		const struct pins *p;
		uint32_t i = todo[--n];

		if (i == NONE || x->marks[i] == x->mark)
			continue;
		x->marks[i] = x->mark;
		*(uint32_t *)flow_push(x->c->fl, list, sizeof(i)) = i;
		p = &VEC(x->ins, struct pins)[i];
		if (p->op == P_TOP || (p->op == P_NODE && p->nop < N_ADD))
			continue;
		if (n > 250) {
			x->full = true;
			return;
		}
		todo[n++] = p->a;
		todo[n++] = p->b;
		if (p->op != P_NODE || p->nop == N_SEL)
			todo[n++] = p->op == P_ONLY || p->op == P_EITHER ? NONE : p->c;
		if (p->op == P_COUNT)
			todo[n++] = p->d;
	}
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Of which dimensions are thread or block used apart from the index (low bits), and the index? */
static uint32_t dimensions(const struct exact *x, const struct vec *run)
{
	uint32_t r = 0;

	for (uint32_t i = 0; i < run->n; i++) {
		const struct pins *p = &VEC(x->ins, struct pins)[VEC(*run, uint32_t)[i]];

		if (p->op != P_NODE || p->nop != N_SREG)
			continue;
		if (p->imm >= S_INDEX)
			r |= 8u << (p->imm - S_INDEX);
		else if (p->imm == S_LANE)
			r |= 7;
		else if (p->imm < S_NTID)
			r |= 1u << p->imm % 3;
	}
	return r;
}

/* false: try again, without indices */
static bool group(struct exact *x, uint32_t block, const struct xacc *accs, uint32_t n)
{
	struct comp *c = x->c;
	const struct graph *g = c->g;
	const struct cfg *f = &g->cfg;
	struct xloop loops[MAX_LIVE];
	struct pcond conds[64];
	struct vec run = { 0 };
	struct closure cl;
	struct xgroup *out, r = { 0 };
	uint64_t live;
	uint32_t dims;

	if (!n || x->full || !flow_depends(c, block, &cl))
		return true;
	live = f->in_loop[block];
	for (uint32_t l = 0; l < f->loops.n; l++) {
		if (!(live >> l & 1))
			continue;
		if (!counted(x, l) || r.nloops == MAX_LIVE || flow_behind(c, block, l) < 0)
			return true;
		loops[r.nloops++] = (struct xloop){ .loop = l,
						    .pass = flow_behind(c, block, l) > 0 };
	}
	for (uint32_t k = 0; k < cl.n; k++) {
		uint32_t d = cl.e[k].block, cond = g->cond[d];
		bool test = false;

		for (uint32_t q = 0; q < r.nloops; q++) {
			const struct tests *t = &c->tests[loops[q].loop];

			if (VEC(f->loops, struct loop)[loops[q].loop].exiting != d)
				continue;
			if (cond != t->cond || cl.e[k].neg != t->neg)
				return true;
			test = true;
		}
		if (test)
			continue;
		/* A branch in a loop that has ended by now: the last of many. */
		if (f->in_loop[d] & ~live || cond == NONE)
			return true;
		conds[r.nconds].slot = value(x, cond, f->in_loop[d], 0);
		conds[r.nconds++].neg = cl.e[k].neg;
	}
	for (uint32_t q = 0; q < r.nloops; q++)
		loops[q].count = count(x, loops[q].loop, live, 0);
	r.naccs = n;
	r.accs = flow_keep(c->fl, n * sizeof(*accs));
	for (uint32_t i = 0; i < n; i++) {
		r.accs[i] = accs[i];
		if (accs[i].pred != NONE)
			r.accs[i].pred = value(x, accs[i].pred, live, 0);
		if (accs[i].size != NONE)
			r.accs[i].size = value(x, accs[i].size, live, 0);
		r.accs[i].addr = value(x, accs[i].addr, live, 0);
	}
	if (x->full)
		return true;
	if (x->cap_marks < x->ins.n) {
		x->cap_marks = x->ins.n * 2;
		x->marks = flow_alloc(c->fl, x->cap_marks * sizeof(*x->marks));
	}
	x->mark++;
	for (uint32_t k = 0; k < r.nconds; k++)
		take(x, &run, conds[k].slot);
	for (uint32_t k = 0; k < r.nloops; k++)
		take(x, &run, loops[k].count);
	for (uint32_t i = 0; i < n; i++) {
		if (r.accs[i].pred != NO_SLOT)
			take(x, &run, r.accs[i].pred);
		if (r.accs[i].size != NO_SLOT)
			take(x, &run, r.accs[i].size);
		take(x, &run, r.accs[i].addr);
	}
	x->runs += run.n;
	if (x->full || x->runs > MAX_RUNS) {
		x->full = true;
		return true;
	}
	dims = dimensions(x, &run);
	if (dims & dims >> 3)
		return false;
	r.indexed = dims >> 3;
	qsort(run.p, run.n, sizeof(uint32_t), ascending);
	r.nrun = run.n;
	r.run = flow_keep(c->fl, run.n * sizeof(*r.run));
	memcpy(r.run, run.p, run.n * sizeof(*r.run));
	r.conds = flow_keep(c->fl, r.nconds * sizeof(*conds));
	if (r.nconds)
		memcpy(r.conds, conds, r.nconds * sizeof(*conds));
	r.loops = flow_keep(c->fl, r.nloops * sizeof(*loops));
	if (r.nloops)
		memcpy(r.loops, loops, r.nloops * sizeof(*loops));
	out = flow_push(c->fl, &x->groups, sizeof(*out));
	*out = r;
	return true;
}

void flow_exact_group(struct exact *x, uint32_t block, const struct xacc *accs, uint32_t n)
{
	x->plain = false;
	if (group(x, block, accs, n))
		return;
	x->plain = true;
	(void)group(x, block, accs, n);
}

void flow_exact_end(struct exact *x, struct prog *p)
{
	struct prog *q;

	if (!x->groups.n)
		return;
	p->ngroups = x->groups.n;
	p->groups = flow_keep(x->c->fl, p->ngroups * sizeof(*p->groups));
	memcpy(p->groups, x->groups.p, p->ngroups * sizeof(*p->groups));
	q = p->exact = flow_keep(x->c->fl, sizeof(*q));
	q->nins = x->ins.n;
	q->ins = flow_keep(x->c->fl, q->nins * sizeof(*q->ins));
	memcpy(q->ins, x->ins.p, q->nins * sizeof(*q->ins));
	q->natoms = MAX_DIGITS + 4 * (q->nins < 500 ? q->nins : 500);
	q->val = flow_keep(x->c->fl, q->nins * sizeof(*q->val));
	q->atom = flow_keep(x->c->fl, q->natoms * sizeof(*q->atom));
}
