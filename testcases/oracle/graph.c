/* SPDX-License-Identifier: Apache-2.0 */
/* Captures, templates and executables as the program makes them (graph.h). */
#include "graph.h"

#include <string.h>

/* --- slots ----------------------------------------------------------------------- */

unsigned lane_of(const struct op *o)
{
	unsigned s = stream_of_op(o);

	return (o->ctx * STREAMS + s) * THREADS +
	       (stream_slot[s].kind == PER_THREAD ? o->thread : 0);
}

static unsigned event_slot(const struct op *o, unsigned event)
{
	return (event / EVENTS ? !o->ctx : o->ctx) * EVENTS + event % EVENTS;
}

static const struct graph *graph_slot(const struct graphs *g, unsigned slot)
{
	return &g->graph[slot % GRAPH_SLOTS];
}

static const struct exec *exec_slot(const struct graphs *g, const struct op *o)
{
	return &g->exec[o->exec % EXEC_SLOTS];
}

void graphs_begin(struct graphs *g)
{
	memset(g, 0, sizeof(*g));
	for (unsigned b = 0; b < BUFFERS; b++) {
		g->live[b] = buffer_slot[b].kind != POOL;
		g->life[b] = g->lives++;
	}
	for (unsigned i = 0; i < GRAPH_SLOTS; i++)
		g->origin[i] = -1;
	for (unsigned i = 0; i < LANES; i++)
		g->stream[i].capture = -1;
	for (unsigned i = 0; i < CONTEXTS * EVENTS; i++)
		g->event[i].capture = -1;
}

bool is_graph_op(const struct op *o)
{
	return o->what >= OP_CAPTURE_BEGIN && o->what <= OP_GRAPH_LAUNCH;
}

/* --- order inside ------------------------------------------------------------------ */

static bool beside_before(const struct graph *g, int a, int b)
{
	for (int i = 0; i < (int)g->n; i++)
		if (g->node[b].deps >> i & 1 && (i == a || beside_before(g, a, i)))
			return true;
	return false;
}

static int depth_of(const struct graph *g, int a)
{
	int depth = 0;

	for (; g->node[a].holder >= 0; a = g->node[a].holder)
		depth++;
	return depth;
}

bool graph_before(const struct graph *g, int a, int b)
{
	int da = depth_of(g, a), db = depth_of(g, b);

	/* up to where they lie beside each other */
	for (; da > db; da--)
		a = g->node[a].holder;
	for (; db > da; db--)
		b = g->node[b].holder;
	for (; g->node[a].holder != g->node[b].holder; b = g->node[b].holder)
		a = g->node[a].holder;
	return a != b && beside_before(g, a, b);
}

/* Is there room in a graph for a child node with a copy of another one? */
static bool holds(const struct graph *g, const struct graph *child)
{
	for (unsigned i = 0; i < child->n; i++)
		if (depth_of(child, (int)i) >= GDEPTH)
			return false;
	return g->n + 1 + child->n <= GNODES;
}

/* --- sense --------------------------------------------------------------------------- */

static bool captures_blocking(const struct graphs *g, unsigned ctx)
{
	for (unsigned s = 0; s < STREAMS; s++)
		for (unsigned t = 0; t < THREADS; t++)
			if (g->stream[(ctx * STREAMS + s) * THREADS + t].capture >= 0 &&
			    stream_slot[s].kind != NON_BLOCKING)
				return true;
	return false;
}

static bool captures(const struct graphs *g)
{
	for (unsigned i = 0; i < GRAPH_SLOTS; i++)
		if (g->origin[i] >= 0)
			return true;
	return false;
}

static bool uses_event(const struct op *o)
{
	switch (o->what) {
	case OP_EVENT_NEW:
	case OP_EVENT_SYNC:
	case OP_EVENT_QUERY:
	case OP_EVENT_ELAPSED:
	case OP_CTX_WAIT:
		return true;
	default:
		return false;
	}
}

/* What only looks at its stream, or at none, is no reason to keep away from captures. */
static bool uses_stream(const struct op *o)
{
	switch (o->what) {
	case OP_EVENT_NEW:
	case OP_EVENT_SYNC:
	case OP_EVENT_QUERY:
	case OP_EVENT_ELAPSED:
	case OP_HOST_READ:
	case OP_HOST_WRITE:
	case OP_FREE:
	case OP_GRAPH_NEW:
	case OP_NODE_ADD:
	case OP_NODE_CHILD:
	case OP_NODE_PARAMS:
	case OP_INSTANTIATE:
	case OP_EXEC_PARAMS:
	case OP_EXEC_UPDATE:
	case OP_EXEC_ENABLE:
	case OP_EXEC_DESTROY:
	case OP_HOSTFN_RUN:
		return false;
	case OP_ALLOC:
		return buffer_slot[o->range->buffer].kind == POOL;
	case OP_RELEASE:
	case OP_ACQUIRE:
		return o->ready;
	default:
		return true;
	}
}

static bool is_wide(const struct op *o)
{
	return o->what == OP_CTX_SYNC || o->what == OP_CTX_RECORD || o->what == OP_CTX_WAIT ||
	       o->what == OP_COPY_PEER || o->what == OP_MODULE_LOAD;
}

/* A call on a stream that captures. */
static bool captures_well(const struct graphs *g, const struct op *o, int capture)
{
	const struct graph *in = &g->capture[capture];
	const struct exec *x = exec_slot(g, o);

	switch (o->what) {
	case OP_SET:
	case OP_COPY:
	case OP_KERNEL:
		return in->n < GNODES;
	case OP_RECORD:
		return true;
	case OP_WAIT: /* for an event of the same capture */
		return g->event[event_slot(o, o->event)].capture == capture;
	case OP_GRAPH_LAUNCH:
		return x->handle && !x->off && holds(in, &x->g);
	case OP_CAPTURE_END:
		return g->origin[capture] == (int)lane_of(o);
	default:
		return false;
	}
}

static bool same_shape(const struct graph *a, const struct graph *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (a->node[i].type != b->node[i].type || a->node[i].holder != b->node[i].holder ||
		    a->node[i].deps != b->node[i].deps)
			return false;
	return true;
}

static bool allow_graph_op(const struct graphs *g, const struct op *o)
{
	const struct graph *t = graph_slot(g, o->graph), *u = graph_slot(g, o->graph2);
	const struct exec *x = exec_slot(g, o);

	switch (o->what) {
	case OP_CAPTURE_BEGIN:
		return stream_slot[o->stream].kind != LEGACY &&
		       g->origin[o->graph % GRAPH_SLOTS] < 0;
	case OP_CAPTURE_END:
		return false;
	case OP_NODE_ADD:
		return t->handle && t->n < GNODES;
	case OP_NODE_CHILD:
		return t->handle && u->handle && u != t && u->n && holds(t, u);
	case OP_NODE_PARAMS:
		return t->handle && graphs_node(t, o) >= 0;
	case OP_INSTANTIATE:
		return t->handle && t->n;
	case OP_EXEC_PARAMS: /* the template's nodes stand for its own */
		for (unsigned i = 0; i < GRAPH_SLOTS; i++)
			if (x->handle && g->graph[i].handle == x->from)
				return graphs_node(&x->g, o) >= 0;
		return false;
	case OP_EXEC_UPDATE:
		return x->handle && t->handle && same_shape(&x->g, t);
	case OP_EXEC_ENABLE:
		for (unsigned i = 0; i < GRAPH_SLOTS; i++)
			if (x->handle && g->graph[i].handle == x->from)
				return x->g.node[o->node % x->g.n].type != GN_CHILD &&
				       x->g.node[o->node % x->g.n].holder < 0;
		return false;
	case OP_EXEC_DESTROY:
	case OP_GRAPH_LAUNCH:
		return x->handle;
	default:
		return true;
	}
}

bool graphs_allow(const struct graphs *g, const struct op *o)
{
	int capture = uses_stream(o) ? g->stream[lane_of(o)].capture : -1;

	if (is_wide(o) && captures(g))
		return false;
	if (uses_event(o) &&
	    (g->event[event_slot(o, o->event)].capture != -1 ||
	     (o->what == OP_EVENT_ELAPSED && g->event[event_slot(o, o->event2)].capture != -1)))
		/* one of a capture that has ended may be made anew */
		return o->what == OP_EVENT_NEW &&
		       g->event[event_slot(o, o->event)].capture == ENDED;
	if (uses_stream(o) && stream_slot[stream_of_op(o)].kind == LEGACY &&
	    captures_blocking(g, o->ctx))
		return false;
	if (capture >= 0)
		return captures_well(g, o, capture);
	if (o->what == OP_WAIT && g->event[event_slot(o, o->event)].capture != -1) /* pulled in */
		return g->event[event_slot(o, o->event)].capture >= 0 &&
		       stream_slot[o->stream].kind != LEGACY;
	return allow_graph_op(g, o);
}

int graphs_capture(const struct graphs *g, const struct op *o)
{
	int capture = uses_stream(o) ? g->stream[lane_of(o)].capture : -1;

	if (capture < 0 && o->what == OP_WAIT)
		capture = g->event[event_slot(o, o->event)].capture;
	return capture;
}

/* --- changes ----------------------------------------------------------------------------- */

int graphs_node(const struct graph *g, const struct op *o)
{
	enum gnode_type type = o->nranges == 1 ? GN_SET : GN_COPY;
	int found[GNODES], n = 0;

	for (unsigned i = 0; i < g->n; i++)
		if (g->node[i].type == type)
			found[n++] = (int)i;
	return n ? found[o->node % n] : -1;
}

static void set_params(const struct graphs *g, const struct program *p, struct gnode *n, unsigned i)
{
	n->op = (int)i;
	for (unsigned k = 0; k < p->op[i].nranges; k++) {
		unsigned b = p->op[i].range[k].buffer;

		n->life[k] = g->live[b] ? g->life[b] : -1;
	}
}

static struct gnode *add_node(struct graph *t, enum gnode_type type, unsigned deps)
{
	struct gnode *n = &t->node[t->n];

	memset(n, 0, sizeof(*n));
	n->type = type;
	n->holder = -1;
	n->handle = t->handle + 1 + t->n++;
	for (unsigned i = 0; i + 1 < t->n; i++)
		if (deps >> i & 1 && t->node[i].holder < 0)
			n->deps |= 1u << i;
	return n;
}

/* A child node with a copy of another graph. */
static void add_child(struct graphs *g, struct graph *t, const struct graph *of, unsigned deps,
		      unsigned i)
{
	int at = (int)t->n;
	struct gnode *holder = add_node(t, GN_CHILD, deps);

	holder->op = (int)i;
	holder->inner = 1 + g->handles++;
	for (unsigned k = 0; k < of->n; k++) {
		struct gnode *n = &t->node[t->n++];

		*n = of->node[k];
		n->deps <<= at + 1;
		n->holder = n->holder < 0 ? at : n->holder + at + 1;
		n->handle = t->handle + 1 + (unsigned)(n - t->node);
		if (n->type == GN_CHILD)
			n->inner = 1 + g->handles++;
	}
}

static void capture_end(struct graphs *g, unsigned c)
{
	unsigned slot = c;

	g->graph[slot] = g->capture[c];
	g->origin[c] = -1;
	for (unsigned i = 0; i < LANES; i++)
		if (g->stream[i].capture == (int)c)
			g->stream[i].capture = -1;
	for (unsigned i = 0; i < CONTEXTS * EVENTS; i++)
		if (g->event[i].capture == (int)c)
			g->event[i].capture = ENDED;
}

static void captured(struct graphs *g, const struct program *p, unsigned i, int capture)
{
	const struct op *o = &p->op[i];
	struct graph *in = &g->capture[capture];
	struct in_capture *s = &g->stream[lane_of(o)], *ev = &g->event[event_slot(o, o->event)];
	unsigned at = in->n;

	switch (o->what) {
	case OP_SET:
	case OP_COPY:
	case OP_KERNEL:
		set_params(g, p,
			   add_node(in,
				    o->what == OP_SET	 ? GN_SET
				    : o->what == OP_COPY ? GN_COPY
							 : GN_KERNEL,
				    s->deps),
			   i);
		s->deps = 1u << at;
		break;
	case OP_GRAPH_LAUNCH:
		add_child(g, in, &exec_slot(g, o)->g, s->deps, i);
		s->deps = 1u << at;
		break;
	case OP_RECORD:
		*ev = (struct in_capture){capture, s->deps};
		break;
	case OP_WAIT:
		if (s->capture < 0)
			*s = (struct in_capture){capture, 0};
		s->deps |= ev->deps;
		break;
	case OP_CAPTURE_END:
		capture_end(g, (unsigned)capture);
		break;
	default:
		break;
	}
}

unsigned graphs_forked(const struct graphs *g, int capture, unsigned *lane)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LANES; i++)
		if (g->stream[i].capture == capture && (int)i != g->origin[capture])
			lane[n++] = i;
	return n;
}

/* So far apart that a graph's nodes have their handles in between. */
static unsigned new_handle(struct graphs *g)
{
	return 0x30000 + 32 * ++g->handles;
}

static void instantiate(struct graphs *g, struct exec *x, unsigned slot, const struct graph *t)
{
	unsigned handle = g->old_exec[slot] ? g->old_exec[slot] : new_handle(g);

	g->old_exec[slot] = 0;
	*x = (struct exec){.handle = handle, .from = t->handle, .g = *t};
}

/* Parameters alone: handles are those of the nodes that the executable was made from. */
static void exec_update(struct exec *x, const struct graph *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		x->g.node[i].op = t->node[i].op;
		memcpy(x->g.node[i].life, t->node[i].life, sizeof(t->node[i].life));
	}
}

static void graph_op(struct graphs *g, const struct program *p, unsigned i)
{
	const struct op *o = &p->op[i];
	unsigned slot = o->graph % GRAPH_SLOTS, e = o->exec % EXEC_SLOTS;
	struct graph *t = &g->graph[slot];
	struct exec *x = &g->exec[e];

	switch (o->what) {
	case OP_CAPTURE_BEGIN:
		g->origin[slot] = (int)lane_of(o);
		g->stream[lane_of(o)] = (struct in_capture){(int)slot, 0};
		g->capture[slot] = (struct graph){.handle = new_handle(g)};
		break;
	case OP_GRAPH_NEW: /* the one that was there is destroyed: its handle is free again */
		*t = (struct graph){.handle = t->handle ? t->handle : new_handle(g)};
		break;
	case OP_NODE_ADD:
		set_params(g, p, add_node(t, o->nranges == 1 ? GN_SET : GN_COPY, o->deps), i);
		break;
	case OP_NODE_CHILD:
		add_child(g, t, graph_slot(g, o->graph2), o->deps, i);
		break;
	case OP_NODE_PARAMS:
		set_params(g, p, &t->node[graphs_node(t, o)], i);
		break;
	case OP_INSTANTIATE:
		instantiate(g, x, e, t);
		break;
	case OP_EXEC_PARAMS:
		set_params(g, p, &x->g.node[graphs_node(&x->g, o)], i);
		break;
	case OP_EXEC_UPDATE:
		exec_update(x, t);
		break;
	case OP_EXEC_ENABLE:
		x->off &= ~(1u << o->node % x->g.n);
		x->off |= (unsigned)!o->ready << o->node % x->g.n;
		break;
	case OP_EXEC_DESTROY:
		g->old_exec[e] = x->handle;
		x->handle = 0;
		break;
	default:
		break;
	}
}

void graphs_step(struct graphs *g, const struct program *p, unsigned i)
{
	const struct op *o = &p->op[i];
	int capture = graphs_capture(g, o);
	unsigned b = o->range->buffer;

	if (capture >= 0) {
		captured(g, p, i, capture);
		return;
	}
	if (o->what == OP_ALLOC) {
		g->live[b] = true;
		g->life[b] = g->lives++;
	} else if (o->what == OP_FREE || o->what == OP_FREE_ASYNC) {
		g->live[b] = false;
	} else if (o->what == OP_RECORD || o->what == OP_CTX_RECORD || o->what == OP_EVENT_NEW) {
		g->event[event_slot(o, o->event)].capture = -1;
	} else {
		graph_op(g, p, i);
	}
}
