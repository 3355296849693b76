/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: made at random, cleared of nonsense, printed. */
#include "hostfn.h"

#include <string.h>

const struct stream_slot stream_slot[STREAMS] = {
	{NON_BLOCKING, "NB1", {0x101, 0x1101}},
	{NON_BLOCKING, "NB2", {0x102, 0x1102}},
	{BLOCKING, "BL1", {0x103, 0x1103}},
	{BLOCKING, "BL2", {0x104, 0x1104}},
	{LEGACY, "0", {0, 0}},
	{PER_THREAD, "2", {2, 2}},
};
const struct buffer_slot buffer_slot[BUFFERS] = {
	{DEVICE, "DEV1", 0x7f0000000000},
	{DEVICE, "DEV2", 0x7f0001000000},
	{POOL, "POOL1", 0x7f0010000000},
	{POOL, "POOL2", 0x7f0011000000},
	{PINNED, "PIN1", 0x7e0000000000},
	{MANAGED, "MAN1", 0x7d0000000000},
	{PAGEABLE, "HEAP1", 0x550000000000},
	{PINNED, "PIN2", 0x7e0001000000},
	{PAGEABLE, "HEAP2", 0x550001000000},
	{MAPPED, "MAP1", 0x7c0000000000},
	{MAPPED, "MAP2", 0x7c0001000000, MAP1_SLOT + 1},
	{ARRAY, "ARR1", 0x7b0000000000},
	{ARRAY, "ARR2", 0x7b0001000000},
};

unsigned stream_of_op(const struct op *o)
{
	switch (o->what) {
	case OP_SET_SYNC:
	case OP_COPY_SYNC:
	case OP_COPY_ROWS_SYNC:
		return o->stream == THREAD_SLOT ? THREAD_SLOT : LEGACY_SLOT;
	case OP_COPY_PEER:
		return LEGACY_SLOT;
	default:
		return o->stream;
	}
}

static bool is_rows(const struct op *o)
{
	return o->what == OP_COPY_ROWS || o->what == OP_COPY_ROWS_SYNC;
}

unsigned device_of(unsigned ctx)
{
	return ctx;
}

uint64_t bytes_of(const struct op *o, const struct range *r)
{
	return is_rows(o) ? (uint64_t)r->n * o->rows * o->slices * CELL : r->n * CELL;
}

/* Those beyond the end of the buffer too. */
static uint64_t all_cells(const struct op *o, const struct range *r)
{
	unsigned step = o->what == OP_SET_ROWS ? ROW_STEP : 1,
		 pitch = r == &o->range[0] ? o->pitch : o->pitch2, rows = is_rows(o) ? o->rows : 1,
		 slices = is_rows(o) ? o->slices : 1;
	uint64_t cells = 0;

	for (unsigned z = 0; z < slices; z++)
		for (unsigned y = 0; y < rows; y++)
			for (unsigned x = 0; x < r->n; x++)
				cells |= 1ull << (r->from + (z * o->height + y) * pitch + x * step);
	return cells;
}

cells_t cells_of(const struct op *o, const struct range *r)
{
	return (cells_t)all_cells(o, r);
}

bool is_beyond(const struct op *o, const struct range *r)
{
	return all_cells(o, r) >> CELLS;
}

/* --- making -------------------------------------------------------------------- */

static uint64_t state;

static unsigned rnd(unsigned n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (unsigned)((z ^ z >> 31) >> 33) % n;
}

static bool stream_allowed(const struct program *p, unsigned s)
{
	switch (stream_slot[s].kind) {
	case NON_BLOCKING:
		return true;
	case PER_THREAD:
		return p->features & F_THREADS;
	case LEGACY:
	case BLOCKING:
		break;
	}
	return p->features & F_LEGACY;
}

static bool buffer_allowed(const struct program *p, unsigned b)
{
	switch (buffer_slot[b].kind) {
	case DEVICE:
		break;
	case POOL:
		return p->features & F_POOLS;
	case MANAGED:
		return p->features & F_MANAGED;
	case PINNED:
	case PAGEABLE:
		return p->features & F_HOST;
	case MAPPED:
		return p->features & F_MAPPED;
	case ARRAY:
		return p->features & F_ARRAYS;
	}
	return true;
}

static uint8_t pick_buffer(const struct program *p)
{
	unsigned b = rnd(BUFFERS);

	while (!buffer_allowed(p, b))
		b = rnd(BUFFERS);
	return (uint8_t)b;
}

static struct range pick_range(const struct program *p)
{
	struct range r = {.buffer = pick_buffer(p), .write = rnd(2)};

	if (p->features & F_NARROW) {
		r.from = (uint8_t)rnd(2);
		r.n = 1;
	} else {
		r.from = (uint8_t)rnd(CELLS);
		r.n = (uint8_t)(1 + rnd(CELLS - r.from));
	}
	return r;
}

static enum operation pick_what(const struct program *p)
{
	static const struct {
		enum operation what;
		unsigned weight, feature;
	} list[] = {
		{OP_SET, 20, 0},
		{OP_COPY, 20, 0},
		{OP_KERNEL, 20, F_KERNELS},
		{OP_RECORD, 16, 0},
		{OP_WAIT, 16, 0},
		{OP_EVENT_SYNC, 5, 0},
		{OP_EVENT_QUERY, 5, 0},
		{OP_EVENT_ELAPSED, 2, 0},
		{OP_STREAM_SYNC, 5, 0},
		{OP_STREAM_QUERY, 5, 0},
		{OP_CTX_SYNC, 2, 0},
		{OP_SET_SYNC, 8, F_SYNC},
		{OP_COPY_SYNC, 12, F_SYNC},
		{OP_HOST_READ, 8, F_HOST},
		{OP_HOST_WRITE, 8, F_HOST},
		{OP_ALLOC, 10, F_FREES},
		{OP_FREE, 6, F_FREES},
		{OP_ALLOC, 6, F_POOLS},
		{OP_FREE_ASYNC, 8, F_POOLS},
		{OP_CTX_RECORD, 6, F_CONTEXT_WIDE},
		{OP_CTX_WAIT, 6, F_CONTEXT_WIDE},
		{OP_COPY_PEER, 6, F_CONTEXT_WIDE},
		{OP_MODULE_LOAD, 3, F_CONTEXT_WIDE},
		{OP_SET_ROWS, 12, F_ROWS},
		{OP_BATCH, 12, F_BATCHES},
		{OP_RELEASE, 8, F_NOTES},
		{OP_ACQUIRE, 8, F_NOTES},
		{OP_EVENT_NEW, 4, F_OBJECTS},
		{OP_STREAM_NEW, 4, F_OBJECTS},
		{OP_HOSTFN, 10, F_FUNCTIONS},
		{OP_HOSTFN_RUN, 10, F_FUNCTIONS},
		{OP_CAPTURE_BEGIN, 10, F_GRAPHS},
		{OP_CAPTURE_END, 12, F_GRAPHS},
		{OP_INSTANTIATE, 10, F_GRAPHS},
		{OP_GRAPH_LAUNCH, 30, F_GRAPHS},
		{OP_EXEC_DESTROY, 2, F_GRAPHS},
		{OP_GRAPH_NEW, 3, F_GRAPHS_BUILT},
		{OP_NODE_ADD, 14, F_GRAPHS_BUILT},
		{OP_NODE_CHILD, 4, F_GRAPHS_BUILT},
		{OP_NODE_PARAMS, 4, F_GRAPHS_CHANGED},
		{OP_EXEC_PARAMS, 6, F_GRAPHS_CHANGED},
		{OP_EXEC_UPDATE, 6, F_GRAPHS_CHANGED},
		{OP_EXEC_ENABLE, 4, F_GRAPHS_CHANGED},
		{OP_COPY_ROWS, 12, F_PITCH},
		{OP_COPY_ROWS_SYNC, 6, F_PITCH},
		{OP_REGISTER, 10, F_REGISTERED},
		{OP_UNREGISTER, 5, F_REGISTERED},
		{OP_HEAP_FREE, 5, F_REGISTERED},
		{OP_MAP_ACCESS, 6, F_MAPPED},
		{OP_ALLOC, 6, F_MAPPED},
		{OP_FREE, 6, F_MAPPED},
		{OP_POOL_ACCESS, 3, F_RIGHTS},
		{OP_PEER_ACCESS, 5, F_RIGHTS},
		{OP_MEMOPS, 6, F_MEMOPS},
		{OP_CTX_MEMOPS, 3, F_MEMOPS},
		{OP_BLOCK_ALLOC, 14, F_BLOCKS},
		{OP_BLOCK_FREE, 12, F_BLOCKS},
		{OP_BLOCK_USE, 2, F_BLOCKS},
		{OP_BLOCK_RESIZE, 3, F_BLOCKS},
		{OP_POOL_DESTROY, 1, F_BLOCKS},
		{OP_POOL_REUSE, 1, F_POOLS},
		{OP_VALUE_WRITE, 14, F_VALUES},
		{OP_VALUE_WAIT, 14, F_VALUES},
	};
	unsigned sum = 0, at;

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		sum += !list[i].feature || p->features & list[i].feature ? list[i].weight : 0;
	at = rnd(sum);
	for (unsigned i = 0;; i++) {
		unsigned w = !list[i].feature || p->features & list[i].feature ? list[i].weight : 0;

		if (at < w)
			return list[i].what;
		at -= w;
	}
}

/* A copy of as many cells as the smaller of two ranges has. */
static void as_copy(struct op *o)
{
	o->nranges = 2;
	o->range[0].write = true;
	o->range[1].write = false;
	if (o->range[0].n > o->range[1].n)
		o->range[0].n = o->range[1].n;
	o->range[1].n = o->range[0].n;
}

/* Slots; a call is rather made on a stream that captures, for events of the capture. */
static void pick_graph(const struct graphs *g, struct op *o)
{
	unsigned lane = rnd(LANES), event = rnd(CONTEXTS * EVENTS);

	o->graph = (uint8_t)rnd(GRAPH_SLOTS);
	o->graph2 = (uint8_t)rnd(GRAPH_SLOTS);
	o->exec = (uint8_t)rnd(EXEC_SLOTS);
	o->deps = (uint16_t)(rnd(1 << GNODES) & rnd(1 << GNODES));
	if (o->what == OP_CAPTURE_BEGIN)
		return;
	for (unsigned i = 0; i < LANES && g->stream[lane].capture < 0; i++)
		lane = (lane + 1) % LANES;
	for (unsigned i = 0; i < CONTEXTS * EVENTS && g->event[event].capture < 0; i++)
		event = (event + 1) % (CONTEXTS * EVENTS);
	if (o->what == OP_WAIT && rnd(2) && g->event[event].capture >= 0)
		o->event = (uint8_t)(event % EVENTS + (event / EVENTS == o->ctx ? 0 : EVENTS));
	if (g->stream[lane].capture < 0 || (rnd(3) && o->what != OP_CAPTURE_END))
		return;
	o->ctx = (uint8_t)(lane / THREADS / STREAMS);
	o->stream = (uint8_t)(lane / THREADS % STREAMS);
	if (stream_slot[o->stream].kind == PER_THREAD)
		o->thread = (uint8_t)(lane % THREADS);
}

/* What leads on to a launch, every now and then; NR_OPERATIONS: nothing. */
static enum operation pick_next(const struct graphs *g)
{
	for (unsigned i = 0; i < EXEC_SLOTS; i++)
		if (g->exec[i].handle && !rnd(6))
			return OP_GRAPH_LAUNCH;
	for (unsigned i = 0; i < GRAPH_SLOTS; i++) {
		if (g->origin[i] >= 0 && g->capture[i].n && !rnd(6))
			return OP_CAPTURE_END;
		if (g->graph[i].n && !rnd(8))
			return OP_INSTANTIATE;
	}
	return rnd(20) ? NR_OPERATIONS : OP_CAPTURE_BEGIN;
}

static void pick_op(const struct program *p, const struct graphs *g, struct op *o)
{
	memset(o, 0, sizeof(*o));
	o->what = p->features & F_GRAPHS ? pick_next(g) : NR_OPERATIONS;
	if (o->what == NR_OPERATIONS)
		o->what = pick_what(p);
	o->ctx = p->features & F_CONTEXTS ? (uint8_t)rnd(CONTEXTS) : 0;
	o->thread = p->features & F_THREADS ? (uint8_t)rnd(THREADS) : 0;
	do
		o->stream = (uint8_t)rnd(STREAMS);
	while (!stream_allowed(p, o->stream));
	o->event = (uint8_t)rnd(EVENTS);
	o->event2 = (uint8_t)rnd(EVENTS);
	/* a wait may be for an event of the other context */
	if ((o->what == OP_WAIT || o->what == OP_CTX_WAIT) && p->features & F_CONTEXTS && rnd(2))
		o->event += EVENTS;
	o->ready = rnd(2);
	o->range[0] = pick_range(p);
	o->range[1] = pick_range(p);
	o->range[2] = pick_range(p);
	o->range[3] = pick_range(p);
	o->order = (uint8_t)(1 + rnd(3));
	o->nranges = 1;
	if (o->what == OP_COPY || o->what == OP_COPY_SYNC || o->what == OP_COPY_PEER) {
		as_copy(o);
	} else if (o->what == OP_NODE_ADD || o->what == OP_NODE_PARAMS ||
		   o->what == OP_EXEC_PARAMS) {
		o->range[0].write = true;
		if (rnd(2))
			as_copy(o);
	} else if (o->what == OP_BATCH) {
		o->nranges = rnd(2) ? 2 : 4;
		for (unsigned i = 0; i < 4; i++)
			o->range[i].write = i % 2 == 0;
		o->range[0].n = o->range[1].n =
			o->range[0].n < o->range[1].n ? o->range[0].n : o->range[1].n;
		o->range[2].n = o->range[3].n =
			o->range[2].n < o->range[3].n ? o->range[2].n : o->range[3].n;
	} else if (o->what == OP_KERNEL) {
		o->nranges = (uint8_t)(1 + rnd(RANGES - 1));
	} else if (o->what == OP_SET_ROWS) {
		o->range[0].from = (uint8_t)rnd(CELLS - ROW_STEP);
		o->range[0].n = (uint8_t)(1 + rnd((CELLS - 1 - o->range[0].from) / ROW_STEP + 1));
		o->range[0].write = true;
	} else {
		o->range[0].write =
			o->what != OP_HOST_READ && (o->what != OP_HOSTFN_RUN || rnd(2));
	}
	if (p->features & F_OVERLAPS && p->features & F_THREADS)
		o->early = (uint8_t)(rnd(3) ? 0 : rnd(4));
	o->node = (uint8_t)rnd(GNODES);
	if (p->features & F_GRAPHS)
		pick_graph(g, o);
}

/* Graphs are tried with the plain kinds of memory; what is behind values with streams alone. */
#define APART_FROM_GRAPHS                                                                          \
	(F_REGISTERED | F_MAPPED | F_ARRAYS | F_PITCH | F_MEMOPS | F_RIGHTS | F_BOUNDS |           \
	 F_FAILED | F_BLOCKS | F_VALUES)
#define APART_FROM_VALUES (F_LEGACY | F_THREADS | F_CONTEXT_WIDE | F_NOTES | F_OBJECTS)

/* Many at once, or a few that come often. */
static unsigned pick_features(unsigned allowed)
{
	unsigned all = F_ALL, a = rnd(all + 1), b = rnd(all + 1), f;

	switch (rnd(4)) {
	case 0:
		f = all;
		break;
	case 1:
		f = a | b;
		break;
	case 2:
		f = a;
		break;
	default:
		f = a & b;
		break;
	}
	f &= allowed;
	if (f & APART_FROM_GRAPHS && f & F_GRAPHS)
		f &= ~(unsigned)(rnd(2) ? F_GRAPHS : APART_FROM_GRAPHS);
	if (f & APART_FROM_VALUES && f & F_VALUES)
		f &= ~(unsigned)(rnd(4) ? F_VALUES : APART_FROM_VALUES);
	return f;
}

static void pick_rows(struct op *o)
{
	o->nranges = 2;
	o->range[0].write = true;
	o->range[1].write = false;
	o->range[0].n = o->range[1].n = (uint8_t)(1 + rnd(2));
	o->range[0].from = (uint8_t)rnd(5);
	o->range[1].from = (uint8_t)rnd(5);
	o->rows = (uint8_t)(1 + rnd(3));
	o->slices = (uint8_t)(1 + rnd(2));
	o->pitch = (uint8_t)(o->range[0].n + rnd(2));
	o->pitch2 = (uint8_t)(o->range[0].n + rnd(2));
	o->height = (uint8_t)(o->rows + rnd(2));
}

/* What the features of areas of their own make of an operation. */
static void pick_more(const struct program *p, struct op *o)
{
	o->form = (uint8_t)rnd(4);
	if (o->what == OP_COPY_ROWS || o->what == OP_COPY_ROWS_SYNC)
		pick_rows(o);
	if (p->features & F_BOUNDS && !rnd(6)) {
		o->refused = !rnd(3);
		for (unsigned i = 0, more = rnd(4); i < 2 && o->what != OP_BATCH; i++)
			o->range[i].n = (uint8_t)(o->range[i].n + more);
	}
	if (o->what == OP_VALUE_WRITE || o->what == OP_VALUE_WAIT) {
		o->value = (uint8_t)rnd(4);
		o->order = (uint8_t)(o->what == OP_VALUE_WAIT ? rnd(4) : !rnd(4));
	}
	if (o->what == OP_BLOCK_FREE || o->what == OP_BLOCK_RESIZE)
		o->range[0].from = (uint8_t)(o->range[0].from / 2);
	if (o->what == OP_RECORD || o->what == OP_WAIT)
		o->refused = p->features & F_FAILED && !rnd(8);
}

/* --- sense --------------------------------------------------------------------- */

static bool on_host(const struct range *r)
{
	return buffer_slot[r->buffer].kind == PINNED || buffer_slot[r->buffer].kind == PAGEABLE;
}

enum life { NONE, LIVE, FREED };

static unsigned home(unsigned b)
{
	return buffer_slot[b].same ? buffer_slot[b].same - 1 : b;
}

static bool overlap(const struct op *o, const struct range *a, const struct range *b)
{
	return home(a->buffer) == home(b->buffer) && cells_of(o, a) & cells_of(o, b);
}

/* A side of a copy of rows lies as its memory does. */
static bool rows_fit(const struct op *o, unsigned side)
{
	const struct range *r = &o->range[side];
	unsigned pitch = side ? o->pitch2 : o->pitch;

	if (pitch < r->n || !o->rows || !o->slices || o->height < o->rows)
		return false;
	return buffer_slot[r->buffer].kind != ARRAY ||
	       (pitch == ARRAY_ROW && r->from % ARRAY_ROW + r->n <= ARRAY_ROW && o->slices == 1);
}

static bool may_be_beyond(const struct op *o)
{
	return o->what == OP_SET || o->what == OP_SET_SYNC || o->what == OP_COPY ||
	       o->what == OP_COPY_SYNC || is_rows(o);
}

static bool more_sensible(const struct op *o, const enum life *life, const bool *registered)
{
	const struct range *r = o->range;
	enum memory kind = buffer_slot[r->buffer].kind;

	switch (o->what) {
	case OP_REGISTER:
		return kind == PAGEABLE && !registered[r->buffer];
	case OP_UNREGISTER:
		return registered[r->buffer];
	case OP_HEAP_FREE:
		return kind == PAGEABLE;
	case OP_MAP_ACCESS:
		return kind == MAPPED && life[r->buffer] == LIVE;
	case OP_BLOCK_ALLOC:
	case OP_BLOCK_FREE:
	case OP_BLOCK_USE:
	case OP_BLOCK_RESIZE:
		return kind != ARRAY && life[r->buffer] == LIVE && !is_beyond(o, r) &&
		       (o->event == HOST_POOL) == on_host(r);
	case OP_MEMOPS:
		return kind != ARRAY && life[r->buffer] == LIVE &&
		       (kind != PAGEABLE || registered[r->buffer]);
	default:
		return true;
	}
}

static bool sensible(const struct op *o, const enum life *life, const bool *registered)
{
	const struct range *r = o->range;
	enum memory kind = buffer_slot[r->buffer].kind;
	bool device = kind == DEVICE || kind == POOL;

	switch (o->what) {
	case OP_SET:
	case OP_SET_SYNC:
	case OP_SET_ROWS:
		if (kind == ARRAY || (kind == PAGEABLE && !registered[r->buffer]))
			return false;
		break;
	case OP_COPY_ROWS:
	case OP_COPY_ROWS_SYNC:
		if (!rows_fit(o, 0) || !rows_fit(o, 1))
			return false;
		break;
	case OP_NODE_ADD:
	case OP_NODE_PARAMS:
	case OP_EXEC_PARAMS:
		if (kind == PAGEABLE && o->nranges == 1)
			return false;
		break;
	case OP_KERNEL:
	case OP_COPY:
	case OP_COPY_SYNC:
	case OP_COPY_PEER:
		break;
	case OP_BATCH:
		if (stream_slot[o->stream].kind == LEGACY || o->order < 1 || o->order > 3)
			return false;
		break;
	case OP_HOST_READ:
	case OP_HOST_WRITE:
	case OP_HOSTFN_RUN:
		if (device || kind == MAPPED || kind == ARRAY)
			return false;
		break;
	case OP_ALLOC:
		return kind != PAGEABLE && life[r->buffer] != LIVE;
	case OP_FREE:
		return kind != PAGEABLE && life[r->buffer] == LIVE;
	case OP_FREE_ASYNC:
		return device && life[r->buffer] == LIVE;
	default:
		return more_sensible(o, life, registered);
	}
	for (unsigned i = 0; i < o->nranges; i++, r++) {
		if (o->what == OP_COPY_PEER &&
		    (on_host(r) || buffer_slot[r->buffer].kind == MANAGED))
			return false;
		kind = buffer_slot[r->buffer].kind;
		if (o->what == OP_KERNEL && kind == PAGEABLE && !registered[r->buffer])
			return false;
		if (kind == ARRAY &&
		    (o->what == OP_KERNEL || o->what == OP_COPY_PEER || o->what == OP_BATCH))
			return false;
		/* asynchronous copies of arrays are with the host alone */
		if (kind == ARRAY && o->what == OP_COPY && !on_host(&o->range[!i]))
			return false;
		if (is_beyond(o, r) &&
		    (kind == PAGEABLE || !may_be_beyond(o) || life[r->buffer] != LIVE))
			return false;
		for (unsigned k = 0; k < i; k++)
			if ((o->what != OP_BATCH || k / 2 == i / 2) && overlap(o, &o->range[k], r))
				return false;
		/* their addresses tell no direction */
		if (o->what == OP_BATCH && kind == DEVICE && life[r->buffer] == FREED)
			return false;
		/* of a use after the free there is much to say, unless the heap may have it now */
		if (life[r->buffer] != LIVE &&
		    !(life[r->buffer] == FREED &&
		      (kind == DEVICE || kind == POOL || kind == MAPPED)))
			return false;
	}
	return true;
}

static unsigned event_of(const struct op *o, unsigned event)
{
	return (event / EVENTS ? !o->ctx : o->ctx) * EVENTS + event % EVENTS;
}

/* What is there when an operation comes. */
struct scene {
	enum life life[BUFFERS];
	bool recorded[CONTEXTS * EVENTS], registered[BUFFERS];
	struct graphs graphs;
	struct functions functions;
};

static void scene_begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	graphs_begin(&s->graphs);
	functions_begin(&s->functions);
	for (unsigned b = 0; b < BUFFERS; b++)
		s->life[b] = buffer_slot[b].kind == POOL ? NONE : LIVE;
}

/* Does the next operation make sense?  If so, it happens. */
static bool scene_step(struct scene *s, struct program *p, unsigned i)
{
	const struct op *o = &p->op[i];

	p->left_out[i] = !sensible(o, s->life, s->registered) || !graphs_allow(&s->graphs, o) ||
			 !functions_allow(&s->functions, o);
	/* it fails where one was never recorded */
	if (o->what == OP_EVENT_ELAPSED &&
	    !(s->recorded[event_of(o, o->event)] && s->recorded[event_of(o, o->event2)]))
		p->left_out[i] = true;
	if (p->left_out[i])
		return false;
	graphs_step(&s->graphs, p, i);
	functions_step(&s->functions, p, i);
	if ((o->what == OP_RECORD && !o->refused) || o->what == OP_CTX_RECORD ||
	    o->what == OP_EVENT_NEW)
		s->recorded[event_of(o, o->event)] = o->what != OP_EVENT_NEW;
	if (o->what == OP_REGISTER || o->what == OP_UNREGISTER)
		s->registered[o->range->buffer] = o->what == OP_REGISTER;
	if (o->what == OP_ALLOC)
		s->life[o->range->buffer] = LIVE;
	else if (o->what == OP_FREE || o->what == OP_FREE_ASYNC)
		s->life[o->range->buffer] = FREED;
	return true;
}

void program_check(struct program *p)
{
	static struct scene s;

	scene_begin(&s);
	for (unsigned i = 0; i < p->n; i++)
		scene_step(&s, p, i);
}

/* --- the whole ------------------------------------------------------------------ */

#define TRIES 8 /* for an operation that makes sense */

void program_random(struct program *p, uint64_t seed, unsigned features)
{
	static struct scene s;
	unsigned n;

	state = seed * 0x2545f4914f6cdd1dull + 1;
	memset(p, 0, sizeof(*p));
	p->features = pick_features(features);
	if (rnd(2))
		p->features &= ~(unsigned)F_NARROW;
	if (!(p->features & F_GRAPHS))
		p->features &= ~(unsigned)(F_GRAPHS_BUILT | F_GRAPHS_CHANGED);
	n = 3 + rnd(OPS - 3);
	scene_begin(&s);
	while (p->n < n) {
		unsigned tries = 0;

		do
			pick_op(p, &s.graphs, &p->op[p->n]), pick_more(p, &p->op[p->n]);
		while (!scene_step(&s, p, p->n) && ++tries < TRIES);
		p->n++;
	}
}

/* --- printing ------------------------------------------------------------------ */

static const char *const copy_text[] = {
#define X(name) #name,
	COPIES(X)
#undef X
};

/*
 * An address of no allocation is the program's own memory to a copy whose name tells no
 * direction: only names that do will do for device memory that may have been freed.
 */
unsigned copy_form(const struct op *o)
{
	unsigned form = 2u * on_host(&o->range[0]) + on_host(&o->range[1]);

	bool thread = o->what == OP_COPY_SYNC && o->stream == THREAD_SLOT;

	if (buffer_slot[o->range[0].buffer].kind != DEVICE &&
	    buffer_slot[o->range[1].buffer].kind != DEVICE)
		form = 3;
	return 4u * (o->what == OP_COPY ? 1 : thread ? 2 : 0) + form;
}

static void print_range(const struct range *r, FILE *out)
{
	fprintf(out, "%s + %u * CELL", buffer_slot[r->buffer].name, r->from);
}

static void print_rows(const struct op *o, const char *s, FILE *out)
{
	fprintf(out, "rows(&w, %s, %u, ", o->what == OP_COPY_ROWS ? s : "SYNC", o->form);
	print_range(o->range, out);
	fprintf(out, ", %u, ", o->pitch);
	print_range(o->range + 1, out);
	fprintf(out, ", %u, %u, %u, %u, %u);", o->pitch2, o->height, o->range->n, o->rows,
		o->slices);
}

/* False: it is not one of these. */
static bool print_memory_op(const struct op *o, const char *s, FILE *out)
{
	const char *b = buffer_slot[o->range->buffer].name;

	switch (o->what) {
	case OP_COPY_ROWS:
	case OP_COPY_ROWS_SYNC:
		print_rows(o, s, out);
		break;
	case OP_REGISTER:
		fprintf(out, "call(&w, cuMemHostRegister_v2, A(%s), A(CELLS * CELL), A(0));", b);
		break;
	case OP_UNREGISTER:
		fprintf(out, "call(&w, cuMemHostUnregister, A(%s));", b);
		break;
	case OP_HEAP_FREE:
		fprintf(out, "call(&w, free, A(%s), A(CELLS * CELL));", b);
		break;
	case OP_BLOCK_ALLOC:
		fprintf(out, "block_alloc(&w, BLOCKS_OF(%u), ", o->event);
		print_range(o->range, out);
		fprintf(out, ", %u * CELL, %s);", o->range->n, s);
		break;
	case OP_BLOCK_FREE:
		fputs("block_free(&w, ", out);
		print_range(o->range, out);
		fputs(");", out);
		break;
	case OP_BLOCK_USE:
		fputs("block_use(&w, ", out);
		print_range(o->range, out);
		fprintf(out, ", %s);", s);
		break;
	case OP_BLOCK_RESIZE:
		fputs("call(&w, krtsan_impl_block_resize, A(", out);
		print_range(o->range, out);
		fprintf(out, "), A(%u * CELL));", o->range->n);
		break;
	case OP_POOL_DESTROY:
		fprintf(out, "pool_destroy(&w, BLOCKS_OF(%u));", o->event);
		break;
	case OP_POOL_REUSE:
		fputs("call(&w, cuMemPoolSetAttribute);", out);
		break;
	case OP_VALUE_WRITE:
	case OP_VALUE_WAIT:
		fprintf(out,
			"call(&w, cuStream%sValue32_v2, A(%s), A(FLAGS + 64 * %u), A(%u), A(%u));",
			o->what == OP_VALUE_WRITE ? "Write" : "Wait", s, o->event, o->value,
			o->order);
		break;
	case OP_MEMOPS:
		fprintf(out, "call(&w, cuPointerSetAttribute, A(0), A(6), A(%s));", b);
		break;
	case OP_CTX_MEMOPS:
		fprintf(out, "call(&w, cuCtxSetFlags, A(%u));", o->ready ? 0x80 : 0);
		break;
	case OP_PEER_ACCESS:
		fprintf(out, "call(&w, cuCtx%sPeerAccess, A(0xc0 + %u), A(0));",
			o->ready ? "Enable" : "Disable", !o->ctx);
		break;
	case OP_MAP_ACCESS:
	case OP_POOL_ACCESS:
		fprintf(out, "access_of(&w, %s, %u, %u);",
			o->what == OP_POOL_ACCESS ? "THE_POOL" : b, o->event % CONTEXTS, o->ready);
		break;
	default:
		return false;
	}
	return true;
}

static void print_op(const struct op *o, FILE *out)
{
	const char *b = buffer_slot[o->range->buffer].name;
	char s[16], ev[16], ev2[16];
	enum memory kind = buffer_slot[o->range->buffer].kind;

	snprintf(s, sizeof(s),
		 stream_slot[o->stream].kind == LEGACY || stream_slot[o->stream].kind == PER_THREAD
			 ? "%s"
			 : "%s(%u)",
		 stream_slot[o->stream].name, o->ctx);
	snprintf(ev, sizeof(ev), "EV(%u, %u)", o->event / EVENTS ? !o->ctx : o->ctx,
		 o->event % EVENTS);
	snprintf(ev2, sizeof(ev2), "EV(%u, %u)", o->ctx, o->event2);
	fputs("\t", out);
	switch (o->what) {
	case OP_SET:
		fputs("set(&w, ", out);
		print_range(o->range, out);
		fprintf(out, ", %u * CELL, %s);", o->range->n, s);
		break;
	case OP_SET_SYNC:
		fprintf(out, "call(&w, cuMemsetD8_v2%s, A(",
			o->stream == THREAD_SLOT ? "_ptds" : "");
		print_range(o->range, out);
		fprintf(out, "), A(0), A(%u * CELL));", o->range->n);
		break;
	case OP_COPY:
	case OP_COPY_SYNC:
		fprintf(out, "call(&w, %s, A(", copy_text[copy_form(o)]);
		print_range(o->range, out);
		fputs("), A(", out);
		print_range(o->range + 1, out);
		fprintf(out, "), A(%u * CELL)", o->range->n);
		if (o->what == OP_COPY)
			fprintf(out, ", A(%s)", s);
		fputs(");", out);
		break;
	case OP_KERNEL:
		for (unsigned i = 0; i < o->nranges; i++) {
			fprintf(out, "access_note(&w, %s, ", s);
			print_range(&o->range[i], out);
			fprintf(out, ", %u * CELL, %u);\n\t", o->range[i].n,
				o->range[i].write ? 2 : 1);
		}
		fprintf(out, "launch_of(&w, KRT_API_cuLaunchKernel, %s, 0, 0, NULL);", s);
		break;
	case OP_CTX_RECORD:
		fprintf(out, "call(&w, cuCtxRecordEvent, A(w.ctx), A(%s));", ev);
		break;
	case OP_CTX_WAIT:
		fprintf(out, "call(&w, cuCtxWaitEvent, A(w.ctx), A(%s));", ev);
		break;
	case OP_COPY_PEER:
		fputs("call(&w, cuMemcpyPeer, A(", out);
		print_range(o->range, out);
		fprintf(out, "), A(0xc0 + %u), A(", o->event % CONTEXTS);
		print_range(o->range + 1, out);
		fprintf(out, "), A(0xc0 + %u), A(%u * CELL));", o->event2 % CONTEXTS, o->range->n);
		break;
	case OP_SET_ROWS:
		fputs("call(&w, cuMemsetD2D8Async, A(", out);
		print_range(o->range, out);
		fprintf(out, "), A(%u * CELL), A(0), A(CELL), A(%u), A(%s));", ROW_STEP,
			o->range->n, s);
		break;
	case OP_BATCH:
		fprintf(out, "batch_copy(&w, %s, %u, %u, (uint64_t[]){", s, o->order,
			o->nranges / 2);
		for (unsigned k = 0; k < 3; k++) {
			for (unsigned i = k % 2; i < o->nranges; i += 2) {
				if (k < 2)
					print_range(&o->range[i], out);
				else
					fprintf(out, "%u * CELL", o->range[i].n);
				fputs(i + 2 < o->nranges ? ", " : "}", out);
			}
			fputs(k < 2 ? ", (uint64_t[]){" : ");", out);
		}
		break;
	case OP_RELEASE:
	case OP_ACQUIRE:
		fprintf(out, "call(&w, krtsan_impl_order_%s, A(0x5000 + %u), A(%s));",
			o->what == OP_RELEASE ? "release" : "acquire", o->event % EVENTS,
			o->ready ? s : "UINT64_MAX");
		break;
	case OP_MODULE_LOAD:
		fputs("module_load(&w);", out);
		break;
	case OP_RECORD:
		fprintf(out, "record(&w, %s, %s);", ev, s);
		break;
	case OP_WAIT:
		fprintf(out, "wait_event(&w, %s, %s);", s, ev);
		break;
	case OP_EVENT_NEW:
		fprintf(out, "call(&w, cuEventDestroy_v2, A(%s));\n\tevent(&w, %s);", ev, ev);
		break;
	case OP_EVENT_SYNC:
		fprintf(out, "sync_event(&w, %s);", ev);
		break;
	case OP_EVENT_QUERY:
		fprintf(out, "call_failed(&w, cuEventQuery, %u, A(%s));", o->ready ? 0 : 600, ev);
		break;
	case OP_EVENT_ELAPSED:
		fprintf(out, "call_failed(&w, cuEventElapsedTime_v2, %u, A(0), A(%s), A(%s));",
			o->ready ? 0 : 600, ev, ev2);
		break;
	case OP_STREAM_NEW:
		fprintf(out, "call(&w, cuStreamDestroy_v2, A(%s));\n\tstream(&w, %s, %u);", s, s,
			stream_slot[o->stream].kind == NON_BLOCKING);
		break;
	case OP_STREAM_SYNC:
		fprintf(out, "sync_stream(&w, %s);", s);
		break;
	case OP_STREAM_QUERY:
		fprintf(out, "call_failed(&w, cuStreamQuery, %u, A(%s));", o->ready ? 0 : 600, s);
		break;
	case OP_CTX_SYNC:
		fputs("sync_ctx(&w);", out);
		break;
	case OP_HOST_READ:
	case OP_HOST_WRITE:
		fprintf(out, "host_%s(&w, ", o->what == OP_HOST_READ ? "read" : "write");
		print_range(o->range, out);
		fprintf(out, ", %u * CELL);", o->range->n);
		break;
	case OP_ALLOC:
		fprintf(out, "alloc%s(&w, %s, CELLS * CELL",
			kind == PINNED	  ? "_pinned"
			: kind == MANAGED ? "_managed"
			: kind == POOL	  ? "_async"
					  : "",
			b);
		fprintf(out, kind == POOL ? ", %s);" : ");", s);
		break;
	case OP_FREE:
		fprintf(out, "call(&w, %s, A(%s));",
			kind == PINNED ? "cuMemFreeHost" : "cuMemFree_v2", b);
		break;
	case OP_FREE_ASYNC:
		fprintf(out, "call(&w, cuMemFreeAsync, A(%s), A(%s));", b, s);
		break;
	default:
		if (print_memory_op(o, s, out))
			break;
		/* there is no line for it there: as text */
		fputs("/* ", out);
		op_write(o, out);
		fputs(" */", out);
		break;
	}
	fputs("\n", out);
}

void program_print(const struct program *p, FILE *out)
{
	unsigned ctx = 0, thread = 0;

	fputs("{\n\tstruct world w;\n\n\topen_slots(&w);\n", out);
	for (unsigned i = 0; i < p->n; i++) {
		if (p->left_out[i])
			continue;
		if (p->op[i].ctx != ctx)
			fprintf(out, "\tw.ctx = 0xc0 + %u;\n", ctx = p->op[i].ctx);
		if (p->op[i].thread != thread)
			fprintf(out, "\tw.lane = 1 + %u;\n", thread = p->op[i].thread);
		fprintf(out, "\t/* %u */", i);
		print_op(&p->op[i], out);
	}
	fputs("\texpect(&w, \"\");\n}\n", out);
}
