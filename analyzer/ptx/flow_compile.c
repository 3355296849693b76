/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the graph of values to the program that runs at each launch: every
 * address under the conditions that hold where it is used.
 */
#include "flow_comp.h"
#include <string.h>

#define MAX_INS	   2000u
#define MAX_SPLIT  8u
#define MAX_GUARDS 16u

static uint32_t emit(struct comp *c, struct pins p)
{
	if (c->ins.n >= MAX_INS) {
		c->full = true;
		return c->top;
	}
	*(struct pins *)flow_push(c->fl, &c->ins, sizeof(p)) = p;
	return c->ins.n - 1;
}

uint32_t *flow_memo(struct flow *fl, struct memo *m, uint32_t node, uint32_t ctx)
{
	uint32_t h;

	if (m->n * 2 >= m->cap) {
		struct slot_of *old = m->at;
		uint32_t n = m->cap;

		m->cap = n ? n * 2 : 1024;
		m->at = flow_alloc(fl, m->cap * sizeof(*m->at));
		for (uint32_t i = 0; i < m->cap; i++)
			m->at[i].node = NONE;
		for (uint32_t i = 0; i < n; i++) {
			if (old[i].node == NONE)
				continue;
			h = (old[i].node * 2654435761u ^ old[i].ctx * 40503u) & (m->cap - 1);
			while (m->at[h].node != NONE)
				h = (h + 1) & (m->cap - 1);
			m->at[h] = old[i];
		}
	}
	h = (node * 2654435761u ^ ctx * 40503u) & (m->cap - 1);
	while (m->at[h].node != NONE) {
		if (m->at[h].node == node && m->at[h].ctx == ctx)
			return &m->at[h].slot;
		h = (h + 1) & (m->cap - 1);
	}
	m->at[h] = (struct slot_of){ .node = node, .ctx = ctx, .slot = NONE };
	m->n++;
	return &m->at[h].slot;
}

static uint32_t compile(struct comp *c, uint32_t node, uint32_t ctx, unsigned depth);

/* Was the test of loop l passed in this context? */
static bool passed(const struct comp *c, uint32_t ctx, uint32_t l)
{
	const struct tests *t = &c->tests[l];

	if (t->cond == NONE)
		return false;
	for (; ctx > CTX_ROOT; ctx = VEC(c->g->ctxs, struct ctx)[ctx].up) {
		const struct ctx *x = &VEC(c->g->ctxs, struct ctx)[ctx];

		if (x->cond == t->cond && x->neg == t->neg)
			return true;
	}
	return false;
}

static uint32_t entry_ctx(struct comp *c, uint32_t l, uint32_t ctx)
{
	return ctx == CTX_RAW ? CTX_RAW : VEC(c->g->cfg.loops, struct loop)[l].entry_ctx;
}

static uint32_t trip(struct comp *c, uint32_t l, unsigned depth)
{
	struct tests *t = &c->tests[l];
	uint32_t s = NONE, ctx = VEC(c->g->cfg.loops, struct loop)[l].entry_ctx;

	if (t->trip != NONE)
		return t->trip;
	if (t->busy)
		return c->top;
	t->busy = true;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct test *x = &t->t[i];
		const struct node iv = *NODE(c->g, x->iv);
		struct pins p = {
			.op = P_TRIP,
			.w = x->w,
			.cmp = x->cmp,
			.sign = x->sign,
			.a = compile(c, iv.a, ctx, depth + 1),
			.b = compile(c, iv.b, ctx, depth + 1),
			.c = x->delta == NONE ? NONE : compile(c, x->delta, ctx, depth + 1),
			.d = compile(c, x->bound, ctx, depth + 1),
		};
		uint32_t one = emit(c, p);

		s = s == NONE ? one : emit(c, (struct pins){.op = P_MIN2, .a = s, .b = one});
	}
	t->busy = false;
	return t->trip = s == NONE ? c->top : s;
}

/* A value under conditions that hold of other values, which it may have parts in common with. */
static uint32_t lean(struct comp *c, uint32_t slot, uint32_t ctx, unsigned depth)
{
	for (unsigned n = 0; ctx > CTX_ROOT && n < 4; n++) {
		const struct ctx x = VEC(c->g->ctxs, struct ctx)[ctx];
		struct atom_cond at[8];
		uint32_t na = 0;

		(void)flow_atoms(c->g, x.cond, x.neg, at, &na, 8);
		for (uint32_t i = 0; i < na; i++)
			if (at[i].cmp != C_NE)
				slot = emit(c, (struct pins){
						       .op = P_LEAN,
						       .w = at[i].w,
						       .sign = at[i].sign,
						       .cmp = at[i].cmp,
						       .a = slot,
						       .b = compile(c, at[i].a, CTX_RAW, depth + 1),
						       .c = compile(c, at[i].b, CTX_RAW, depth + 1),
					       });
		ctx = x.up;
	}
	return slot;
}

static uint32_t induction(struct comp *c, uint32_t n, uint32_t ctx, unsigned depth)
{
	const struct node node = *NODE(c->g, n);
	uint32_t l = (uint32_t)node.imm, at = entry_ctx(c, l, ctx), s;
	const struct tests *t = &c->tests[l];
	uint32_t init = compile(c, node.a, at, depth + 1), step = compile(c, node.b, at, depth + 1);

	s = emit(c, (struct pins){.op = P_IV,
				  .w = node.w,
				  .a = init,
				  .b = step,
				  .c = trip(c, l, depth + 1),
				  .imm = 2 * (int64_t)l + (ctx != CTX_RAW && passed(c, ctx, l))});
	if (ctx == CTX_RAW || !t->n)
		return s;
	if (t->t[0].iv == n)
		return emit(c, (struct pins){
				       .op = P_BOUND,
				       .w = t->t[0].w,
				       .cmp = t->t[0].cmp,
				       .sign = t->t[0].sign,
				       .a = s,
				       .b = step,
				       .c = t->t[0].delta == NONE
						    ? NONE
						    : compile(c, t->t[0].delta, at, depth + 1),
				       .d = compile(c, t->t[0].bound, at, depth + 1),
				       .e = lean(c, init, at, depth),
				       .f = lean(c, compile(c, node.a, CTX_RAW, depth + 1), at,
						 depth),
				       .imm = compile(c, n, CTX_RAW, depth + 1),
			       });
	return emit(c, (struct pins){
			       .op = P_ALONG,
			       .w = node.w,
			       .cmp = NODE(c->g, t->t[0].iv)->w,
			       .a = s,
			       .b = compile(c, node.a, CTX_RAW, depth + 1),
			       .c = compile(c, node.b, CTX_RAW, depth + 1),
			       .d = compile(c, t->t[0].iv, ctx, depth + 1),
			       .e = compile(c, NODE(c->g, t->t[0].iv)->a, CTX_RAW, depth + 1),
			       .f = compile(c, NODE(c->g, t->t[0].iv)->b, CTX_RAW, depth + 1),
			       .imm = compile(c, t->t[0].iv, CTX_RAW, depth + 1),
		       });
}

static uint32_t mirrored(uint32_t cmp)
{
	static const uint8_t m[] = {
		[C_EQ] = C_EQ, [C_NE] = C_NE, [C_LT] = C_GT,
		[C_LE] = C_GE, [C_GT] = C_LT, [C_GE] = C_LE,
	};

	return m[cmp];
}

/* What the conditions of ctx say of the node itself. */
static uint32_t clamp(struct comp *c, uint32_t n, uint32_t ctx, uint32_t slot, unsigned depth)
{
	for (; ctx > CTX_ROOT; ctx = VEC(c->g->ctxs, struct ctx)[ctx].up) {
		const struct ctx x = VEC(c->g->ctxs, struct ctx)[ctx];
		struct atom_cond at[8];
		uint32_t na = 0;

		if (!(x.mask & NODE(c->g, n)->deps))
			continue;
		(void)flow_atoms(c->g, x.cond, x.neg, at, &na, 8);
		for (uint32_t i = 0; i < na; i++) {
			for (unsigned k = 0; k < 2; k++) {
				uint32_t me = k ? at[i].b : at[i].a, other = k ? at[i].a : at[i].b;
				const struct node *m = NODE(c->g, me);
				int64_t imm = 0;

				if (me != n) {
					/* me = n + constant */
					if ((m->op != N_ADD && m->op != N_SUB) || m->a != n ||
					    m->w != at[i].w || NODE(c->g, m->b)->op != N_CONST)
						continue;
					imm = NODE(c->g, m->b)->imm;
					imm = m->op == N_ADD ? imm : -imm;
					if (imm > INT32_MAX || imm < INT32_MIN)
						continue;
				}
				if (other == n)
					continue;
				slot = emit(c, (struct pins){
						       .op = P_CLAMP,
						       .w = at[i].w,
						       .sign = at[i].sign,
						       .cmp = (uint8_t)(k ? mirrored(at[i].cmp)
									  : at[i].cmp),
						       .a = slot,
						       .b = compile(c, other, x.up, depth + 1),
						       .imm = imm,
					       });
			}
		}
	}
	return slot;
}

/* What the branch that leads from one block to another says is 0; NONE. */
static uint32_t zero_on_edge(struct comp *c, uint32_t from, uint32_t to, unsigned depth)
{
	const struct fblock *fb = &VEC(c->fl->blocks, struct fblock)[from];
	struct atom_cond at[8];
	uint32_t n = 0;

	if (c->g->cond[from] == NONE || fb->nsucc != 2 || fb->succ[0] == fb->succ[1])
		return NONE;
	(void)flow_atoms(c->g, c->g->cond[from], fb->cond_not != (fb->succ[1] == to), at, &n, 8);
	for (uint32_t i = 0; i < n; i++)
		if (at[i].cmp == C_EQ)
			return emit(c, (struct pins){
					       .op = P_NODE,
					       .nop = N_SUB,
					       .w = at[i].w,
					       .a = compile(c, at[i].a, CTX_RAW, depth + 1),
					       .b = compile(c, at[i].b, CTX_RAW, depth + 1),
				       });
	return NONE;
}

static uint32_t compile(struct comp *c, uint32_t n, uint32_t ctx, unsigned depth)
{
	struct node node;
	uint32_t s, *m;

	if (n == NONE || depth > MAX_DEPTH || c->full || ++c->work > 200000)
		return c->top;
	node = *NODE(c->g, n);
	/* Conditions that say nothing of it do not count. */
	while (ctx > CTX_ROOT && !(node.deps & VEC(c->g->ctxs, struct ctx)[ctx].mask))
		ctx = VEC(c->g->ctxs, struct ctx)[ctx].up;
	if (ctx == CTX_ROOT && node.plain)
		ctx = CTX_RAW;
	m = flow_memo(c->fl, &c->memo, n, ctx);
	if (*m != NONE)
		return *m;
	*m = c->top; /* a cycle ends here */
	switch ((enum nop)node.op) {
	case N_PHI: {
		const struct phi ph = VEC(c->g->phis, struct phi)[node.imm];

		uint32_t first_zero = NONE;

		s = NONE;
		for (uint32_t i = 0; i < ph.n; i++) {
			uint32_t v, at, z;

			if (ph.val[i] == NONE)
				continue;
			at = ctx == CTX_RAW ? CTX_RAW
					    : flow_edge_ctx(c->g, c->g->cfg.pred[ph.block][i],
							    ph.block);
			v = compile(c, ph.val[i], at, depth + 1);
			z = zero_on_edge(c, c->g->cfg.pred[ph.block][i], ph.block, depth);
			s = s == NONE ? v
				      : emit(c, (struct pins){.op = P_JOIN, .w = 64, .a = s, .b = v,
							      .c = first_zero, .d = z});
			first_zero = s == v ? z : NONE;
		}
		if (s == NONE)
			s = c->top;
		break;
	}
	case N_IV:
		s = induction(c, n, ctx, depth);
		break;
	case N_SEL: {
		uint32_t yes = ctx, no = ctx;

		if (ctx != CTX_RAW) {
			yes = flow_ctx(c->g, ctx, node.a, false);
			no = flow_ctx(c->g, ctx, node.a, true);
		}
		s = compile(c, node.a, ctx, depth + 1);
		yes = compile(c, node.b, yes, depth + 1);
		no = compile(c, node.c, no, depth + 1);
		s = emit(c, (struct pins){
				    .op = P_NODE, .nop = N_SEL, .w = 64, .a = s, .b = yes, .c = no});
		break;
	}
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
		};

		if (node.op >= N_ADD) {
			p.a = node.a == NONE ? NONE
					     : compile(c, node.a,
						       node.op == N_DECAY && ctx != CTX_RAW
							       ? CTX_ROOT
							       : ctx,
						       depth + 1);
			p.b = node.b == NONE ? NONE : compile(c, node.b, ctx, depth + 1);
		}
		s = emit(c, p);
		break;
	}
	}
	if (ctx > CTX_ROOT)
		s = clamp(c, n, ctx, s, depth);
	*flow_memo(c->fl, &c->memo, n, ctx) = s;
	return s;
}

/* ---- loops ---- */

static void find_tests(struct comp *c)
{
	struct graph *g = c->g;
	uint32_t nl = g->cfg.loops.n;

	c->tests = flow_alloc(c->fl, (nl + 1) * sizeof(*c->tests));
	for (uint32_t l = 0; l < nl; l++) {
		const struct loop *lp = &VEC(g->cfg.loops, struct loop)[l];
		struct tests *t = &c->tests[l];
		uint64_t bit = UINT64_C(1) << l;

		t->trip = NONE;
		t->cond = NONE;
		if (lp->latch == NONE || lp->entry_pred == NONE)
			continue;
		for (uint32_t r = 0; r < g->cfg.nrpo && t->n < 2; r++) {
			uint32_t e = g->cfg.rpo[r], na = 0;
			const struct fblock *fb = &VEC(c->fl->blocks, struct fblock)[e];
			struct atom_cond at[8];
			bool in0, in1, neg;

			if (!(g->cfg.in_loop[e] & bit) || g->cond[e] == NONE || !fb->nsucc ||
			    fb->nsucc > 2 || !flow_dominates(&g->cfg, e, lp->latch))
				continue;
			in0 = g->cfg.in_loop[fb->succ[0]] & bit;
			in1 = fb->nsucc == 2 && g->cfg.in_loop[fb->succ[1]] & bit;
			if (in0 == in1)
				continue;
			/* No way out of the loop, but of the kernel. */
			if (fb->nsucc == 1 ? fb->trap
					   : VEC(c->fl->blocks, struct fblock)[fb->succ[in0]].trap &&
						     !VEC(c->fl->blocks, struct fblock)[fb->succ[in0]]
							      .nsucc)
				continue;
			neg = fb->nsucc == 1 ? !fb->cond_not : in0 ? fb->cond_not : !fb->cond_not;
			(void)flow_atoms(g, g->cond[e], neg, at, &na, 8);
			for (uint32_t i = 0; i < na && t->n < 2; i++) {
				for (unsigned k = 0; k < 2; k++) {
					uint32_t me = k ? at[i].b : at[i].a, iv = NONE, rest = NONE;
					uint32_t other = k ? at[i].a : at[i].b;

					if (NODE(g, other)->vary & bit)
						continue;
					/* The induction variable in the sum. */
					for (uint32_t q = me, d = 0; d < 24 && q != NONE; d++) {
						const struct node *n = NODE(g, q);

						if (n->op == N_IV && n->imm == l) {
							iv = q;
							break;
						}
						if (n->op == N_EXT && n->imm >= 32) {
							q = n->a;
							continue;
						}
						if (n->op != N_ADD && n->op != N_SUB)
							break;
						q = NODE(g, n->a)->vary & bit ? n->a
						    : n->op == N_ADD	      ? n->b
									      : NONE;
					}
					if (iv == NONE || !flow_apart(g, me, iv, &rest) ||
					    (rest != NONE && NODE(g, rest)->vary & bit))
						continue;
					t->t[t->n] = (struct test){
						.iv = iv,
						.node = me,
						.delta = rest,
						.bound = other,
						.cmp = (uint8_t)(k ? mirrored(at[i].cmp)
								   : at[i].cmp),
						.w = at[i].w,
						.sign = at[i].sign,
					};
					if (NODE(g, iv)->w != at[i].w)
						continue;
					if (!t->n) {
						t->cond = g->cond[e];
						t->neg = neg;
						t->only = lp->exits == 1 && na == 1;
					}
					t->n++;
					break;
				}
			}
		}
		if (t->cond == NONE)
			continue;
		/* Passing the test says something of every variable of the loop. */
		for (uint32_t i = 0; i < g->nodes.n; i++) {
			if (NODE(g, i)->op != N_IV || NODE(g, i)->imm != l)
				continue;
			for (uint32_t k = 2; k < g->ctxs.n; k++) {
				struct ctx *x = &VEC(g->ctxs, struct ctx)[k];

				if (x->cond == t->cond && x->neg == t->neg)
					x->mask |= NODE(g, i)->deps;
			}
		}
	}
}

/* ---- proofs ---- */

/* For every block the branches that decide whether it runs, each with its side; or their number. */
static void sides(struct comp *c, bool count, uint32_t *total)
{
	const struct cfg *f = &c->g->cfg;

	for (uint32_t r = 0; r < f->nrpo; r++) {
		uint32_t d = f->rpo[r];
		const struct fblock *fb = &VEC(c->fl->blocks, struct fblock)[d];

		if (fb->nsucc + (fb->nsucc == 1 && fb->cond != NONE && !fb->trap) < 2 ||
		    f->ptin[d] == NONE)
			continue;
		for (uint32_t s = 0; s < fb->nsucc; s++) {
			uint32_t x = fb->succ[s];

			for (; x != f->n && x != f->ipdom[d] && f->ptin[x] != NONE;
			     x = f->ipdom[x]) {
				struct sides *to = &c->control[x];

				if (count) {
					to->room++;
					if (++*total > 40 * f->nrpo + 1000)
						return;
					continue;
				}
				to->e[to->n++] = (struct side){
					.block = d,
					.known = fb->cond != NONE && fb->nsucc <= 2,
					.neg = fb->nsucc == 1
						       ? !fb->cond_not
						       : (s == 0 ? fb->cond_not : !fb->cond_not),
				};
			}
		}
	}
}

static void control(struct comp *c)
{
	const struct cfg *f = &c->g->cfg;
	uint32_t total = 0;
	struct side *all;

	c->control = flow_alloc(c->fl, f->n * sizeof(*c->control));
	sides(c, true, &total);
	c->no_proofs = total > 40 * f->nrpo + 1000;
	if (c->no_proofs)
		return;
	all = flow_alloc(c->fl, total * sizeof(*all));
	for (uint32_t i = 0; i < f->n; i++) {
		c->control[i].e = all;
		all += c->control[i].room;
	}
	sides(c, false, &total);
}

bool flow_depends(struct comp *c, uint32_t block, struct closure *cl)
{
	uint32_t todo[65], n = 0, done = 0;

	cl->n = 0;
	if (c->g->cfg.ptin[block] == NONE)
		return false;
	todo[n++] = block;
	while (done < n) {
		const struct sides *v = &c->control[todo[done++]];

		for (uint32_t i = 0; i < v->n; i++) {
			const struct side e = v->e[i];
			uint32_t k;

			if (!e.known)
				return false;
			for (k = 0; k < cl->n && cl->e[k].block != e.block; k++)
				;
			if (k < cl->n) {
				if (cl->e[k].neg != e.neg)
					return false;
				continue;
			}
			if (cl->n == 64)
				return false;
			cl->e[cl->n++] = e;
			for (k = 0; k < n && todo[k] != e.block; k++)
				;
			if (k == n)
				todo[n++] = e.block;
		}
	}
	return true;
}

int flow_behind(const struct comp *c, uint32_t block, uint32_t l)
{
	const struct cfg *f = &c->g->cfg;
	const struct loop *lp = &VEC(f->loops, struct loop)[l];
	const struct fblock *fb = &VEC(c->fl->blocks, struct fblock)[lp->exiting];

	for (uint32_t s = 0; s < fb->nsucc; s++) {
		uint32_t to = fb->succ[s];

		if (!(f->in_loop[to] >> l & 1))
			continue;
		if (to == lp->header)
			return 0;
		if (!flow_dominates(f, to, block))
			return flow_dominates(f, block, lp->exiting) ? 0 : -1;
		return f->npred[to] == 1 ? 1 : -1;
	}
	return -1;
}

static struct pmust *prove(struct comp *c, const struct acc *a, uint32_t i, uint32_t addr)
{
	struct graph *g = c->g;
	const struct fop *o = &VEC(c->fl->fops, struct fop)[a->fop];
	struct atom_cond at[MAX_GUARDS];
	struct ploop loops[8];
	uint32_t na = 0, nl = 0, mine[8];
	struct closure cl;
	struct pmust *m;

	if (!a->exact || !a->width || c->fl->detached.n ||
	    c->fl->flags & (KRT_FLOW_UNKNOWN_CALL | KRT_FLOW_UNKNOWN_INST) || c->no_proofs)
		return NULL;
	if (!flow_depends(c, o->block, &cl))
		return NULL;
	for (uint32_t l = 0; l < g->cfg.loops.n; l++) {
		const struct tests *t = &c->tests[l];
		const struct test *x = &t->t[0];

		if (!(g->cfg.in_loop[o->block] >> l & 1))
			continue;
		if (!t->only || t->n != 1 || nl == 8 || flow_behind(c, o->block, l) < 0)
			return NULL;
		mine[nl] = l;
		loops[nl++] = (struct ploop){
			.loop = l,
			.iv = compile(c, x->iv, CTX_RAW, 0),
			.test = compile(c, x->node, CTX_RAW, 0),
			.init = compile(c, NODE(g, x->iv)->a, CTX_RAW, 0),
			.step = compile(c, NODE(g, x->iv)->b, CTX_RAW, 0),
			.delta = x->delta == NONE ? NO_SLOT : compile(c, x->delta, CTX_RAW, 0),
			.bound = compile(c, x->bound, CTX_RAW, 0),
			.trip = trip(c, l, 0),
			.cmp = x->cmp,
			.w = x->w,
			.sign = x->sign,
			.pass = flow_behind(c, o->block, l) > 0,
		};
	}
	for (uint32_t k = 0; k < cl.n; k++) {
		uint32_t d = cl.e[k].block, cond = g->cond[d];
		bool test = false;

		for (uint32_t q = 0; q < nl; q++) {
			if (VEC(g->cfg.loops, struct loop)[mine[q]].exiting != d)
				continue;
			if (cond != c->tests[mine[q]].cond || cl.e[k].neg != c->tests[mine[q]].neg)
				return NULL;
			test = true;
		}
		if (test)
			continue;
		/* A branch in a loop that has ended by now: the last of many. */
		if (g->cfg.in_loop[d] & ~g->cfg.in_loop[o->block])
			return NULL;
		if (cond == NONE || !flow_atoms(g, cond, cl.e[k].neg, at, &na, MAX_GUARDS))
			return NULL;
	}
	if (g->acc_pred[i] != NONE && !flow_atoms(g, g->acc_pred[i], false, at, &na, MAX_GUARDS))
		return NULL;
	m = flow_keep(c->fl, sizeof(*m));
	m->addr = compile(c, addr, CTX_RAW, 0);
	m->guards = flow_keep(c->fl, na * sizeof(*m->guards));
	m->nguards = na;
	for (uint32_t k = 0; k < na; k++)
		m->guards[k] = (struct pguard){.x = compile(c, at[k].a, CTX_RAW, 0),
					       .y = compile(c, at[k].b, CTX_RAW, 0),
					       .cmp = at[k].cmp,
					       .w = at[k].w,
					       .sign = at[k].sign};
	m->loops = flow_keep(c->fl, nl * sizeof(*m->loops));
	m->nloops = nl;
	if (nl)
		memcpy(m->loops, loops, nl * sizeof(*loops));
	return m;
}

/* ---- accesses ---- */

struct split {
	uint32_t n;
	struct {
		uint32_t node, ctx;
	} alt[MAX_SPLIT];
};

static bool has_pointer(const struct graph *g, uint32_t n, unsigned depth)
{
	const struct node *p = NODE(g, n);

	if (depth > 24)
		return false;
	switch ((enum nop)p->op) {
	case N_PARAM:
		return p->w == 64;
	case N_VAR:
		return true;
	case N_ADD:
		return has_pointer(g, p->a, depth + 1) || has_pointer(g, p->b, depth + 1);
	case N_SUB:
	case N_IV:
		return has_pointer(g, p->a, depth + 1);
	case N_SEL:
		return has_pointer(g, p->b, depth + 1) || has_pointer(g, p->c, depth + 1);
	case N_PHI: {
		const struct phi *ph = &VEC(g->phis, struct phi)[p->imm];

		for (uint32_t i = 0; i < ph->n && i < 8; i++)
			if (ph->val[i] != NONE && has_pointer(g, ph->val[i], depth + 6))
				return true;
		return false;
	}
	default:
		return false;
	}
}

/* Pointers of which one is chosen, one by one; false: too many. */
static bool split(struct graph *g, uint32_t n, uint32_t ctx, struct split *out, unsigned depth)
{
	const struct node p = *NODE(g, n);
	struct split sub = { 0 };
	bool first;

	if (depth > 24)
		return false;
	switch ((enum nop)p.op) {
	case N_ADD:
	case N_SUB:
	case N_IV:
		first = p.op != N_ADD || has_pointer(g, p.a, 0);
		if (!has_pointer(g, first ? p.a : p.b, 0))
			break;
		if (!split(g, first ? p.a : p.b, ctx, &sub, depth + 1))
			return false;
		if (sub.n == 1 && sub.alt[0].ctx == ctx)
			break;
		for (uint32_t i = 0; i < sub.n; i++) {
			struct node q = p;

			if (out->n == MAX_SPLIT)
				return false;
			if (first)
				q.a = sub.alt[i].node;
			else
				q.b = sub.alt[i].node;
			if (p.op != N_IV) {
				q.vary = 0;
				q.deps = 0;
			}
			out->alt[out->n].node = flow_node(g, q);
			out->alt[out->n++].ctx = sub.alt[i].ctx;
		}
		return true;
	case N_SEL:
		if (!has_pointer(g, n, 0))
			break;
		return split(g, p.b, flow_ctx(g, ctx, p.a, false), out, depth + 1) &&
		       split(g, p.c, flow_ctx(g, ctx, p.a, true), out, depth + 1);
	case N_PHI:
		if (!has_pointer(g, n, 0))
			break;
		for (uint32_t i = 0; i < VEC(g->phis, struct phi)[p.imm].n; i++) {
			uint32_t v = VEC(g->phis, struct phi)[p.imm].val[i];

			if (v != NONE && !split(g, v, ctx, out, depth + 1))
				return false;
		}
		return true;
	default:
		break;
	}
	if (out->n == MAX_SPLIT)
		return false;
	out->alt[out->n].node = n;
	out->alt[out->n++].ctx = ctx;
	return true;
}

static void bases(struct comp *c, uint32_t set, struct pacc *p)
{
	const struct set *s = &VEC(c->fl->sets, struct set)[set];
	const struct krt_flow_info *info = &c->fl->k->info;

	p->slots = flow_keep(c->fl, s->n * sizeof(*p->slots));
	p->globals = flow_keep(c->fl, s->n * sizeof(*p->globals));
	for (uint32_t i = 0; i < s->n; i++) {
		const struct base *b = &VEC(c->fl->bases, struct base)[s->id[i]];

		if (b->kind == BASE_GLOBAL)
			p->globals[p->nglobals++] = b->a;
		if (b->kind != BASE_SLOT)
			continue;
		for (uint32_t k = 0; k < info->nslots; k++)
			if (info->slots[k].param == b->a && info->slots[k].offset == b->b)
				p->slots[p->nslots++] = k;
	}
}

/* Does it load pointers that are used? */
static uint32_t site_of(const struct krt_flow_info *info, const struct acc *a)
{
	for (uint32_t i = 0; i < info->nloads; i++)
		if (info->loads[i].site == a->fop + 1 && a->kind == KRT_FLOW_READ)
			return info->loads[i].site;
	return 0;
}

static void conditions(struct comp *c, uint32_t ctx, struct pacc *p)
{
	struct pcond conds[40];
	uint32_t n = 0;

	for (; ctx > CTX_ROOT && n < 40; ctx = VEC(c->g->ctxs, struct ctx)[ctx].up) {
		const struct ctx x = VEC(c->g->ctxs, struct ctx)[ctx];

		conds[n].slot = compile(c, x.cond, x.up, 0);
		conds[n++].neg = x.neg;
	}
	p->conds = flow_keep(c->fl, n * sizeof(*conds));
	p->nconds = n;
	if (n)
		memcpy(p->conds, conds, n * sizeof(*conds));
}

static void mark(const struct flow *fl, bool *used, uint64_t at, unsigned bytes)
{
	for (unsigned i = 0; i < bytes && at < fl->entry->param_bytes; i++)
		used[at++] = true;
}

static void mark_loads(const struct flow *fl, bool *used, const struct prog *p)
{
	for (uint32_t i = 0; p && i < p->nins; i++)
		if (p->ins[i].op == P_NODE && p->ins[i].nop == N_PARAM && p->ins[i].imm >= 0)
			mark(fl, used, (uint64_t)p->ins[i].imm, (p->ins[i].w + 7u) / 8);
}

/* Which parameters are asked for at a launch: pointers, and what the instructions load. */
static void keep_used(struct flow *fl, const struct prog *p)
{
	struct krt_flow_info *info = &fl->k->info;
	uint32_t n = (uint32_t)fl->entry->param_bytes, spans = 0;
	bool *used = flow_alloc(fl, n + 1);
	struct krt_flow_span *s;

	for (uint32_t i = 0; i < p->naccs; i++)
		for (uint32_t k = 0; k < p->accs[i].nslots; k++)
			if (info->slots[p->accs[i].slots[k]].offset != KRT_FLOW_ANY)
				mark(fl, used, info->slots[p->accs[i].slots[k]].at, 8);
	mark_loads(fl, used, p);
	mark_loads(fl, used, p->exact);
	for (uint32_t i = 0; i < n; i++)
		spans += used[i] && (!i || !used[i - 1]);
	info->used = s = flow_keep(fl, spans * sizeof(*s));
	for (uint32_t i = 0; i < n; i++) {
		if (!used[i])
			continue;
		if (!i || !used[i - 1])
			s[info->nused++] = (struct krt_flow_span){.at = i};
		s[info->nused - 1].len++;
	}
}

void flow_ranges(struct flow *fl)
{
	struct graph *g = flow_alloc(fl, sizeof(*g));
	struct comp c = { .fl = fl, .g = g };
	struct krt_flow_info *info = &fl->k->info;
	struct vec accs = { 0 };
	struct xacc list[MAX_GROUP];
	struct guards *guards = NULL;
	struct exact *x = NULL;
	uint32_t block = NONE, nlist = 0;
	uint8_t *told = flow_alloc(fl, fl->sets.n); /* kinds that are whole, per set of bases */
	struct prog *p;
	bool odd = fl->broken || fl->naccs > FLOW_MAX_ACCS || !flow_graph(fl, g);

	if (odd)
		info->flags |= KRT_FLOW_NO_RANGES;
	else
		find_tests(&c);
	if (!odd)
		control(&c);
	if (!odd)
		guards = flow_guards_new(&c);
	c.top = emit(&c, (struct pins){.op = P_TOP});
	if (!odd)
		x = flow_exact_new(&c);
	for (uint32_t i = 0; i < fl->accs.n; i++) {
		const struct acc *a = &VEC(fl->accs, struct acc)[i];
		const struct fop *o = &VEC(fl->fops, struct fop)[a->fop];
		struct split s = { 0 };
		struct pacc *pa, base = { .addr = NO_SLOT, .width = a->width, .kind = a->kind };
		uint32_t ctx;

		bool unknown = odd || g->acc_node[i] == NONE || !a->width || c.full;

		base.site = site_of(info, a);
		if (unknown && !base.site && told[a->set] & a->kind)
			continue;
		bases(&c, a->set, &base);
		if (!base.nslots && !base.nglobals)
			continue; /* info.any and slot.through say it */
		if (unknown) {
			told[a->set] |= base.site ? 0 : a->kind;
			*(struct pacc *)flow_push(fl, &accs, sizeof(*pa)) = base;
			continue;
		}
		base.loose = flow_unfollowed(guards, o->block, g->acc_pred[i], g->acc_node[i]);
		ctx = g->ctx[o->block];
		if (g->acc_pred[i] != NONE)
			ctx = flow_ctx(g, ctx, g->acc_pred[i], false);
		if (!split(g, g->acc_node[i], ctx, &s, 0)) {
			s.n = 1;
			s.alt[0].node = g->acc_node[i];
			s.alt[0].ctx = ctx;
		}
		if ((a->exact || a->size) && o->block != block) {
			flow_exact_group(x, block, list, nlist);
			block = o->block;
			nlist = 0;
		}
		if ((a->exact || a->size) && !base.site) /* what loads pointers stays apart */
			list[nlist++] = (struct xacc){
				.addr = g->acc_node[i],
				.pred = g->acc_pred[i],
				.size = g->acc_size[i],
				.none_if = a->none_if,
				.first = accs.n,
				.n = s.n,
			};
		if (nlist == MAX_GROUP) {
			flow_exact_group(x, block, list, nlist);
			nlist = 0;
		}
		for (uint32_t k = 0; k < s.n; k++) {
			struct pacc q = base;

			q.addr = compile(&c, s.alt[k].node, s.alt[k].ctx, 0);
			conditions(&c, s.alt[k].ctx, &q);
			if (s.n == 1)
				q.must = prove(&c, a, i, s.alt[k].node);
			if (c.full)
				q.addr = NO_SLOT;
			if (q.addr != c.top && q.addr != NO_SLOT && !k)
				info->ranged++;
			*(struct pacc *)flow_push(fl, &accs, sizeof(*pa)) = q;
		}
	}
	p = flow_keep(fl, sizeof(*p));
	if (!odd) {
		flow_exact_group(x, block, list, nlist);
		flow_exact_end(x, p);
	}
	p->work = FLOW_WORK;
	p->nins = c.ins.n;
	p->ins = flow_keep(fl, p->nins * sizeof(*p->ins));
	memcpy(p->ins, c.ins.p, p->nins * sizeof(*p->ins));
	p->naccs = accs.n;
	p->accs = flow_keep(fl, p->naccs * sizeof(*p->accs));
	if (accs.n)
		memcpy(p->accs, accs.p, accs.n * sizeof(*p->accs));
	p->nloops = odd ? 0 : g->cfg.loops.n;
	p->natoms = 6 + 2 * p->nloops + 4 * p->nins;
	p->val = flow_keep(fl, p->nins * sizeof(*p->val));
	p->atom = flow_keep(fl, p->natoms * sizeof(*p->atom));
	p->res = flow_keep(fl, p->naccs * sizeof(*p->res));
	p->where = flow_keep(fl, p->naccs);
	p->skip = flow_keep(fl, p->naccs * sizeof(bool));
	p->settled = flow_keep(fl, p->naccs * sizeof(bool));
	p->lead = flow_keep(fl, p->naccs * sizeof(*p->lead));
	memset(p->lead, 0xff, p->naccs * sizeof(*p->lead));
	for (uint32_t i = 0; i < p->ngroups; i++)
		for (uint32_t k = 0; k < p->groups[i].naccs; k++)
			for (uint32_t q = 0; q < p->groups[i].accs[k].n; q++)
				p->lead[p->groups[i].accs[k].first + q] = p->groups[i].accs[k].first;
	keep_used(fl, p);
	flow_moves(fl, p);
	fl->k->prog = p;
}
