/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: slow and plain.  Every operation is a node, what the driver
 * promises (and what it was seen to do besides) are edges, "before" is
 * reachability.  Two accesses race where they share a cell, one writes and
 * neither is before the other.  Nothing of the engine is used; the edges are
 * written out by hand from the table of the driver's semantics.
 */
#include "court.h"

#include <assert.h>
#include <string.h>

int new_node(struct court *c)
{
	assert(c->n < NODES);
	memset(&c->node[c->n], 0, sizeof(c->node[c->n]));
	c->node[c->n].stream = -1;
	c->node[c->n].op = c->op;
	return c->n++;
}

void edge(struct court *c, int from, int to, unsigned views)
{
	for (int v = 0; from >= 0 && v < VIEWS; v++) {
		if (!(views & IN_DOC) &&
		    !(v == OBS && views & IN_OBS && c->fault != FAULT_OBSERVED))
			continue;
		for (int w = 0; w < WORDS; w++)
			c->node[to].before[v][w] |= c->node[from].before[v][w];
		c->node[to].before[v][from / 64] |= 1ull << from % 64;
	}
}

bool before(const struct court *c, int a, int b, enum view v)
{
	return c->node[b].before[v][a / 64] >> a % 64 & 1;
}

/* --- streams ------------------------------------------------------------------- */

int stream_number(const struct court *c, const struct op *o, unsigned s)
{
	return c->stream[o->ctx][s][stream_slot[s].kind == PER_THREAD ? o->thread : 0];
}

static bool is_blocking(enum stream_kind k)
{
	return k == BLOCKING || k == PER_THREAD;
}

void in_order(struct court *c, const struct op *o, unsigned s, int to, unsigned views)
{
	enum stream_kind kind = c->fault == FAULT_LEGACY ? NON_BLOCKING : stream_slot[s].kind;
	int number = stream_number(c, o, s);

	for (int i = 0; i < c->n; i++) {
		const struct node *n = &c->node[i];

		if (i != to && n->on_stream &&
		    ((n->stream == number && c->fault != FAULT_FIFO) ||
		     (n->ctx == o->ctx && kind == LEGACY && is_blocking(n->kind)) ||
		     (n->ctx == o->ctx && n->kind == LEGACY && is_blocking(kind))))
			edge(c, i, to, views);
	}
	for (int i = 0; i < c->nfloors; i++)
		if (c->floor[i].ctx == o->ctx)
			edge(c, c->floor[i].node, to, views & IN_DOC ? c->floor[i].views : views);
}

void all_later(struct court *c, int ctx, int node, unsigned views)
{
	c->floor[c->nfloors++] = (struct floor){ctx, node, views};
}

void all_earlier(struct court *c, int ctx, int to, unsigned views)
{
	for (int i = 0; i < to; i++)
		if (c->node[i].on_stream && c->node[i].ctx == ctx)
			edge(c, i, to, views);
}

int enqueue(struct court *c, const struct op *o, unsigned s)
{
	int n = new_node(c);

	if (c->fault != FAULT_CALL)
		edge(c, c->mine, n, IN_DOC);
	in_order(c, o, s, n, IN_DOC);
	c->node[n].on_stream = true;
	c->node[n].ctx = o->ctx;
	c->node[n].stream = stream_number(c, o, s);
	c->node[n].kind = stream_slot[s].kind;
	return n;
}

void host_after(struct court *c, int from, unsigned views)
{
	int n = new_node(c), mine = c->mine == c->host ? n : new_node(c);

	edge(c, c->host, n, IN_DOC);
	edge(c, c->mine, mine, IN_DOC);
	edge(c, from, n, views);
	if (mine != n)
		edge(c, from, mine, views);
	c->host = n;
	c->mine = mine;
}

/* Destroyed streams go on with their work, but were not seen to be waited for. */
static bool exists(const struct court *c, int stream)
{
	for (unsigned i = 0; i < CONTEXTS * STREAMS * THREADS; i++)
		if ((&c->stream[0][0][0])[i] == stream)
			return true;
	return false;
}

void host_after_all(struct court *c, int ctx, int stream, bool blocking, unsigned views)
{
	int n = new_node(c), mine = c->mine == c->host ? n : new_node(c);

	edge(c, c->host, n, IN_DOC);
	edge(c, c->mine, mine, IN_DOC);
	for (int i = 0; i < n; i++) {
		const struct node *k = &c->node[i];

		if (!k->on_stream || (ctx >= 0 && k->ctx != ctx) ||
		    (stream >= 0 && k->stream != stream &&
		     !(blocking && is_blocking(k->kind) && exists(c, k->stream))))
			continue;
		/* what was enqueued when it began, no more */
		if (k->op >= c->began && k->op != c->op)
			continue;
		edge(c, i, n, views);
		if (mine != n)
			edge(c, i, mine, views);
	}
	c->host = n;
	c->mine = mine;
}

static bool on_host(enum memory m)
{
	return m == PINNED || m == PAGEABLE;
}

/* Calls that were seen to wait for all work of a context. */
void host_after_context(struct court *c, int ctx)
{
	host_after_all(c, ctx, -1, false, IN_OBS);
}

/* --- races --------------------------------------------------------------------- */

struct pair *pair_of(struct court *c, int rule, int cur, int prev, uint8_t buffer)
{
	struct pair *q;

	for (unsigned i = 0; i < c->v->n; i++) {
		q = &c->v->pair[i];
		if (q->rule == rule && q->cur == cur && q->prev == prev && q->buffer == buffer)
			return q;
	}
	assert(c->v->n < PAIRS_MAX);
	q = &c->v->pair[c->v->n++];
	*q = (struct pair){.rule = rule, .cur = cur, .prev = prev, .buffer = buffer};
	return q;
}

static bool same_part(const struct access *a, int op, int item)
{
	return a->op == op && a->item == item;
}

cells_t hidden(const struct court *c, unsigned a, int cur, int item, bool write, bool mapping)
{
	cells_t cells = 0;

	for (unsigned i = a + 1; i < c->naccesses; i++)
		if ((mapping ? c->access[i].buffer == c->access[a].buffer
			     : home_of(c->access[i].buffer) == home_of(c->access[a].buffer)) &&
		    (c->access[i].write || (write && c->access[a].write)) &&
		    !same_part(&c->access[i], c->access[a].op, c->access[a].item) &&
		    !same_part(&c->access[i], cur, item))
			cells |= c->access[i].cells;
	return cells;
}

static bool is_launch(const struct court *c, int op)
{
	return c->p->op[op].what == OP_GRAPH_LAUNCH;
}

static int race_rule(bool wrote, bool write, bool host, bool launch)
{
	if (host)
		return write ? KRT_RULE_HOST_WRITE_RACE : KRT_RULE_HOST_READ_RACE;
	if (launch)
		return KRT_RULE_GRAPH_EXEC_OVERLAP;
	if (!write)
		return KRT_RULE_RACE_RAW;
	return wrote ? KRT_RULE_RACE_WAW : KRT_RULE_RACE_WAR;
}

/* Operations on whose streams everything from now on comes after a node. */
static void note_later(struct court *c, struct pair *q, int node, int op)
{
	for (int b = 0; b < op; b++) {
		const struct op *o = &c->p->op[b];
		int next;

		if (c->op_stream[b] < 0)
			continue;
		next = new_node(c);
		if (stream_number(c, o, stream_of_op(o)) == c->op_stream[b])
			in_order(c, o, stream_of_op(o), next, IN_DOC);
		for (int i = 0; i < next; i++) /* it may have been destroyed */
			if (c->node[i].on_stream && c->node[i].stream == c->op_stream[b])
				edge(c, i, next, IN_DOC);
		if (before(c, node, next, DOC))
			q->later[b / 64] |= 1ull << b % 64;
		c->n--;
	}
}

/*
 * A host function may run after work was enqueued that waits for it: of what such work
 * has replaced on its stream nothing is known any more.
 */
static cells_t replaced(const struct court *c, unsigned a)
{
	const struct access *x = &c->access[a];
	cells_t cells = 0;

	for (unsigned i = a + 1; c->within >= 0 && i < c->naccesses; i++)
		if (c->node[c->access[i].node].stream == c->node[x->node].stream &&
		    home_of(c->access[i].buffer) == home_of(x->buffer) &&
		    (c->access[i].write || !x->write))
			cells |= c->access[i].cells;
	return cells;
}

/* What a former owner did: told once, of the last operations that stand for it. */
static void meet_past(struct court *c, unsigned i, int op, int item, int node, uint8_t buffer,
		      cells_t cells, bool write, bool host)
{
	struct access *a = &c->access[i];

	for (int v = 0; v < VIEWS; v++) {
		struct pair *q;

		if (before(c, a->node, node, v) || (host && after_function(c, a, v)))
			continue;
		q = pair_of(c, KRT_RULE_REUSE_RACE, op, a->op, buffer);
		q->in_view[v] = true;
		q->cells[v] |= cells;
		q->need[v] |= cells & ~a->told & ~hidden(c, i, op, item, write, false);
		if (host)
			q->need[v] &= ~replaced(c, i);
		note_later(c, q, a->node, op);
	}
	if (!before(c, a->node, node, DOC) && !(host && after_function(c, a, DOC)))
		a->told |= cells;
}

void meet(struct court *c, int op, int item, int node, uint8_t buffer, cells_t cells, bool write,
	  bool host)
{
	for (unsigned i = c->first[home_of(buffer)]; i < c->naccesses; i++) {
		struct access *a = &c->access[i];
		cells_t shared = a->cells & cells;
		bool launch = is_launch(c, op) || is_launch(c, a->op);

		if ((c->fault == FAULT_ALIAS ? a->buffer != buffer
					     : home_of(a->buffer) != home_of(buffer)) ||
		    !shared || !(a->write || write) || same_part(a, op, item) ||
		    (a->op != op && kept_apart(c, a->op, op, node, host)))
			continue;
		if (shared & a->past && a->op != op)
			meet_past(c, i, op, item, node, buffer, shared & a->past, write, host);
		shared &= ~a->past;
		/* through mapped memory a kernel and the CPU may well talk to each other */
		if (host && a->kernel && buffer_slot[buffer].kind != MANAGED)
			continue;
		for (int v = 0; shared && v < VIEWS; v++) {
			struct pair *q;

			if (a->op != op && before(c, a->node, node, v))
				continue;
			if (host && after_function(c, a, v))
				continue;
			q = pair_of(c, race_rule(a->write, write, host, launch), op, a->op, buffer);
			q->in_view[v] = true;
			q->cells[v] |= shared;
			q->need[v] |= shared & ~hidden(c, i, op, item, write, false);
			if (host)
				q->need[v] &= ~replaced(c, i);
		}
	}
}

void before_allocation(struct court *c, int op, int node, uint8_t buffer)
{
	for (int v = 0; c->alloc[buffer] >= 0 && v < VIEWS; v++)
		if (!before(c, c->alloc[buffer], node, v) &&
		    !kept_apart(c, c->alloc_op[buffer], op, node, false))
			pair_of(c, KRT_RULE_UBA_STREAM, op, c->alloc_op[buffer], buffer)
				->in_view[v] = true;
}

/* Without PITCH rows lie side by side. */
static cells_t touched(const struct court *c, int op, const struct range *r)
{
	struct op o = c->p->op[op];

	if (c->fault != FAULT_PITCH)
		return cells_of(&c->p->op[op], r);
	o.pitch = o.pitch2 = r->n;
	return cells_of(&o, &o.range[r - c->p->op[op].range]);
}

void use_from(struct court *c, int op, int item, int node, int end, const struct range *r)
{
	cells_t cells = touched(c, op, r);
	struct access *a;

	if (c->free_op[r->buffer] >= 0) {
		if (c->free_external[r->buffer] || behind_unseen(c, c->op_stream[op]))
			return;
		struct pair *q =
			pair_of(c, KRT_RULE_UAF_STREAM, op, c->free_op[r->buffer], r->buffer);

		q->in_view[DOC] = q->in_view[OBS] = true;
		return;
	}
	before_allocation(c, op, node, r->buffer);
	if (c->p->op[op].what == OP_KERNEL)
		check_right(c, op, r->buffer);
	if (c->p->op[op].what == OP_KERNEL && r->write &&
	    (on_host(buffer_slot[r->buffer].kind) || buffer_slot[r->buffer].kind == MANAGED))
		word_leaves(c, node);
	meet(c, op, item, node, r->buffer, cells, r->write, false);
	a = &c->access[c->naccesses++];
	*a = (struct access){.op = op,
			     .node = end,
			     .item = item,
			     .buffer = r->buffer,
			     .cells = cells,
			     .write = r->write,
			     .kernel = c->p->op[op].what == OP_KERNEL};
}

void use(struct court *c, int op, int node, const struct range *r)
{
	use_from(c, op, 0, node, node, r);
}

/* --- copies -------------------------------------------------------------------- */

struct row {
	bool at_call[VIEWS]; /* the source is read by the call, not in stream order */
	enum {
		ON_NOTHING,
		ON_READ,
		ON_COPY
	} wait[VIEWS]; /* what the CPU has waited for on return */
};

static struct row sync_copy(enum memory to, enum memory from)
{
	if (from == PAGEABLE && !on_host(to)) /* staged: the transfer may be pending */
		return (struct row){.wait = {ON_READ, ON_COPY}};
	if (on_host(to) || on_host(from))
		return (struct row){.wait = {ON_COPY, ON_COPY}};
	if (to == MANAGED || from == MANAGED) /* waits, but nobody says so */
		return (struct row){.wait = {ON_NOTHING, ON_COPY}};
	return (struct row){.wait = {ON_NOTHING, ON_NOTHING}};
}

static struct row async_copy(enum memory to, enum memory from, uint64_t bytes)
{
	if (from == PAGEABLE && bytes <= 2u << 20)
		return (struct row){.at_call = {true, true}, .wait = {ON_READ, ON_READ}};
	if (from == PAGEABLE) /* seen to wait for what comes earlier */
		return (struct row){.at_call = {true, false}, .wait = {ON_READ, ON_READ}};
	if (to == PAGEABLE)
		return (struct row){.wait = {ON_NOTHING, ON_COPY}};
	return (struct row){.wait = {ON_NOTHING, ON_NOTHING}};
}

void host_access(struct court *c, int op, const struct range *r)
{
	meet(c, op, 0, c->mine, r->buffer, cells_of(&c->p->op[op], r), r->write, true);
}

/* Done by the CPU once the stream has come to it. */
static void copy_on_host(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];

	host_after(c, enqueue(c, o, stream_of_op(o)), IN_DOC);
	host_access(c, op, &o->range[1]);
	host_access(c, op, &o->range[0]);
}

static void copy(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	bool sync = o->what == OP_COPY_SYNC || o->what == OP_COPY_ROWS_SYNC;
	unsigned s = stream_of_op(o);
	enum memory to = kind_of(c, o->range[0].buffer), from = kind_of(c, o->range[1].buffer);
	struct row row = sync ? sync_copy(to, from) : async_copy(to, from, bytes_of(o, o->range));
	int read, done;

	if (sync &&
	    (sync_memops(c, o, o->range[0].buffer) || sync_memops(c, o, o->range[1].buffer)))
		row = (struct row){.wait = {ON_COPY, ON_COPY}};
	if (on_host(to) && on_host(from)) {
		copy_on_host(c, op);
		return;
	}
	read = new_node(c);
	c->node[read].stream = stream_number(c, o, s);
	edge(c, c->mine, read, IN_DOC);
	if (!row.at_call[DOC] || c->fault == FAULT_AT_CALL)
		in_order(c, o, s, read, IN_DOC);
	else if (!row.at_call[OBS])
		in_order(c, o, s, read, IN_OBS);
	done = enqueue(c, o, s);
	edge(c, read, done, IN_DOC);
	use(c, op, read, &o->range[1]);
	use(c, op, done, &o->range[0]);
	if (on_host(to) && row.wait[OBS] != ON_COPY)
		copied_to_host(c, op, done);
	for (int v = 0; v < VIEWS; v++) {
		int w = row.wait[v] == ON_COPY				     ? done
			: row.wait[v] == ON_READ && c->fault != FAULT_STAGED ? read
									     : -1;

		if (w >= 0)
			host_after(c, w, v == DOC ? IN_DOC : IN_OBS);
	}
}

/* Its copies are in no order among each other. */
static void batch(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	int call = new_node(c), done;

	c->node[call].stream = stream_number(c, o, o->stream);
	edge(c, c->mine, call, IN_DOC);
	done = enqueue(c, o, o->stream);
	edge(c, call, done, IN_DOC);
	for (int i = 0; i < o->nranges; i += 2) {
		use_from(c, op, i / 2, o->order == 1 ? done : call, o->order == 2 ? call : done,
			 &o->range[i + 1]);
		use_from(c, op, i / 2, done, done, &o->range[i]);
	}
	for (int i = 0; i < o->nranges; i += 2)
		if (on_host(buffer_slot[o->range[i].buffer].kind) &&
		    !on_host(buffer_slot[o->range[i + 1].buffer].kind))
			copied_to_host(c, op, done);
	if (o->order == 2)
		host_after(c, call, IN_DOC);
}

static bool is_one_of(unsigned device, const unsigned *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == device)
			return true;
	return false;
}

/* Told to be in order with all work of the devices, where there are two or three. */
static void copy_peer(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	unsigned device[3] = {device_of(o->ctx), device_of(o->event % CONTEXTS),
			      device_of(o->event2 % CONTEXTS)};
	bool far = device[1] != device[0] || device[2] != device[0];
	int n = enqueue(c, o, LEGACY_SLOT);

	for (unsigned x = 0; far && x < CONTEXTS; x++)
		if (is_one_of(device_of(x), device, 3))
			all_earlier(c, (int)x, n, IN_OBS);
	use(c, op, n, &o->range[1]);
	use(c, op, n, &o->range[0]);
	for (unsigned x = 0; far && x < CONTEXTS; x++)
		if (is_one_of(device_of(x), device, 3))
			all_later(c, (int)x, n, IN_OBS);
	if (sync_memops(c, o, o->range[0].buffer) || sync_memops(c, o, o->range[1].buffer))
		host_after(c, n, IN_DOC);
}

static void set(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	bool sync = o->what == OP_SET_SYNC;
	int n = enqueue(c, o, stream_of_op(o));
	enum memory m = kind_of(c, o->range->buffer);

	use(c, op, n, o->range);
	if (sync && (m == PINNED || m == MANAGED || sync_memops(c, o, o->range->buffer)))
		host_after(c, n, IN_DOC);
}

/* --- lives ---------------------------------------------------------------------- */

void end_of(struct court *c, int op, int node, uint8_t b)
{
	int rule = on_host(buffer_slot[b].kind) ? KRT_RULE_HOST_FREE_IN_USE : KRT_RULE_FREE_IN_USE;
	/* through another mapping the memory goes on */
	bool mapped = buffer_slot[b].kind == MAPPED;

	for (unsigned i = mapped ? c->mapped[b] : c->first[b]; i < c->naccesses; i++)
		for (int v = 0; c->access[i].buffer == b && v < VIEWS; v++)
			if (!before(c, c->access[i].node, node, v) &&
			    (c->op_stream[op] < 0 ||
			     !kept_apart(c, c->access[i].op, op, node, false))) {
				struct pair *q = pair_of(c, rule, op, c->access[i].op, b);

				q->in_view[v] = true;
				q->need[v] |= c->access[i].cells & ~c->access[i].told &
					      ~hidden(c, i, op, 0, false, mapped);
			}
	c->free_op[b] = op;
	c->free_external[b] = behind_unseen(c, c->op_stream[op]);
	c->alloc[b] = -1;
	blocks_gone(c, b);
	c->memops[b] = false;
}

static void free_sync(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	uint8_t b = o->range->buffer;

	/* seen to wait for the context, but never for memory of a pool */
	if (buffer_slot[b].kind != POOL && buffer_slot[b].kind != MAPPED)
		host_after_context(c, c->owner[b]);
	end_of(c, op, c->mine, b);
}

static void free_async(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	uint8_t b = o->range->buffer;
	int n = enqueue(c, o, o->stream);

	before_allocation(c, op, n, b);
	end_of(c, op, n, b);
}

static void alloc(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	uint8_t b = o->range->buffer;

	if (c->fault != FAULT_LIFE && buffer_slot[b].kind != MAPPED)
		c->first[b] = c->naccesses;
	c->free_op[b] = -1;
	born(c, op, b);
	c->alloc[b] = buffer_slot[b].kind == POOL ? enqueue(c, o, o->stream) : -1;
	c->alloc_op[b] = op;
}

/* --- the whole ------------------------------------------------------------------ */

int *event_of(struct court *c, const struct op *o, unsigned event)
{
	unsigned ctx = event / EVENTS ? !o->ctx : o->ctx;

	return &c->record[ctx * EVENTS + event % EVENTS];
}

static int enqueue_note(struct court *c, const struct op *o)
{
	int n = enqueue(c, o, o->stream);

	c->node[n].note = true;
	return n;
}

/* Like a wait for an event, of everything that the token was given. */
static void acquire(struct court *c, const struct op *o)
{
	const int *release = c->release[o->event % EVENTS];
	int n = c->nreleases[o->event % EVENTS], to;

	if (!n)
		return;
	if (o->ready) {
		to = enqueue_note(c, o);
	} else {
		host_after(c, -1, IN_DOC);
		to = c->host;
	}
	for (int i = 0; i < n; i++)
		edge(c, release[i], to, IN_DOC);
}

static bool is_bounded_op(const struct op *o)
{
	switch (o->what) {
	case OP_SET:
	case OP_SET_SYNC:
	case OP_COPY:
	case OP_COPY_SYNC:
	case OP_COPY_ROWS:
	case OP_COPY_ROWS_SYNC:
		return true;
	default:
		return false;
	}
}

/* Which stream works in the operation, and is it behind something unseen? */
static void note_stream(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];

	switch (o->what) {
	case OP_HOST_READ:
	case OP_HOST_WRITE:
	case OP_FREE:
	case OP_REGISTER:
	case OP_UNREGISTER:
	case OP_HEAP_FREE:
		c->op_stream[op] = -1;
		break;
	default:
		c->op_stream[op] = stream_number(c, o, stream_of_op(o));
		break;
	}
	c->op_external[op] = behind_unseen(c, c->op_stream[op]);
}

static void run(struct court *c, int op)
{
	const struct op *o = &c->p->op[op];
	int n, *rec = event_of(c, o, o->event), *rec2 = event_of(c, o, o->event2),
	       ev = (int)(rec - c->record), number = stream_number(c, o, o->stream);

	note_stream(c, op);
	if (is_bounded_op(o)) {
		check_bounds(c, op);
		if (o->refused)
			return;
	}
	switch (o->what) {
	case OP_SET:
	case OP_SET_SYNC:
	case OP_SET_ROWS:
		set(c, op);
		break;
	case OP_COPY:
	case OP_COPY_SYNC:
	case OP_COPY_ROWS:
	case OP_COPY_ROWS_SYNC:
		copy(c, op);
		break;
	case OP_KERNEL:
		n = enqueue(c, o, o->stream);
		for (unsigned i = 0; i < o->nranges; i++)
			use(c, op, n, &o->range[i]);
		break;
	case OP_BATCH:
		batch(c, op);
		break;
	case OP_RELEASE:
		n = o->ready ? enqueue_note(c, o) : c->host;
		if (o->ready)
			word_leaves(c, n);
		c->release[o->event % EVENTS][c->nreleases[o->event % EVENTS]++] = n;
		break;
	case OP_ACQUIRE:
		acquire(c, o);
		break;
	case OP_COPY_PEER:
		copy_peer(c, op);
		break;
	case OP_CTX_RECORD: /* all work of the context */
		n = new_node(c);
		edge(c, c->host, n, IN_DOC);
		all_earlier(c, o->ctx, n, IN_DOC);
		event_recorded(c, op, ev, n, -1);
		*rec = n;
		break;
	case OP_CTX_WAIT:
		event_bound(c, op, ev, -1, true);
		if (*rec >= 0)
			all_later(c, o->ctx, *rec, IN_DOC);
		break;
	case OP_MODULE_LOAD:
		host_after_context(c, o->ctx);
		break;
	case OP_RECORD:
		if (o->refused) {
			event_failed(c, op, ev, number, true);
			break;
		}
		n = enqueue_note(c, o);
		event_recorded(c, op, ev, n, number);
		c->record_external[ev] = behind_unseen(c, number);
		if (c->fault != FAULT_RECORD || *rec < 0)
			*rec = n;
		break;
	case OP_WAIT:
		if (o->refused) {
			event_failed(c, op, ev, number, false);
			break;
		}
		event_bound(c, op, ev, number, true);
		if (*rec >= 0) {
			c->external[number] |= c->record_external[ev];
			n = enqueue_note(c, o);
			if (c->fault != FAULT_WAIT)
				edge(c, *rec, n, IN_DOC);
		}
		break;
	case OP_EVENT_NEW:
		*rec = -1;
		event_new(c, ev);
		c->record_external[ev] = false;
		break;
	case OP_EVENT_QUERY:
	case OP_EVENT_SYNC:
		event_bound(c, op, ev, -1, o->ready || o->what == OP_EVENT_SYNC);
		if (!o->ready && o->what == OP_EVENT_QUERY)
			break;
		if (c->record_external[ev])
			host_knows_unseen(c);
		host_after(c, *rec, IN_DOC);
		break;
	case OP_EVENT_ELAPSED: /* fails unless both were recorded and are over; no promise */
		event_bound(c, op, ev, -1, o->ready);
		event_bound(c, op, (int)(rec2 - c->record), -1, o->ready);
		if (o->ready && (c->record_external[ev] || c->record_external[rec2 - c->record]))
			host_knows_unseen(c);
		if (o->ready && *rec >= 0 && *rec2 >= 0) {
			host_after(c, *rec, IN_OBS);
			host_after(c, *rec2, IN_OBS);
		}
		break;
	case OP_STREAM_NEW:
		if (stream_slot[o->stream].kind == BLOCKING ||
		    stream_slot[o->stream].kind == NON_BLOCKING) {
			stream_ends(c, op, number);
			c->stream[o->ctx][o->stream][0] = c->nstreams++;
		}
		break;
	case OP_STREAM_QUERY:
		if (!o->ready)
			break;
		host_after_all(c, o->ctx, number, false, IN_DOC);
		stream_is_done(c, number);
		break;
	case OP_STREAM_SYNC:
		host_after_all(c, o->ctx, stream_number(c, o, o->stream), false, IN_DOC);
		if (stream_slot[o->stream].kind == LEGACY)
			host_after_all(c, o->ctx, stream_number(c, o, o->stream), true, IN_OBS);
		stream_is_done(c, number);
		break;
	case OP_CTX_SYNC:
		if (c->fault != FAULT_SYNC)
			host_after_all(c, o->ctx, -1, false, IN_DOC);
		for (unsigned s = 0; s < STREAMS * THREADS; s++)
			stream_is_done(c, (&c->stream[o->ctx][0][0])[s]);
		break;
	case OP_HOST_READ:
	case OP_HOST_WRITE:
		host_access(c, op, o->range);
		break;
	case OP_ALLOC:
		alloc(c, op);
		break;
	case OP_FREE:
		free_sync(c, op);
		break;
	case OP_FREE_ASYNC:
		free_async(c, op);
		break;
	case OP_CAPTURE_BEGIN:
	case OP_CAPTURE_END:
	case OP_GRAPH_NEW:
	case OP_NODE_ADD:
	case OP_NODE_CHILD:
	case OP_NODE_PARAMS:
	case OP_INSTANTIATE:
	case OP_EXEC_PARAMS:
	case OP_EXEC_UPDATE:
	case OP_EXEC_ENABLE:
	case OP_EXEC_DESTROY:
	case OP_GRAPH_LAUNCH:
		judge_graph(c, op);
		break;
	case OP_REGISTER:
	case OP_UNREGISTER:
	case OP_HEAP_FREE:
	case OP_MAP_ACCESS:
	case OP_POOL_ACCESS:
	case OP_PEER_ACCESS:
	case OP_MEMOPS:
	case OP_CTX_MEMOPS:
	case OP_POOL_REUSE:
		memory_op(c, op);
		break;
	case OP_BLOCK_ALLOC:
	case OP_BLOCK_FREE:
	case OP_BLOCK_USE:
	case OP_BLOCK_RESIZE:
	case OP_POOL_DESTROY:
		block_op(c, op);
		break;
	case OP_VALUE_WRITE:
	case OP_VALUE_WAIT:
		value_op(c, op);
		break;
	case OP_HOSTFN:
	case OP_HOSTFN_RUN:
		judge_function(c, op);
		break;
	case NR_OPERATIONS:
		break;
	}
}

void judge(const struct program *p, struct verdict *v, enum fault fault)
{
	static struct court c;

	memset(&c, 0, sizeof(c));
	c.p = p;
	c.v = v;
	c.fault = fault;
	v->n = 0;
	for (unsigned i = 0; i < CONTEXTS; i++)
		for (unsigned s = 0; s < STREAMS; s++)
			for (unsigned t = 0; t < THREADS; t++)
				c.stream[i][s][t] = c.nstreams++;
	for (unsigned i = 0; i < CONTEXTS * EVENTS; i++)
		c.record[i] = -1, event_new(&c, (int)i);
	for (unsigned i = 0; i < BUFFERS; i++)
		c.alloc[i] = c.alloc_op[i] = c.free_op[i] = -1,
		c.may[i] = buffer_slot[i].kind == MAPPED;
	c.host = new_node(&c);
	for (unsigned i = 0; i < STREAM_NUMBERS; i++)
		c.to_host[i].op = -1;
	graphs_begin(&c.graphs);
	c.within = -1;
	for (unsigned i = 0; i < p->n; i++) {
		bool captured = !p->left_out[i] && graphs_capture(&c.graphs, &p->op[i]) >= 0;

		if (p->left_out[i])
			continue;
		graphs_step(&c.graphs, p, i);
		c.op = (int)i;
		c.began = (int)(fault == FAULT_OVERLAP ? i : program_began(p, i));
		c.host_was[i] = c.host;
		c.mine = c.host_was[c.began];
		if (!captured)
			run(&c, (int)i);
	}
	process_ends(&c);
}
