/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executables of graphs: made, updated, launched.
 *
 * A launch is one operation of its stream.  It comes after what the stream
 * holds and after the executable's launch before it, wherever that was, and
 * completes when all nodes have.  Its footprint says what it meets; what it
 * costs does not depend on the number of nodes.
 *
 * A node names memory by address.  When the owner that the address had when the
 * node was made has ended, the address is stale: an error at the next launch.
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"

#include <stdlib.h>
#include <string.h>

#define STALE_MAX 16 /* findings of one launch */

/* --- executables ----------------------------------------------------------------------------- */

static struct krt_exec *exec_get(struct krt_engine *e, uint64_t handle)
{
	struct krt_exec *x;

	HASH_FIND(hh, e->graphs.execs, &handle, sizeof(handle), x);
	return x;
}

static void exec_clear(struct krt_engine *e, struct krt_exec *x)
{
	struct krt_heap *heap = &e->heap;
	uint32_t n = x->image ? x->image->nodes : 0;

	krt_footprint_retire(e, x->fp);
	krt_pending_clear(e, x);
	for (uint32_t i = 0; x->set && i < n; i++)
		krt_gset_unref(x->set[i]);
	krt_heap_free(heap, x->set, n * sizeof(*x->set));
	krt_heap_free(heap, x->off, n);
	krt_heap_free(heap, x->index, n * sizeof(*x->index));
	krt_heap_free(heap, x->events, x->events_cap * sizeof(*x->events));
	krt_heap_free(heap, x->left, x->left_cap * sizeof(*x->left));
	krt_graph_image_unref(x->image);
	x->fp = NULL;
	x->set = NULL;
	x->off = NULL;
	x->index = NULL;
	x->events = NULL;
	x->nevents = x->events_cap = 0;
	x->left = NULL;
	x->nleft = x->left_cap = 0;
	x->image = NULL;
}

/* Its launches go on. */
static void exec_drop(struct krt_engine *e, struct krt_exec *x)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, e->graphs.execs, x);
	exec_clear(e, x);
	krt_input_free(e, x);
	if (x->last)
		krt_snapshot_unref(e->order, x->last);
	krt_heap_free(heap, x, sizeof(*x));
}

static struct krt_exec *exec_new(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_heap *heap = &e->heap;
	struct krt_exec *x = exec_get(e, c->out_handle);

	if (x) {
		krt_input_end(e, x);
		exec_drop(e, x);
	}
	x = krt_heap_alloc(heap, sizeof(*x));
	if (!x)
		return NULL;
	x->handle = c->out_handle;
	x->made = (struct krt_origin){
		.api = c->rec->api, .seq = c->rec->t0, .stack = c->rec->stack};
	HASH_ADD(hh, e->graphs.execs, handle, sizeof(x->handle), x);
	if (x->hh.tbl)
		return x;
	krt_heap_free(heap, x, sizeof(*x));
	return NULL;
}

static int by_handle(const void *a, const void *b)
{
	const struct krt_ghandle *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Places of the node in the executable: where they begin in its index, and how many. */
static uint32_t places(const struct krt_exec *x, uint64_t node, uint32_t *first)
{
	uint32_t lo = 0, hi = x->image ? x->image->nodes : 0, n = hi;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (x->index[mid].node < node)
			lo = mid + 1;
		else
			hi = mid;
	}
	*first = lo;
	while (hi < n && x->index[hi].node == node)
		hi++;
	return hi - lo;
}

static void not_read(struct krt_engine *e, const struct krt_call *c)
{
	krt_reason(e, KRT_REASON_GRAPH, "%s #%llu", c->api->base, (unsigned long long)c->rec->t0);
}

/* --- memory that a graph leaves behind --- */

/* The size of the memory that some graph allocates at addr, 0: none does. */
static uint64_t memory_at(struct krt_engine *e, uint64_t addr, struct krt_origin *made)
{
	for (struct krt_exec *x = e->graphs.execs; x; x = x->hh.next) {
		const struct krt_gmem *m = x->image ? krt_graph_image_mem(x->image, addr) : NULL;

		if (!m || m->addr != addr)
			continue;
		if (x->image->node[m->alloc].set)
			*made = x->image->node[m->alloc].set->made;
		return m->bytes;
	}
	return 0;
}

void krt_graph_memory_ends(struct krt_engine *e, const struct krt_call *c, struct krt_op_info *op,
			   struct krt_stream_info *s, uint64_t addr)
{
	struct krt_origin made = {0};
	uint64_t bytes = memory_at(e, addr, &made), to;
	struct krt_mem *m;

	if (!bytes || bytes > UINT64_MAX - addr || krt_piece_at(e, addr, addr + bytes, &to) ||
	    to < addr + bytes)
		return;
	/* where its accesses are */
	m = krt_mem_add(&e->mem, addr, bytes, KRT_MEM_POOL, &e->mem.unknown_space, addr, NULL);
	if (!m)
		return;
	m->made = made;
	m->of_graph = e->graphs.memory_ended = true;
	if (s) {
		krt_touch_free(e, op, s, m, KRT_RULE_FREE_IN_USE);
		krt_graph_free_unknown(e, op, s, m);
		krt_pairs_flush(e);
	}
	/* the next life has nothing to do with this one */
	krt_ranges_clear(&e->heap, &m->space->sure, addr, addr + bytes);
	krt_ranges_clear(&e->heap, &m->space->may, addr, addr + bytes);
	m->free_external = s && (s->external || s->external_own);
	krt_mem_retire(&e->mem, m, c, op);
}

static void left_add(struct krt_engine *e, struct krt_exec *x, struct krt_gleft left)
{
	if (krt_heap_grow(&e->heap, &x->left, &x->left_cap, x->nleft, sizeof(*x->left)))
		x->left[x->nleft++] = left;
}

/* What a launch allocates and does not free, and what it only frees. */
static void exec_memory(struct krt_engine *e, struct krt_exec *x)
{
	const struct krt_graph_image *g = x->image;

	for (uint32_t i = 0; i < g->mems; i++)
		if (g->mem[i].free == KRT_GNODE_NONE)
			left_add(e, x, (struct krt_gleft){.addr = g->mem[i].addr,
							  .bytes = g->mem[i].bytes});
	for (uint32_t i = 0; i < g->nodes; i++) {
		struct krt_gleft left = {.frees = true};

		if (g->node[i].type != KRT_GNODE_MEM_FREE || !g->node[i].len ||
		    g->node[i].flags & KRT_GN_MAYBE)
			continue;
		memcpy(&left.addr, g->node[i].payload, sizeof(left.addr));
		if (!krt_graph_image_mem(g, left.addr))
			left_add(e, x, left);
	}
}

static void memory_left(struct krt_engine *e, const struct krt_call *c, const struct krt_exec *x,
			struct krt_op_info *op)
{
	for (uint32_t i = 0; i < x->nleft; i++) {
		const struct krt_gleft *l = &x->left[i];

		if (l->frees)
			krt_graph_memory_ends(e, c, op, op->stream, l->addr);
		else
			krt_mem_freed_forget(&e->mem, l->addr, l->addr + l->bytes);
	}
}

/* Takes over the image. */
static void exec_read(struct krt_engine *e, const struct krt_call *c, struct krt_exec *x,
		      struct krt_graph_image *g)
{
	if (!g || !krt_graph_image_resolve(e, c, g)) {
		krt_graph_image_unref(g);
		not_read(e, c);
		return;
	}
	if (g->unread)
		not_read(e, c);
	x->image = g;
	x->set = krt_heap_alloc(&e->heap, g->nodes * sizeof(*x->set));
	x->off = krt_heap_alloc(&e->heap, g->nodes);
	x->index = krt_heap_alloc(&e->heap, g->nodes * sizeof(*x->index));
	if (!x->set || !x->off || !x->index)
		return;
	for (uint32_t i = 0; i < g->nodes; i++) {
		const struct krt_gnode *n = &g->node[i];

		if (n->set)
			x->set[i] = krt_gset_ref(n->set);
		x->index[i] = (struct krt_ghandle){.node = n->node, .place = i};
		x->external |= n->set && n->set->waits;
		x->signals |= n->type == KRT_GNODE_SEMAS_SIGNAL;
	}
	if (g->nodes)
		qsort(x->index, g->nodes, sizeof(*x->index), by_handle);
	exec_memory(e, x);
	x->dirty = true;
}

/* The node has changed, KRT_GNODE_NONE: any may have.  Its inside is judged when it is launched. */
static void exec_changed(struct krt_exec *x, uint32_t place)
{
	if (place == KRT_GNODE_NONE || x->nchanged > KRT_CHANGED_MAX)
		x->nchanged = KRT_CHANGED_MAX + 1;
	else if (x->nchanged++ < KRT_CHANGED_MAX)
		x->changed[x->nchanged - 1] = place;
}

/* One finding of its inside is enough. */
static void exec_order(struct krt_engine *e, struct krt_exec *x)
{
	uint32_t n = x->nchanged;

	x->nchanged = 0;
	if (n > KRT_CHANGED_MAX && !x->unordered)
		x->unordered = krt_graph_order(e, &x->made, x->image, x->set, x->off,
					       KRT_GNODE_NONE, !x->launches);
	for (uint32_t i = 0; i < n && n <= KRT_CHANGED_MAX && !x->unordered; i++)
		x->unordered = krt_graph_order(e, &x->made, x->image, x->set, x->off,
					       x->changed[i], false);
}

static int by_event(const void *a, const void *b)
{
	const struct krt_gevent *x = a, *y = b;

	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->record - y->record;
}

static void exec_events(struct krt_engine *e, struct krt_exec *x)
{
	uint32_t n = 0;

	x->nevents = 0;
	for (uint32_t i = 0; i < x->image->nodes; i++) {
		unsigned type = x->image->node[i].type;
		struct krt_gevent ev = {.record = type == KRT_GNODE_EVENT_RECORD};

		if ((!ev.record && type != KRT_GNODE_WAIT_EVENT) || !x->set[i])
			continue;
		ev.event = x->set[i]->event;
		if (ev.event && krt_heap_grow(&e->heap, &x->events, &x->events_cap, x->nevents,
					      sizeof(*x->events)))
			x->events[x->nevents++] = ev;
	}
	if (x->nevents)
		qsort(x->events, x->nevents, sizeof(*x->events), by_event);
	for (uint32_t i = 0; i < x->nevents; i++)
		if (!i || by_event(&x->events[i], &x->events[n - 1]))
			x->events[n++] = x->events[i];
	x->nevents = n;
}

/* The footprint of now, and what is live around it.  False: there is none. */
static bool exec_ready(struct krt_engine *e, struct krt_exec *x)
{
	if (!x->image || !x->set || !x->off)
		return false;
	if (!x->dirty)
		return x->fp;
	exec_events(e, x);
	krt_footprint_retire(e, x->fp);
	x->fp = krt_footprint_new(e, x);
	if (!x->fp)
		return false;
	x->dirty = false;
	krt_footprint_seed(e, x);
	exec_order(e, x);
	return true;
}

#define INSTANTIATE_DEVICE_LAUNCH 4u

static void instantiate(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_exec *x;
	uint64_t flags = c->flags;

	if (!c->out_handle)
		return;
	if (c->in.len >= 8) /* CUDA_GRAPH_INSTANTIATE_PARAMS */
		flags = krt_u64_at(&c->in, 0);
	if (flags & INSTANTIATE_DEVICE_LAUNCH)
		krt_reason(e, KRT_REASON_UNSUPPORTED,
			   "%s for launches from the device, which are not seen", c->api->base);
	x = exec_new(e, c);
	if (!x)
		return;
	exec_read(e, c, x,
		  c->graph_rec.data ? krt_graph_image_new(&e->heap, c->graph_rec.data,
							  c->graph_rec.len)
				    : NULL);
	exec_changed(x, KRT_GNODE_NONE);
	exec_ready(e, x);
}

/* --- updates --------------------------------------------------------------------------------------- */

/* A node among those of its kind: what the driver pairs when it updates a whole graph. */
struct rank {
	uint32_t holder, body, type, place;
};

static int by_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->holder != y->holder)
		return x->holder < y->holder ? -1 : 1;
	if (x->body != y->body)
		return x->body < y->body ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Nodes of an image in the order of their ranks; NULL: no memory. */
static struct rank *ranks(struct krt_engine *e, const struct krt_graph_image *g)
{
	struct rank *r = krt_heap_alloc(&e->heap, ((size_t)g->nodes + 1) * sizeof(*r));

	for (uint32_t i = 0; r && i < g->nodes; i++) {
		const struct krt_gnode *n = &g->node[i];

		r[i] = (struct rank){
			.holder = n->holder, .body = n->body, .type = n->type, .place = i};
	}
	if (r && g->nodes)
		qsort(r, g->nodes, sizeof(*r), by_rank);
	return r;
}

/* The first of a run in a sorted list. */
static uint32_t run_of(const struct rank *r, uint32_t n, const struct rank *want)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (by_rank(&r[mid], want) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Pairs the nodes of `new` with those inside `holder` of the executable: the
 * n-th of a type with the n-th of that type.  to[i]: place of node i in the
 * executable.  False: they do not fit one another.
 */
static bool pair_up(struct krt_engine *e, const struct krt_graph_image *old, uint32_t holder,
		    const struct krt_graph_image *new, uint32_t *to)
{
	struct rank *o = ranks(e, old), *n = ranks(e, new);
	bool ok = o && n;

	/* a holder's rank is known before those of what it holds: they come behind it */
	for (uint32_t i = 0; ok && i < new->nodes; i++) {
		const struct krt_gnode *k = &new->node[i];
		struct rank want = {.holder = k->holder, .body = k->body, .type = k->type};
		uint32_t nth, at;

		if (k->type == KRT_GNODE_END) {
			to[i] = old->node[to[k->end]].end;
			continue;
		}
		nth = run_of(n, new->nodes, &want);
		want.place = i;
		nth = run_of(n, new->nodes, &want) - nth;
		want.place = 0;
		want.holder = k->holder == KRT_GNODE_NONE ? holder : to[k->holder];
		if (k->holder == KRT_GNODE_NONE && holder == KRT_GNODE_NONE)
			want.body = 0;
		at = run_of(o, old->nodes, &want);
		ok = nth < old->nodes - at && o[at + nth].holder == want.holder &&
		     o[at + nth].body == want.body && o[at + nth].type == want.type;
		if (ok)
			to[i] = o[at + nth].place;
	}
	if (o)
		krt_heap_free(&e->heap, o, ((size_t)old->nodes + 1) * sizeof(*o));
	if (n)
		krt_heap_free(&e->heap, n, ((size_t)new->nodes + 1) * sizeof(*n));
	return ok;
}

static void set_put(struct krt_exec *x, uint32_t place, struct krt_gset *set)
{
	krt_gset_unref(x->set[place]);
	x->set[place] = set;
	x->external |= set && set->waits;
	x->dirty = true;
}

/* The image's sets become those of the executable's nodes; takes over the image. */
static void replace(struct krt_engine *e, const struct krt_call *c, struct krt_exec *x,
		    uint32_t holder, struct krt_graph_image *g)
{
	uint32_t *to = g ? krt_heap_alloc(&e->heap, ((size_t)g->nodes + 1) * sizeof(*to)) : NULL;
	bool ok = to && x->set && krt_graph_image_resolve(e, c, g) &&
		  pair_up(e, x->image, holder, g, to);

	for (uint32_t i = 0; ok && i < g->nodes; i++)
		if (g->node[i].set)
			set_put(x, to[i], krt_gset_ref(g->node[i].set));
	if (!ok || g->unread)
		not_read(e, c);
	exec_changed(x, KRT_GNODE_NONE);
	if (!ok) { /* nothing is known of its nodes any more */
		exec_clear(e, x);
	}
	if (to)
		krt_heap_free(&e->heap, to, ((size_t)g->nodes + 1) * sizeof(*to));
	krt_graph_image_unref(g);
}

static void exec_update(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_exec *x = exec_get(e, c->exec);

	if (!x || !x->image)
		return;
	replace(e, c, x, KRT_GNODE_NONE,
		c->graph_rec.data ? krt_graph_image_new(&e->heap, c->graph_rec.data,
							c->graph_rec.len)
				  : NULL);
}

static void exec_set(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_exec *x = exec_get(e, c->exec);
	const struct krt_node_rec *r = c->node_rec.data;
	uint32_t first, n = x && x->set ? places(x, c->node, &first) : 0, place;
	struct krt_gset *set;

	if (!n)
		return;
	place = x->index[first].place;
	if (!r || r->size < sizeof(*r) || r->size > c->node_rec.len || r->flags & KRT_NODE_UNREAD ||
	    r->type != x->image->node[place].type) {
		not_read(e, c);
		set_put(x, place, NULL);
		return;
	}
	if (r->type == KRT_GNODE_GRAPH) {
		replace(e, c, x, place,
			krt_graph_image_new(&e->heap, r + 1, r->size - (uint32_t)sizeof(*r)));
		return;
	}
	set = krt_gset_new(e, c, x->image, r->type, r->ctx, r + 1, r->size - (uint32_t)sizeof(*r),
			   NULL);
	if (!set)
		return;
	set->stack = r->flags & KRT_NODE_STACK;
	set_put(x, place, set);
	exec_changed(x, place);
}

static void node_enable(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_exec *x = exec_get(e, c->exec);
	uint32_t first, n = x && x->off ? places(x, c->node, &first) : 0;
	uint64_t on = krt_has(c, KRT_ROLE_VALUE) ? c->value : c->number[0];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = x->index[first + i].place;

		if (x->off[place] == !on)
			continue;
		x->off[place] = !on;
		x->dirty = true;
		if (on)
			exec_changed(x, place);
	}
}

/* --- stale addresses ------------------------------------------------------------------------------ */

struct stale {
	enum krt_stale_why why;
	enum krt_rule_id rule;
	enum krt_confidence confidence;
	struct krt_buffer owner; /* who has the bytes now; kind NULL: nobody */
};

static bool host_kind(enum krt_mem_kind k)
{
	return k == KRT_MEM_PINNED || k == KRT_MEM_REGISTERED || k == KRT_MEM_PAGEABLE;
}

/* Memory that was freed takes its blocks with it: one finding for both. */
static bool went_with_memory(const struct krt_engine *e, const struct krt_owner *o)
{
	const struct krt_mem *m = krt_mem_freed_at(&e->mem, o->base);

	return !krt_block_at(&e->mem, o->base) && m && m->freed.seq == o->freed.seq;
}

/* By somebody outside of the capture, so that it is no output of its graph. */
static bool surely_written(const struct krt_block *b)
{
	if (b->wrote)
		return true;
	for (const struct krt_owner_use *u = b->owner ? b->owner->uses : NULL; u; u = u->next)
		if (u->wrote)
			return true;
	return false;
}

/* Is it a hazard, and of what kind? */
static bool stale_of(const struct krt_engine *e, const struct krt_owner_use *u, struct stale *s)
{
	const struct krt_owner *o = u->owner;
	bool maybe = u->fp->image->node[u->node].flags & KRT_GN_MAYBE;
	const struct krt_block *b = krt_block_at(&e->mem, u->from);
	const struct krt_mem *m = krt_mem_at(&e->mem, u->from);

	memset(s, 0, sizeof(*s));
	s->rule = host_kind(o->kind) ? KRT_RULE_GRAPH_STALE_HOST : KRT_RULE_GRAPH_STALE_ADDR;
	s->confidence = u->stray			    ? KRT_POSSIBLE
			: u->know == KRT_KNOW_WORD || maybe ? KRT_LIKELY
							    : krt_life_confidence(u->sure, u->held);
	s->why = KRT_STALE_FREED;
	if (o->block) {
		if (went_with_memory(e, o))
			return false;
		if (o->capture && !o->recycled) {
			/* a temporary of the capture: who has its bytes, alive and in use? */
			if (!b || b->owner == o || b->capture != o->capture ||
			    (!b->owner && !b->touched))
				return false;
			s->why = KRT_STALE_TEMPORARY;
			/* it may be written through an address that lies in memory */
			if (!surely_written(b) && s->confidence > KRT_LIKELY)
				s->confidence = KRT_LIKELY;
		} else if (b && b->owner != o) {
			s->why = KRT_STALE_RECYCLED;
		}
		if (s->why != KRT_STALE_FREED) {
			s->owner.kind = krt_mem_kind_name(o->kind);
			s->owner.base = b->node.key;
			s->owner.size = b->size;
			s->owner.name = krt_name_at(&e->mem, b->node.key);
			s->owner.allocated_by = krt_api_text(b->made.api);
			s->owner.allocated_seq = b->made.seq;
		}
		return true;
	}
	if (o->kind == KRT_MEM_ARRAY || o->kind == KRT_MEM_PAGEABLE || !m || m->owner == o)
		return true;
	if (o->kind == KRT_MEM_REGISTERED && m->kind == KRT_MEM_REGISTERED &&
	    u->end <= m->node.key + m->size) /* pinned again where it was */
		return false;
	s->why = KRT_STALE_RECYCLED;
	if (o->kind == KRT_MEM_MAPPED && m->kind == KRT_MEM_MAPPED) {
		s->why = KRT_STALE_REMAPPED;
		if (s->confidence > KRT_LIKELY)
			s->confidence = KRT_LIKELY;
	}
	krt_buffer_of(e, m, m->node.key, m->node.key, &s->owner);
	return true;
}

static void stale_find(struct krt_engine *e, const struct krt_exec *x,
		       const struct krt_owner_use *u, const struct stale *s,
		       const struct krt_op_info *op)
{
	const struct krt_gset *set = u->fp->set[u->node];
	unsigned type = u->fp->image->node[u->node].type;
	const struct krt_kernel_info *k =
		set->kernel ? krt_kernel_get(&e->obj, set->kernel) : NULL;
	char buffer[256], owner[256], node[320], stream[160], place[KRT_PLACE];
	struct krt_facts f = {
		.rule = s->rule, .confidence = s->confidence, .view = KRT_BOTH_VIEWS};
	struct krt_finding shape;

	memset(&shape, 0, sizeof(shape));
	krt_owner_buffer(u->owner, u->from, u->end, &shape.buffer);
	krt_buffer_text(&shape.buffer, buffer, sizeof(buffer));
	f.buffer = buffer;
	f.offset = shape.buffer.offset;
	f.len = shape.buffer.len;
	f.size = shape.buffer.size;
	f.node = krt_gset_text(e, type, set, node, sizeof(node));
	f.freed_by = shape.buffer.freed_by;
	f.freed_seq = shape.buffer.freed_seq;
	f.ended = s->why;
	f.block = u->owner->block;
	if (s->owner.kind) {
		krt_buffer_text(&s->owner, owner, sizeof(owner));
		f.new_owner = owner;
	}
	f.cur.scan = u->know == KRT_KNOW_WORD || u->know == KRT_KNOW_POINTER;
	f.cur.word = u->know == KRT_KNOW_WORD;
	f.cur.some = u->sure != KRT_SURE_ALL && !f.cur.scan;
	f.cur.from = u->sure == KRT_SURE_FROM && !f.cur.scan;
	f.cur.what = u->kind == KRT_ACC_READ	? "read"
		     : u->kind == KRT_ACC_WRITE ? "write"
						: "use";
	f.note = !op;
	if (op) {
		f.cur.api = krt_api_text(op->api);
		f.cur.stream = krt_stream_text(op->stream, stream, sizeof(stream));
		f.cur.seq = op->seq;
		shape.current.stack_id = op->stack;
	} else { /* never launched again: the executable itself */
		f.cur.api = krt_api_text(x->made.api);
		f.cur.stream = "host";
		f.cur.seq = x->made.seq;
		shape.current.stack_id = x->made.stack;
	}
	shape.current.what = f.cur.what;
	shape.current.api = f.cur.api;
	shape.current.stream = f.cur.stream;
	shape.current.sequence = f.cur.seq;
	shape.current.kernel = k ? k->name : NULL;
	shape.current.knowledge = krt_know_text(u->know);
	shape.current.declared_at = krt_declared_at(k, u->know, place);
	if (u->from < u->end && u->sure != KRT_SURE_FROM) {
		shape.current.range_base = u->from;
		shape.current.range_len = u->end - u->from;
	}
	if (set->made.seq) {
		f.prev.api = krt_api_text(set->made.api);
		f.prev.what = krt_api[set->made.api].op == KRT_OP_GRAPH_NODE_ADD ? "add"
			      : krt_api[set->made.api].op == KRT_OP_GRAPH_NODE_SET ||
					      krt_api[set->made.api].op == KRT_OP_GRAPH_EXEC_SET
				      ? "set"
				      : "capture";
		f.prev.seq = set->made.seq;
		shape.previous.api = f.prev.api;
		shape.previous.what = f.prev.what;
		shape.previous.kernel = shape.current.kernel;
		shape.previous.sequence = set->made.seq;
		shape.previous.stack_id = set->made.stack;
		shape.previous.knowledge = shape.current.knowledge; /* on no stream: it has not run */
		shape.previous.declared_at = shape.current.declared_at;
	}
	krt_find_life(e, &f, &shape, u->owner->made.seq ? u->owner->made.stack : 0,
		      u->owner->freed.seq ? u->owner->freed.stack : 0);
}

/* The executable is gone as well, or of no use. */
static bool went_with_owner(const struct krt_owner_use *u)
{
	if (!u->owner->freed.seq)
		return false;
	switch (krt_api[u->owner->freed.api].op) {
	case KRT_OP_CTX_DESTROY:
	case KRT_OP_GREEN_DESTROY:
	case KRT_OP_PRIMARY_RESET:
	case KRT_OP_PRIMARY_RELEASE:
	case KRT_OP_MODULE_UNLOAD:
	case KRT_OP_LIBRARY_UNLOAD:
		return true;
	default:
		return false;
	}
}

static void stale_addresses(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op)
{
	struct krt_owner_use *u = x->fp->stale, *next, *keep = NULL;
	unsigned found = 0;
	struct stale s;

	x->fp->stale = NULL;
	for (; u; u = next) {
		next = u->next_stale;
		e->graphs.steps++;
		if (!u->owner->ended) { /* its memory came back */
			u->stale = false;
			continue;
		}
		u->next_stale = keep;
		keep = u;
		if (found >= STALE_MAX || (!op && (u->reported || went_with_owner(u))) ||
		    !stale_of(e, u, &s) || (!op && s.confidence == KRT_POSSIBLE))
			continue;
		stale_find(e, x, u, &s, op);
		u->reported = true;
		found++;
		if (!op)
			found = STALE_MAX; /* a note is one an executable */
	}
	/* in the order that it had */
	for (u = keep; u; u = next) {
		next = u->next_stale;
		u->next_stale = x->fp->stale;
		x->fp->stale = u;
	}
}

/* Nodes that name memory on the stack of the thread that launches: is it below the frames? */
static void stale_stack(struct krt_engine *e, const struct krt_call *c, struct krt_exec *x,
			struct krt_op_info *op)
{
	const struct krt_lane *l = krt_call_lane(e, c->lane);
	const struct krt_frame_rec *r = c->frame;
	struct stale s = {.why = KRT_STALE_FRAME,
			  .rule = KRT_RULE_GRAPH_STALE_HOST,
			  .confidence = KRT_CERTAIN};
	unsigned found = 0;

	if (!r || !r->sp || !l || !x->fp->stack)
		return;
	for (uint32_t i = 0; i < x->fp->uses && found < STALE_MAX; i++) {
		const struct krt_owner_use *u = &x->fp->use[i];
		const struct krt_gset *set = x->fp->set[u->node];

		if (u->owner->kind != KRT_MEM_PAGEABLE || !set->stack || u->stale ||
		    set->thread != l->thread || u->from >= r->sp || !r->low || u->from < r->low)
			continue;
		if (u->know == KRT_KNOW_WORD || x->image->node[u->node].flags & KRT_GN_MAYBE)
			s.confidence = KRT_LIKELY;
		else
			s.confidence = KRT_CERTAIN;
		stale_find(e, x, u, &s, op);
		found++;
	}
}

/* --- launches ----------------------------------------------------------------------------------------- */

/* Wait nodes bind to the records of now; the launch as a whole is taken to wait. */
static void wait_nodes(struct krt_engine *e, const struct krt_call *c, const struct krt_exec *x,
		       struct krt_stream_info *s)
{
	for (uint32_t i = 0; i < x->nevents; i++) {
		struct krt_event_info *ev;

		if (x->events[i].record)
			continue;
		ev = krt_event_get(&e->obj, x->events[i].event, true);
		if (!ev)
			return;
		ev->bound = true;
		if (!ev->record)
			continue;
		krt_order_wait(e->order, s->domain, ev->record, KRT_IN_BOTH);
		krt_timeline_edge(e, c, KRT_TLE_EVENT, ev->record_seq, c->rec->t0, KRT_IN_BOTH);
		krt_waits_note(&s->waits, ev->record_domain, krt_call_origin(c),
			       krt_event_record(ev));
		if (ev->external)
			s->external = true;
	}
}

static void record_nodes(struct krt_engine *e, const struct krt_call *c, const struct krt_exec *x,
			 struct krt_stream_info *s, struct krt_snapshot *snap)
{
	for (uint32_t i = 0; snap && i < x->nevents; i++)
		if (x->events[i].record)
			krt_record_event(e, c, x->events[i].event, s, snap);
}

static void launch(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_exec *x = exec_get(e, c->exec);
	struct krt_snapshot *snap;
	struct krt_op_info *op;
	bool ready;

	if (!s || krt_capturing(e, s))
		return;
	e->cov.graph_launches++;
	ready = x && exec_ready(e, x);
	if (!x || !x->image) /* what it allocates is not known: all may be alive again */
		krt_mem_freed_forget(&e->mem, 0, UINT64_MAX);
	if (!x)
		krt_shadow_launched(e, NULL);
	if (!x)
		krt_reason(e, KRT_REASON_GRAPH, "%s #%llu of an executable that was not seen before",
			   c->api->base, (unsigned long long)c->rec->t0);
	else
		wait_nodes(e, c, x, s);
	if (x && x->last) {
		krt_order_wait(e->order, s->domain, x->last, KRT_IN_BOTH);
		krt_timeline_edge(e, c, KRT_TLE_GRAPH, x->last_seq, c->rec->t0, KRT_IN_BOTH);
	}
	if (x && x->external)
		s->external = true;
	op = krt_enqueue(e, c, s, KRT_OPC_GRAPH);
	if (!op)
		return;
	if (x) {
		x->launches++;
		krt_shadow_launched(e, ready ? x->fp : NULL);
		if (ready && e->judge && !s->ctx->sticky) {
			if (x->fp->stale)
				stale_addresses(e, x, op);
			if (x->fp->stack)
				stale_stack(e, c, x, op);
			if (e->flags)
				krt_footprint_flags(e, x->fp, s);
			krt_footprint_judge(e, x, op);
			if (e->graphs.memory_ended)
				krt_footprint_left(e, x->fp, op);
			krt_input_launch(e, x, op);
			krt_footprint_fly(e, x->fp, op);
			if (x->fp->foreign)
				krt_rights_graph(e, op, x->fp, x->off);
			if (x->fp->fetch)
				krt_unfinished_copy(e, op, x->fp->fetch->addr,
						    x->fp->fetch->rows == 1 &&
								    x->fp->fetch->slices == 1
							    ? x->fp->fetch->width
							    : 0);
		}
		memory_left(e, c, x, op);
		if (x->signals)
			krt_semaphore_release(e, s);
		snap = krt_order_record(e->order, s->domain);
		record_nodes(e, c, x, s, snap);
		if (x->last)
			krt_snapshot_unref(e->order, x->last);
		x->last = snap;
		x->last_seq = c->rec->t0;
	}
	krt_op_unref(&e->heap, op);
	krt_site_work(e, c, 0);
}

static void upload(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_op_info *op = s && !krt_capturing(e, s) ? krt_enqueue(e, c, s, KRT_OPC_OTHER)
							   : NULL;

	if (op)
		krt_op_unref(&e->heap, op);
}

void krt_graph_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_exec *x;

	if (!c->ok)
		return;
	switch (c->op) {
	case KRT_OP_GRAPH_INSTANTIATE:
		instantiate(e, c);
		break;
	case KRT_OP_GRAPH_EXEC_SET:
		exec_set(e, c);
		break;
	case KRT_OP_GRAPH_EXEC_UPDATE:
		exec_update(e, c);
		break;
	case KRT_OP_GRAPH_NODE_ENABLE:
		node_enable(e, c);
		break;
	case KRT_OP_GRAPH_EXEC_DESTROY:
		x = exec_get(e, c->exec);
		if (x) {
			krt_input_end(e, x);
			exec_drop(e, x);
		}
		break;
	case KRT_OP_GRAPH_LAUNCH:
		launch(e, c);
		break;
	case KRT_OP_GRAPH_UPLOAD:
		upload(e, c);
		break;
	default:
		krt_gnode_op(e, c);
		break;
	}
}

/* --- beginning and end ---------------------------------------------------------------------------------- */

void krt_graph_init(struct krt_engine *e)
{
	e->graphs.owners.heap = &e->heap;
	e->mem.owner_ends = krt_owner_ends;
	e->mem.space_ends = krt_footprint_space_ends;
	e->mem.user = e;
}

/*
 * The process is gone without its exit handlers: what it would have launched
 * next nobody knows.  Had they run, an executable would just be one more thing
 * that outlived its memory.
 */
void krt_graph_finish(struct krt_engine *e)
{
	for (struct krt_exec *x = e->graphs.execs; x; x = x->hh.next)
		krt_input_end(e, x);
	for (struct krt_exec *x = e->graphs.execs; x && !e->exit_ticket; x = x->hh.next)
		if (exec_ready(e, x) && x->fp->stale)
			stale_addresses(e, x, NULL);
}

static void owner_ends_quietly(void *engine, struct krt_owner *o)
{
	struct krt_engine *e = engine;

	krt_owner_unref(&e->graphs.owners, o);
}

void krt_graph_free_all(struct krt_engine *e)
{
	struct krt_exec *x, *tmp;

	e->mem.owner_ends = owner_ends_quietly;
	HASH_ITER (hh, e->graphs.execs, x, tmp)
		exec_drop(e, x);
	krt_inputs_free(e);
	krt_footprints_free(e);
	krt_gnodes_free(e);
}
