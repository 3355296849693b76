/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow of the flat program: order, dominators, loops.  No recursion. */
#include "flow_ssa.h"
#include <string.h>

#define MAX_LOOPS 63u

static void predecessors(struct flow *fl, struct cfg *c)
{
	const struct fblock *b = VEC(fl->blocks, struct fblock);

	c->pred = flow_alloc(fl, c->n * sizeof(*c->pred));
	c->npred = flow_alloc(fl, c->n * sizeof(*c->npred));
	for (uint32_t i = 0; i < c->n; i++)
		for (uint32_t k = 0; c->order[i] != NONE && k < b[i].nsucc; k++)
			c->npred[b[i].succ[k]]++;
	for (uint32_t i = 0; i < c->n; i++) {
		c->pred[i] = flow_alloc(fl, c->npred[i] * sizeof(uint32_t));
		c->npred[i] = 0;
	}
	for (uint32_t r = 0; r < c->nrpo; r++) {
		uint32_t i = c->rpo[r];

		for (uint32_t k = 0; k < b[i].nsucc; k++) {
			uint32_t s = b[i].succ[k];

			c->pred[s][c->npred[s]++] = i;
		}
	}
}

/* Reverse postorder from start along succ lists; fills order and list, returns how many. */
static uint32_t reverse_postorder(struct flow *fl, uint32_t n, uint32_t start,
				  uint32_t *const *succ, const uint32_t *nsucc, uint32_t *list,
				  uint32_t *order)
{
	uint32_t *stack = flow_alloc(fl, (n + 1) * sizeof(*stack)), sp = 0, done = 0;
	uint32_t *at = flow_alloc(fl, (n + 1) * sizeof(*at));

	memset(order, 0xff, n * sizeof(*order));
	stack[sp++] = start;
	order[start] = 0;
	while (sp) {
		uint32_t i = stack[sp - 1];

		if (at[i] < nsucc[i]) {
			uint32_t s = succ[i][at[i]++];

			if (order[s] == NONE) {
				order[s] = 0;
				stack[sp++] = s;
			}
		} else {
			list[done++] = i;
			sp--;
		}
	}
	for (uint32_t i = 0; i < done / 2; i++) {
		uint32_t t = list[i];

		list[i] = list[done - 1 - i];
		list[done - 1 - i] = t;
	}
	for (uint32_t i = 0; i < done; i++)
		order[list[i]] = i;
	return done;
}

/* Immediate dominators (Cooper, Harvey, Kennedy), and numbers of a walk of their tree. */
static void dominators(struct flow *fl, uint32_t n, const uint32_t *list, uint32_t done,
		       const uint32_t *order, uint32_t *const *pred, const uint32_t *npred,
		       uint32_t *idom, uint32_t *tin, uint32_t *tout)
{
	bool changed = true;
	uint32_t *child = flow_alloc(fl, n * sizeof(*child));
	uint32_t *sibling = flow_alloc(fl, n * sizeof(*sibling));
	uint32_t *stack = flow_alloc(fl, (n + 1) * sizeof(*stack)), sp = 0, t = 0;

	memset(idom, 0xff, n * sizeof(*idom));
	memset(tin, 0xff, n * sizeof(*tin));
	memset(tout, 0, n * sizeof(*tout));
	idom[list[0]] = list[0];
	while (changed) {
		changed = false;
		for (uint32_t r = 1; r < done; r++) {
			uint32_t b = list[r], d = NONE;

			for (uint32_t k = 0; k < npred[b]; k++) {
				uint32_t p = pred[b][k], x;

				if (order[p] == NONE || idom[p] == NONE)
					continue;
				if (d == NONE) {
					d = p;
					continue;
				}
				x = p;
				while (x != d) {
					while (order[x] > order[d])
						x = idom[x];
					while (order[d] > order[x])
						d = idom[d];
				}
			}
			if (d != idom[b]) {
				idom[b] = d;
				changed = true;
			}
		}
	}
	memset(child, 0xff, n * sizeof(*child));
	for (uint32_t r = done; r-- > 1;) {
		uint32_t b = list[r];

		sibling[b] = child[idom[b]];
		child[idom[b]] = b;
	}
	stack[sp++] = list[0];
	while (sp) {
		uint32_t b = stack[sp - 1];

		if (tin[b] == NONE)
			tin[b] = t++;
		if (child[b] != NONE) {
			uint32_t k = child[b];

			child[b] = sibling[k];
			stack[sp++] = k;
		} else {
			tout[b] = t;
			sp--;
		}
	}
}

bool flow_dominates(const struct cfg *c, uint32_t a, uint32_t b)
{
	return c->tin[a] != NONE && c->tin[b] != NONE && c->tin[a] <= c->tin[b] &&
	       c->tout[b] <= c->tout[a];
}

bool flow_postdominates(const struct cfg *c, uint32_t a, uint32_t b)
{
	return c->ptin[a] != NONE && c->ptin[b] != NONE && c->ptin[a] <= c->ptin[b] &&
	       c->ptout[b] <= c->ptout[a];
}

static void find_loops(struct flow *fl, struct cfg *c)
{
	const struct fblock *blocks = VEC(fl->blocks, struct fblock);
	uint32_t *stack = flow_alloc(fl, (c->n + 1) * sizeof(*stack));

	c->in_loop = flow_alloc(fl, c->n * sizeof(*c->in_loop));
	for (uint32_t r = 0; r < c->nrpo; r++) {
		uint32_t h = c->rpo[r], sp = 0;
		struct loop *l = NULL;
		uint64_t bit;

		for (uint32_t k = 0; k < c->npred[h]; k++) {
			uint32_t p = c->pred[h][k];

			if (c->order[p] < c->order[h])
				continue;
			if (!flow_dominates(c, h, p)) {
				c->odd = true;
				return;
			}
			if (!l) {
				if (c->loops.n >= MAX_LOOPS) {
					c->odd = true;
					return;
				}
				l = flow_push(fl, &c->loops, sizeof(*l));
				*l = (struct loop){ .header = h, .entry_pred = NONE,
						    .latch = NONE, .exiting = NONE };
			}
			l->latch = l->nlatch++ ? NONE : p;
		}
		if (!l)
			continue;
		bit = UINT64_C(1) << (c->loops.n - 1);
		c->in_loop[h] |= bit;
		for (uint32_t k = 0; k < c->npred[h]; k++) {
			uint32_t p = c->pred[h][k];

			if (c->order[p] < c->order[h])
				l->entry_pred = l->entry_pred == NONE ? p : NONE - 1;
			else if (!(c->in_loop[p] & bit)) {
				c->in_loop[p] |= bit;
				stack[sp++] = p;
			}
		}
		if (l->entry_pred == NONE - 1)
			l->entry_pred = NONE;
		while (sp) {
			uint32_t b = stack[--sp];

			for (uint32_t k = 0; k < c->npred[b]; k++) {
				uint32_t p = c->pred[b][k];

				if (!(c->in_loop[p] & bit)) {
					c->in_loop[p] |= bit;
					stack[sp++] = p;
				}
			}
		}
	}
	for (uint32_t k = 0; k < c->loops.n; k++) {
		struct loop *l = &VEC(c->loops, struct loop)[k];

		for (uint32_t r = 0; r < c->nrpo; r++) {
			uint32_t b = c->rpo[r];
			const struct fblock *fb = &blocks[b];
			uint32_t out = 0;

			if (!(c->in_loop[b] >> k & 1))
				continue;
			for (uint32_t s = 0; s < fb->nsucc; s++)
				out += !(c->in_loop[fb->succ[s]] >> k & 1) &&
				       !(blocks[fb->succ[s]].trap && !blocks[fb->succ[s]].nsucc);
			out += (!fb->nsucc || (fb->nsucc == 1 && fb->cond != NONE)) && !fb->trap;
			if (out)
				l->exiting = l->exits ? NONE : b;
			l->exits += out;
		}
	}
}

static void post_dominators(struct flow *fl, struct cfg *c)
{
	const struct fblock *blocks = VEC(fl->blocks, struct fblock);
	uint32_t n = c->n + 1, end = c->n, *list = flow_alloc(fl, n * sizeof(*list));
	uint32_t *order = flow_alloc(fl, n * sizeof(*order)), done, nend = 0;
	uint32_t **succ = flow_alloc(fl, n * sizeof(*succ)), *nsucc = flow_alloc(fl, n * sizeof(*nsucc));
	uint32_t **pred = flow_alloc(fl, n * sizeof(*pred)), *npred = flow_alloc(fl, n * sizeof(*npred));

	/* The graph turned around: from the end, to what may be the last block. */
	succ[end] = flow_alloc(fl, n * sizeof(uint32_t));
	for (uint32_t r = 0; r < c->nrpo; r++) {
		uint32_t b = c->rpo[r];
		const struct fblock *fb = &blocks[b];
		/* A kernel that fails is not spoken of. */
		bool last = (!fb->nsucc || (fb->nsucc == 1 && fb->cond != NONE)) && !fb->trap;

		succ[b] = c->pred[b];
		nsucc[b] = c->npred[b];
		pred[b] = flow_alloc(fl, (fb->nsucc + 1) * sizeof(uint32_t));
		if (fb->nsucc)
			memcpy(pred[b], fb->succ, fb->nsucc * sizeof(uint32_t));
		npred[b] = fb->nsucc;
		if (last) {
			succ[end][nend++] = b;
			pred[b][npred[b]++] = end;
		}
	}
	nsucc[end] = nend;
	pred[end] = flow_alloc(fl, 1);
	done = reverse_postorder(fl, n, end, succ, nsucc, list, order);
	c->ipdom = flow_alloc(fl, n * sizeof(*c->ipdom));
	c->ptin = flow_alloc(fl, n * sizeof(*c->ptin));
	c->ptout = flow_alloc(fl, n * sizeof(*c->ptout));
	dominators(fl, n, list, done, order, pred, npred, c->ipdom, c->ptin, c->ptout);
}

/* Blocks, orders, loops; fl->entry's first block is where it starts. */
void flow_cfg(struct flow *fl, struct cfg *c)
{
	const struct fblock *b = VEC(fl->blocks, struct fblock);
	uint32_t start = VEC(fl->instances, struct instance *)[0]->entry;
	uint32_t **succ, *nsucc;

	c->n = fl->blocks.n;
	succ = flow_alloc(fl, c->n * sizeof(*succ));
	nsucc = flow_alloc(fl, c->n * sizeof(*nsucc));
	for (uint32_t i = 0; i < c->n; i++) {
		succ[i] = b[i].succ;
		nsucc[i] = b[i].nsucc;
	}
	c->rpo = flow_alloc(fl, c->n * sizeof(*c->rpo));
	c->order = flow_alloc(fl, c->n * sizeof(*c->order));
	c->nrpo = reverse_postorder(fl, c->n, start, succ, nsucc, c->rpo, c->order);
	predecessors(fl, c);
	c->idom = flow_alloc(fl, c->n * sizeof(*c->idom));
	c->tin = flow_alloc(fl, c->n * sizeof(*c->tin));
	c->tout = flow_alloc(fl, c->n * sizeof(*c->tout));
	dominators(fl, c->n, c->rpo, c->nrpo, c->order, c->pred, c->npred, c->idom, c->tin,
		   c->tout);
	find_loops(fl, c);
	if (!c->odd)
		post_dominators(fl, c);
}
