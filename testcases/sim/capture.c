/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture.
 *
 * While a stream captures, op_submit() hands its operations to cap_take(): they
 * become templates of nodes.  A stream that captures has a frontier, the nodes
 * (with edge data) that its next node will depend on; an event recorded in it
 * holds a copy of the frontier, and a stream that waits for such an event joins
 * the capture with it.
 *
 * What capture forbids:
 *
 *   900 unsupported   a call that cannot be captured or must wait, on the capture itself; or an
 *                     unsafe call (cap_check) that the modes of captures and thread forbid: one
 *                     that allocates, frees, waits, asks or instantiates; copies and sets by the
 *                     host, loading of code and launches elsewhere are not among them
 *   901 invalidated   anything on a capture that an error has ended
 *   902 merge         a wait that would join two captures
 *   903 unmatched     ended on a stream that only joined
 *   904 unjoined      ended while another stream's frontier does not lead to the origin's
 *   905 isolation     a wait for an event that was recorded outside
 *   906 implicit      the legacy stream while a blocking stream of the context captures
 *   907 captured      host-side use of an event that was recorded inside (1, invalid value,
 *                     once the capture has ended: also a wait for it, which breaks the capture
 *                     of the stream that waits)
 *   908 thread        ended by another thread than began it, unless relaxed
 *
 * All but 903 on its way in, 908, a batch of copies and the pure queries (capture
 * status and info) invalidate the captures they concern.  As measured on driver
 * 580 (gpu/graph_answers.c).
 */
#include "graph.h"

struct capture {
	struct capture *next;
	uint64_t id, thread;
	struct graph *g;
	struct strm *origin;
	CUstreamCaptureMode mode;
	bool invalid;
	bool given; /* the graph was the program's before */
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

/* ---- frontiers ---- */

struct frontier {
	struct node **n;
	CUgraphEdgeData *e;
	unsigned count;
};

static void frontier_set(struct node ***n, CUgraphEdgeData **e, unsigned *count,
			 const struct frontier *f)
{
	struct node **v = f->count ? sim_alloc(f->count * sizeof *v) : NULL;
	CUgraphEdgeData *w = f->count ? sim_alloc(f->count * sizeof *w) : NULL;

	if (f->count && v && w) {
		memcpy(v, f->n, f->count * sizeof *v);
		if (f->e)
			memcpy(w, f->e, f->count * sizeof *w);
	}
	sim_free(*n);
	sim_free(*e);
	*n = v;
	*e = w;
	*count = v && w ? f->count : 0;
}

static void set_deps(struct strm *st, struct frontier f)
{
	frontier_set(&st->cap_dep, &st->cap_edge, &st->cap_n, &f);
}

static void add_deps(struct strm *st, struct frontier f)
{
	struct frontier all = {.n = sim_alloc((st->cap_n + f.count + 1) * sizeof *all.n),
			       .e = sim_alloc((st->cap_n + f.count + 1) * sizeof *all.e)};
	uint64_t m = graph_mark();

	if (all.n && all.e) {
		for (unsigned i = 0; i < st->cap_n; i++) {
			st->cap_dep[i]->mark = m;
			all.n[all.count] = st->cap_dep[i];
			all.e[all.count++] = st->cap_edge[i];
		}
		for (unsigned i = 0; i < f.count; i++)
			if (f.n[i]->mark != m) {
				f.n[i]->mark = m;
				all.n[all.count] = f.n[i];
				all.e[all.count++] = f.e ? f.e[i] : (CUgraphEdgeData){0};
			}
		set_deps(st, all);
	}
	sim_free(all.n);
	sim_free(all.e);
}

static struct frontier of_stream(const struct strm *st)
{
	return (struct frontier){st->cap_dep, st->cap_edge, st->cap_n};
}

/* ---- nodes ---- */

static unsigned type_of(const struct op *op)
{
	switch ((enum op_kind)op->kind) {
	case OP_KERNEL:
		return CU_GRAPH_NODE_TYPE_KERNEL;
	case OP_COPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case OP_SET:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	case OP_HOSTFN:
		return CU_GRAPH_NODE_TYPE_HOST;
	case OP_WRITE_VALUE:
	case OP_WAIT_VALUE:
		return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	case OP_SEM_SIGNAL:
		return CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
	case OP_SEM_WAIT:
		return CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
	case OP_ALLOC:
		return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	case OP_FREE:
		return CU_GRAPH_NODE_TYPE_MEM_FREE;
	case OP_RECORD:
	case OP_WAIT:
	case OP_MARK:
	case OP_GRAPH:
		break;
	}
	return CU_GRAPH_NODE_TYPE_EMPTY;
}

/* Puts the node behind the stream's frontier, and makes it the frontier. */
static bool append(struct strm *st, struct node *x)
{
	struct dep *d = sim_alloc((st->cap_n + 1) * sizeof *d);
	bool ok = d != NULL;

	for (unsigned i = 0; i < st->cap_n && ok; i++) {
		d[i] = (struct dep){st->cap_dep[i], st->cap_edge[i]};
		/* Only kernels can start at a trigger. */
		if (x->type != CU_GRAPH_NODE_TYPE_KERNEL &&
		    d[i].e.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC)
			d[i].e.type = CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
	}
	ok = ok && node_add(st->cap->g, x, d, st->cap_n);
	sim_free(d);
	if (!ok) {
		st->cap->invalid = true;
		node_free(x);
		return false;
	}
	set_deps(st, (struct frontier){&x, NULL, 1});
	return true;
}

bool cap_take(struct op *op, struct strm *st)
{
	struct node *x = st->cap->invalid ? NULL : node_make(type_of(op));

	op->captured = true;
	op->st = NULL;
	if (!x) {
		st->cap->invalid = true;
		op_put(op);
		return true;
	}
	if (x->type == CU_GRAPH_NODE_TYPE_EMPTY)
		op_put(op);
	else
		x->op = op;
	append(st, x);
	return true;
}

static CUgraphEdgeData edge_of(unsigned char port)
{
	return (CUgraphEdgeData){.from_port = port,
				 .type = port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC
						 ? CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
						 : CU_GRAPH_DEPENDENCY_TYPE_DEFAULT};
}

static void ev_captured(struct ev *e, const struct strm *st, struct frontier f)
{
	e->captured = true;
	e->cap_id = st->cap->id;
	frontier_set(&e->cap_dep, &e->cap_edge, &e->cap_n, &f);
}

static CUresult memory_node(struct strm *st, CUgraphNodeParams *p)
{
	struct node *x = node_make(p->type);
	struct dep *d = sim_alloc((st->cap_n + 1) * sizeof *d);
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	for (unsigned i = 0; d && i < st->cap_n; i++)
		d[i] = (struct dep){st->cap_dep[i], st->cap_edge[i]};
	if (x && d)
		r = node_fill_new(x, st->cap->g, d, st->cap_n, p);
	sim_free(d);
	if (r == CUDA_SUCCESS)
		return append(st, x) ? r : CUDA_ERROR_OUT_OF_MEMORY;
	if (x)
		node_free(x);
	return r;
}

CUresult cap_alloc(struct strm *st, size_t size, int dev, CUdeviceptr *out)
{
	CUgraphNodeParams p = {
		.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		.alloc = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
					.location = {CU_MEM_LOCATION_TYPE_DEVICE, dev}},
			  .bytesize = size}};
	CUresult r;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	r = memory_node(st, &p);
	if (r == CUDA_SUCCESS)
		*out = p.alloc.dptr;
	return r;
}

CUresult cap_free(struct strm *st, CUdeviceptr d)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .free = {d}};

	return memory_node(st, &p);
}

void cap_kernel(struct op *op, struct strm *st, const CUlaunchAttribute *at, unsigned n)
{
	struct node *x;

	for (unsigned i = 0; i < n; i++)
		if (at[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
		    at[i].value.programmaticStreamSerializationAllowed)
			for (unsigned k = 0; k < st->cap_n; k++)
				if (st->cap_dep[k]->type == CU_GRAPH_NODE_TYPE_KERNEL)
					st->cap_edge[k] =
						edge_of(CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
	op_get(op);
	op_submit(op, st);
	x = st->cap_n == 1 && st->cap_dep[0]->op == op ? st->cap_dep[0] : NULL;
	op_put(op);
	if (!x)
		return;
	if (n || st->priority)
		x->attr = sim_alloc(NODE_ATTRS * sizeof *x->attr);
	if (x->attr)
		x->attr[CU_LAUNCH_ATTRIBUTE_PRIORITY].priority = st->priority;
	for (unsigned i = 0; i < n; i++) {
		const CUlaunchAttributeValue *v = &at[i].value;
		CUgraphEdgeData e = {0};

		switch ((int)at[i].id) {
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			e = edge_of(CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
			ev_captured((struct ev *)v->programmaticEvent.event, st,
				    (struct frontier){&x, &e, 1});
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			e = edge_of(CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
			ev_captured((struct ev *)v->launchCompletionEvent.event, st,
				    (struct frontier){&x, &e, 1});
			break;
		default:
			if (x->attr && (unsigned)at[i].id < NODE_ATTRS)
				x->attr[at[i].id] = *v;
		}
	}
}

/* ---- what is allowed ---- */

void cap_invalidate(struct strm *st)
{
	if (st->cap)
		st->cap->invalid = true;
}

bool cap_invalid(const struct strm *st)
{
	return st->cap && st->cap->invalid;
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
				set_deps(s, (struct frontier){0});
			}
	cp->g->capturing = false;
	sim_free(cp);
}

/* A capture that ended badly: a graph of its own goes, the program's stays as far as it got. */
static void cap_abandon(struct capture *cp)
{
	struct graph *g = cp->given ? NULL : cp->g;

	cap_end(cp);
	if (g)
		graph_destroy(g);
}

void cap_stream_gone(struct strm *st)
{
	st->cap->invalid = true;
	if (st->cap->origin == st)
		cap_abandon(st->cap);
	st->cap = NULL;
	set_deps(st, (struct frontier){0});
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
CUresult cap_legacy(struct ctx *c, bool look)
{
	CUresult r = CUDA_SUCCESS;

	if (!caps)
		return r;
	for (struct strm *s = c->streams; s; s = s->next)
		if (s->cap && s->blocking) {
			if (!look)
				s->cap->invalid = true;
			r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
	return r;
}

/* Host-side use of an event that a capture has recorded; after its end no event at all. */
CUresult cap_event(const struct ev *e)
{
	struct capture *c = e->captured ? cap_alive(e->cap_id) : NULL;

	if (!e->captured)
		return CUDA_SUCCESS;
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	c->invalid = true;
	return CUDA_ERROR_CAPTURED_EVENT;
}

static CUresult event_node(struct ev *e, struct strm *st, unsigned type)
{
	struct node *x = node_make(type);

	if (!x)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->ev = e;
	return append(st, x) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
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
		return event_node(e, st, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
	ev_captured(e, st, of_stream(st));
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
		return event_node(e, st, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
	if (e->captured && !cp) { /* of a capture that has ended */
		cap_invalidate(st);
		return CUDA_ERROR_INVALID_VALUE;
	}
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
	add_deps(st, (struct frontier){e->cap_dep, e->cap_edge, e->cap_n});
	return CUDA_SUCCESS;
}

/* ---- entry points ---- */

#define GET_STREAM_ANY(h, pt, st)                                                                  \
	struct strm *st = NULL;                                                                    \
	do {                                                                                       \
		CUresult get_ = sim_get_stream_any(h, pt, &st);                                    \
		if (get_ != CUDA_SUCCESS)                                                          \
			LEAVE(get_);                                                               \
	} while (0)

/* Within an entry point. */
static CUresult begin_at(struct strm *st, struct graph *g, CUstreamCaptureMode mode)
{
	struct capture *cp;

	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (st->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (st->cap)
		return CUDA_ERROR_ILLEGAL_STATE;
	cp = sim_alloc(sizeof *cp);
	if (!cp)
		return CUDA_ERROR_OUT_OF_MEMORY;
	cp->given = g != NULL;
	cp->g = g ? g : graph_new();
	if (!cp->g) {
		sim_free(cp);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	cp->g->capturing = true;
	cp->id = ++next_cap;
	cp->thread = me();
	cp->mode = mode;
	cp->origin = st;
	cp->next = caps;
	caps = cp;
	st->cap = cp;
	return CUDA_SUCCESS;
}

static CUresult begin(bool pt, CUstream h, CUstreamCaptureMode mode)
{
	ENTER();
	GET_STREAM_ANY(h, pt, st);
	LEAVE(begin_at(st, NULL, mode));
}
BOTH(cuStreamBeginCapture, _ptsz, (CUstream s), begin(pt, s, CU_STREAM_CAPTURE_MODE_GLOBAL))
BOTH(cuStreamBeginCapture_v2, _ptsz, (CUstream s, CUstreamCaptureMode m), begin(pt, s, m))

static CUresult begin_to(bool pt, CUstream h, CUgraph hg, const CUgraphNode *d,
			 const CUgraphEdgeData *e, size_t n, CUstreamCaptureMode mode)
{
	struct graph *g = (struct graph *)hg;
	CUresult r;

	ENTER();
	GET_STREAM_ANY(h, pt, st);
	if (!sim_handle_is(g, SIM_GRAPH) || g->capturing)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	r = deps_check(g, d, e, n);
	if (r == CUDA_SUCCESS)
		r = begin_at(st, g, mode);
	if (r == CUDA_SUCCESS)
		set_deps(st, (struct frontier){(struct node **)d, (CUgraphEdgeData *)e,
					       (unsigned)n});
	LEAVE(r);
}
BOTH(cuStreamBeginCaptureToGraph, _ptsz,
     (CUstream s, CUgraph g, const CUgraphNode *d, const CUgraphEdgeData *e, size_t n,
      CUstreamCaptureMode m),
     begin_to(pt, s, g, d, e, n, m))

/* Does the origin's frontier reach every node that another stream ends with? */
static bool joined(const struct capture *cp)
{
	struct node **stack = sim_alloc((cp->g->n + 1) * sizeof *stack);
	uint64_t m = graph_mark();
	unsigned top = 0;
	bool ok = stack != NULL;

	for (unsigned i = 0; ok && i < cp->origin->cap_n; i++) {
		struct node *x = cp->origin->cap_dep[i];

		if (x->mark != m) {
			x->mark = m;
			stack[top++] = x;
		}
	}
	while (ok && top) {
		struct node *x = stack[--top];

		for (unsigned i = 0; i < x->ndep; i++)
			if (x->dep[i].n->mark != m) {
				x->dep[i].n->mark = m;
				stack[top++] = x->dep[i].n;
			}
	}
	for (struct ctx *c = sim_ctxs; ok && c; c = c->next)
		for (struct strm *s = c->streams; s; s = s->next)
			if (s->cap == cp)
				for (unsigned i = 0; i < s->cap_n; i++)
					ok = ok && s->cap_dep[i]->mark == m;
	sim_free(stack);
	return ok;
}

static CUresult end(bool pt, CUstream h, CUgraph *out)
{
	struct capture *cp;
	CUresult r = CUDA_SUCCESS;

	ENTER();
	GET_STREAM_ANY(h, pt, st);
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
	if (r != CUDA_SUCCESS) {
		cap_abandon(cp);
	} else {
		*out = (CUgraph)cp->g;
		cap_end(cp);
	}
	LEAVE(r);
}
BOTH(cuStreamEndCapture, _ptsz, (CUstream s, CUgraph *g), end(pt, s, g))

static CUresult info(bool pt, CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *g,
		     const CUgraphNode **d, const CUgraphEdgeData **e, size_t *n)
{
	static const CUgraphEdgeData none;

	ENTER_QUIET();
	GET_STREAM_ANY(h, pt, st);
	if (!status || (e && !d))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	*status = !st->cap	     ? CU_STREAM_CAPTURE_STATUS_NONE
		  : st->cap->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (id)
		*id = *status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? st->cap->id : 0;
	if (g)
		*g = NULL;
	if (d)
		*d = NULL;
	if (e)
		*e = NULL;
	if (n)
		*n = 0;
	if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		LEAVE(CUDA_SUCCESS);
	for (unsigned i = 0; d && !e && i < st->cap_n; i++)
		if (memcmp(&st->cap_edge[i], &none, sizeof none))
			LEAVE(CUDA_ERROR_LOSSY_QUERY);
	if (g)
		*g = (CUgraph)st->cap->g;
	if (d)
		*d = (const CUgraphNode *)st->cap_dep;
	if (e)
		*e = st->cap_edge;
	if (n)
		*n = st->cap_n;
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamIsCapturing, _ptsz, (CUstream s, CUstreamCaptureStatus *st),
     info(pt, s, st, NULL, NULL, NULL, NULL, NULL))
BOTH(cuStreamGetCaptureInfo, _ptsz, (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id),
     info(pt, s, st, id, NULL, NULL, NULL, NULL))
BOTH(cuStreamGetCaptureInfo_v2, _ptsz,
     (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph *g, const CUgraphNode **d,
      size_t *n),
     info(pt, s, st, id, g, d, NULL, n))
BOTH(cuStreamGetCaptureInfo_v3, _ptsz,
     (CUstream s, CUstreamCaptureStatus *st, cuuint64_t *id, CUgraph *g, const CUgraphNode **d,
      const CUgraphEdgeData **e, size_t *n),
     info(pt, s, st, id, g, d, e, n))

static CUresult update(bool pt, CUstream h, CUgraphNode *d, const CUgraphEdgeData *e, size_t n,
		       unsigned flags)
{
	struct frontier f = {(struct node **)d, (CUgraphEdgeData *)e, (unsigned)n};
	CUresult r;

	ENTER();
	GET_STREAM_ANY(h, pt, st);
	if (!st->cap)
		LEAVE(CUDA_ERROR_ILLEGAL_STATE);
	if (st->cap->invalid)
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	r = deps_check(st->cap->g, d, e, n);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		set_deps(st, f);
	else
		add_deps(st, f);
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamUpdateCaptureDependencies, _ptsz, (CUstream s, CUgraphNode *d, size_t n, unsigned f),
     update(pt, s, d, NULL, n, f))
BOTH(cuStreamUpdateCaptureDependencies_v2, _ptsz,
     (CUstream s, CUgraphNode *d, const CUgraphEdgeData *e, size_t n, unsigned f),
     update(pt, s, d, e, n, f))

API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))
{
	CUstreamCaptureMode old = my_mode;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	my_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
