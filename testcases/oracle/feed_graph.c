/* SPDX-License-Identifier: Apache-2.0 */
/* Captures and graphs as records of calls, with what the driver's queries would answer. */
#include "feed.h"
#include "testcases/unit/graph_build.h"

#define JOIN_EVENT 0x2f00 /* events of the joins that a capture's end makes, by stream */

/* --- nodes ------------------------------------------------------------------------ */

static unsigned memory_type(const struct range *r)
{
	enum memory m = buffer_slot[r->buffer].kind;

	return m == PINNED || m == PAGEABLE ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static void put_copy(struct graph_build *b, const struct op *o)
{
	const struct range *to = &o->range[0], *from = &o->range[1];
	CUDA_MEMCPY3D m = {.srcMemoryType = memory_type(from),
			   .dstMemoryType = memory_type(to),
			   .WidthInBytes = to->n * CELL,
			   .Height = 1,
			   .Depth = 1};

	if (m.srcMemoryType == CU_MEMORYTYPE_HOST)
		m.srcHost = (const void *)(uintptr_t)addr_of(from);
	else
		m.srcDevice = addr_of(from);
	if (m.dstMemoryType == CU_MEMORYTYPE_HOST)
		m.dstHost = (void *)(uintptr_t)addr_of(to);
	else
		m.dstDevice = addr_of(to);
	graph_node(b, CU_GRAPH_NODE_TYPE_MEMCPY, &m, sizeof(m));
}

static void put_kernel(struct graph_build *b)
{
	struct {
		struct krt_node_kernel k;
		struct krt_params h;
	} u = {.k = {.func = 0xf0, .grid = {1, 1, 1}, .block = {1, 1, 1}},
	       .h = {.len = KRT_PARAMS_UNKNOWN}};

	graph_node(b, CU_GRAPH_NODE_TYPE_KERNEL, &u, sizeof(u));
}

static void put_nodes(struct graph_build *b, const struct program *p, const struct graph *g,
		      int holder);

static void put_node(struct graph_build *b, const struct program *p, const struct graph *g, int i)
{
	const struct gnode *n = &g->node[i];
	const struct op *o = &p->op[n->op];

	b->next_node = n->handle - 1;
	switch (n->type) {
	case GN_KERNEL:
		put_kernel(b);
		break;
	case GN_COPY:
		put_copy(b, o);
		break;
	case GN_SET:
		graph_set(b, addr_of(o->range), o->range->n * CELL);
		break;
	case GN_CHILD:
		graph_hold(b, 0);
		graph_enter(b, 0x60000 + n->inner);
		put_nodes(b, p, g, i);
		graph_leave(b);
		graph_held(b);
		break;
	}
}

/* All nodes in a holder (-1: of the graph itself), and their edges. */
static void put_nodes(struct graph_build *b, const struct program *p, const struct graph *g,
		      int holder)
{
	uint32_t place[GNODES], n = 0;

	for (int i = 0; i < (int)g->n; i++)
		if (g->node[i].holder == holder) {
			place[i] = n++;
			put_node(b, p, g, i);
		}
	for (int i = 0; i < (int)g->n; i++)
		for (int k = 0; k < i; k++)
			if (g->node[i].holder == holder && g->node[i].deps >> k & 1)
				graph_edge(b, place[k], place[i]);
}

static void whole(struct world *w, const struct program *p, const struct graph *g)
{
	static struct graph_build b;

	graph_open(&b, g->handle);
	put_nodes(&b, p, g, -1);
	graph_blob(w, &b);
}

/* One node as a call's record has it. */
static void one(struct world *w, const struct program *p, const struct graph *g, int i)
{
	static struct graph_build b;

	graph_open(&b, g->handle);
	put_node(&b, p, g, i);
	node_blob(w, &b, 0);
}

/* --- captures ---------------------------------------------------------------------- */

static void capture_rec(struct world *w, const struct graph *g, unsigned status)
{
	struct krt_capture_rec r = {.id = g->handle, .graph = g->handle, .status = status};

	call_blob(w, 255, KRT_BLOB_CAPTURE, &r, sizeof(r));
}

/* Whatever was not joined is joined now. */
static void join_all(struct world *w, const struct graphs *g, int capture, uint64_t s)
{
	unsigned lane[LANES], n = graphs_forked(g, capture, lane);

	for (unsigned i = 0; i < n; i++) {
		unsigned slot = lane[i] / THREADS % STREAMS, ctx = lane[i] / THREADS / STREAMS;
		unsigned at = w->lane;

		w->lane = stream_slot[slot].kind == PER_THREAD ? 1 + lane[i] % THREADS : at;
		w->ctx = 0xc0 + ctx;
		call_begin(w, KRT_API_cuEventRecord, A(JOIN_EVENT + lane[i]),
			   A(stream_slot[slot].handle[ctx]));
		capture_rec(w, &g->capture[capture], 1);
		call_end(w, 0);
		w->lane = at;
		call_begin(w, KRT_API_cuStreamWaitEvent, A(s), A(JOIN_EVENT + lane[i]), A(0));
		capture_rec(w, &g->capture[capture], 1);
		call_end(w, 0);
	}
}

static void capture_over(struct world *w, const struct op *o, const struct graphs *was, int capture)
{
	uint64_t s = handle_of_stream(o), graph = was->capture[capture].handle;

	join_all(w, was, capture, s);
	w->ctx = 0xc0 + o->ctx;
	call_begin(w, KRT_API_cuStreamEndCapture, A(s), A(0));
	call_out(w, 1, graph);
	capture_rec(w, &was->capture[capture], 0);
	call_end(w, 0);
}

static void feed_captured(struct world *w, const struct program *p, unsigned i,
			  const struct graphs *was, const struct graphs *is, int capture)
{
	const struct op *o = &p->op[i];
	const struct graph *g = &is->capture[capture];
	const struct range *r = o->range;
	uint64_t s = handle_of_stream(o);
	int node = -1;

	for (int k = (int)g->n; k-- > 0;)
		if (k >= (int)was->capture[capture].n && g->node[k].holder < 0)
			node = k;
	switch (o->what) {
	case OP_SET:
		call_begin(w, KRT_API_cuMemsetD8Async, A(addr_of(r)), A(0), A(r->n * CELL), A(s));
		break;
	case OP_COPY:
		call_begin(w, copy_api(o), A(addr_of(r)), A(addr_of(r + 1)), A(r->n * CELL), A(s));
		break;
	case OP_KERNEL:
		for (unsigned k = 0; k < o->nranges; k++)
			access_note(w, s, addr_of(&r[k]), r[k].n * CELL, r[k].write ? 2 : 1);
		call_begin(w, KRT_API_cuLaunchKernel, A(0xf0), A(1), A(1), A(1), A(1), A(1), A(1),
			   A(0), A(s), A(0), A(0));
		break;
	case OP_GRAPH_LAUNCH:
		call_begin(w, KRT_API_cuGraphLaunch, A(is->exec[o->exec % EXEC_SLOTS].handle),
			   A(s));
		break;
	case OP_RECORD:
		call_begin(w, KRT_API_cuEventRecord, A(handle_of_event(o, o->event)), A(s));
		break;
	case OP_WAIT:
		call_begin(w, KRT_API_cuStreamWaitEvent, A(s), A(handle_of_event(o, o->event)),
			   A(0));
		break;
	default:
		return;
	}
	capture_rec(w, g, 1);
	if (node >= 0)
		one(w, p, g, node);
	call_end(w, 0);
}

/* --- templates and executables -------------------------------------------------------- */

static void node_added(struct world *w, const struct program *p, const struct op *o,
		       const struct graph *t, int node, uint64_t child)
{
	if (o->what == OP_NODE_CHILD)
		call_begin(w, KRT_API_cuGraphAddChildGraphNode, A(0), A(t->handle), A(0), A(0),
			   A(child));
	else
		call_begin(w,
			   o->nranges == 1 ? KRT_API_cuGraphAddMemsetNode
					   : KRT_API_cuGraphAddMemcpyNode,
			   A(0), A(t->handle), A(0), A(0), A(0), A(w->ctx));
	call_out(w, 0, t->node[node].handle);
	one(w, p, t, node);
	call_end(w, 0);
}

void feed_graph(struct world *w, const struct program *p, unsigned i, const struct graphs *was,
		const struct graphs *is, int capture)
{
	const struct op *o = &p->op[i];
	unsigned slot = o->graph % GRAPH_SLOTS;
	const struct graph *t = &is->graph[slot], *old = &was->graph[slot];
	const struct exec *x = &is->exec[o->exec % EXEC_SLOTS];
	int node;

	if (capture >= 0) {
		if (o->what == OP_CAPTURE_END)
			capture_over(w, o, was, capture);
		else
			feed_captured(w, p, i, was, is, capture);
		return;
	}
	switch (o->what) {
	case OP_CAPTURE_BEGIN:
		call_begin(w, KRT_API_cuStreamBeginCapture_v2, A(handle_of_stream(o)), A(2));
		capture_rec(w, &is->capture[slot], 1);
		call_end(w, 0);
		break;
	case OP_GRAPH_NEW:
		if (old->handle)
			call(w, cuGraphDestroy, A(old->handle));
		call_begin(w, KRT_API_cuGraphCreate, A(0), A(0));
		call_out(w, 0, t->handle);
		call_end(w, 0);
		break;
	case OP_NODE_ADD:
	case OP_NODE_CHILD:
		node_added(w, p, o, t, (int)old->n, is->graph[o->graph2 % GRAPH_SLOTS].handle);
		break;
	case OP_NODE_PARAMS:
		node = graphs_node(t, o);
		call_begin(w,
			   o->nranges == 1 ? KRT_API_cuGraphMemsetNodeSetParams
					   : KRT_API_cuGraphMemcpyNodeSetParams,
			   A(t->node[node].handle), A(0));
		one(w, p, t, node);
		call_end(w, 0);
		break;
	case OP_INSTANTIATE:
		call_begin(w, KRT_API_cuGraphInstantiateWithFlags, A(0), A(t->handle), A(0));
		call_out(w, 0, x->handle);
		whole(w, p, t);
		call_end(w, 0);
		break;
	case OP_EXEC_PARAMS:
		node = graphs_node(&x->g, o);
		call_begin(w,
			   o->nranges == 1 ? KRT_API_cuGraphExecMemsetNodeSetParams
					   : KRT_API_cuGraphExecMemcpyNodeSetParams,
			   A(x->handle), A(x->g.node[node].handle), A(0), A(w->ctx));
		one(w, p, &x->g, node);
		call_end(w, 0);
		break;
	case OP_EXEC_UPDATE:
		call_begin(w, KRT_API_cuGraphExecUpdate_v2, A(x->handle), A(t->handle), A(0));
		whole(w, p, t);
		call_end(w, 0);
		break;
	case OP_EXEC_ENABLE:
		call(w, cuGraphNodeSetEnabled, A(x->handle), A(x->g.node[o->node % x->g.n].handle),
		     A(o->ready));
		break;
	case OP_EXEC_DESTROY:
		call(w, cuGraphExecDestroy, A(was->exec[o->exec % EXEC_SLOTS].handle));
		break;
	case OP_GRAPH_LAUNCH:
		graph_launch(w, x->handle, handle_of_stream(o));
		break;
	default:
		break;
	}
}
