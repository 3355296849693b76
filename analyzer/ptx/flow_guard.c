/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses whose bytes follow from the launch and its parameters alone, behind a
 * condition that the ranges do not follow: two coordinates compared, a float
 * parameter, a bit of a mask.  What is left out is then the kernel's own choice,
 * not the data's, and their ranges are loose.
 *
 * Of every value: whether data may be in it (memory, other threads, a clock; and
 * what decides which of several values it is), and which coordinates are.  Found
 * by going over all values until nothing changes; without an end, all is data.
 */
#include "flow_comp.h"

#define ROUNDS 24u
#define UNSEEN 0x80u /* made by an instruction that the ranges do not follow */
#define ROUND  0x40u /* of a loop */

struct origin {
	uint8_t who;  /* coordinates: 1 << enum sreg; ROUND, UNSEEN */
	bool data;
	bool bent;    /* not a sum of multiples of coordinates */
};

struct guards {
	struct comp *c;
	uint32_t n;
	struct origin *of;  /* per node */
	bool *data;         /* per block: whether it runs */
};

static bool data_in(const struct guards *s, uint32_t n)
{
	return n >= s->n || s->of[n].data;
}

/* May data decide that this block is left the way it is? */
static bool data_leaves(const struct guards *s, uint32_t block)
{
	const struct fblock *fb = &VEC(s->c->fl->blocks, struct fblock)[block];

	if (fb->nsucc < 2 && fb->cond == NONE)
		return false;
	return fb->nsucc > 2 || fb->cond == NONE || data_in(s, s->c->g->cond[block]);
}

static bool data_leads_to(const struct guards *s, uint32_t block)
{
	const struct sides *v = &s->c->control[block];
	bool d = s->c->g->cfg.ptin[block] == NONE;

	for (uint32_t i = 0; i < v->n && !d; i++) {
		uint32_t b = v->e[i].block;

		d = s->data[b] || data_leaves(s, b);
	}
	return d;
}

static void take(const struct guards *s, struct origin *o, uint32_t n)
{
	if (n == NONE)
		return;
	o->data |= data_in(s, n);
	o->who |= n < s->n ? s->of[n].who : 0;
	o->bent |= n < s->n && s->of[n].bent;
}

static struct origin origin(const struct guards *s, uint32_t i)
{
	const struct graph *g = s->c->g;
	const struct node *n = NODE(g, i);
	struct origin o = { 0 };
	const struct phi *ph;

	switch ((enum nop)n->op) {
	case N_CONST:
	case N_PARAM:
	case N_PADDR:
	case N_VAR:
		return o;
	case N_SREG:
		o.who = (uint8_t)(n->imm < S_NTID ? 1u << n->imm : n->imm == S_LANE ? 1u << S_TID : 0);
		o.bent = n->imm == S_LANE;
		return o;
	case N_PHI:
		ph = &VEC(g->phis, struct phi)[n->imm];
		for (uint32_t k = 0; k < ph->n; k++) {
			uint32_t from = g->cfg.pred[ph->block][k];

			take(s, &o, ph->val[k]);
			o.data |= s->data[from] || data_leaves(s, from);
		}
		break;
	case N_IV:
	case N_DECAY:
		o.data = s->data[n->block];
		o.who = ROUND;
		break;
	case N_OPAQUE:
		o.data = !n->pure;
		o.who = UNSEEN;
		break;
	default:
		break;
	}
	if (n->op != N_PHI) {
		take(s, &o, n->a);
		take(s, &o, n->b);
		take(s, &o, n->c);
	}
	switch ((enum nop)n->op) {
	case N_ADD:
	case N_SUB:
	case N_EXT:
	case N_IV:
		break;
	case N_MUL:
		o.bent |= s->of[n->a].who && s->of[n->b].who;
		break;
	case N_SHL:
		o.bent |= s->of[n->b].who != 0;
		break;
	default:
		o.bent |= o.who != 0;
	}
	return o;
}

struct guards *flow_guards_new(struct comp *c)
{
	struct guards *s = flow_alloc(c->fl, sizeof(*s));
	const struct cfg *f = &c->g->cfg;
	bool more = true;

	s->c = c;
	s->n = c->g->nodes.n;
	s->of = flow_alloc(c->fl, (s->n + 1) * sizeof(*s->of));
	s->data = flow_alloc(c->fl, (f->n + 1) * sizeof(*s->data));
	for (uint32_t k = 0; more && !c->no_proofs; k++) {
		if (k == ROUNDS)
			return NULL;
		more = false;
		for (uint32_t i = 0; i < s->n; i++) {
			struct origin o = origin(s, i), *p = &s->of[i];

			more |= o.data != p->data || o.who != p->who || o.bent != p->bent;
			*p = o;
		}
		for (uint32_t r = 0; r < f->nrpo; r++) {
			bool d = data_leads_to(s, f->rpo[r]);

			more |= d != s->data[f->rpo[r]];
			s->data[f->rpo[r]] = d;
		}
	}
	return c->no_proofs ? NULL : s;
}

/* Is the value part of the address?  Yes, if that takes too long to tell. */
static bool part_of(const struct guards *s, uint32_t addr, uint32_t n, unsigned *work)
{
	const struct node *p = NODE(s->c->g, addr);
	uint32_t in[3] = { p->a, p->b, p->c };

	if (addr == n || !*work)
		return true;
	--*work;
	for (unsigned i = 0; i < 3; i++)
		if (p->op >= N_ADD && p->op != N_PHI && in[i] != NONE &&
		    part_of(s, in[i], n, work))
			return true;
	return false;
}

/* Does what is known of an address leave out what this condition does? */
static bool followed(const struct guards *s, uint32_t cond, bool neg, uint32_t addr)
{
	struct graph *g = s->c->g;
	struct atom_cond at[8];
	uint32_t n = 0;

	if (s->of[cond].who & UNSEEN)
		return false;
	if (!(s->of[cond].who & s->of[addr].who))
		return true; /* for all alike, or nothing that the address is made of */
	if (!flow_atoms(g, cond, neg, at, &n, 8))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = at[i].a, y = at[i].b;
		unsigned work = 200;

		if (x >= s->n || y >= s->n)
			return true;
		if (!((s->of[x].who | s->of[y].who) & s->of[addr].who))
			continue;
		if ((s->of[x].who && s->of[y].who) || at[i].cmp == C_NE)
			return false;
		if (!s->of[x].who)
			x = y;
		if (s->of[x].bent && !part_of(s, addr, x, &work))
			return false;
	}
	return true;
}

bool flow_unfollowed(const struct guards *s, uint32_t block, uint32_t pred, uint32_t addr)
{
	struct comp *c = s ? s->c : NULL;
	uint32_t todo[65], n = 0;
	bool found;

	if (!s || addr >= s->n || s->data[block] || data_in(s, addr) ||
	    (pred != NONE && data_in(s, pred)))
		return false;
	found = pred != NONE && !followed(s, pred, false, addr);
	todo[n++] = block;
	for (uint32_t done = 0; done < n; done++) {
		const struct sides *v = &c->control[todo[done]];

		for (uint32_t i = 0; i < v->n; i++) {
			const struct side e = v->e[i];
			uint32_t cond = c->g->cond[e.block], k;
			bool test = false;

			for (uint32_t l = 0; l < c->g->cfg.loops.n; l++)
				test |= (c->g->cfg.in_loop[block] >> l & 1) &&
					c->tests[l].cond == cond && c->tests[l].neg == e.neg;
			found |= !test && !followed(s, cond, e.neg, addr);
			for (k = 0; k < n && todo[k] != e.block; k++)
				;
			if (k == n && n == 65)
				return false;
			if (k == n)
				todo[n++] = e.block;
		}
	}
	return found;
}
