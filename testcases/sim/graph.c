/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture and graphs.
 *
 * While a stream captures, op_submit() hands its operations to cap_take(): they
 * become nodes, templates that never run.  A launch clones every template with
 * the graph's edges between a begin and an end marker of the launching stream;
 * launches of one executable follow each other.  What capture forbids follows
 * the documentation: the legacy stream while a blocking stream captures, waits
 * and synchronous calls of the modes, foreign events, unjoined streams.
 */
#include "sim.h"

#include <stdlib.h>

enum {
	N_KERNEL,
	N_MEMCPY,
	N_MEMSET,
	N_HOST,
	N_GRAPH,
	N_EMPTY,
	N_WAIT,
	N_RECORD,
	N_ALLOC = 10,
	N_FREE,
	N_MEMOP
};

struct node {
	struct graph *g;
	struct op *op; /* template */
	struct ev *ev; /* WAIT, RECORD */
	unsigned type, index;
	struct node **dep;
	unsigned ndep;
};

struct graph {
	unsigned refs; /* handle, executables */
	struct node **node;
	unsigned n, cap;
};

struct gexec {
	struct graph *g;
	unsigned n; /* nodes there were at instantiation */
	unsigned long long flags;
	struct op *last; /* end of its latest launch */
};

struct capture {
	struct capture *next;
	uint64_t id, thread;
	struct graph *g;
	struct strm *origin;
	CUstreamCaptureMode mode;
	bool invalid;
};

static struct capture *caps;
static uint64_t next_cap;
static __thread CUstreamCaptureMode my_mode;

static uint64_t me(void)
{
	static uint64_t n;
	static __thread uint64_t id;

	return id ? id : (id = ++n);
}

/* ---- graphs ---- */

static struct graph *graph_new(void)
{
	struct graph *g = sim_alloc(sizeof *g);

	if (g)
		g->refs = 1;
	return g;
}

static void graph_put(struct graph *g)
{
	if (--g->refs)
		return;
	for (unsigned i = 0; i < g->n; i++) {
		sim_handle_del(g->node[i]);
		op_put(g->node[i]->op);
		sim_free(g->node[i]->dep);
		sim_free(g->node[i]);
	}
	sim_free(g->node);
	sim_free(g);
}

static struct node *node_new(struct graph *g, unsigned type, struct node *const *dep, unsigned n)
{
	struct node *x = sim_alloc(sizeof *x);

	if (!x)
		return NULL;
	if (g->n == g->cap) {
		struct node **v =
			sim_grow(g->node, g->n * sizeof *v, (g->cap ? g->cap * 2 : 16) * sizeof *v);

		if (!v)
			return NULL;
		g->node = v;
		g->cap = g->cap ? g->cap * 2 : 16;
	}
	x->g = g;
	x->type = type;
	x->index = g->n;
	if (n) {
		x->dep = sim_alloc(n * sizeof *x->dep);
		if (!x->dep)
			return NULL;
		memcpy(x->dep, dep, n * sizeof *x->dep);
		x->ndep = n;
	}
	g->node[g->n++] = x;
	sim_handle_add(x, SIM_NODE);
	return x;
}

/* ---- capture ---- */

static void set_deps(struct strm *st, struct node *const *dep, unsigned n)
{
	struct node **v = n ? sim_alloc(n * sizeof *v) : NULL;

	if (n && v)
		memcpy(v, dep, n * sizeof *v);
	sim_free(st->cap_dep);
	st->cap_dep = v;
	st->cap_n = v ? n : 0;
}

static void add_deps(struct strm *st, struct node *const *dep, unsigned n)
{
	struct node **v = sim_alloc((st->cap_n + n + 1) * sizeof *v);
	unsigned k = st->cap_n;

	if (!v)
		return;
	memcpy(v, st->cap_dep, k * sizeof *v);
	for (unsigned i = 0; i < n; i++) {
		unsigned j;

		for (j = 0; j < k && v[j] != dep[i]; j++)
			;
		if (j == k)
			v[k++] = dep[i];
	}
	sim_free(st->cap_dep);
	st->cap_dep = v;
	st->cap_n = k;
}

static unsigned type_of(const struct op *op)
{
	switch ((enum op_kind)op->kind) {
	case OP_KERNEL:
		return N_KERNEL;
	case OP_COPY:
		return N_MEMCPY;
	case OP_SET:
		return N_MEMSET;
	case OP_HOSTFN:
		return N_HOST;
	case OP_WRITE_VALUE:
	case OP_WAIT_VALUE:
		return N_MEMOP;
	case OP_ALLOC:
		return N_ALLOC;
	case OP_FREE:
		return N_FREE;
	case OP_RECORD:
		return N_RECORD;
	case OP_WAIT:
		return N_WAIT;
	case OP_MARK:
	case OP_GRAPH:
		break;
	}
	return N_EMPTY;
}

bool cap_take(struct op *op, struct strm *st)
{
	struct node *x;

	op->captured = true;
	op->st = NULL;
	if (st->cap->invalid) {
		op_put(op);
		return true;
	}
	x = node_new(st->cap->g, type_of(op), st->cap_dep, st->cap_n);
	if (!x) {
		st->cap->invalid = true;
		op_put(op);
		return true;
	}
	x->op = op;
	set_deps(st, &x, 1);
	return true;
}

void cap_invalidate(struct strm *st)
{
	if (st->cap)
		st->cap->invalid = true;
}

static struct capture *cap_alive(uint64_t id)
{
	struct capture *c;

	for (c = caps; c && c->id != id; c = c->next)
		;
	return c;
}

static void cap_end(struct capture *cp)
{
	struct capture **p;

	for (p = &caps; *p != cp; p = &(*p)->next)
		;
	*p = cp->next;
	for (struct ctx *c = sim_ctxs; c; c = c->next)
		for (struct strm *s = c->streams; s; s = s->next)
			if (s->cap == cp) {
				s->cap = NULL;
				set_deps(s, NULL, 0);
			}
	sim_free(cp);
}

void cap_stream_gone(struct strm *st)
{
	st->cap->invalid = true;
	if (st->cap->origin == st)
		cap_end(st->cap);
	st->cap = NULL;
	set_deps(st, NULL, 0);
}

/* Does a capture's mode, seen from this thread, forbid calls that are not for it? */
static bool forbids(const struct capture *c)
{
	switch (my_mode) {
	case CU_STREAM_CAPTURE_MODE_RELAXED:
		return false;
	case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL:
		return c->thread == me() && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
	case CU_STREAM_CAPTURE_MODE_GLOBAL:
		break;
	}
	return c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
	       (c->thread == me() && c->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

CUresult cap_check(struct ctx *c)
{
	CUresult r = CUDA_SUCCESS;

	(void)c;
	for (struct capture *p = caps; p; p = p->next)
		if (forbids(p)) {
			p->invalid = true;
			r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	return r;
}

/* The legacy stream would have to wait for a capturing blocking stream. */
CUresult cap_legacy(struct ctx *c)
{
	CUresult r = CUDA_SUCCESS;

	if (!caps)
		return r;
	for (struct strm *s = c->streams; s; s = s->next)
		if (s->cap && s->blocking) {
			s->cap->invalid = true;
			r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
	return r;
}

static void ev_deps(struct ev *e, struct strm *st)
{
	sim_free(e->cap_dep);
	e->cap_dep = sim_alloc((st->cap_n + 1) * sizeof *e->cap_dep);
	e->cap_n = e->cap_dep ? st->cap_n : 0;
	if (e->cap_n)
		memcpy(e->cap_dep, st->cap_dep, e->cap_n * sizeof *e->cap_dep);
}

static CUresult event_node(struct ev *e, struct strm *st, enum op_kind k)
{
	struct op *op = op_new(st->ctx, k, "", 0);

	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->cost = 0;
	op_submit(op, st);
	if (st->cap_n == 1 && st->cap_dep[0]->op == op)
		st->cap_dep[0]->ev = e;
	return CUDA_SUCCESS;
}

CUresult cap_record(struct ev *e, struct strm *st, unsigned flags, bool *done)
{
	*done = st->cap != NULL;
	if (!st->cap) {
		e->captured = false;
		return CUDA_SUCCESS;
	}
	if (st->cap->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (flags & CU_EVENT_RECORD_EXTERNAL)
		return event_node(e, st, OP_RECORD);
	e->captured = true;
	e->cap_id = st->cap->id;
	ev_deps(e, st);
	return CUDA_SUCCESS;
}

CUresult cap_wait(struct ev *e, struct strm *st, unsigned flags, bool *done)
{
	struct capture *cp = e->captured ? cap_alive(e->cap_id) : NULL;

	*done = cp || st->cap || e->captured;
	if (!*done)
		return CUDA_SUCCESS;
	if (st->cap && st->cap->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (st->cap && flags & CU_EVENT_WAIT_EXTERNAL)
		return event_node(e, st, OP_WAIT);
	if (e->captured && !cp)
		return CUDA_ERROR_CAPTURED_EVENT; /* of a capture that has ended */
	if (!cp) {
		if (!e->rec)
			return CUDA_SUCCESS; /* never recorded */
		st->cap->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (cp->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (st->cap && st->cap != cp) {
		st->cap->invalid = cp->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (st->legacy) {
		cp->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	st->cap = cp;
	add_deps(st, e->cap_dep, e->cap_n);
	return CUDA_SUCCESS;
}

#define GET_STREAM(h, pt, st)                                                                      \
	struct strm *st = NULL;                                                                    \
	do {                                                                                       \
		CUresult get_ = sim_get_stream(h, pt, &st);                                        \
		if (get_ != CUDA_SUCCESS)                                                          \
			LEAVE(get_);                                                               \
	} while (0)

static CUresult begin(bool pt, CUstream h, CUstreamCaptureMode mode)
{
	struct capture *cp;

	ENTER();
	GET_STREAM(h, pt, st);
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (st->legacy)
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (st->cap)
		LEAVE(CUDA_ERROR_ILLEGAL_STATE);
	cp = sim_alloc(sizeof *cp);
	if (!cp || !(cp->g = graph_new())) {
		sim_free(cp);
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	}
	cp->id = ++next_cap;
	cp->thread = me();
	cp->mode = mode;
	cp->origin = st;
	cp->next = caps;
	caps = cp;
	st->cap = cp;
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamBeginCapture, _ptsz, (CUstream s), begin(pt, s, CU_STREAM_CAPTURE_MODE_GLOBAL))
BOTH(cuStreamBeginCapture_v2, _ptsz, (CUstream s, CUstreamCaptureMode m), begin(pt, s, m))

/* Does the origin's frontier reach every node that another stream ends with? */
static bool joined(const struct capture *cp)
{
	unsigned n = cp->g->n, top = 0;
	bool *seen = sim_alloc(n + 1);
	struct node **stack = sim_alloc((n + 1) * sizeof *stack);
	bool ok = seen && stack;

	for (unsigned i = 0; ok && i < cp->origin->cap_n; i++) {
		struct node *x = cp->origin->cap_dep[i];

		if (!seen[x->index]) {
			seen[x->index] = true;
			stack[top++] = x;
		}
	}
	while (ok && top) {
		struct node *x = stack[--top];

		for (unsigned i = 0; i < x->ndep; i++)
			if (!seen[x->dep[i]->index]) {
				seen[x->dep[i]->index] = true;
				stack[top++] = x->dep[i];
			}
	}
	for (struct ctx *c = sim_ctxs; ok && c; c = c->next)
		for (struct strm *s = c->streams; s; s = s->next)
			if (s->cap == cp)
				for (unsigned i = 0; i < s->cap_n; i++)
					ok = ok && seen[s->cap_dep[i]->index];
	sim_free(seen);
	sim_free(stack);
	return ok;
}

static CUresult end(bool pt, CUstream h, CUgraph *out)
{
	struct capture *cp;
	CUresult r = CUDA_SUCCESS;
	struct graph *g;

	ENTER();
	GET_STREAM(h, pt, st);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*out = NULL;
	cp = st->cap;
	if (!cp)
		LEAVE(CUDA_ERROR_ILLEGAL_STATE);
	if (cp->origin != st) {
		cp->invalid = true;
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	}
	if (cp->thread != me() && cp->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	if (cp->invalid)
		r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!joined(cp))
		r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	g = cp->g;
	cap_end(cp);
	if (r != CUDA_SUCCESS) {
		graph_put(g);
	} else {
		sim_handle_add(g, SIM_GRAPH);
		*out = (CUgraph)g;
	}
	LEAVE(r);
}
BOTH(cuStreamEndCapture, _ptsz, (CUstream s, CUgraph *g), end(pt, s, g))

static CUresult info(bool pt, CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *g,
		     const CUgraphNode **d, size_t *n)
{
	ENTER_QUIET();
	GET_STREAM(h, pt, st);
	if (!status)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*status = !st->cap	     ? CU_STREAM_CAPTURE_STATUS_NONE
		  : st->cap->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (id)
		*id = st->cap ? st->cap->id : 0;
	if (g)
		*g = st->cap ? (CUgraph)st->cap->g : NULL;
	if (d)
		*d = (const CUgraphNode *)st->cap_dep;
	if (n)
		*n = st->cap_n;
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamIsCapturing, _ptsz, (CUstream s, CUstreamCaptureStatus *st),
     info(pt, s, st, NULL, NULL, NULL, NULL))
BOTH(cuStreamGetCaptureInfo, _ptsz, (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id),
     info(pt, s, st, id, NULL, NULL, NULL))
BOTH(cuStreamGetCaptureInfo_v2, _ptsz,
     (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph *g, const CUgraphNode **d,
      size_t *n),
     info(pt, s, st, id, g, d, n))
BOTH(cuStreamGetCaptureInfo_v3, _ptsz,
     (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph *g, const CUgraphNode **d,
      const CUgraphEdgeData **e, size_t *n),
     ((e ? (void)(*e = NULL) : (void)0), info(pt, s, st, id, g, d, n)))

static CUresult update(bool pt, CUstream h, CUgraphNode *d, size_t n, unsigned flags)
{
	ENTER();
	GET_STREAM(h, pt, st);
	if (!st->cap)
		LEAVE(CUDA_ERROR_ILLEGAL_STATE);
	if (flags > 1 || (n && !d))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < n; i++)
		if (!sim_handle_is(d[i], SIM_NODE) || ((struct node *)d[i])->g != st->cap->g)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (flags)
		set_deps(st, (struct node **)d, (unsigned)n);
	else
		add_deps(st, (struct node **)d, (unsigned)n);
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamUpdateCaptureDependencies, _ptsz, (CUstream s, CUgraphNode *d, size_t n, unsigned f),
     update(pt, s, d, n, f))
BOTH(cuStreamUpdateCaptureDependencies_v2, _ptsz,
     (CUstream s, CUgraphNode *d, const CUgraphEdgeData *e, size_t n, unsigned f),
     ((void)e, update(pt, s, d, n, f)))

API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))
{
	CUstreamCaptureMode old = my_mode;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	my_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

/* ---- graphs by hand: as far as programs need them beside capture ---- */

#define GET_GRAPH(h, g)                                                                            \
	struct graph *g = (struct graph *)(h);                                                     \
	if (!sim_handle_is(g, SIM_GRAPH) && !is_capturing(g))                                      \
	LEAVE(CUDA_ERROR_INVALID_VALUE)

static bool is_capturing(const struct graph *g)
{
	for (struct capture *c = caps; c; c = c->next)
		if (c->g == g)
			return true;
	return false;
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
	sim_handle_add(g, SIM_GRAPH);
	*out = (CUgraph)g;
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphDestroy, (CUgraph h))
{
	ENTER();
	if (!sim_handle_is(h, SIM_GRAPH))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	sim_handle_del(h);
	graph_put((struct graph *)h);
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphAddEmptyNode, (CUgraphNode * out, CUgraph h, const CUgraphNode *d, size_t n))
{
	struct node *x;

	ENTER();
	GET_GRAPH(h, g);
	if (!out || (n && !d))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < n; i++)
		if (!sim_handle_is(d[i], SIM_NODE) || ((struct node *)d[i])->g != g)
			LEAVE(CUDA_ERROR_INVALID_VALUE);
	x = node_new(g, N_EMPTY, (struct node *const *)d, (unsigned)n);
	if (!x)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*out = (CUgraphNode)x;
	LEAVE(CUDA_SUCCESS);
}

static CUresult nodes(CUgraph h, CUgraphNode *out, size_t *n, bool roots)
{
	size_t k = 0, room;

	ENTER();
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
	*n = k;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuGraphGetNodes, (CUgraph g, CUgraphNode *v, size_t *n), nodes(g, v, n, false))
ONE(cuGraphGetRootNodes, (CUgraph g, CUgraphNode *v, size_t *n), nodes(g, v, n, true))

static CUresult edges(CUgraph h, CUgraphNode *from, CUgraphNode *to, void *data, size_t *n)
{
	size_t k = 0, room;

	ENTER();
	GET_GRAPH(h, g);
	if (!n || !from != !to)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	room = from ? *n : 0;
	for (unsigned i = 0; i < g->n; i++)
		for (unsigned j = 0; j < g->node[i]->ndep; j++, k++)
			if (k < room) {
				from[k] = (CUgraphNode)g->node[i]->dep[j];
				to[k] = (CUgraphNode)g->node[i];
				if (data)
					memset((char *)data + 8 * k, 0, 8);
			}
	*n = k;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuGraphGetEdges, (CUgraph g, CUgraphNode *f, CUgraphNode *t, size_t *n),
    edges(g, f, t, NULL, n))
ONE(cuGraphGetEdges_v2, (CUgraph g, CUgraphNode *f, CUgraphNode *t, CUgraphEdgeData *e, size_t *n),
    edges(g, f, t, e, n))

API(cuGraphNodeGetType, (CUgraphNode h, CUgraphNodeType * type))
{
	ENTER();
	if (!sim_handle_is(h, SIM_NODE) || !type)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*type = (CUgraphNodeType)((struct node *)h)->type;
	LEAVE(CUDA_SUCCESS);
}

static CUresult node_deps(CUgraphNode h, CUgraphNode *out, void *data, size_t *n)
{
	struct node *x = (struct node *)h;
	size_t room;

	ENTER();
	if (!sim_handle_is(x, SIM_NODE) || !n)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	room = out ? *n : 0;
	for (size_t i = 0; i < room; i++)
		out[i] = i < x->ndep ? (CUgraphNode)x->dep[i] : NULL;
	if (data)
		memset(data, 0, 8 * (room < x->ndep ? room : x->ndep));
	*n = x->ndep;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuGraphNodeGetDependencies, (CUgraphNode x, CUgraphNode *v, size_t *n),
    node_deps(x, v, NULL, n))
ONE(cuGraphNodeGetDependencies_v2, (CUgraphNode x, CUgraphNode *v, CUgraphEdgeData *e, size_t *n),
    node_deps(x, v, e, n))

/* ---- executables ---- */

static CUresult instantiate(CUgraphExec *out, CUgraph h, unsigned long long flags)
{
	struct gexec *e;

	ENTER();
	if (!sim_handle_is(h, SIM_GRAPH) || !out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	e = sim_alloc(sizeof *e);
	if (!e)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	/* Nodes and edges are only ever added, at the end: the count is the snapshot. */
	e->g = (struct graph *)h;
	e->g->refs++;
	e->n = e->g->n;
	e->flags = flags;
	sim_handle_add(e, SIM_EXEC);
	*out = (CUgraphExec)e;
	LEAVE(CUDA_SUCCESS);
}
#define OLD_INSTANTIATE(name)                                                                      \
	API(name, (CUgraphExec * out, CUgraph g, CUgraphNode * bad, char *log, size_t n))          \
	{                                                                                          \
		if (bad)                                                                           \
			*bad = NULL;                                                               \
		if (log && n)                                                                      \
			*log = 0;                                                                  \
		return instantiate(out, g, 0);                                                     \
	}
OLD_INSTANTIATE(cuGraphInstantiate)
OLD_INSTANTIATE(cuGraphInstantiate_v2)
ONE(cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph g, unsigned long long flags),
    instantiate(out, g, flags))

API(cuGraphExecGetFlags, (CUgraphExec h, cuuint64_t *flags))
{
	ENTER();
	if (!sim_handle_is(h, SIM_EXEC) || !flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*flags = ((struct gexec *)h)->flags;
	LEAVE(CUDA_SUCCESS);
}

API(cuGraphExecDestroy, (CUgraphExec h))
{
	struct gexec *e = (struct gexec *)h;

	ENTER();
	if (!sim_handle_is(e, SIM_EXEC))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	sim_handle_del(e);
	op_put(e->last);
	graph_put(e->g);
	sim_free(e);
	LEAVE(CUDA_SUCCESS);
}

static struct op *copy_of(const struct op *t)
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

static CUresult launch(bool pt, CUgraphExec h, CUstream s, bool upload)
{
	struct gexec *e = (struct gexec *)h;
	struct op *first, *last, **made;
	bool *leaf;
	unsigned n;

	ENTER();
	GET_STREAM(s, pt, st);
	if (!sim_handle_is(e, SIM_EXEC))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (st->cap)
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	n = upload ? 0 : e->n;
	made = sim_alloc((n + 1) * sizeof *made);
	leaf = sim_alloc(n + 1);
	first = op_new(st->ctx, OP_GRAPH, "begin", 0);
	last = op_new(st->ctx, OP_GRAPH, "end", 0);
	if (!made || !leaf || !first || !last)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	first->cost = last->cost = 0;
	op_after(first, e->last);
	op_get(first);
	op_submit(first, st);
	for (unsigned i = 0; i < n; i++) {
		struct node *x = e->g->node[i];
		struct op *op = x->op ? copy_of(x->op) : op_new(st->ctx, OP_MARK, "empty", 0);

		if (!op)
			continue;
		op_after(op, first);
		leaf[i] = true;
		for (unsigned k = 0; k < x->ndep; k++) {
			op_after(op, made[x->dep[k]->index]);
			leaf[x->dep[k]->index] = false;
		}
		if (x->ev && sim_handle_is(x->ev, SIM_EVENT)) {
			if (x->type == N_RECORD)
				sim_event_record(x->ev, op);
			else
				op_after(op, x->ev->rec);
		}
		made[i] = op;
		op_submit_bare(op);
	}
	for (unsigned i = 0; i < n; i++)
		if (leaf[i])
			op_after(last, made[i]);
	op_put(first);
	op_get(last);
	op_put(e->last);
	e->last = last;
	op_submit(last, st);
	sim_free(made);
	sim_free(leaf);
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuGraphLaunch, _ptsz, (CUgraphExec e, CUstream s), launch(pt, e, s, false))
BOTH(cuGraphUpload, _ptsz, (CUgraphExec e, CUstream s), launch(pt, e, s, true))
