/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs and nodes: construction by hand, queries, parameters, clones.  Captured
 * nodes are the same nodes and answer the same queries.
 *
 * Nodes stay in order of creation; edges into a node in the order in which they
 * were given, each with its edge data.
 */
#include "graph.h"

#include <fcntl.h>
#include <stdio.h>

static uint64_t next_id, next_mark;

uint64_t graph_mark(void)
{
	return ++next_mark;
}

/* ---- graphs ---- */

struct graph *graph_new(void)
{
	struct graph *g = sim_alloc(sizeof *g);

	if (!g)
		return NULL;
	g->refs = 1;
	g->id = ++next_id;
	sim_handle_add(g, SIM_GRAPH);
	return g;
}

void graph_put(struct graph *g)
{
	if (g && !--g->refs)
		sim_free(g);
}

void graph_destroy(struct graph *g)
{
	sim_handle_del(g);
	g->gone = true;
	hold_put(g->own);
	g->own = NULL;
	for (unsigned i = 0; i < g->n; i++) {
		sim_handle_del(g->node[i]);
		node_free(g->node[i]);
	}
	sim_free(g->node);
	g->node = NULL;
	g->n = g->cap = 0;
	graph_put(g);
}

bool graph_holds(const struct graph *g, bool (*what)(const struct node *))
{
	for (unsigned i = 0; i < g->n; i++) {
		const struct node *x = g->node[i];

		if (what(x))
			return true;
		for (unsigned k = 0; k < x->nsub; k++)
			if (graph_holds(x->sub[k], what))
				return true;
	}
	return false;
}

/* ---- nodes ---- */

struct node *node_make(unsigned type)
{
	struct node *x = sim_alloc(sizeof *x);

	if (!x)
		return NULL;
	x->type = type;
	x->id = ++next_id;
	return x;
}

void node_free(struct node *x)
{
	op_put(x->op);
	for (unsigned i = 0; i < x->nsub; i++)
		graph_destroy(x->sub[i]);
	sim_free(x->sub);
	if (x->mem && x->mem->freed == x->id)
		x->mem->freed = 0;
	gmem_put(x->mem);
	sim_free(x->alloc);
	if (x->cond) {
		x->cond->used = false;
		cond_put(x->cond);
	}
	sim_free(x->attr);
	sim_free(x->dep);
	sim_free(x->out);
	sim_free(x);
}

static bool room(void **v, unsigned n, unsigned *cap, size_t size)
{
	void *p;

	if (n < *cap)
		return true;
	p = sim_grow(*v, n * size, (*cap ? *cap * 2 : 4) * size);
	if (!p)
		return false;
	*v = p;
	*cap = *cap ? *cap * 2 : 4;
	return true;
}

static bool link_nodes(struct node *from, struct node *to, const CUgraphEdgeData *e)
{
	if (!room((void **)&to->dep, to->ndep, &to->cdep, sizeof *to->dep) ||
	    !room((void **)&from->out, from->nout, &from->cout, sizeof(struct node *)))
		return false;
	to->dep[to->ndep++] = (struct dep){from, e ? *e : (CUgraphEdgeData){0}};
	from->out[from->nout++] = to;
	return true;
}

static void unlink_at(struct node *to, unsigned i)
{
	struct node *from = to->dep[i].n;
	unsigned k = 0;

	while (from->out[k] != to)
		k++;
	memmove(from->out + k, from->out + k + 1, (from->nout - k - 1) * sizeof *from->out);
	from->nout--;
	memmove(to->dep + i, to->dep + i + 1, (to->ndep - i - 1) * sizeof *to->dep);
	to->ndep--;
}

bool node_add(struct graph *g, struct node *x, const struct dep *dep, unsigned n)
{
	if (!room((void **)&g->node, g->n, &g->cap, sizeof(struct node *)))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (!link_nodes(dep[i].n, x, &dep[i].e)) {
			while (x->ndep)
				unlink_at(x, 0);
			return false;
		}
	x->g = g;
	x->index = g->n;
	g->node[g->n++] = x;
	for (unsigned i = 0; i < x->nsub; i++)
		x->sub[i]->parent = x;
	sim_handle_add(x, SIM_NODE);
	return true;
}

static bool edge_ok(const struct node *from, const struct node *to, const CUgraphEdgeData *e)
{
	static const unsigned char none[5];

	if (!e)
		return true;
	if (e->to_port || e->from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER ||
	    e->type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC || memcmp(e->reserved, none, 5))
		return false;
	if (e->from_port && from->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return false;
	return e->type != CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
	       (from->type == CU_GRAPH_NODE_TYPE_KERNEL &&
		e->from_port != CU_GRAPH_KERNEL_NODE_PORT_DEFAULT &&
		(!to || to->type == CU_GRAPH_NODE_TYPE_KERNEL));
}

CUresult deps_check(const struct graph *g, const CUgraphNode *d, const CUgraphEdgeData *e, size_t n)
{
	uint64_t m = graph_mark();

	if ((n && !d) || n > UINT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		struct node *x = (struct node *)d[i];

		if (!sim_handle_is(x, SIM_NODE) || x->g != g || x->mark == m ||
		    !edge_ok(x, NULL, e ? &e[i] : NULL))
			return CUDA_ERROR_INVALID_VALUE;
		x->mark = m;
	}
	return CUDA_SUCCESS;
}

/* ---- parameters ---- */

static CUresult ctx_of(CUcontext h, struct ctx **c)
{
	if (!h)
		return sim_get_ctx(c);
	if (!sim_handle_is(h, SIM_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	*c = (struct ctx *)h;
	return (*c)->error;
}

static bool is_mem(const struct node *x)
{
	return x->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || x->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

bool node_once(const struct node *x)
{
	return is_mem(x) || x->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

static CUresult fill_kernel(struct node *x, const CUgraphNodeParams *p, struct op **op)
{
	CUresult r = kernel_node_op(&p->kernel, op);

	if (r != CUDA_SUCCESS || !x->attr)
		return r;
	for (int i = 0; i < NODE_ATTRS; i++) {
		CUlaunchAttributeValue none = {0};

		/* A cluster that does not divide the new grid. */
		if (memcmp(&x->attr[i], &none, sizeof none) &&
		    !kernel_node_attr(*op, i, &x->attr[i])) {
			op_put(*op);
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return r;
}

CUresult node_fill(struct node *x, const CUgraphNodeParams *p)
{
	struct op *op = NULL;
	struct ctx *c;
	CUresult r;
	CUevent ev;

	switch ((int)x->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		r = fill_kernel(x, p, &op);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (p->memcpy.flags || p->memcpy.reserved)
			return CUDA_ERROR_INVALID_VALUE;
		r = ctx_of(p->memcpy.copyCtx, &c);
		if (r == CUDA_SUCCESS)
			r = copy_node_op(c, &p->memcpy.copyParams, &op);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		r = ctx_of(p->memset.ctx, &c);
		if (r == CUDA_SUCCESS)
			r = set_node_op(c, &p->memset, &op);
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		r = sim_get_ctx(&c);
		if (r == CUDA_SUCCESS)
			r = host_node_op(c, p->host.fn, p->host.userData, &op);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		r = ctx_of(p->memOp.ctx, &c);
		if (r == CUDA_SUCCESS)
			r = memop_node_op(c, p->memOp.count, p->memOp.paramArray, p->memOp.flags,
					  &op);
		break;
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		r = sim_get_ctx(&c);
		if (r != CUDA_SUCCESS)
			return r;
		r = x->type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
			    ? sem_node_op(c, true, p->extSemSignal.numExtSems,
					  p->extSemSignal.extSemArray, p->extSemSignal.paramsArray,
					  &op)
			    : sem_node_op(c, false, p->extSemWait.numExtSems,
					  p->extSemWait.extSemArray, p->extSemWait.paramsArray,
					  &op);
		break;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		ev = x->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ? p->eventWait.event
							       : p->eventRecord.event;
		if (!sim_handle_is(ev, SIM_EVENT))
			return CUDA_ERROR_INVALID_VALUE;
		x->ev = (struct ev *)ev;
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_GRAPH: {
		struct graph *g = (struct graph *)p->graph.graph;
		bool move = p->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;

		if (!sim_handle_is(g, SIM_GRAPH) || g->capturing || (unsigned)p->graph.ownership > 1)
			return CUDA_ERROR_INVALID_VALUE;
		if (x->sub || (move && g->parent))
			return CUDA_ERROR_INVALID_VALUE;
		if (!move && graph_holds(g, node_once))
			return CUDA_ERROR_NOT_SUPPORTED;
		x->sub = sim_alloc(sizeof *x->sub);
		if (!x->sub)
			return CUDA_ERROR_OUT_OF_MEMORY;
		x->sub[0] = move ? g : graph_clone(g);
		x->nsub = x->sub[0] != NULL;
		x->own = p->graph.ownership;
		return x->nsub ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (r != CUDA_SUCCESS)
		return r;
	op->captured = true;
	op_put(x->op);
	x->op = op;
	return CUDA_SUCCESS;
}

/* A freed allocation of the graph whose free comes before all these: its address may serve again. */
static struct gmem *again(struct graph *g, const struct dep *dep, unsigned n, size_t size)
{
	struct node **stack = NULL;
	struct gmem *r = NULL;
	unsigned top = 0, frees = 0;
	uint64_t m;

	for (unsigned i = 0; i < g->n; i++) {
		const struct node *f = g->node[i];

		frees += f->type == CU_GRAPH_NODE_TYPE_MEM_FREE && f->mem->owner == g->id &&
			 !f->mem->again && gmem_fits(f->mem, size);
	}
	if (frees)
		stack = sim_alloc((g->n + 1) * sizeof *stack);
	if (!stack)
		return NULL;
	m = graph_mark();
	for (unsigned i = 0; i < n; i++) {
		dep[i].n->mark = m;
		stack[top++] = dep[i].n;
	}
	while (top && !r) {
		struct node *x = stack[--top];

		if (x->type == CU_GRAPH_NODE_TYPE_MEM_FREE && x->mem->owner == g->id &&
		    !x->mem->again && gmem_fits(x->mem, size))
			r = x->mem;
		for (unsigned i = 0; i < x->ndep; i++)
			if (x->dep[i].n->mark != m) {
				x->dep[i].n->mark = m;
				stack[top++] = x->dep[i].n;
			}
	}
	sim_free(stack);
	return r;
}

static CUresult fill_alloc(struct node *x, struct graph *g, const struct dep *dep, unsigned n,
			   CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p)
{
	CUmemAccessDesc *d;
	struct gmem *old;
	struct ctx *c;
	CUresult r = sim_get_ctx(&c);

	if (r != CUDA_SUCCESS)
		return r;
	x->alloc = sim_alloc(sizeof *x->alloc + p->accessDescCount * sizeof *d);
	if (!x->alloc)
		return CUDA_ERROR_OUT_OF_MEMORY;
	old = again(g, dep, n, p->bytesize);
	r = gmem_new(c, p, old, &x->mem);
	if (r != CUDA_SUCCESS)
		return r;
	x->mem->owner = g->id;
	if (old && x->mem->lo == old->lo)
		old->again = true;
	x->op = gmem_op(c, x->mem, true);
	if (!x->op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->op->captured = true;
	p->dptr = x->mem->lo;
	*x->alloc = *p;
	d = (CUmemAccessDesc *)(x->alloc + 1);
	if (p->accessDescCount)
		memcpy(d, p->accessDescs, p->accessDescCount * sizeof *d);
	x->alloc->accessDescs = p->accessDescCount ? d : NULL;
	return CUDA_SUCCESS;
}

static CUresult fill_free(struct node *x, struct graph *g, CUdeviceptr d)
{
	struct gmem *m = gmem_at(d);
	struct ctx *c;
	CUresult r = sim_get_ctx(&c);

	if (r != CUDA_SUCCESS)
		return r;
	if (!m || m->freed)
		return CUDA_ERROR_INVALID_VALUE;
	x->op = gmem_op(c, m, false);
	if (!x->op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->op->captured = true;
	x->mem = m;
	m->refs++;
	m->freed = x->id;
	m->freed_here = m->owner == g->id;
	return CUDA_SUCCESS;
}

static CUresult fill_cond(struct node *x, struct graph *g, CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	struct cond *c = (struct cond *)p->handle;
	const struct graph *root = g;

	if (!sim_handle_is(c, SIM_COND) || c->used || !p->size ||
	    (unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH ||
	    p->size > (p->type == CU_GRAPH_COND_TYPE_SWITCH ? UINT32_MAX
		       : p->type == CU_GRAPH_COND_TYPE_IF   ? 2u
							    : 1u))
		return CUDA_ERROR_INVALID_VALUE;
	/* Of this graph, or one that it is embedded in. */
	while (root->id != c->graph && root->parent)
		root = root->parent->g;
	if (root->id != c->graph || (p->ctx && (struct ctx *)p->ctx != c->ctx))
		return CUDA_ERROR_INVALID_VALUE;
	x->sub = sim_alloc(p->size * sizeof *x->sub);
	if (!x->sub)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; x->nsub < p->size; x->nsub++) {
		x->sub[x->nsub] = graph_new();
		if (!x->sub[x->nsub])
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	x->cond = c;
	x->cond_type = p->type;
	c->refs++;
	c->used = true;
	p->phGraph_out = (CUgraph *)x->sub;
	return CUDA_SUCCESS;
}

CUresult node_fill_new(struct node *x, struct graph *g, const struct dep *dep, unsigned n,
		       CUgraphNodeParams *p)
{
	switch ((int)x->type) {
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		/* A graph that was copied into its node belongs to the node. */
		for (const struct graph *a = g; a->parent; a = a->parent->g)
			if (a->parent->type == CU_GRAPH_NODE_TYPE_GRAPH &&
			    a->parent->own != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
				return CUDA_ERROR_NOT_SUPPORTED;
		return x->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
			       ? fill_alloc(x, g, dep, n, &p->alloc)
			       : fill_free(x, g, p->free.dptr);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return fill_cond(x, g, &p->conditional);
	}
	return node_fill(x, p);
}

#define GET_GRAPH(h, g)                                                                            \
	struct graph *g = (struct graph *)(h);                                                     \
	do {                                                                                       \
		if (!sim_handle_is(g, SIM_GRAPH))                                                  \
			LEAVE(CUDA_ERROR_INVALID_VALUE);                                           \
	} while (0)
#define GET_NODE(h, x)                                                                             \
	struct node *x = (struct node *)(h);                                                       \
	do {                                                                                       \
		if (!sim_handle_is(x, SIM_NODE))                                                   \
			LEAVE(CUDA_ERROR_INVALID_VALUE);                                           \
	} while (0)
#define GET_TYPED(h, x, t)                                                                         \
	GET_NODE(h, x);                                                                            \
	do {                                                                                       \
		if (x->type != (t))                                                                \
			LEAVE(CUDA_ERROR_INVALID_VALUE);                                           \
	} while (0)

/* ---- adding nodes ---- */

static CUresult add(CUgraphNode *out, CUgraph h, const CUgraphNode *d, const CUgraphEdgeData *e,
		    size_t n, CUgraphNodeParams *p)
{
	struct dep *dep = NULL;
	struct node *x;
	CUresult r;

	ENTER();
	GET_GRAPH(h, g);
	if (!out || !p)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	r = deps_check(g, d, e, n);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	x = node_make(p->type);
	if (n)
		dep = sim_alloc(n * sizeof *dep);
	if (!x || (n && !dep)) {
		if (x)
			node_free(x);
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	for (size_t i = 0; i < n && r == CUDA_SUCCESS; i++) {
		dep[i] = (struct dep){(struct node *)d[i], e ? e[i] : (CUgraphEdgeData){0}};
		if (!edge_ok(dep[i].n, x, &dep[i].e))
			r = CUDA_ERROR_INVALID_VALUE;
	}
	if (r == CUDA_SUCCESS)
		r = node_fill_new(x, g, dep, (unsigned)n, p);
	if (r == CUDA_SUCCESS && !node_add(g, x, dep, (unsigned)n))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	sim_free(dep);
	if (r != CUDA_SUCCESS)
		node_free(x);
	else
		*out = (CUgraphNode)x;
	LEAVE(r);
}
ONE(cuGraphAddNode,
    (CUgraphNode * out, CUgraph g, const CUgraphNode *d, size_t n, CUgraphNodeParams *p),
    add(out, g, d, NULL, n, p))
ONE(cuGraphAddNode_v2,
    (CUgraphNode * out, CUgraph g, const CUgraphNode *d, const CUgraphEdgeData *e, size_t n,
     CUgraphNodeParams *p),
    add(out, g, d, e, n, p))

/* The typed forms: parameters into the general structure, by the statement `set`. */
#define ADD(name, nodetype, params, given, set)                                                    \
	API(name, params)                                                                          \
	{                                                                                          \
		CUgraphNodeParams p = {.type = nodetype};                                          \
                                                                                                   \
		if (!(given))                                                                      \
			return CUDA_ERROR_INVALID_VALUE;                                           \
		set;                                                                               \
		return add(out, g, d, NULL, n, &p);                                                \
	}
#define DEPS CUgraphNode *out, CUgraph g, const CUgraphNode *d, size_t n

static CUDA_KERNEL_NODE_PARAMS_v3 kernel_v3(const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	CUDA_KERNEL_NODE_PARAMS_v3 p = {0};

	memcpy(&p, k, sizeof *k);
	return p;
}

static CUDA_MEMSET_NODE_PARAMS_v2 memset_v2(const CUDA_MEMSET_NODE_PARAMS_v1 *s, CUcontext c)
{
	CUDA_MEMSET_NODE_PARAMS_v2 p = {0};

	memcpy(&p, s, sizeof *s);
	p.ctx = c;
	return p;
}

ADD(cuGraphAddKernelNode, CU_GRAPH_NODE_TYPE_KERNEL, (DEPS, const CUDA_KERNEL_NODE_PARAMS_v1 *k), k,
    p.kernel = kernel_v3(k))
ADD(cuGraphAddKernelNode_v2, CU_GRAPH_NODE_TYPE_KERNEL, (DEPS, const CUDA_KERNEL_NODE_PARAMS *k), k,
    memcpy(&p.kernel, k, sizeof *k))
ADD(cuGraphAddMemcpyNode, CU_GRAPH_NODE_TYPE_MEMCPY, (DEPS, const CUDA_MEMCPY3D *c, CUcontext x), c,
    (p.memcpy.copyParams = *c, p.memcpy.copyCtx = x))
ADD(cuGraphAddMemsetNode, CU_GRAPH_NODE_TYPE_MEMSET,
    (DEPS, const CUDA_MEMSET_NODE_PARAMS *s, CUcontext x), s, p.memset = memset_v2(s, x))
ADD(cuGraphAddHostNode, CU_GRAPH_NODE_TYPE_HOST, (DEPS, const CUDA_HOST_NODE_PARAMS *f), f,
    (p.host.fn = f->fn, p.host.userData = f->userData))
ADD(cuGraphAddChildGraphNode, CU_GRAPH_NODE_TYPE_GRAPH, (DEPS, CUgraph child), child,
    p.graph.graph = child)
ADD(cuGraphAddEmptyNode, CU_GRAPH_NODE_TYPE_EMPTY, (DEPS), true, (void)0)
ADD(cuGraphAddEventRecordNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, (DEPS, CUevent e), e,
    p.eventRecord.event = e)
ADD(cuGraphAddEventWaitNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, (DEPS, CUevent e), e,
    p.eventWait.event = e)
ADD(cuGraphAddBatchMemOpNode, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    (DEPS, const CUDA_BATCH_MEM_OP_NODE_PARAMS *b), b, memcpy(&p.memOp, b, sizeof *b))

ADD(cuGraphAddExternalSemaphoresSignalNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
    (DEPS, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *s), s, memcpy(&p.extSemSignal, s, sizeof *s))
ADD(cuGraphAddExternalSemaphoresWaitNode, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
    (DEPS, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *s), s, memcpy(&p.extSemWait, s, sizeof *s))
ADD(cuGraphAddMemFreeNode, CU_GRAPH_NODE_TYPE_MEM_FREE, (DEPS, CUdeviceptr p0), true,
    p.free.dptr = p0)

API(cuGraphAddMemAllocNode, (DEPS, CUDA_MEM_ALLOC_NODE_PARAMS *a))
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUresult r;

	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&p.alloc, a, sizeof *a);
	r = add(out, g, d, NULL, n, &p);
	if (r == CUDA_SUCCESS)
		a->dptr = p.alloc.dptr;
	return r;
}

API(cuGraphCreate, (CUgraph * out, unsigned flags))
{
	struct graph *g;

	ENTER();
	if (!out || flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	g = graph_new();
	if (!g)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*out = (CUgraph)g;
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphDestroy, (CUgraph h))
{
	ENTER();
	GET_GRAPH(h, g);
	if (g->parent || g->capturing)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	graph_destroy(g);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphDestroyNode, (CUgraphNode h))
{
	ENTER();
	GET_NODE(h, x);
	struct graph *g = x->g;

	if (g->capturing)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (graph_holds(g, is_mem))
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	while (x->ndep)
		unlink_at(x, x->ndep - 1);
	while (x->nout) {
		struct node *to = x->out[x->nout - 1];
		unsigned i = 0;

		while (to->dep[i].n != x)
			i++;
		unlink_at(to, i);
	}
	memmove(g->node + x->index, g->node + x->index + 1,
		(g->n - x->index - 1) * sizeof *g->node);
	g->n--;
	for (unsigned i = x->index; i < g->n; i++)
		g->node[i]->index = i;
	sim_handle_del(x);
	node_free(x);
	LEAVE(CUDA_SUCCESS);
}

/* ---- clones ---- */

struct graph *graph_clone(const struct graph *g)
{
	struct graph *c = graph_new();

	if (!c)
		return NULL;
	c->origin = g->id;
	if (g->own && (!(c->own = hold_new()) || !hold_all(c->own, g->own)))
		goto fail;
	for (unsigned i = 0; i < g->n; i++) {
		const struct node *s = g->node[i];
		struct node *x = node_make(s->type);

		if (!x)
			goto fail;
		x->origin = s->id;
		x->op = s->op;
		op_get(x->op);
		x->ev = s->ev;
		x->own = s->own;
		if (s->attr) {
			x->attr = sim_alloc(NODE_ATTRS * sizeof *x->attr);
			if (x->attr)
				memcpy(x->attr, s->attr, NODE_ATTRS * sizeof *x->attr);
		}
		if (s->nsub) {
			x->sub = sim_alloc(sizeof *x->sub);
			x->nsub = x->sub && (x->sub[0] = graph_clone(s->sub[0]));
		}
		if ((s->attr && !x->attr) || s->nsub != x->nsub || !node_add(c, x, NULL, 0)) {
			node_free(x);
			goto fail;
		}
	}
	/* Edges may point to nodes that were created later. */
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned k = 0; k < g->node[i]->ndep; k++)
			if (!link_nodes(c->node[g->node[i]->dep[k].n->index], c->node[i],
					&g->node[i]->dep[k].e))
				goto fail;
	return c;
fail:
	graph_destroy(c);
	return NULL;
}

API(cuGraphClone, (CUgraph * out, CUgraph h))
{
	struct graph *c;

	ENTER();
	GET_GRAPH(h, g);
	if (!out || g->capturing)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (graph_holds(g, node_once))
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	c = graph_clone(g);
	if (!c)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*out = (CUgraph)c;
	LEAVE(CUDA_SUCCESS);
}

static struct node *copy_in(const struct graph *g, uint64_t id)
{
	struct node *r = NULL;

	for (unsigned i = 0; i < g->n && !r; i++) {
		if (g->node[i]->origin == id)
			return g->node[i];
		for (unsigned k = 0; k < g->node[i]->nsub && !r; k++)
			r = copy_in(g->node[i]->sub[k], id);
	}
	return r;
}

API(cuGraphNodeFindInClone, (CUgraphNode * out, CUgraphNode h, CUgraph hc))
{
	struct node *r;

	ENTER();
	GET_NODE(h, x);
	GET_GRAPH(hc, c);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	/* The node may have a copy of the same place. */
	r = x->g->id == c->origin && x->index < c->n && c->node[x->index]->origin == x->id
		    ? c->node[x->index]
		    : copy_in(c, x->id);
	if (!r)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*out = (CUgraphNode)r;
	LEAVE(CUDA_SUCCESS);
}

/* ---- edges ---- */

static unsigned edge_find(const struct node *from, const struct node *to)
{
	unsigned i;

	for (i = 0; i < to->ndep && to->dep[i].n != from; i++)
		;
	return i;
}

static CUresult edit(CUgraph h, const CUgraphNode *from, const CUgraphNode *to,
		     const CUgraphEdgeData *e, size_t n, bool add)
{
	ENTER();
	GET_GRAPH(h, g);
	if (n && (!from || !to))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!add && n && graph_holds(g, is_mem))
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	for (size_t i = 0; i < n; i++) {
		struct node *a = (struct node *)from[i], *b = (struct node *)to[i];
		unsigned k;

		if (!sim_handle_is(a, SIM_NODE) || !sim_handle_is(b, SIM_NODE) || a->g != g ||
		    b->g != g || a == b)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
		k = edge_find(a, b);
		if (add ? k < b->ndep || !edge_ok(a, b, e ? &e[i] : NULL)
			: k == b->ndep ||
				  (e && memcmp(&e[i], &b->dep[k].e, sizeof(CUgraphEdgeData))))
			LEAVE(CUDA_ERROR_INVALID_VALUE);
	}
	for (size_t i = 0; i < n; i++) {
		struct node *a = (struct node *)from[i], *b = (struct node *)to[i];
		unsigned k = edge_find(a, b);

		/* The list itself may name an edge twice. */
		if (add && k == b->ndep && !link_nodes(a, b, e ? &e[i] : NULL))
			LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
		if (!add && k < b->ndep)
			unlink_at(b, k);
	}
	LEAVE(CUDA_SUCCESS);
}
ONE(cuGraphAddDependencies, (CUgraph g, const CUgraphNode *f, const CUgraphNode *t, size_t n),
    edit(g, f, t, NULL, n, true))
ONE(cuGraphAddDependencies_v2,
    (CUgraph g, const CUgraphNode *f, const CUgraphNode *t, const CUgraphEdgeData *e, size_t n),
    edit(g, f, t, e, n, true))
ONE(cuGraphRemoveDependencies, (CUgraph g, const CUgraphNode *f, const CUgraphNode *t, size_t n),
    edit(g, f, t, NULL, n, false))
ONE(cuGraphRemoveDependencies_v2,
    (CUgraph g, const CUgraphNode *f, const CUgraphNode *t, const CUgraphEdgeData *e, size_t n),
    edit(g, f, t, e, n, false))

/* ---- queries ---- */

/*
 * Lists: *n is the room on the way in, where there is an array, and the number
 * of entries written on the way out; room beyond is cleared.  Without an array
 * *n becomes the number there is.
 */
static CUresult nodes(CUgraph h, CUgraphNode *out, size_t *n, bool roots)
{
	size_t k = 0, room;

	ENTER_QUIET();
	GET_GRAPH(h, g);
	if (!n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	room = out ? *n : 0;
	for (unsigned i = 0; i < g->n; i++) {
		if (roots && g->node[i]->ndep)
			continue;
		if (k < room)
			out[k] = (CUgraphNode)g->node[i];
		k++;
	}
	for (size_t i = k; i < room; i++)
		out[i] = NULL;
	*n = out && room < k ? room : k;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuGraphGetNodes, (CUgraph g, CUgraphNode *v, size_t *n), nodes(g, v, n, false))
ONE(cuGraphGetRootNodes, (CUgraph g, CUgraphNode *v, size_t *n), nodes(g, v, n, true))

static bool plain(const CUgraphEdgeData *e)
{
	static const CUgraphEdgeData none;

	return !memcmp(e, &none, sizeof none);
}

/* data: the form that tells edge data; without it, an edge that has some makes the query fail. */
static CUresult edges(CUgraph h, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
		      size_t *n)
{
	size_t k = 0, room;
	bool lossy = false;

	ENTER_QUIET();
	GET_GRAPH(h, g);
	if (!n || !from != !to || (data && !from))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	room = from ? *n : 0;
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned j = 0; j < g->node[i]->ndep; j++, k++)
			if (k < room) {
				const struct dep *d = &g->node[i]->dep[j];

				from[k] = (CUgraphNode)d->n;
				to[k] = (CUgraphNode)g->node[i];
				if (data)
					data[k] = d->e;
				else
					lossy |= !plain(&d->e);
			}
	for (size_t i = k; i < room; i++) {
		from[i] = to[i] = NULL;
		if (data)
			data[i] = (CUgraphEdgeData){0};
	}
	*n = from && room < k ? room : k;
	LEAVE(lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS);
}
ONE(cuGraphGetEdges, (CUgraph g, CUgraphNode *f, CUgraphNode *t, size_t *n),
    edges(g, f, t, NULL, n))
ONE(cuGraphGetEdges_v2, (CUgraph g, CUgraphNode *f, CUgraphNode *t, CUgraphEdgeData *e, size_t *n),
    edges(g, f, t, e, n))

API(cuGraphNodeGetType, (CUgraphNode h, CUgraphNodeType *type))
{
	ENTER_QUIET();
	GET_NODE(h, x);
	if (!type)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*type = (CUgraphNodeType)x->type;
	LEAVE(CUDA_SUCCESS);
}

static CUresult neighbours(CUgraphNode h, CUgraphNode *v, CUgraphEdgeData *data, size_t *n, bool in)
{
	bool lossy = false;
	size_t room, k;

	ENTER_QUIET();
	GET_NODE(h, x);
	if (!n || (data && !v))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	room = v ? *n : 0;
	k = in ? x->ndep : x->nout;
	for (size_t i = 0; i < room; i++) {
		const struct node *y = i >= k ? NULL : in ? x->dep[i].n : x->out[i];
		CUgraphEdgeData e = {0};

		if (y)
			e = in ? x->dep[i].e : y->dep[edge_find(x, y)].e;
		v[i] = (CUgraphNode)y;
		if (data)
			data[i] = e;
		else
			lossy |= !plain(&e);
	}
	*n = v && room < k ? room : k;
	LEAVE(lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS);
}
ONE(cuGraphNodeGetDependencies, (CUgraphNode x, CUgraphNode *v, size_t *n),
    neighbours(x, v, NULL, n, true))
ONE(cuGraphNodeGetDependencies_v2, (CUgraphNode x, CUgraphNode *v, CUgraphEdgeData *e, size_t *n),
    neighbours(x, v, e, n, true))
ONE(cuGraphNodeGetDependentNodes, (CUgraphNode x, CUgraphNode *v, size_t *n),
    neighbours(x, v, NULL, n, false))
ONE(cuGraphNodeGetDependentNodes_v2, (CUgraphNode x, CUgraphNode *v, CUgraphEdgeData *e, size_t *n),
    neighbours(x, v, e, n, false))

/* ---- a node's parameters ---- */

static CUresult set_params(CUgraphNode h, const CUgraphNodeParams *p)
{
	ENTER();
	if (!p)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	GET_TYPED(h, x, (unsigned)p->type);
	switch ((int)p->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	default:
		break;
	}
	LEAVE(node_fill(x, p));
}
ONE(cuGraphNodeSetParams, (CUgraphNode x, CUgraphNodeParams *p), set_params(x, p))

#define SET(name, nodetype, params, given, set)                                                    \
	API(name, params)                                                                          \
	{                                                                                          \
		CUgraphNodeParams p = {.type = nodetype};                                          \
                                                                                                   \
		if (!(given))                                                                      \
			return CUDA_ERROR_INVALID_VALUE;                                           \
		set;                                                                               \
		return set_params(x, &p);                                                          \
	}
SET(cuGraphKernelNodeSetParams, CU_GRAPH_NODE_TYPE_KERNEL,
    (CUgraphNode x, const CUDA_KERNEL_NODE_PARAMS_v1 *k), k, p.kernel = kernel_v3(k))
SET(cuGraphKernelNodeSetParams_v2, CU_GRAPH_NODE_TYPE_KERNEL,
    (CUgraphNode x, const CUDA_KERNEL_NODE_PARAMS *k), k, memcpy(&p.kernel, k, sizeof *k))
SET(cuGraphMemcpyNodeSetParams, CU_GRAPH_NODE_TYPE_MEMCPY, (CUgraphNode x, const CUDA_MEMCPY3D *c),
    c, p.memcpy.copyParams = *c)
SET(cuGraphMemsetNodeSetParams, CU_GRAPH_NODE_TYPE_MEMSET,
    (CUgraphNode x, const CUDA_MEMSET_NODE_PARAMS *s), s, p.memset = memset_v2(s, NULL))
SET(cuGraphHostNodeSetParams, CU_GRAPH_NODE_TYPE_HOST,
    (CUgraphNode x, const CUDA_HOST_NODE_PARAMS *f), f,
    (p.host.fn = f->fn, p.host.userData = f->userData))
SET(cuGraphEventRecordNodeSetEvent, CU_GRAPH_NODE_TYPE_EVENT_RECORD, (CUgraphNode x, CUevent e), e,
    p.eventRecord.event = e)
SET(cuGraphEventWaitNodeSetEvent, CU_GRAPH_NODE_TYPE_WAIT_EVENT, (CUgraphNode x, CUevent e), e,
    p.eventWait.event = e)
SET(cuGraphBatchMemOpNodeSetParams, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
    (CUgraphNode x, const CUDA_BATCH_MEM_OP_NODE_PARAMS *b), b, memcpy(&p.memOp, b, sizeof *b))

SET(cuGraphExternalSemaphoresSignalNodeSetParams, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
    (CUgraphNode x, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *s), s,
    memcpy(&p.extSemSignal, s, sizeof *s))
SET(cuGraphExternalSemaphoresWaitNodeSetParams, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
    (CUgraphNode x, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *s), s,
    memcpy(&p.extSemWait, s, sizeof *s))

#define SEM_GET(name, nodetype, type)                                                              \
	API(name, (CUgraphNode h, type * out))                                                     \
	{                                                                                          \
		const void *params;                                                                \
                                                                                                   \
		ENTER_QUIET();                                                                     \
		GET_TYPED(h, x, nodetype);                                                         \
		if (!out)                                                                          \
			LEAVE(CUDA_ERROR_INVALID_VALUE);                                           \
		sem_node_params(x->op, &out->extSemArray, &params, &out->numExtSems);              \
		out->paramsArray = params;                                                         \
		LEAVE(CUDA_SUCCESS);                                                               \
	}
SEM_GET(cuGraphExternalSemaphoresSignalNodeGetParams, CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL,
	CUDA_EXT_SEM_SIGNAL_NODE_PARAMS)
SEM_GET(cuGraphExternalSemaphoresWaitNodeGetParams, CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
	CUDA_EXT_SEM_WAIT_NODE_PARAMS)

API(cuGraphKernelNodeGetParams_v2, (CUgraphNode h, CUDA_KERNEL_NODE_PARAMS *out))
{
	CUDA_KERNEL_NODE_PARAMS_v3 p;

	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_KERNEL);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	kernel_node_params(x->op, &p);
	memcpy(out, &p, sizeof *out);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphKernelNodeGetParams, (CUgraphNode h, CUDA_KERNEL_NODE_PARAMS_v1 *out))
{
	CUDA_KERNEL_NODE_PARAMS_v3 p;

	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_KERNEL);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	kernel_node_params(x->op, &p);
	memcpy(out, &p, sizeof *out);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphMemcpyNodeGetParams, (CUgraphNode h, CUDA_MEMCPY3D *out))
{
	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_MEMCPY);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	copy_node_params(x->op, out);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphMemsetNodeGetParams, (CUgraphNode h, CUDA_MEMSET_NODE_PARAMS *out))
{
	CUDA_MEMSET_NODE_PARAMS_v2 p;

	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_MEMSET);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	set_node_params(x->op, &p);
	memcpy(out, &p, sizeof *out);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphHostNodeGetParams, (CUgraphNode h, CUDA_HOST_NODE_PARAMS *out))
{
	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_HOST);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	host_node_params(x->op, &out->fn, &out->userData);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphBatchMemOpNodeGetParams, (CUgraphNode h, CUDA_BATCH_MEM_OP_NODE_PARAMS *out))
{
	CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 p;

	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	memop_node_params(x->op, &p);
	memcpy(out, &p, sizeof *out);
	LEAVE(CUDA_SUCCESS);
}

static CUresult get_event(CUgraphNode h, CUevent *e, unsigned type)
{
	ENTER_QUIET();
	GET_TYPED(h, x, type);
	if (!e)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*e = (CUevent)x->ev;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuGraphEventRecordNodeGetEvent, (CUgraphNode x, CUevent *e),
    get_event(x, e, CU_GRAPH_NODE_TYPE_EVENT_RECORD))
ONE(cuGraphEventWaitNodeGetEvent, (CUgraphNode x, CUevent *e),
    get_event(x, e, CU_GRAPH_NODE_TYPE_WAIT_EVENT))

API(cuGraphChildGraphNodeGetGraph, (CUgraphNode h, CUgraph *out))
{
	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_GRAPH);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*out = (CUgraph)x->sub[0];
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphMemAllocNodeGetParams, (CUgraphNode h, CUDA_MEM_ALLOC_NODE_PARAMS *out))
{
	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	memcpy(out, x->alloc, sizeof *out);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphMemFreeNodeGetParams, (CUgraphNode h, CUdeviceptr *out))
{
	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_MEM_FREE);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*out = x->mem->lo;
	LEAVE(CUDA_SUCCESS);
}

/* ---- as text ---- */

static const char *const type_name[] = {
	[CU_GRAPH_NODE_TYPE_KERNEL] = "kernel",
	[CU_GRAPH_NODE_TYPE_MEMCPY] = "copy",
	[CU_GRAPH_NODE_TYPE_MEMSET] = "set",
	[CU_GRAPH_NODE_TYPE_HOST] = "host",
	[CU_GRAPH_NODE_TYPE_GRAPH] = "graph",
	[CU_GRAPH_NODE_TYPE_EMPTY] = "empty",
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "wait",
	[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "record",
	[CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL] = "signal",
	[CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT] = "wait for semaphores",
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "alloc",
	[CU_GRAPH_NODE_TYPE_MEM_FREE] = "free",
	[CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "memory operations",
	[CU_GRAPH_NODE_TYPE_CONDITIONAL] = "conditional",
};

static void dot(int fd, const struct graph *g)
{
	for (unsigned i = 0; i < g->n; i++) {
		const struct node *x = g->node[i];

		dprintf(fd, "n%llu [label=\"%s%s%s\"];\n", (unsigned long long)x->id,
			type_name[x->type], x->op && *x->op->name ? " " : "",
			x->op ? x->op->name : "");
		for (unsigned k = 0; k < x->ndep; k++)
			dprintf(fd, "n%llu -> n%llu;\n", (unsigned long long)x->dep[k].n->id,
				(unsigned long long)x->id);
		for (unsigned k = 0; k < x->nsub; k++) {
			dprintf(fd, "subgraph cluster%llu {\n",
				(unsigned long long)x->sub[k]->id);
			dot(fd, x->sub[k]);
			dprintf(fd, "}\n");
		}
	}
}

API(cuGraphDebugDotPrint, (CUgraph h, const char *path, unsigned flags))
{
	int fd;

	ENTER_QUIET();
	GET_GRAPH(h, g);
	(void)flags;
	fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	if (fd < 0)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	dprintf(fd, "digraph {\n");
	dot(fd, g);
	dprintf(fd, "}\n");
	close(fd);
	LEAVE(CUDA_SUCCESS);
}

/* ---- attributes of kernel nodes ---- */

static CUresult attr_set(struct node *x, int id, const CUlaunchAttributeValue *v)
{
	struct op *op;

	if (!x->attr)
		x->attr = sim_alloc(NODE_ATTRS * sizeof *x->attr);
	op = op_copy(x->op);
	if (!x->attr || !op) {
		op_put(op);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	op->captured = true;
	if (!kernel_node_attr(op, id, v)) {
		op_put(op);
		return CUDA_ERROR_INVALID_VALUE;
	}
	x->attr[id] = *v;
	op_put(x->op);
	x->op = op;
	return CUDA_SUCCESS;
}

API(cuGraphKernelNodeSetAttribute, (CUgraphNode h, CUkernelNodeAttrID id,
				    const CUkernelNodeAttrValue *v))
{
	ENTER();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_KERNEL);
	if (!v || (unsigned)id >= NODE_ATTRS)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	LEAVE(attr_set(x, (int)id, v));
}

API(cuGraphKernelNodeGetAttribute, (CUgraphNode h, CUkernelNodeAttrID id, CUkernelNodeAttrValue *v))
{
	ENTER_QUIET();
	GET_TYPED(h, x, CU_GRAPH_NODE_TYPE_KERNEL);
	if (!v || (unsigned)id >= NODE_ATTRS)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (x->attr)
		*v = x->attr[id];
	else
		memset(v, 0, sizeof *v);
	kernel_node_attr_get(x->op, (int)id, v);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphKernelNodeCopyAttributes, (CUgraphNode hd, CUgraphNode hs))
{
	CUresult r = CUDA_SUCCESS;

	ENTER();
	GET_TYPED(hd, d, CU_GRAPH_NODE_TYPE_KERNEL);
	GET_TYPED(hs, s, CU_GRAPH_NODE_TYPE_KERNEL);
	for (int i = 0; i < NODE_ATTRS && s->attr && r == CUDA_SUCCESS; i++) {
		CUlaunchAttributeValue none = {0};

		if (memcmp(&s->attr[i], &none, sizeof none))
			r = attr_set(d, i, &s->attr[i]);
		else if (d->attr)
			d->attr[i] = none;
	}
	LEAVE(r);
}
