/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge's part for graphs.  A launch is one operation of its stream: it comes
 * after the executable's launch before it, is over when all its nodes are, and touches
 * what they touch.  Inside, two nodes meet where no path leads from one to the other.
 * A node names lives of buffers; one that has ended is stale, and what has its bytes
 * now is nothing to the node.
 */
#include "court.h"

#include <string.h>

static bool works(const struct exec *x, unsigned i)
{
	return x->g.node[i].type != GN_CHILD && !(x->off >> i & 1);
}

/* --- inside ---------------------------------------------------------------------- */

static bool inside_pair(struct court *c, const struct gnode *a, const struct gnode *b, bool needed)
{
	const struct op *x = &c->p->op[a->op], *y = &c->p->op[b->op];
	bool later = program_later(c->p, b->op, a->op);
	int cur = later ? a->op : b->op, prev = later ? b->op : a->op;
	bool any = false;

	for (unsigned i = 0; i < x->nranges; i++)
		for (unsigned k = 0; k < y->nranges; k++) {
			cells_t both = cells_of(x, &x->range[i]) & cells_of(y, &y->range[k]);
			struct pair *q;

			if (x->range[i].buffer != y->range[k].buffer || a->life[i] != b->life[k] ||
			    a->life[i] < 0 || !both || !(x->range[i].write || y->range[k].write))
				continue;
			q = pair_of(c, KRT_RULE_GRAPH_UNORDERED_NODES, cur, prev,
				    x->range[i].buffer);
			for (int v = 0; v < VIEWS; v++) {
				q->in_view[v] = true;
				q->cells[v] |= both;
				q->need[v] |= needed ? both : 0;
			}
			any = true;
		}
	return any;
}

/* One node (-1: any) with the others; needed: the engine has to tell. */
static bool inside(struct court *c, const struct exec *x, int one, bool needed)
{
	struct graph g = x->g;
	bool any = false;

	for (unsigned a = 0; a < g.n && c->fault == FAULT_GRAPH_EDGE; a++)
		g.node[a].deps &= g.node[a].deps - 1; /* one edge each is forgotten */
	for (unsigned a = 0; a < x->g.n; a++)
		for (unsigned b = a + 1; b < x->g.n; b++)
			if (works(x, a) && works(x, b) &&
			    (one < 0 || one == (int)a || one == (int)b) &&
			    !graph_before(&g, (int)a, (int)b) && !graph_before(&g, (int)b, (int)a))
				any |= inside_pair(c, &x->g.node[a], &x->g.node[b], needed);
	return any;
}

/*
 * An executable is looked into when it is made, and where it has changed when it is
 * launched next.  One finding of its inside is enough.
 */
static void look_inside(struct court *c, const struct exec *x, struct court_exec *k)
{
	for (unsigned i = 0; i < k->nchanged; i++)
		k->told |= inside(c, x, k->changed[i], !k->told);
	k->nchanged = 0;
}

static void change(struct court_exec *k, int node)
{
	if (k->nchanged < GNODES)
		k->changed[k->nchanged++] = node;
	if (node < 0) {
		k->changed[0] = -1;
		k->nchanged = 1;
	}
}

/* --- launches ----------------------------------------------------------------------- */

static void stale(struct court *c, int op, const struct gnode *n, const struct range *r)
{
	enum memory kind = buffer_slot[r->buffer].kind;
	struct pair *q = pair_of(c,
				 kind == PINNED || kind == PAGEABLE ? KRT_RULE_GRAPH_STALE_HOST
								    : KRT_RULE_GRAPH_STALE_ADDR,
				 op, n->op, r->buffer);

	q->in_view[DOC] = q->in_view[OBS] = true;
}

static bool is_stale(const struct court *c, const struct gnode *n, unsigned range, uint8_t buffer)
{
	return c->fault != FAULT_STALE &&
	       (n->life[range] != c->graphs.life[buffer] || !c->graphs.live[buffer]);
}

static void touch(struct court *c, int op, int node, const struct gnode *n, bool later)
{
	const struct op *o = &c->p->op[n->op];

	for (unsigned k = 0; k < o->nranges; k++) {
		const struct range *r = &o->range[k];
		cells_t cells = cells_of(o, r);

		if (is_stale(c, n, k, r->buffer)) {
			if (!later)
				stale(c, op, n, r);
		} else if (later) {
			c->access[c->naccesses++] = (struct access){
				op, node, 0, r->buffer, cells, r->write, o->what == OP_KERNEL};
		} else {
			before_allocation(c, op, node, r->buffer);
			meet(c, op, 0, node, r->buffer, cells, r->write, false);
		}
	}
}

static void launch(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	const struct exec *x = &c->graphs.exec[o->exec % EXEC_SLOTS];
	struct court_exec *k = &c->exec[o->exec % EXEC_SLOTS];
	int n;

	look_inside(c, x, k);
	n = enqueue(c, o, o->stream);
	if (c->fault != FAULT_RELAUNCH)
		edge(c, k->last, n, IN_DOC);
	k->last = n;
	c->node[n].form = k->form;
	for (unsigned i = 0; i < x->g.n; i++)
		if (works(x, i))
			touch(c, op, n, &x->g.node[i], false);
	for (unsigned i = 0; i < x->g.n; i++)
		if (works(x, i))
			touch(c, op, n, &x->g.node[i], true);
}

/* --- calls --------------------------------------------------------------------------- */

void judge_graph(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	const struct exec *x = &c->graphs.exec[o->exec % EXEC_SLOTS];
	struct court_exec *k = &c->exec[o->exec % EXEC_SLOTS];

	switch (o->what) {
	case OP_INSTANTIATE:
		*k = (struct court_exec){.last = -1, .form = ++c->forms};
		change(k, -1);
		look_inside(c, x, k);
		break;
	case OP_EXEC_PARAMS:
		change(k, graphs_node(&x->g, o));
		k->form = ++c->forms;
		break;
	case OP_EXEC_ENABLE: /* one that was on already is the same as before */
		if (o->ready)
			change(k, o->node % (int)x->g.n);
		if (k->off != x->off)
			k->form = ++c->forms;
		k->off = x->off;
		break;
	case OP_EXEC_UPDATE:
		change(k, -1);
		k->form = ++c->forms;
		break;
	case OP_GRAPH_LAUNCH:
		launch(c, op);
		break;
	default:
		break;
	}
}
