/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs: instantiation, launches, updates.
 *
 * An executable refers to the templates that its graph's nodes had when it was
 * made.  A launch puts copies of them between a begin and an end marker of the
 * launching stream, ordered by the graph's edges; a launch of an executable
 * comes after its previous one.  Copies queue up in lanes, chains of nodes that
 * follow each other: to the scheduler they are what streams are, so that it need
 * not look at pairs of nodes that are in order anyway.
 *
 * A programmatic edge is an edge like any other here.  A launch-order edge makes
 * its target wait for what its source waits for, and no more.
 */
#include "graph.h"

#include <stdlib.h>

struct xdep {
	unsigned at; /* in the executable's nodes */
	CUgraphEdgeData e;
};

struct xnode {
	uint64_t origin; /* id of the node it was made from */
	unsigned type;
	bool enabled, leaf;
	bool begun; /* others wait for its start: launch-order edges */
	struct op *op;
	struct ev *ev;
	struct xgraph **sub; /* GRAPH, CONDITIONAL */
	unsigned nsub;
	struct cond *cond; /* held by the executable */
	CUgraphConditionalNodeType cond_type;
	unsigned dep, ndep; /* in xgraph.dep */
	unsigned lane;
	int priority; /* as asked for */
};

struct xgraph {
	struct xnode *v; /* as in the graph: order of creation */
	unsigned n, lanes;
	struct xdep *dep;
	unsigned *order; /* a topological one */
};

struct gexec {
	struct xgraph *x;
	struct graph *g;
	struct hold *hold;
	struct gmem **alloc, **release; /* allocates and leaves; frees of other graphs' */
	unsigned nalloc, nrelease;
	unsigned long long flags;
	struct op *last; /* end of its latest launch */
};

/* ---- instantiation ---- */

static void xgraph_free(struct xgraph *x)
{
	if (!x)
		return;
	for (unsigned i = 0; i < x->n && x->v; i++) {
		op_put(x->v[i].op);
		for (unsigned k = 0; k < x->v[i].nsub; k++)
			xgraph_free(x->v[i].sub[k]);
		sim_free(x->v[i].sub);
	}
	sim_free(x->v);
	sim_free(x->dep);
	sim_free(x->order);
	sim_free(x);
}

/* Order of creation as far as edges allow.  The node at which a cycle was found, or NULL. */
static struct node *sort(const struct graph *g, struct xgraph *x)
{
	struct {
		struct node *n;
		unsigned at;
	} *stack = sim_alloc((g->n + 1) * sizeof *stack);
	uint64_t open = graph_mark(), closed = graph_mark();
	struct node *bad = stack ? NULL : g->node[0];
	unsigned k = 0, top;

	for (unsigned i = 0; i < g->n && !bad; i++) {
		if (g->node[i]->mark == closed)
			continue;
		stack[0].n = g->node[i];
		stack[0].at = 0;
		stack[0].n->mark = open;
		top = 1;
		while (top && !bad) {
			struct node *n = stack[top - 1].n, *d;

			if (stack[top - 1].at == n->ndep) {
				n->mark = closed;
				x->order[k++] = n->index;
				top--;
				continue;
			}
			d = n->dep[stack[top - 1].at++].n;
			if (d->mark == open) {
				bad = d;
			} else if (d->mark != closed) {
				d->mark = open;
				stack[top].n = d;
				stack[top++].at = 0;
			}
		}
	}
	sim_free(stack);
	return bad;
}

static void lanes(struct xgraph *x)
{
	bool *tail = sim_alloc(x->n + 1); /* is the node its lane's last so far? */

	for (unsigned k = 0; k < x->n; k++) {
		struct xnode *n = &x->v[x->order[k]];

		n->lane = UINT32_MAX;
		for (unsigned i = 0; tail && i < n->ndep && n->lane == UINT32_MAX; i++) {
			unsigned d = x->dep[n->dep + i].at;

			if (tail[d]) {
				tail[d] = false;
				n->lane = x->v[d].lane;
			}
		}
		if (n->lane == UINT32_MAX)
			n->lane = x->lanes++;
		if (tail)
			tail[x->order[k]] = true;
	}
	sim_free(tail);
}

static int priority_of(const struct node *n)
{
	return n->attr ? n->attr[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority : 0;
}

static struct xgraph *xgraph_make(const struct graph *g, CUgraphInstantiateResult *why,
				  struct node **bad)
{
	struct xgraph *x = sim_alloc(sizeof *x);
	unsigned deps = 0;

	if (!x)
		return NULL;
	for (unsigned i = 0; i < g->n; i++)
		deps += g->node[i]->ndep;
	x->n = g->n;
	x->v = sim_alloc((g->n + 1) * sizeof *x->v);
	x->order = sim_alloc((g->n + 1) * sizeof *x->order);
	x->dep = sim_alloc((deps + 1) * sizeof *x->dep);
	if (!x->v || !x->order || !x->dep)
		goto fail;
	*bad = sort(g, x);
	if (*bad) {
		*why = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
		goto fail;
	}
	deps = 0;
	for (unsigned i = 0; i < g->n; i++) {
		const struct node *s = g->node[i];
		struct xnode *n = &x->v[i];

		n->origin = s->id;
		n->type = s->type;
		n->enabled = true;
		n->leaf = !s->nout;
		n->op = s->op;
		op_get(n->op);
		n->ev = s->ev;
		n->priority = priority_of(s);
		n->dep = deps;
		n->ndep = s->ndep;
		for (unsigned k = 0; k < s->ndep; k++)
			x->dep[deps++] = (struct xdep){s->dep[k].n->index, s->dep[k].e};
		for (unsigned k = 0; k < s->ndep; k++)
			if (s->dep[k].e.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER)
				x->v[s->dep[k].n->index].begun = true;
		n->cond = s->cond;
		n->cond_type = s->cond_type;
		if (s->nsub && !(n->sub = sim_alloc(s->nsub * sizeof(struct xgraph *))))
			goto fail;
		for (; n->nsub < s->nsub; n->nsub++) {
			n->sub[n->nsub] = xgraph_make(s->sub[n->nsub], why, bad);
			if (!n->sub[n->nsub])
				goto fail;
		}
	}
	lanes(x);
	return x;
fail:
	xgraph_free(x);
	return NULL;
}

/* References of what the graph's launches need, and what they allocate and free. */
static bool gather(struct gexec *e, const struct graph *g)
{
	bool ok = hold_all(e->hold, g->own);

	for (unsigned i = 0; i < g->n && ok; i++) {
		const struct node *x = g->node[i];

		if (x->mem)
			ok = hold_mem(e->hold, x->mem);
		if (x->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
			e->alloc[e->nalloc++] = x->mem;
		if (x->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			e->release[e->nrelease++] = x->mem;
		for (unsigned k = 0; k < x->nsub && ok; k++)
			ok = gather(e, x->sub[k]);
	}
	return ok;
}

static unsigned count_mem(const struct graph *g)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->n; i++) {
		n += g->node[i]->mem != NULL;
		for (unsigned k = 0; k < g->node[i]->nsub; k++)
			n += count_mem(g->node[i]->sub[k]);
	}
	return n;
}

static bool hold_graph(struct gexec *e, const struct graph *g)
{
	unsigned n = count_mem(g), a = 0, r = 0;

	e->hold = hold_new();
	e->alloc = sim_alloc((n + 1) * sizeof *e->alloc);
	e->release = sim_alloc((n + 1) * sizeof *e->release);
	if (!e->hold || !e->alloc || !e->release || !gather(e, g))
		return false;
	/* What is allocated and freed by the same launch is nobody else's concern. */
	for (unsigned i = 0; i < e->nalloc; i++) {
		unsigned k;

		for (k = 0; k < e->nrelease && e->release[k] != e->alloc[i]; k++)
			;
		if (k == e->nrelease)
			e->alloc[a++] = e->alloc[i];
		else
			e->release[k] = NULL;
	}
	for (unsigned k = 0; k < e->nrelease; k++)
		if (e->release[k])
			e->release[r++] = e->release[k];
	e->nalloc = a;
	e->nrelease = r;
	return true;
}

static bool unused(const struct hold *h, CUgraphInstantiateResult *why)
{
	for (unsigned i = 0; i < h->ncond; i++)
		if (!h->cond[i]->used) {
			*why = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
			return true;
		}
	return false;
}

static void exec_free(struct gexec *e)
{
	if (e->g) {
		e->g->execs--;
		graph_put(e->g);
	}
	op_put(e->last);
	xgraph_free(e->x);
	hold_put(e->hold);
	sim_free(e->alloc);
	sim_free(e->release);
	sim_free(e);
}

#define ALL_FLAGS                                                                                  \
	(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |    \
	 CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY)

static CUresult launch_at(struct gexec *e, struct strm *st, bool upload);

static bool not_from_device(const struct node *x)
{
	return x->type != CU_GRAPH_NODE_TYPE_KERNEL && x->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
	       x->type != CU_GRAPH_NODE_TYPE_MEMSET && x->type != CU_GRAPH_NODE_TYPE_GRAPH;
}

/* Bodies of conditional nodes take any node, and run these kinds: as documented. */
static bool not_in_body(const struct node *x)
{
	const struct node *p = x->g->parent;

	while (p && p->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
		p = p->g->parent;
	return p && not_from_device(x) && x->type != CU_GRAPH_NODE_TYPE_EMPTY &&
	       x->type != CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/* pt: as its stream form; st: where it is uploaded to, where it is. */
static CUresult instantiate(CUgraphExec *out, CUgraph h, unsigned long long flags, bool params,
			    bool pt, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUgraphInstantiateResult why = CUDA_GRAPH_INSTANTIATE_ERROR;
	struct graph *g = (struct graph *)h;
	struct node *bad = NULL;
	struct strm *st = NULL;
	CUresult r = CUDA_SUCCESS;
	struct gexec *e;

	ENTER();
	if (p) {
		p->hErrNode_out = NULL;
		p->result_out = why;
	}
	if (!sim_handle_is(g, SIM_GRAPH) || !out || g->capturing || flags & ~ALL_FLAGS ||
	    (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD && !params))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	UNSAFE(NULL);
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		LEAVE(graph_holds(g, not_from_device) ? CUDA_ERROR_INVALID_VALUE
						      : CUDA_ERROR_NOT_SUPPORTED);
	if (graph_holds(g, not_in_body))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (g->execs && graph_holds(g, node_once))
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) {
		r = sim_get_stream(p->hUploadStream, pt, &st);
		if (r != CUDA_SUCCESS)
			LEAVE(r);
	}
	e = sim_alloc(sizeof *e);
	if (!e)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	e->x = xgraph_make(g, &why, &bad);
	if (!e->x || !hold_graph(e, g) || unused(e->hold, &why)) {
		exec_free(e);
		if (p) {
			p->hErrNode_out = (CUgraphNode)bad;
			p->result_out = why;
		}
		LEAVE(why != CUDA_GRAPH_INSTANTIATE_ERROR ? CUDA_ERROR_INVALID_VALUE
							  : CUDA_ERROR_OUT_OF_MEMORY);
	}
	e->flags = flags;
	e->g = g;
	g->refs++;
	g->execs++;
	sim_handle_add(e, SIM_EXEC);
	*out = (CUgraphExec)e;
	if (st)
		r = launch_at(e, st, true);
	if (p)
		p->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	LEAVE(r);
}
#define OLD_INSTANTIATE(name)                                                                      \
	API(name, (CUgraphExec * out, CUgraph g, CUgraphNode * bad, char *log, size_t n))          \
	{                                                                                          \
		CUDA_GRAPH_INSTANTIATE_PARAMS p = {0};                                             \
		CUresult r = instantiate(out, g, 0, false, false, &p);                             \
                                                                                                   \
		if (bad)                                                                           \
			*bad = p.hErrNode_out;                                                     \
		if (log && n)                                                                      \
			*log = 0;                                                                  \
		return r;                                                                          \
	}
OLD_INSTANTIATE(cuGraphInstantiate)
OLD_INSTANTIATE(cuGraphInstantiate_v2)
ONE(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph g, unsigned long long flags),
    instantiate(out, g, flags, false, false, NULL))
BOTH(cuGraphInstantiateWithParams, _ptsz,
     (CUgraphExec * out, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p),
     (p ? instantiate(out, g, p->flags, true, pt, p) : CUDA_ERROR_INVALID_VALUE))

#define GET_EXEC(h, e)                                                                             \
	struct gexec *e = (struct gexec *)(h);                                                     \
	do {                                                                                       \
		if (!sim_handle_is(e, SIM_EXEC))                                                   \
			LEAVE(CUDA_ERROR_INVALID_VALUE);                                           \
	} while (0)

API(cuGraphExecGetFlags, (CUgraphExec h, cuuint64_t *flags))
{
	ENTER_QUIET();
	GET_EXEC(h, e);
	if (!flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*flags = e->flags;
	LEAVE(CUDA_SUCCESS);
}

/* What is queued has all that it needs. */
API(cuGraphExecDestroy, (CUgraphExec h))
{
	ENTER();
	GET_EXEC(h, e);
	UNSAFE(NULL);
	sim_handle_del(e);
	exec_free(e);
	LEAVE(CUDA_SUCCESS);
}

/* ---- launches ---- */

struct op *op_copy(const struct op *t)
{
	struct op *op = op_new(t->ctx, (enum op_kind)t->kind, t->name, t->size);

	if (!op)
		return NULL;
	memcpy(op->data, t->data, t->size);
	op->step = t->step;
	op->fini = t->fini;
	op->clone = t->clone;
	op->cost = t->cost;
	op->always = t->always;
	for (unsigned i = 0; i < t->nrng; i++)
		op_range(op, t->rng[i].lo, t->rng[i].hi - t->rng[i].lo, t->rng[i].write);
	if (op->clone)
		op->clone(op);
	return op;
}

static struct op *marker(struct ctx *c, const char *name, size_t data)
{
	struct op *op = op_new(c, OP_GRAPH, name, data);

	if (op)
		op->cost = 0;
	return op;
}

struct places {
	struct op *op;	  /* what follows the node waits for */
	struct op *begun; /* what follows its start waits for */
};

static void node_after(struct op *op, const struct xgraph *x, const struct xnode *n,
		       const struct places *made, struct op *first)
{
	op_after(op, first);
	for (unsigned k = 0; k < n->ndep; k++) {
		const struct xdep *d = &x->dep[n->dep + k];

		op_after(op, d->e.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
				     ? made[d->at].begun
				     : made[d->at].op);
	}
}

static struct op *emit(const struct xgraph *x, struct ctx *c, struct op *first);

/*
 * A conditional node: which body runs, and how often, is known when it runs.  Its
 * operation queues a body's operations, waits for them and goes on.  The bodies
 * are copies, so that an update leaves queued launches alone.
 */
struct branch {
	struct xgraph **body;
	unsigned n;
	struct cond *c;
	CUgraphConditionalNodeType type;
	struct op *end; /* of the body that runs, or ran last */
};

static const struct xgraph *chosen(const struct branch *b)
{
	unsigned v = b->c->value;

	switch (b->type) {
	case CU_GRAPH_COND_TYPE_IF:
		if (b->end)
			return NULL;
		return v ? b->body[0] : b->n > 1 ? b->body[1] : NULL;
	case CU_GRAPH_COND_TYPE_WHILE:
		return v ? b->body[0] : NULL;
	case CU_GRAPH_COND_TYPE_SWITCH:
		return !b->end && v < b->n ? b->body[v] : NULL;
	}
	return NULL;
}

static enum step cond_step(struct op *op)
{
	struct branch *b = op->data;
	const struct xgraph *x = chosen(b);
	struct op *first = x ? marker(op->ctx, "body", 0) : NULL;

	op->vend = b->end ? b->end->vend : op->vstart;
	if (!first)
		return STEP_DONE;
	first->vsubmit = op->vend;
	op_get(first);
	op_submit_bare(first);
	op_put(b->end);
	b->end = emit(x, op->ctx, first);
	op_put(first);
	if (!b->end)
		return STEP_DONE;
	op_get(b->end);
	op_after(op, b->end);
	op_submit_bare(b->end);
	return STEP_DEPS;
}

static void cond_fini(struct op *op)
{
	struct branch *b = op->data;

	for (unsigned i = 0; i < b->n; i++)
		xgraph_free(b->body[i]);
	sim_free(b->body);
	op_put(b->end);
}

static struct xgraph *xgraph_copy(const struct xgraph *s)
{
	struct xgraph *x = sim_alloc(sizeof *x);
	unsigned deps = 0;

	if (!x)
		return NULL;
	for (unsigned i = 0; i < s->n; i++)
		deps += s->v[i].ndep;
	x->n = s->n;
	x->lanes = s->lanes;
	x->v = sim_alloc((s->n + 1) * sizeof *x->v);
	x->order = sim_alloc((s->n + 1) * sizeof *x->order);
	x->dep = sim_alloc((deps + 1) * sizeof *x->dep);
	if (!x->v || !x->order || !x->dep)
		goto fail;
	memcpy(x->order, s->order, s->n * sizeof *x->order);
	memcpy(x->dep, s->dep, deps * sizeof *x->dep);
	for (unsigned i = 0; i < s->n; i++) {
		struct xnode *n = &x->v[i];

		*n = s->v[i];
		op_get(n->op);
		n->sub = NULL;
		n->nsub = 0;
		if (s->v[i].nsub && !(n->sub = sim_alloc(s->v[i].nsub * sizeof(struct xgraph *))))
			goto fail;
		for (; n->nsub < s->v[i].nsub; n->nsub++)
			if (!(n->sub[n->nsub] = xgraph_copy(s->v[i].sub[n->nsub])))
				goto fail;
	}
	return x;
fail:
	xgraph_free(x);
	return NULL;
}

static struct op *cond_op(const struct xnode *n, struct ctx *c)
{
	struct op *op = marker(c, "conditional", sizeof(struct branch));
	struct branch *b = op ? op->data : NULL;

	if (!op)
		return NULL;
	op->step = cond_step;
	op->fini = cond_fini;
	b->c = n->cond;
	b->type = n->cond_type;
	b->body = sim_alloc(n->nsub * sizeof *b->body);
	for (; b->body && b->n < n->nsub; b->n++)
		if (!(b->body[b->n] = xgraph_copy(n->sub[b->n])))
			break;
	if (b->n < n->nsub) {
		op_put(op);
		return NULL;
	}
	return op;
}

/* One node's operations; the last of them, queued. */
static struct op *emit_node(const struct xgraph *x, const struct xnode *n, struct ctx *c,
			    const struct places *made, struct op *first, struct strm *lane)
{
	struct op *op, *end;

	if (n->cond) {
		op = cond_op(n, c);
		if (!op)
			return NULL;
		node_after(op, x, n, made, first);
		op->lane = lane;
		op_submit_bare(op);
		return op;
	}
	if (n->nsub) {
		op = marker(c, "child", 0);
		if (!op)
			return NULL;
		node_after(op, x, n, made, first);
		op_get(op);
		op_submit_bare(op);
		end = emit(n->sub[0], c, op);
		op_put(op);
		if (end)
			op_submit_bare(end);
		return end;
	}
	if (n->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD || n->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
		op = op_new(c, n->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? OP_WAIT : OP_RECORD, "",
			    0);
		if (op)
			op->cost = 0;
	} else {
		op = n->op && n->enabled ? op_copy(n->op) : op_new(c, OP_MARK, "empty", 0);
	}
	if (!op)
		return NULL;
	node_after(op, x, n, made, first);
	if (n->ev && sim_handle_is(n->ev, SIM_EVENT)) {
		if (n->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
			sim_event_record(n->ev, op);
		else
			op_after(op, n->ev->rec);
	}
	op->lane = lane;
	op_submit_bare(op);
	return op;
}

/* Queues a graph's nodes behind `first`; what their end is, not queued yet.  NULL: no memory. */
static struct op *emit(const struct xgraph *x, struct ctx *c, struct op *first)
{
	struct places *made = sim_alloc((x->n + 1) * sizeof *made);
	struct op *end = marker(c, "end", x->lanes * sizeof(struct strm));
	struct strm *lane = end ? end->data : NULL;

	if (!made || !end) {
		sim_free(made);
		op_put(end);
		return NULL;
	}
	op_after(end, first);
	for (unsigned k = 0; k < x->n; k++) {
		const struct xnode *n = &x->v[x->order[k]];
		struct places *p = &made[x->order[k]];

		if (n->begun && (p->begun = marker(c, "begun", 0))) {
			node_after(p->begun, x, n, made, first);
			op_submit_bare(p->begun);
		}
		p->op = emit_node(x, n, c, made, first, &lane[n->lane]);
		if (n->leaf || n->begun)
			op_after(end, p->op);
	}
	sim_free(made);
	return end;
}

/* First and last operation of a launch, whose data is what the executable held then. */
static enum step begin_step(struct op *op)
{
	const struct hold *h = *(struct hold **)op->data;

	for (unsigned i = 0; i < h->ncond; i++)
		if (h->cond[i]->flags & CU_GRAPH_COND_ASSIGN_DEFAULT)
			h->cond[i]->value = h->cond[i]->deflt;
	return STEP_DONE;
}

static enum step end_step(struct op *op)
{
	hold_put(*(struct hold **)op->data);
	return STEP_DONE;
}

/* What launches have left allocated, and what this one frees for others. */
static CUresult memory(struct gexec *e, struct strm *st)
{
	bool again = e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;

	for (unsigned i = 0; i < e->nrelease; i++)
		if (!e->release[i]->live)
			return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < e->nalloc; i++) {
		struct op *op;

		if (!e->alloc[i]->live)
			continue;
		if (!again)
			return CUDA_ERROR_INVALID_VALUE;
		op = gmem_op(st->ctx, e->alloc[i], false);
		if (!op)
			return CUDA_ERROR_OUT_OF_MEMORY;
		op_after(op, e->last);
		op_submit(op, st);
	}
	for (unsigned i = 0; i < e->nalloc; i++)
		gmem_live(e->alloc[i], true);
	for (unsigned i = 0; i < e->nrelease; i++)
		gmem_live(e->release[i], false);
	return CUDA_SUCCESS;
}

static CUresult launch_at(struct gexec *e, struct strm *st, bool upload)
{
	struct op *first, *last, *end = NULL;
	CUresult r = upload ? CUDA_SUCCESS : memory(e, st);

	if (r != CUDA_SUCCESS)
		return r;
	first = marker(st->ctx, "begin", sizeof(struct hold *));
	last = marker(st->ctx, "end", sizeof(struct hold *));
	if (!first || !last) {
		op_put(first);
		op_put(last);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*(struct hold **)first->data = *(struct hold **)last->data = e->hold;
	e->hold->refs++;
	if (e->hold->ncond && !upload)
		first->step = begin_step;
	last->step = end_step;
	last->always = true;
	op_after(first, e->last);
	op_get(first);
	op_submit(first, st);
	if (!upload)
		end = emit(e->x, st->ctx, first);
	op_put(first);
	if (end) {
		op_after(last, end);
		op_submit_bare(end);
	} else if (!upload) {
		r = CUDA_ERROR_OUT_OF_MEMORY;
	}
	op_get(last);
	op_put(e->last);
	e->last = last;
	op_submit(last, st);
	return r;
}

static CUresult launch(bool pt, CUgraphExec h, CUstream s, bool upload)
{
	struct strm *st;
	CUresult r;

	ENTER();
	r = sim_get_stream(s, pt, &st);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	GET_EXEC(h, e);
	if (st->cap) {
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	LEAVE(launch_at(e, st, upload));
}
BOTH(cuGraphLaunch, _ptsz, (CUgraphExec e, CUstream s), launch(pt, e, s, false))
BOTH(cuGraphUpload, _ptsz, (CUgraphExec e, CUstream s), launch(pt, e, s, true))

/* ---- updates ---- */

/* The executable's node that was made from this one, in nested graphs too. */
static struct xnode *find(const struct xgraph *x, const struct node *n)
{
	struct xnode *r = NULL;

	if (n->index < x->n && x->v[n->index].origin == n->id)
		return &x->v[n->index];
	for (unsigned i = 0; i < x->n; i++)
		if (x->v[i].origin == n->id)
			return &x->v[i];
	for (unsigned i = 0; i < x->n && !r; i++)
		for (unsigned k = 0; k < x->v[i].nsub && !r; k++)
			r = find(x->v[i].sub[k], n);
	return r;
}

static bool same_attr(const struct op *a, const struct op *b, int id)
{
	CUlaunchAttributeValue v = {0}, w = {0};

	kernel_node_attr_get(a, id, &v);
	kernel_node_attr_get(b, id, &w);
	return !memcmp(&v, &w, sizeof v);
}

/* May the executable's node do what node n does? */
static CUgraphExecUpdateResult may_become(const struct gexec *e, const struct xnode *x,
					  const struct node *n, bool single)
{
	switch ((int)x->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return x->op == n->op ? CU_GRAPH_EXEC_UPDATE_SUCCESS
				      : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
	case CU_GRAPH_NODE_TYPE_KERNEL:
		if (x->op->ctx != n->op->ctx)
			return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
		if (!same_attr(x->op, n->op, CU_LAUNCH_ATTRIBUTE_COOPERATIVE) ||
		    (!single && e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY &&
		     x->priority != priority_of(n)))
			return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (!copy_node_update(x->op, n->op, single))
			return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		if (!set_node_update(x->op, n->op))
			return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
		break;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: {
		CUexternalSemaphore *s;
		const void *p;
		unsigned was, now;

		sem_node_params(x->op, &s, &p, &was);
		sem_node_params(n->op, &s, &p, &now);
		if (was != now)
			return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
		break;
	}
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		if (!memop_node_update(x->op, n->op))
			return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
		break;
	}
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* The executable's node works as node n does from now on. */
static void become(struct xnode *x, const struct node *n)
{
	op_get(n->op);
	op_put(x->op);
	x->op = n->op;
	x->ev = n->ev;
}

#define NOBODY UINT32_MAX

/*
 * Pairs an executable's nodes with a graph's: ends with ends, in order, then
 * what each depends on, in the order of its edges.  of[] by the graph's index.
 */
static CUgraphExecUpdateResult pair(const struct xgraph *x, const struct graph *g, unsigned *of,
				    CUgraphExecUpdateResultInfo *info)
{
	unsigned *with = sim_alloc((x->n + 1) * sizeof *with);
	unsigned *todo = sim_alloc((x->n + 1) * sizeof *todo);
	CUgraphExecUpdateResult r = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	unsigned k = 0, n = 0;

	if (!with || !todo) {
		r = CU_GRAPH_EXEC_UPDATE_ERROR;
		goto out;
	}
	for (unsigned i = 0; i < x->n; i++)
		with[i] = of[i] = NOBODY;
	for (unsigned i = 0; i < g->n; i++) {
		if (g->node[i]->nout)
			continue;
		while (k < x->n && !x->v[k].leaf)
			k++;
		if (k == x->n) {
			info->errorNode = (CUgraphNode)g->node[i];
			goto out;
		}
		of[i] = k;
		with[k++] = i;
		todo[n++] = i;
	}
	while (n) {
		const struct node *b = g->node[todo[--n]];
		const struct xnode *a = &x->v[of[b->index]];

		info->errorNode = (CUgraphNode)b;
		if (a->type != b->type) {
			r = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
			goto out;
		}
		if (a->ndep != b->ndep)
			goto out;
		for (unsigned i = 0; i < b->ndep; i++) {
			const struct xdep *da = &x->dep[a->dep + i];
			unsigned db = b->dep[i].n->index;

			info->errorFromNode = (CUgraphNode)b->dep[i].n;
			if (memcmp(&da->e, &b->dep[i].e, sizeof da->e))
				goto out;
			if (of[db] == NOBODY && with[da->at] == NOBODY) {
				of[db] = da->at;
				with[da->at] = db;
				todo[n++] = db;
			} else if (of[db] != da->at) {
				goto out;
			}
		}
		info->errorFromNode = NULL;
	}
	info->errorNode = NULL;
	r = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	/* Circles have no end that leads to them. */
	for (unsigned i = 0; i < g->n; i++)
		if (of[i] == NOBODY)
			r = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
out:
	sim_free(with);
	sim_free(todo);
	return r;
}

/* apply false: looks whether it can be done.  Never fails with apply, where it did not without. */
static CUgraphExecUpdateResult update(const struct gexec *e, struct xgraph *x,
				      const struct graph *g, bool apply,
				      CUgraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResult r;
	unsigned *of;

	if (x->n != g->n)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	of = sim_alloc((g->n + 1) * sizeof *of);
	r = of ? pair(x, g, of, info) : CU_GRAPH_EXEC_UPDATE_ERROR;
	for (unsigned i = 0; i < g->n && r == CU_GRAPH_EXEC_UPDATE_SUCCESS; i++) {
		struct node *n = g->node[i];
		struct xnode *v = &x->v[of[i]];

		if (v->nsub != n->nsub || v->cond_type != n->cond_type) {
			r = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
			info->errorNode = (CUgraphNode)n;
		} else if (v->nsub) {
			for (unsigned k = 0; k < v->nsub && r == CU_GRAPH_EXEC_UPDATE_SUCCESS; k++)
				r = update(e, v->sub[k], n->sub[k], apply, info);
			if (apply && v->cond) {
				v->cond->deflt = n->cond->deflt;
				v->cond->flags = n->cond->flags;
			}
		} else if (apply) {
			become(v, n);
		} else {
			r = may_become(e, v, n, false);
			if (r != CU_GRAPH_EXEC_UPDATE_SUCCESS)
				info->errorNode = (CUgraphNode)n;
		}
	}
	sim_free(of);
	return r;
}

static CUresult exec_update(CUgraphExec h, CUgraph hg, CUgraphExecUpdateResultInfo *info)
{
	struct graph *g = (struct graph *)hg;
	CUgraphExecUpdateResultInfo i = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};

	ENTER();
	if (!info)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*info = i;
	GET_EXEC(h, e);
	if (!sim_handle_is(g, SIM_GRAPH) || g->capturing)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	i.result = update(e, e->x, g, false, &i);
	if (i.result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
		i.result = update(e, e->x, g, true, &i);
	*info = i;
	LEAVE(i.result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
						       : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}
ONE(cuGraphExecUpdate_v2, (CUgraphExec e, CUgraph g, CUgraphExecUpdateResultInfo *info),
    exec_update(e, g, info))

API(cuGraphExecUpdate,
    (CUgraphExec e, CUgraph g, CUgraphNode *bad, CUgraphExecUpdateResult *result))
{
	CUgraphExecUpdateResultInfo info;
	CUresult r = exec_update(e, g, &info);

	if (bad)
		*bad = info.errorNode;
	if (result)
		*result = info.result;
	return r;
}

/* ---- updates of single nodes ---- */

static CUresult exec_set(CUgraphExec h, CUgraphNode hn, const CUgraphNodeParams *p)
{
	CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	struct graph *sub = NULL;
	struct xnode *x;
	struct node *tmp;
	CUresult r;

	ENTER();
	GET_EXEC(h, e);
	if (!p || !sim_handle_is(hn, SIM_NODE))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	x = find(e->x, (struct node *)hn);
	if (!x || x->type != (unsigned)p->type)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	switch ((int)x->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		sub = (struct graph *)p->graph.graph;
		if (!sim_handle_is(sub, SIM_GRAPH) || sub->capturing)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		if (update(e, x->sub[0], sub, false, &info) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
			LEAVE(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
		update(e, x->sub[0], sub, true, &info);
		LEAVE(CUDA_SUCCESS);
	}
	tmp = node_make(x->type);
	if (!tmp)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	/* The launch attributes stay the executable's. */
	if (x->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		tmp->attr = sim_alloc(NODE_ATTRS * sizeof *tmp->attr);
		for (int i = 0; tmp->attr && i < NODE_ATTRS; i++)
			kernel_node_attr_get(x->op, i, &tmp->attr[i]);
	}
	r = node_fill(tmp, p);
	if (r == CUDA_SUCCESS && may_become(e, x, tmp, true) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		become(x, tmp);
	node_free(tmp);
	LEAVE(r);
}
ONE(cuGraphExecNodeSetParams, (CUgraphExec e, CUgraphNode n, CUgraphNodeParams *p),
    exec_set(e, n, p))

#define EXEC_SET(name, nodetype, params, given, set)                                               \
	API(name, params)                                                                          \
	{                                                                                          \
		CUgraphNodeParams p = {.type = nodetype};                                          \
                                                                                                   \
		if (!(given))                                                                      \
			return CUDA_ERROR_INVALID_VALUE;                                           \
		set;                                                                               \
		return exec_set(e, n, &p);                                                         \
	}
#define IN CUgraphExec e, CUgraphNode n
EXEC_SET(cuGraphExecKernelNodeSetParams, CU_GRAPH_NODE_TYPE_KERNEL,
	 (IN, const CUDA_KERNEL_NODE_PARAMS_v1 *k), k, memcpy(&p.kernel, k, sizeof *k))
EXEC_SET(cuGraphExecKernelNodeSetParams_v2, CU_GRAPH_NODE_TYPE_KERNEL,
	 (IN, const CUDA_KERNEL_NODE_PARAMS *k), k, memcpy(&p.kernel, k, sizeof *k))
EXEC_SET(cuGraphExecMemcpyNodeSetParams, CU_GRAPH_NODE_TYPE_MEMCPY,
	 (IN, const CUDA_MEMCPY3D *c, CUcontext x), c,
	 (p.memcpy.copyParams = *c, p.memcpy.copyCtx = x))
EXEC_SET(cuGraphExecMemsetNodeSetParams, CU_GRAPH_NODE_TYPE_MEMSET,
	 (IN, const CUDA_MEMSET_NODE_PARAMS *s, CUcontext x), s,
	 (memcpy(&p.memset, s, sizeof *s), p.memset.ctx = x))
EXEC_SET(cuGraphExecHostNodeSetParams, CU_GRAPH_NODE_TYPE_HOST,
	 (IN, const CUDA_HOST_NODE_PARAMS *f), f, (p.host.fn = f->fn, p.host.userData = f->userData))
EXEC_SET(cuGraphExecEventRecordNodeSetEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD, (IN, CUevent ev), ev,
	 p.eventRecord.event = ev)
EXEC_SET(cuGraphExecEventWaitNodeSetEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT, (IN, CUevent ev), ev,
	 p.eventWait.event = ev)
EXEC_SET(cuGraphExecBatchMemOpNodeSetParams, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
	 (IN, const CUDA_BATCH_MEM_OP_NODE_PARAMS *b), b, memcpy(&p.memOp, b, sizeof *b))
EXEC_SET(cuGraphExecExternalSemaphoresSignalNodeSetParams, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
	 (IN, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *s), s, memcpy(&p.extSemSignal, s, sizeof *s))
EXEC_SET(cuGraphExecExternalSemaphoresWaitNodeSetParams, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
	 (IN, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *s), s, memcpy(&p.extSemWait, s, sizeof *s))
EXEC_SET(cuGraphExecChildGraphNodeSetParams, CU_GRAPH_NODE_TYPE_GRAPH, (IN, CUgraph g), g,
	 p.graph.graph = g)

static CUresult enabled(CUgraphExec h, CUgraphNode hn, unsigned *get, unsigned set)
{
	struct xnode *x;

	ENTER();
	GET_EXEC(h, e);
	if (!sim_handle_is(hn, SIM_NODE))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	x = find(e->x, (struct node *)hn);
	if (!x || (x->type != CU_GRAPH_NODE_TYPE_KERNEL && x->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
		   x->type != CU_GRAPH_NODE_TYPE_MEMSET))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (get)
		*get = x->enabled;
	else
		x->enabled = set != 0;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuGraphNodeSetEnabled, (CUgraphExec e, CUgraphNode n, unsigned v), enabled(e, n, NULL, v))
ONE(cuGraphNodeGetEnabled, (CUgraphExec e, CUgraphNode n, unsigned *v),
    (v ? enabled(e, n, v, 0) : CUDA_ERROR_INVALID_VALUE))
