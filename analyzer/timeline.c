/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline of reports (rules/timeline.h), kept while records come in: a row
 * for each call that works, orders, waits, allocates or frees, and an edge for
 * each order that it makes.  The engine tells where it makes one; nothing is
 * judged by what is kept here, and without engine_config.timeline nothing is.
 *
 * Bounded: at the limit half of the rows stay, the newest, and up to another
 * quarter that lie around operations of findings; the rest is counted.
 */
#include "demangle.h"
#include "engine_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AROUND	50 /* rows on either side of an operation that a finding names */
#define PENDING 8
#define RECENT	4

struct row_edge {
	uint64_t from, to; /* sequence numbers */
	uint8_t kind, observed;
};

struct tl_lane {
	struct krt_stream_info *stream; /* counted; NULL: a thread */
	uint64_t serial;		/* of the thread */
	int tid;
	char name[16];
	bool keep;
	uint64_t last;		  /* its newest operation */
	uint64_t recent[RECENT];  /* the newest first */
	uint64_t met;		  /* blocking: the legacy stream's operation that it has met */
	uint64_t seen;		  /* legacy: krt_timeline_store.blocking at its last operation */
	uint64_t given;		  /* blocking: its own that the legacy stream has met */
	uint64_t told[KRT_VIEWS]; /* newest that an edge leads from to the host */
	struct row_edge pending[PENDING]; /* to its next operation */
	unsigned npending;
};

/* A name, by what it is a name of. */
enum name_sort { NAME_API, NAME_KERNEL, NAME_RANGE };
struct tl_name {
	uint64_t key;
	uint32_t at;
	UT_hash_handle hh;
};

struct krt_timeline_store {
	uint32_t max;
	struct krt_timeline_op *op; /* in the order they were completed */
	uint32_t n, cap;
	uint32_t *slot; /* place + 1 by sequence number */
	uint32_t slots;
	struct row_edge *edge;
	uint32_t nedges, edges_cap;
	struct tl_lane *lane;
	uint32_t nlanes, lanes_cap;
	uint32_t *open; /* lanes of streams but those that are over (over()) */
	uint32_t nopen, open_cap;
	struct tl_name *names;
	struct {
		krt_context ctx;
		struct row_edge edge;
	} wait[PENDING]; /* the last of whole contexts: streams without a lane yet have them to meet
			  */
	unsigned nwaits;
	uint32_t row;	   /* of the call in hand, + 1; 0: none */
	uint64_t wanted;   /* the call that an edge leads to */
	uint64_t blocking; /* operations on blocking streams so far */
	unsigned findings;
	uint64_t left_out, edges_left_out;
};

static const uint8_t kind_of[KRT_NR_OPS] = {
	[KRT_OP_LAUNCH] = KRT_TL_KERNEL,
	[KRT_OP_LAUNCH_EX] = KRT_TL_KERNEL,
	[KRT_OP_LAUNCH_MULTI] = KRT_TL_KERNEL,
	[KRT_OP_LAUNCH_LEGACY] = KRT_TL_KERNEL,
	[KRT_OP_COPY] = KRT_TL_COPY,
	[KRT_OP_COPY_ARRAY] = KRT_TL_COPY,
	[KRT_OP_COPY_2D] = KRT_TL_COPY,
	[KRT_OP_COPY_3D] = KRT_TL_COPY,
	[KRT_OP_COPY_PEER] = KRT_TL_COPY,
	[KRT_OP_COPY_3D_PEER] = KRT_TL_COPY,
	[KRT_OP_COPY_BATCH] = KRT_TL_COPY,
	[KRT_OP_COPY_3D_BATCH] = KRT_TL_COPY,
	[KRT_OP_PREFETCH] = KRT_TL_COPY,
	[KRT_OP_PREFETCH_BATCH] = KRT_TL_COPY,
	[KRT_OP_DECOMPRESS_BATCH] = KRT_TL_COPY,
	[KRT_OP_SET] = KRT_TL_SET,
	[KRT_OP_SET_2D] = KRT_TL_SET,
	[KRT_OP_DISCARD_BATCH] = KRT_TL_SET,
	[KRT_OP_GRAPH_LAUNCH] = KRT_TL_GRAPH,
	[KRT_OP_HOST_FUNC] = KRT_TL_HOST_FUNCTION,
	[KRT_OP_HOSTFN_ENTER] = KRT_TL_HOST_FUNCTION,
	[KRT_OP_EVENT_RECORD] = KRT_TL_RECORD,
	[KRT_OP_CTX_RECORD] = KRT_TL_RECORD,
	[KRT_OP_GREEN_RECORD] = KRT_TL_RECORD,
	[KRT_OP_WRITE_VALUE] = KRT_TL_RECORD,
	[KRT_OP_EXT_SEM_SIGNAL] = KRT_TL_RECORD,
	[KRT_OP_NOTE_ORDER_RELEASE] = KRT_TL_RECORD,
	[KRT_OP_STREAM_WAIT_EVENT] = KRT_TL_WAIT,
	[KRT_OP_CTX_WAIT] = KRT_TL_WAIT,
	[KRT_OP_GREEN_WAIT] = KRT_TL_WAIT,
	[KRT_OP_WAIT_VALUE] = KRT_TL_WAIT,
	[KRT_OP_BATCH_MEM_OP] = KRT_TL_WAIT,
	[KRT_OP_EXT_SEM_WAIT] = KRT_TL_WAIT,
	[KRT_OP_NOTE_ORDER_ACQUIRE] = KRT_TL_WAIT,
	[KRT_OP_CTX_SYNC] = KRT_TL_SYNC,
	[KRT_OP_STREAM_SYNC] = KRT_TL_SYNC,
	[KRT_OP_EVENT_SYNC] = KRT_TL_SYNC,
	[KRT_OP_ALLOC] = KRT_TL_ALLOC,
	[KRT_OP_ALLOC_PITCH] = KRT_TL_ALLOC,
	[KRT_OP_ALLOC_MANAGED] = KRT_TL_ALLOC,
	[KRT_OP_ALLOC_ASYNC] = KRT_TL_ALLOC,
	[KRT_OP_HOST_ALLOC] = KRT_TL_ALLOC,
	[KRT_OP_HOST_REGISTER] = KRT_TL_ALLOC,
	[KRT_OP_ARRAY_CREATE] = KRT_TL_ALLOC,
	[KRT_OP_VMM_MAP] = KRT_TL_ALLOC,
	[KRT_OP_NOTE_BLOCK_ALLOC] = KRT_TL_ALLOC,
	[KRT_OP_FREE] = KRT_TL_FREE,
	[KRT_OP_FREE_ASYNC] = KRT_TL_FREE,
	[KRT_OP_HOST_FREE] = KRT_TL_FREE,
	[KRT_OP_HOST_UNREGISTER] = KRT_TL_FREE,
	[KRT_OP_ARRAY_DESTROY] = KRT_TL_FREE,
	[KRT_OP_VMM_UNMAP] = KRT_TL_FREE,
	[KRT_OP_NOTE_BLOCK_FREE] = KRT_TL_FREE,
	[KRT_OP_NOTE_HOST_READ] = KRT_TL_HOST,
	[KRT_OP_NOTE_HOST_WRITE] = KRT_TL_HOST,
};

/* Of no kind, and worth a row all the same: KRT_TL_OTHER. */
static bool landmark(enum krt_op op)
{
	return op == KRT_OP_CAPTURE_BEGIN || op == KRT_OP_CAPTURE_END ||
	       op == KRT_OP_GRAPH_INSTANTIATE || op == KRT_OP_GRAPH_EXEC_UPDATE ||
	       op == KRT_OP_STREAM_ATTACH || op == KRT_OP_STREAM_DESTROY ||
	       op == KRT_OP_CTX_DESTROY || op == KRT_OP_MODULE_LOAD || op == KRT_OP_LIBRARY_LOAD ||
	       op == KRT_OP_IPC_MEM_GET || op == KRT_OP_IPC_EVENT_GET;
}

/* --- rows by sequence number ------------------------------------------------------ */

static uint32_t slot_of(const struct krt_timeline_store *t, uint64_t seq)
{
	uint32_t at = (uint32_t)(seq * 0x9e3779b97f4a7c15ull >> 32) & (t->slots - 1);

	while (t->slot[at] && t->op[t->slot[at] - 1].sequence != seq)
		at = (at + 1) & (t->slots - 1);
	return at;
}

/* Its first row, + 1; 0: none. */
static uint32_t find(const struct krt_timeline_store *t, uint64_t seq)
{
	return t->slots && seq ? t->slot[slot_of(t, seq)] : 0;
}

static void index_row(struct krt_timeline_store *t, uint32_t i)
{
	uint32_t at = slot_of(t, t->op[i].sequence);

	if (!t->slot[at])
		t->slot[at] = i + 1;
}

static bool index_grow(struct krt_heap *heap, struct krt_timeline_store *t)
{
	uint32_t slots = t->slots ? 2 * t->slots : 1024;
	uint32_t *slot;

	if (t->slots > 2 * t->n)
		return true;
	slot = krt_heap_alloc(heap, slots * sizeof(*slot));
	if (!slot)
		return false;
	krt_heap_free(heap, t->slot, t->slots * sizeof(*slot));
	t->slot = slot;
	t->slots = slots;
	for (uint32_t i = 0; i < t->n; i++)
		index_row(t, i);
	return true;
}

/* --- lanes and names -------------------------------------------------------------- */

static uint32_t lane_new(struct krt_engine *e, uint32_t *number)
{
	struct krt_timeline_store *t = e->timeline;

	if (*number)
		return *number - 1;
	if (!krt_heap_grow(&e->heap, &t->lane, &t->lanes_cap, t->nlanes, sizeof(*t->lane)))
		return KRT_TL_NONE;
	memset(&t->lane[t->nlanes], 0, sizeof(*t->lane));
	*number = ++t->nlanes;
	return t->nlanes - 1;
}

/* An order that the stream's next operation makes. */
static void pend(struct krt_timeline_store *t, struct tl_lane *l, const struct row_edge *x)
{
	if (l->npending == PENDING) {
		memmove(l->pending, l->pending + 1, sizeof(*l->pending) * (PENDING - 1));
		l->npending--;
		t->edges_left_out++;
	}
	l->pending[l->npending++] = *x;
}

static uint32_t stream_lane(struct krt_engine *e, struct krt_stream_info *s)
{
	uint32_t at = lane_new(e, &s->timeline);

	struct krt_timeline_store *t = e->timeline;

	if (at == KRT_TL_NONE || t->lane[at].stream)
		return at;
	t->lane[at].stream = s;
	s->refs++;
	for (unsigned i = 0; i < t->nwaits; i++)
		if (t->wait[i].ctx == s->ctx->id)
			pend(t, &t->lane[at], &t->wait[i].edge);
	if (krt_heap_grow(&e->heap, &t->open, &t->open_cap, t->nopen, sizeof(*t->open)))
		t->open[t->nopen++] = at;
	return at;
}

/* It has ended and the host has waited for all of it: no order with it is worth an edge more. */
static bool over(const struct tl_lane *l)
{
	return l->stream->ended && l->told[KRT_VIEW_DOC] >= l->last;
}

static uint32_t thread_lane(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);
	uint32_t at = l ? lane_new(e, &l->timeline) : KRT_TL_NONE;
	struct tl_lane *x;

	if (at == KRT_TL_NONE)
		return at;
	x = &e->timeline->lane[at];
	x->serial = l->thread;
	x->tid = l->tid;
	memcpy(x->name, l->name, sizeof(x->name));
	return at;
}

static uint32_t name_of(struct krt_engine *e, enum name_sort sort, uint32_t id)
{
	struct krt_timeline_store *t = e->timeline;
	struct krt_heap *heap = &e->heap;
	uint64_t key = (uint64_t)sort << 32 | id;
	struct tl_name *n;
	unsigned count;

	HASH_FIND(hh, t->names, &key, sizeof(key), n);
	if (n)
		return n->at;
	count = HASH_COUNT(t->names);
	n = krt_heap_alloc(heap, sizeof(*n));
	if (!n)
		return KRT_TL_NONE;
	n->key = key;
	n->at = count;
	HASH_ADD(hh, t->names, key, sizeof(n->key), n);
	if (n->hh.tbl)
		return n->at;
	krt_heap_free(heap, n, sizeof(*n));
	return KRT_TL_NONE;
}

/* --- edges ------------------------------------------------------------------------ */

void krt_timeline_edge(struct krt_engine *e, const struct krt_call *c,
		       enum krt_timeline_edge_kind kind, uint64_t from, uint64_t to, unsigned views)
{
	struct krt_timeline_store *t = e->timeline;

	/* of calls that overlap the one that began later does not come before; a value may */
	if (!t || !from || !to || from == to || !views || (from > to && kind != KRT_TLE_VALUE))
		return;
	if (to == c->rec->t0)
		t->wanted = to;
	if (t->nedges / 8 >= t->max) { /* far more than a program makes */
		t->edges_left_out++;
		return;
	}
	if (!krt_heap_grow(&e->heap, &t->edge, &t->edges_cap, t->nedges, sizeof(*t->edge)))
		return;
	t->edge[t->nedges++] = (struct row_edge){
		.from = from, .to = to, .kind = kind, .observed = !(views & KRT_IN_DOC)};
}

/* The host waits for all that the lane holds, in some views. */
static void lane_to_host(struct krt_engine *e, const struct krt_call *c, struct tl_lane *l,
			 unsigned views, bool always)
{
	enum krt_view v = views & KRT_IN_DOC ? KRT_VIEW_DOC : KRT_VIEW_OBS;
	struct krt_timeline_store *t = e->timeline;
	uint64_t from = 0;

	/* what another thread's call enqueued since this one began is not waited for */
	for (unsigned i = RECENT; views && i--;)
		if (l->recent[i] && l->recent[i] <= c->rec->t0)
			from = l->recent[i];
	if (!from)
		return;
	if (from == c->rec->t0) {
		if (t->row)
			t->op[t->row - 1].flags |=
				v == KRT_VIEW_DOC ? KRT_TLF_BLOCKS : KRT_TLF_BLOCKS_FOUND;
	} else if (always || from > l->told[v]) {
		krt_timeline_edge(e, c, KRT_TLE_SYNC, from, c->rec->t0, views);
	}
	if (from > l->told[KRT_VIEW_OBS])
		l->told[KRT_VIEW_OBS] = from;
	if (v == KRT_VIEW_DOC && from > l->told[v])
		l->told[v] = from;
}

void krt_timeline_host(struct krt_engine *e, const struct krt_call *c, enum krt_sem_id sem,
		       const struct krt_stream_info *s, const struct krt_context_info *ctx)
{
	struct krt_timeline_store *t = e->timeline;
	uint32_t open = 0;

	if (!t)
		return;
	for (uint32_t i = 0; i < t->nopen; i++) {
		struct tl_lane *l = &t->lane[t->open[i]];
		const struct krt_stream_info *x = l->stream;
		unsigned views;

		views = krt_sem_views(e->semantics, sem, KRT_EDGE_ALL);
		if (ctx && x->ctx->device == ctx->device)
			views |= krt_sem_views(e->semantics, sem, KRT_EDGE_DEVICE);
		if (ctx && (x->ctx->id == ctx->id ||
			    (x->ctx->green && !ctx->green && x->ctx->device == ctx->device)))
			views |= krt_sem_views(e->semantics, sem, KRT_EDGE_CONTEXT);
		if (s && (x == s || (x->ctx->id == s->ctx->id && x->kind == KRT_STREAM_BLOCKING)))
			views |= krt_sem_views(e->semantics, sem, KRT_EDGE_BLOCKING);
		if (x == s)
			views |= krt_sem_views(e->semantics, sem, KRT_EDGE_STREAM) |
				 (l->last == c->rec->t0 ? krt_sem_views(e->semantics, sem, KRT_EDGE_OP) : 0);
		if (x == s && l->last == c->rec->t0 && t->row &&
		    krt_sem_views(e->semantics, sem, KRT_EDGE_EARLIER) & ~views & KRT_IN_DOC)
			t->op[t->row - 1].flags |= KRT_TLF_STAGED;
		/* what ended is joined with its context, and told once */
		lane_to_host(e, c, l, views, x == s && c->op == KRT_OP_STREAM_SYNC);
		if (!over(l))
			t->open[open++] = t->open[i];
	}
	t->nopen = open;
}

void krt_timeline_context(struct krt_engine *e, const struct krt_call *c,
			  const struct krt_context_info *ctx, bool after, uint64_t from,
			  unsigned views)
{
	struct krt_timeline_store *t = e->timeline;
	struct row_edge x = {
		.from = from,
		.kind = from == c->rec->t0 ? KRT_TLE_CONTEXT : KRT_TLE_EVENT,
		.observed = !(views & KRT_IN_DOC),
	};

	if (!t || !from)
		return;
	for (uint32_t i = 0; i < t->nopen; i++) {
		struct tl_lane *l = &t->lane[t->open[i]];

		if (l->stream->ctx->id != ctx->id || l->last == c->rec->t0)
			continue;
		if (after)
			pend(t, l, &x);
		else
			krt_timeline_edge(e, c, KRT_TLE_CONTEXT, l->last, c->rec->t0, views);
	}
	if (!after)
		return;
	if (t->nwaits == PENDING) {
		memmove(t->wait, t->wait + 1, sizeof(*t->wait) * (PENDING - 1));
		t->nwaits--;
	}
	t->wait[t->nwaits].ctx = ctx->id;
	t->wait[t->nwaits++].edge = x;
}

/* The legacy stream's operation comes after what blocking streams held, theirs after its. */
static void barriers(struct krt_engine *e, const struct krt_call *c, struct tl_lane *l)
{
	struct krt_timeline_store *t = e->timeline;
	const struct krt_stream_info *s = l->stream, *legacy = s->ctx->legacy;
	const struct tl_lane *g;

	if (s->kind == KRT_STREAM_LEGACY && l->seen != t->blocking) {
		l->seen = t->blocking;
		for (uint32_t i = 0; i < t->nopen; i++) {
			struct tl_lane *b = &t->lane[t->open[i]];

			if (b->stream->kind != KRT_STREAM_BLOCKING ||
			    b->stream->ctx->id != s->ctx->id || b->last <= b->given)
				continue;
			krt_timeline_edge(e, c, KRT_TLE_LEGACY, b->last, c->rec->t0, KRT_IN_BOTH);
			b->given = b->last;
		}
	}
	if (s->kind != KRT_STREAM_BLOCKING)
		return;
	t->blocking++;
	g = legacy && legacy->timeline ? &t->lane[legacy->timeline - 1] : NULL;
	if (g && g->last > l->met) {
		krt_timeline_edge(e, c, KRT_TLE_LEGACY, g->last, c->rec->t0, KRT_IN_BOTH);
		l->met = g->last;
	}
}

/* --- rows ------------------------------------------------------------------------- */

static struct krt_timeline_op *row_new(struct krt_engine *e, const struct krt_call *c,
				       uint32_t stream)
{
	struct krt_timeline_store *t = e->timeline;
	uint32_t thread = thread_lane(e, c);
	struct krt_timeline_op *op;

	if (thread == KRT_TL_NONE || !index_grow(&e->heap, t) ||
	    !krt_heap_grow(&e->heap, &t->op, &t->cap, t->n, sizeof(*t->op)))
		return NULL;
	op = &t->op[t->n++];
	*op = (struct krt_timeline_op){
		.sequence = c->rec->t0,
		.start_ns = KRT_UNKNOWN,
		.device_start_ns = KRT_UNKNOWN,
		.device_ns = KRT_UNKNOWN,
		.thread = thread,
		.stream = stream,
		.kind = kind_of[c->op],
		.kernel = KRT_TL_NONE,
		.range = KRT_TL_NONE,
	};
	if (c->rec->start_ns || c->rec->took_ns) {
		op->start_ns = c->rec->start_ns;
		op->took_ns = c->rec->took_ns;
	}
	op->api = name_of(e, NAME_API, c->rec->api);
	if (c->range)
		op->range = name_of(e, NAME_RANGE, c->range);
	index_row(t, t->n - 1);
	t->row = t->n;
	return op;
}

/* A row on the stream's lane; NULL: there is one already, or no memory. */
static struct tl_lane *row_on(struct krt_engine *e, const struct krt_call *c,
			      struct krt_stream_info *s)
{
	struct krt_timeline_store *t = e->timeline;
	uint32_t at = stream_lane(e, s);
	bool more = t->row && t->op[t->row - 1].sequence == c->rec->t0;
	struct krt_timeline_op *op;

	if (at == KRT_TL_NONE || (more && t->lane[at].last == c->rec->t0))
		return NULL;
	op = row_new(e, c, at);
	if (!op)
		return NULL;
	if (more)
		op->flags |= KRT_TLF_MORE;
	if (s->capture)
		op->flags |= KRT_TLF_CAPTURED;
	return &t->lane[at];
}

void krt_timeline_idle(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s)
{
	if (e->timeline)
		row_on(e, c, s);
}

void krt_timeline_on(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s)
{
	struct tl_lane *l = e->timeline ? row_on(e, c, s) : NULL;

	if (!l || s->capture)
		return;
	barriers(e, c, l);
	for (unsigned i = 0; i < l->npending; i++)
		krt_timeline_edge(e, c, l->pending[i].kind, l->pending[i].from, c->rec->t0,
				  l->pending[i].observed ? KRT_IN_OBS : KRT_IN_BOTH);
	l->npending = 0;
	memmove(l->recent + 1, l->recent, sizeof(l->recent) - sizeof(*l->recent));
	l->recent[0] = l->last = c->rec->t0;
}

static uint64_t bytes_of(const struct krt_call *c)
{
	switch (kind_of[c->op]) {
	case KRT_TL_SET:
		return c->count * krt_elem_size(c->api);
	case KRT_TL_COPY:
	case KRT_TL_ALLOC:
		return c->bytes;
	default:
		return 0;
	}
}

/* --- the bound -------------------------------------------------------------------- */

static void mark_around(const struct krt_timeline_store *t, uint8_t *keep, uint64_t seq,
			uint32_t *left)
{
	uint32_t at = find(t, seq), from, end;

	if (!at)
		return;
	from = at - 1 < AROUND ? 0 : at - 1 - AROUND;
	end = t->n - at < AROUND ? t->n : at + AROUND;
	for (; from < end && *left; from++)
		if (!keep[from]) {
			keep[from] = 1;
			--*left;
		}
}

static void lanes_drop(struct krt_engine *e)
{
	struct krt_timeline_store *t = e->timeline;
	uint32_t *place = krt_heap_alloc(&e->heap, (t->nlanes + 1) * sizeof(*place));
	uint32_t n = 0, open = 0;

	if (!place)
		return;
	for (uint32_t i = 0; i < t->nlanes; i++)
		t->lane[i].keep = t->lane[i].stream && !t->lane[i].stream->ended;
	for (uint32_t i = 0; i < e->lanes; i++)
		if (e->lane[i].timeline)
			t->lane[e->lane[i].timeline - 1].keep = true;
	for (uint32_t i = 0; i < t->n; i++) {
		t->lane[t->op[i].thread].keep = true;
		if (t->op[i].stream != KRT_TL_NONE)
			t->lane[t->op[i].stream].keep = true;
	}
	for (uint32_t i = 0; i < t->nopen; i++)
		if (t->lane[t->open[i]].keep)
			t->open[open++] = t->open[i];
	t->nopen = open;
	for (uint32_t i = 0; i < t->nlanes; i++) {
		struct tl_lane *l = &t->lane[i];

		place[i] = n;
		if (l->stream)
			l->stream->timeline = l->keep ? n + 1 : 0;
		if (l->keep)
			t->lane[n++] = *l;
		else if (l->stream)
			krt_stream_unref(&e->obj, l->stream);
	}
	for (uint32_t i = 0; i < t->nopen; i++)
		t->open[i] = place[t->open[i]];
	for (uint32_t i = 0; i < e->lanes; i++)
		if (e->lane[i].timeline)
			e->lane[i].timeline = place[e->lane[i].timeline - 1] + 1;
	for (uint32_t i = 0; i < t->n; i++) {
		t->op[i].thread = place[t->op[i].thread];
		if (t->op[i].stream != KRT_TL_NONE)
			t->op[i].stream = place[t->op[i].stream];
	}
	krt_heap_free(&e->heap, place, (t->nlanes + 1) * sizeof(*place));
	t->nlanes = n;
}

/* Half of the rows go. */
static void make_room(struct krt_engine *e)
{
	struct krt_timeline_store *t = e->timeline;
	uint32_t was = t->n, n = 0, left = t->max / 4;
	uint8_t *keep = krt_heap_alloc(&e->heap, was);

	if (!keep)
		return;
	memset(keep + was - t->max / 2, 1, t->max / 2);
	for (const struct krt_found *f = e->found; f && left; f = f->hh.next) {
		mark_around(t, keep, f->f.current.sequence, &left);
		mark_around(t, keep, f->f.previous.sequence, &left);
	}
	for (uint32_t i = 0; i < was; i++)
		if (keep[i])
			t->op[n++] = t->op[i];
	krt_heap_free(&e->heap, keep, was);
	t->left_out += was - n;
	t->n = n;
	memset(t->slot, 0, t->slots * sizeof(*t->slot));
	for (uint32_t i = 0; i < n; i++)
		index_row(t, i);
	n = 0;
	for (uint32_t i = 0; i < t->nedges; i++)
		if (find(t, t->edge[i].from) && find(t, t->edge[i].to))
			t->edge[n++] = t->edge[i];
	t->edges_left_out += t->nedges - n;
	t->nedges = n;
	lanes_drop(e);
}

/* --- the engine's calls ------------------------------------------------------------- */

void krt_timeline_call(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_timeline_store *t = e->timeline;
	unsigned findings = HASH_COUNT(e->found);
	struct krt_timeline_op *op;
	uint32_t kernel;

	if (!t || e->heap.failed)
		return;
	if (!t->row && ((!c->not_ready && (kind_of[c->op] || landmark(c->op))) ||
			t->wanted == c->rec->t0 || findings != t->findings))
		row_new(e, c, KRT_TL_NONE);
	t->findings = findings;
	if (t->row) {
		op = &t->op[t->row - 1];
		op->bytes = bytes_of(c);
		kernel = kind_of[c->op] == KRT_TL_KERNEL ? krt_launch_kernel(e, c) : 0;
		if (kernel)
			op->kernel = name_of(e, NAME_KERNEL, kernel);
		if (!c->ok && !c->not_ready)
			op->flags |= KRT_TLF_FAILED;
		t->row = 0;
		if (t->n >= t->max)
			make_room(e);
	}
	t->wanted = 0;
}

void krt_timeline_device(struct krt_engine *e, const struct krt_device_time *d)
{
	struct krt_timeline_store *t = e->timeline;
	uint32_t at = t ? find(t, d->call) : 0;
	struct krt_timeline_op *op;
	uint64_t end;

	if (!at || d->end_ns < d->start_ns)
		return;
	op = &t->op[at - 1];
	end = d->end_ns;
	if (op->device_start_ns == KRT_UNKNOWN) {
		op->device_start_ns = d->start_ns;
	} else { /* of several parts: from the first to the last */
		end = op->device_start_ns + op->device_ns > end
			      ? op->device_start_ns + op->device_ns
			      : end;
		if (d->start_ns < op->device_start_ns)
			op->device_start_ns = d->start_ns;
	}
	op->device_ns = end - op->device_start_ns;
}

/* --- the report --------------------------------------------------------------------- */

static const char *name_text(const struct krt_engine *e, uint64_t key, char *buf)
{
	const struct krt_kernel_info *k;

	switch ((enum name_sort)(key >> 32)) {
	case NAME_API:
		return krt_api_text((uint32_t)key);
	case NAME_KERNEL:
		k = krt_kernel_get(&e->obj, (uint32_t)key);
		if (!k || !k->name)
			return "kernel";
		krt_demangle_short(k->name, buf);
		return buf;
	case NAME_RANGE:
		return krt_string_get(&e->obj, (uint32_t)key);
	}
	return NULL;
}

static bool report_names(const struct krt_engine *e, struct krt_arena *a, struct krt_timeline *out)
{
	const struct krt_timeline_store *t = e->timeline;
	char buf[KRT_SHORT_NAME];

	out->nnames = HASH_COUNT(t->names);
	out->name = krt_arena_alloc(a, (out->nnames + 1) * sizeof(*out->name));
	if (!out->name)
		return false;
	for (const struct tl_name *n = t->names; n; n = n->hh.next) {
		const char *s = name_text(e, n->key, buf);

		out->name[n->at] = krt_arena_strdup(a, s ? s : "?");
		if (!out->name[n->at])
			return false;
	}
	return true;
}

static bool report_lanes(const struct krt_engine *e, struct krt_arena *a, struct krt_timeline *out)
{
	const struct krt_timeline_store *t = e->timeline;
	char buf[160];

	out->lane = krt_arena_alloc(a, (t->nlanes + 1) * sizeof(*out->lane));
	if (!out->lane)
		return false;
	for (uint32_t i = 0; i < t->nlanes; i++) {
		const struct tl_lane *l = &t->lane[i];
		struct krt_timeline_lane *o = &out->lane[i];

		if (l->stream) {
			o->kind = KRT_LANE_STREAM;
			o->device = l->stream->ctx->device;
			o->context = l->stream->ctx->number;
			o->handle = l->stream->handle;
			o->name = krt_arena_strdup(a, krt_stream_text(l->stream, buf, sizeof(buf)));
		} else if (l->name[0]) {
			o->name = krt_arena_printf(a, "thread %d \"%.16s\"", l->tid, l->name);
		} else {
			o->name = krt_arena_printf(a, "thread %d", l->tid);
		}
		if (!o->name)
			return false;
	}
	out->nlanes = t->nlanes;
	return true;
}

static int by_sequence(const void *a, const void *b)
{
	const struct krt_timeline_op *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return (x->flags & KRT_TLF_MORE) - (y->flags & KRT_TLF_MORE);
}

static int by_ends(const void *a, const void *b)
{
	const struct krt_timeline_edge *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

int krt_timeline_report(const struct krt_engine *e, struct krt_arena *a,
			struct krt_timeline **result)
{
	const struct krt_timeline_store *t = e->timeline;
	struct krt_timeline *out;

	if (!t)
		return 0;
	out = krt_arena_alloc(a, sizeof(*out));
	if (!out || !report_names(e, a, out) || !report_lanes(e, a, out))
		return -ENOMEM;
	out->op = krt_arena_alloc(a, ((size_t)t->n + 1) * sizeof(*out->op));
	out->edge = krt_arena_alloc(a, ((size_t)t->nedges + 1) * sizeof(*out->edge));
	if (!out->op || !out->edge)
		return -ENOMEM;
	if (t->n)
		memcpy(out->op, t->op, t->n * sizeof(*out->op));
	out->nops = t->n;
	qsort(out->op, out->nops, sizeof(*out->op), by_sequence);
	for (uint32_t i = 0; i < t->nedges; i++) {
		uint32_t from = krt_timeline_find(out, t->edge[i].from),
			 to = krt_timeline_find(out, t->edge[i].to);

		if (from != KRT_TL_NONE && to != KRT_TL_NONE)
			out->edge[out->nedges++] = (struct krt_timeline_edge){
				from, to, t->edge[i].kind, t->edge[i].observed};
	}
	qsort(out->edge, out->nedges, sizeof(*out->edge), by_ends);
	out->left_out = t->left_out;
	out->edges_left_out = t->edges_left_out;
	*result = out;
	return 0;
}

bool krt_timeline_init(struct krt_engine *e)
{
	if (!e->cfg.timeline)
		return true;
	e->timeline = krt_heap_alloc(&e->heap, sizeof(*e->timeline));
	if (e->timeline) /* less cannot be halved */
		e->timeline->max = e->cfg.timeline < 16 ? 16 : e->cfg.timeline;
	return e->timeline;
}

void krt_timeline_free(struct krt_engine *e)
{
	struct krt_timeline_store *t = e->timeline;
	struct krt_heap *heap = &e->heap;
	struct tl_name *n, *tmp;

	if (!t)
		return;
	HASH_ITER (hh, t->names, n, tmp) {
		HASH_DELETE(hh, t->names, n);
		krt_heap_free(heap, n, sizeof(*n));
	}
	for (uint32_t i = 0; i < t->nlanes; i++)
		if (t->lane[i].stream)
			krt_stream_unref(&e->obj, t->lane[i].stream);
	krt_heap_free(heap, t->lane, t->lanes_cap * sizeof(*t->lane));
	krt_heap_free(heap, t->open, t->open_cap * sizeof(*t->open));
	krt_heap_free(heap, t->edge, t->edges_cap * sizeof(*t->edge));
	krt_heap_free(heap, t->op, t->cap * sizeof(*t->op));
	krt_heap_free(heap, t->slot, t->slots * sizeof(*t->slot));
	krt_heap_free(heap, t, sizeof(*t));
	e->timeline = NULL;
}
