/* SPDX-License-Identifier: Apache-2.0 */
/* Graph records to images.  See graph.h. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

const char *krt_gnode_type_name(unsigned type)
{
	static const char *const name[] = {
		[KRT_GNODE_KERNEL] = "kernel",
		[KRT_GNODE_MEMCPY] = "copy",
		[KRT_GNODE_MEMSET] = "set",
		[KRT_GNODE_HOST] = "host",
		[KRT_GNODE_GRAPH] = "child graph",
		[KRT_GNODE_EMPTY] = "empty",
		[KRT_GNODE_WAIT_EVENT] = "event wait",
		[KRT_GNODE_EVENT_RECORD] = "event record",
		[KRT_GNODE_SEMAS_SIGNAL] = "semaphore signal",
		[KRT_GNODE_SEMAS_WAIT] = "semaphore wait",
		[KRT_GNODE_MEM_ALLOC] = "allocation",
		[KRT_GNODE_MEM_FREE] = "free",
		[KRT_GNODE_BATCH_MEM_OP] = "memory operation",
		[KRT_GNODE_CONDITIONAL] = "conditional",
	};

	return type < sizeof(name) / sizeof(*name) ? name[type] : "unknown";
}

/* Bytes of payload that a node of the type has at least. */
static uint32_t least(unsigned type)
{
	switch ((enum krt_gnode_type)type) {
	case KRT_GNODE_KERNEL:
		return sizeof(struct krt_node_kernel) + sizeof(struct krt_params);
	case KRT_GNODE_MEMCPY:
		return 200; /* CUDA_MEMCPY3D */
	case KRT_GNODE_MEMSET:
		return 40; /* CUDA_MEMSET_NODE_PARAMS, without a context */
	case KRT_GNODE_HOST:
	case KRT_GNODE_MEM_ALLOC:
	case KRT_GNODE_CONDITIONAL:
		return 16;
	case KRT_GNODE_GRAPH:
		return sizeof(struct krt_graph_rec);
	case KRT_GNODE_WAIT_EVENT:
	case KRT_GNODE_EVENT_RECORD:
	case KRT_GNODE_SEMAS_SIGNAL:
	case KRT_GNODE_SEMAS_WAIT:
	case KRT_GNODE_MEM_FREE:
	case KRT_GNODE_BATCH_MEM_OP:
		return 8;
	case KRT_GNODE_EMPTY:
	case KRT_GNODE_END:
		break;
	}
	return 0;
}

/* --- decoding --------------------------------------------------------------------- */

static bool add_edge(struct krt_graph_image *g, uint32_t from, uint32_t to,
		     const struct krt_edge_rec *r)
{
	struct krt_gedge *d;

	if (!krt_heap_grow(g->heap, &g->edge, &g->edges_cap, g->edges, sizeof(*d)))
		return false;
	d = &g->edge[g->edges++];
	*d = (struct krt_gedge){.from = from, .to = to};
	if (r) {
		d->from_port = r->from_port;
		d->to_port = r->to_port;
		d->type = r->type;
	}
	return true;
}

static struct krt_gnode *add_node(struct krt_graph_image *g)
{
	struct krt_gnode *n;

	if (!krt_heap_grow(g->heap, &g->node, &g->nodes_cap, g->nodes, sizeof(*n)))
		return NULL;
	n = &g->node[g->nodes++];
	memset(n, 0, sizeof(*n));
	return n;
}

static bool add_mem(struct krt_graph_image *g, uint32_t node)
{
	const struct krt_gnode *n = &g->node[node];
	uint64_t v[2];

	memcpy(v, n->payload, sizeof(v));
	if (!v[1] || v[1] > UINT64_MAX - v[0])
		return true;
	if (!krt_heap_grow(g->heap, &g->mem, &g->mems_cap, g->mems, sizeof(*g->mem)))
		return false;
	g->mem[g->mems++] = (struct krt_gmem){
		.addr = v[0], .bytes = v[1], .alloc = node, .free = KRT_GNODE_NONE};
	return true;
}

struct level {
	uint32_t holder, body, depth;
	uint16_t flags;
};

static bool decode(struct krt_graph_image *g, const char *p, uint32_t len, const struct level *at,
		   uint32_t *used);

/* What a holder holds.  at: the level inside. */
static bool decode_inside(struct krt_graph_image *g, uint32_t holder, struct level at)
{
	const char *p = g->node[holder].payload;
	uint32_t len = g->node[holder].len, graphs = 1, used;

	if (!len)
		return true;
	if (g->node[holder].type == KRT_GNODE_CONDITIONAL) {
		memcpy(&graphs, p + 12, 4);
		p += 16;
		len -= 16;
		at.flags |= KRT_GN_MAYBE;
	}
	if (graphs > len / sizeof(struct krt_graph_rec))
		return false;
	for (at.body = 0; at.body < graphs; at.body++) {
		if (!decode(g, p, len, &at, &used))
			return false;
		p += used;
		len -= used;
	}
	return true;
}

static bool decode_node(struct krt_graph_image *g, const char *p, const struct krt_node_rec *r,
			const struct level *at, uint64_t graph, uint32_t place)
{
	struct level inside = *at;
	uint32_t i = g->nodes;
	struct krt_gnode *n = add_node(g);

	if (!n)
		return false;
	n->type = r->type;
	n->flags = at->flags;
	n->holder = at->holder;
	n->body = at->body;
	n->end = i;
	n->place = place;
	n->graph = graph;
	n->node = r->node;
	n->ctx = r->ctx;
	n->len = r->size - (uint32_t)sizeof(*r);
	n->payload = n->len ? p + sizeof(*r) : NULL;
	if (r->flags & KRT_NODE_UNREAD || n->len < least(n->type) ||
	    n->type > KRT_GNODE_CONDITIONAL) {
		n->flags |= KRT_GN_UNREAD;
		n->payload = NULL;
		n->len = 0;
		g->unread = true;
	}
	if (n->type == KRT_GNODE_MEM_ALLOC && n->len)
		return add_mem(g, i);
	if (n->type != KRT_GNODE_GRAPH && n->type != KRT_GNODE_CONDITIONAL)
		return true;
	n->flags |= KRT_GN_HOLDER;
	inside.holder = i;
	inside.depth++;
	if (!decode_inside(g, i, inside))
		return false;
	n = add_node(g);
	if (!n)
		return false;
	*n = g->node[i];
	n->type = KRT_GNODE_END;
	n->flags &= (uint16_t) ~(KRT_GN_HOLDER | KRT_GN_UNREAD);
	n->payload = NULL;
	n->len = 0;
	n->end = i;
	g->node[i].end = g->nodes - 1;
	return add_edge(g, i, g->nodes - 1, NULL);
}

#define HAS_BEFORE 1u
#define HAS_AFTER  2u

static bool decode_edges(struct krt_graph_image *g, const char *p, const struct krt_graph_rec *r,
			 const struct level *at, const uint32_t *place, uint8_t *seen)
{
	for (uint32_t i = 0; i < r->edges; i++) {
		struct krt_edge_rec e;

		memcpy(&e, p + (size_t)i * sizeof(e), sizeof(e));
		if (e.from >= r->nodes || e.to >= r->nodes)
			return false;
		seen[e.from] |= HAS_AFTER;
		seen[e.to] |= HAS_BEFORE;
		if (!add_edge(g, g->node[place[e.from]].flags & KRT_GN_HOLDER
					 ? g->node[place[e.from]].end
					 : place[e.from],
			      place[e.to], &e))
			return false;
	}
	for (uint32_t i = 0; at->holder != KRT_GNODE_NONE && i < r->nodes; i++) {
		uint32_t n = place[i];

		if (!(seen[i] & HAS_BEFORE) && !add_edge(g, at->holder, n, NULL))
			return false;
		/* the END of the holder comes next: its place is known when all inside is read */
		if (!(seen[i] & HAS_AFTER) &&
		    !add_edge(g, g->node[n].flags & KRT_GN_HOLDER ? g->node[n].end : n,
			      KRT_GNODE_NONE - 1 - at->holder, NULL))
			return false;
	}
	return true;
}

static bool decode(struct krt_graph_image *g, const char *p, uint32_t len, const struct level *at,
		   uint32_t *used)
{
	struct krt_graph_rec r;
	struct krt_node_rec n;
	uint32_t off = sizeof(r), *place;
	uint8_t *seen;
	bool ok = true;

	if (len < sizeof(r) || at->depth > KRT_GDEPTH_MAX)
		return false;
	memcpy(&r, p, sizeof(r));
	if (r.size > len || r.size < sizeof(r) || r.size % 8 ||
	    r.nodes > (r.size - sizeof(r)) / sizeof(n) ||
	    r.edges > (r.size - sizeof(r)) / sizeof(struct krt_edge_rec))
		return false;
	*used = r.size;
	if (r.flags & KRT_GRAPH_UNREAD)
		g->unread = true;
	place = krt_heap_alloc(g->heap, ((size_t)r.nodes + 1) * sizeof(*place));
	seen = krt_heap_alloc(g->heap, (size_t)r.nodes + 1);
	ok = place && seen;
	for (uint32_t i = 0; ok && i < r.nodes; i++) {
		ok = r.size - off >= sizeof(n);
		if (!ok)
			break;
		memcpy(&n, p + off, sizeof(n));
		place[i] = g->nodes;
		ok = n.size >= sizeof(n) && n.size <= r.size - off && n.size % 8 == 0 &&
		     decode_node(g, p + off, &n, at, r.graph, i);
		off += n.size;
	}
	ok = ok && r.edges <= (r.size - off) / sizeof(struct krt_edge_rec) &&
	     decode_edges(g, p + off, &r, at, place, seen);
	if (place)
		krt_heap_free(g->heap, place, ((size_t)r.nodes + 1) * sizeof(*place));
	if (seen)
		krt_heap_free(g->heap, seen, (size_t)r.nodes + 1);
	return ok;
}

/* --- memory of the graph itself ------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
	const struct krt_gmem *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->alloc < y->alloc ? -1 : x->alloc > y->alloc;
}

/* The last that begins at or before addr. */
static struct krt_gmem *mem_floor(const struct krt_graph_image *g, uint64_t addr)
{
	uint32_t lo = 0, hi = g->mems;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (g->mem[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &g->mem[lo - 1] : NULL;
}

static void match_frees(struct krt_graph_image *g)
{
	if (g->mems)
		qsort(g->mem, g->mems, sizeof(*g->mem), by_address);
	for (uint32_t i = 0; i < g->nodes; i++) {
		struct krt_gmem *m;
		uint64_t addr;

		if (g->node[i].type != KRT_GNODE_MEM_FREE || !g->node[i].len)
			continue;
		memcpy(&addr, g->node[i].payload, 8);
		m = mem_floor(g, addr);
		if (m && m->addr == addr)
			m->free = i;
	}
}

const struct krt_gmem *krt_graph_image_mem(const struct krt_graph_image *g, uint64_t addr)
{
	const struct krt_gmem *m = mem_floor(g, addr);

	return m && addr - m->addr < m->bytes ? m : NULL;
}

/* --- images ---------------------------------------------------------------------------- */

struct krt_graph_image *krt_graph_image_new(struct krt_heap *heap, const void *rec, uint32_t len)
{
	struct level top = {.holder = KRT_GNODE_NONE};
	struct krt_graph_image *g = krt_heap_alloc(heap, sizeof(*g));
	struct krt_graph_rec r;
	uint32_t used;

	if (!g)
		return NULL;
	g->heap = heap;
	g->refs = 1;
	g->len = len;
	g->bytes = krt_heap_alloc(heap, len);
	if (!g->bytes || len < sizeof(r))
		goto fail;
	memcpy(g->bytes, rec, len);
	memcpy(&r, g->bytes, sizeof(r));
	g->graph = r.graph;
	if (!decode(g, g->bytes, len, &top, &used))
		goto fail;
	for (uint32_t i = 0; i < g->edges; i++) /* see decode_edges */
		if (g->edge[i].to >= g->nodes)
			g->edge[i].to = g->node[KRT_GNODE_NONE - 1 - g->edge[i].to].end;
	match_frees(g);
	return g;
fail:
	krt_graph_image_unref(g);
	return NULL;
}

struct krt_graph_image *krt_graph_image_ref(struct krt_graph_image *g)
{
	g->refs++;
	return g;
}

void krt_graph_image_unref(struct krt_graph_image *g)
{
	if (!g || --g->refs)
		return;
	for (uint32_t i = 0; i < g->nodes; i++)
		if (g->node[i].set)
			krt_gset_unref(g->node[i].set);
	krt_heap_free(g->heap, g->node, g->nodes_cap * sizeof(*g->node));
	krt_heap_free(g->heap, g->edge, g->edges_cap * sizeof(*g->edge));
	krt_heap_free(g->heap, g->mem, g->mems_cap * sizeof(*g->mem));
	krt_heap_free(g->heap, g->bytes, g->len);
	krt_heap_free(g->heap, g, sizeof(*g));
}

/* --- owners and sets --------------------------------------------------------------------- */

unsigned krt_owner_class(uint64_t size)
{
	return size ? 63u - (unsigned)__builtin_clzll(size) : 0;
}

/* Owners of one base hang on the first of them, which is in the tree. */
void krt_owner_forget(struct krt_owner *o)
{
	struct krt_tree *t;

	if (!o->in)
		return;
	t = &o->in->of_size[krt_owner_class(o->size)];
	if (o->same)
		o->same->same_prev = o->same_prev;
	if (o->same_prev) {
		o->same_prev->same = o->same;
	} else {
		krt_tree_remove(t, &o->node);
		if (o->same)
			krt_tree_insert(t, &o->same->node);
	}
	o->in->count--;
	o->in = NULL;
	o->same = o->same_prev = NULL;
}

void krt_owner_unref(struct krt_owners *all, struct krt_owner *o)
{
	if (!o || --o->refs)
		return;
	krt_owner_forget(o);
	krt_heap_freestr(all->heap, o->name);
	krt_heap_free(all->heap, o, sizeof(*o));
}

void krt_gset_unref(struct krt_gset *s)
{
	struct krt_heap *heap;

	if (!s || --s->refs)
		return;
	heap = s->owners->heap;
	for (uint32_t i = 0; i < s->n; i++) {
		krt_owner_unref(s->owners, s->access[i].owner);
		krt_owner_unref(s->owners, s->access[i].block);
		if (s->access[i].gaps)
			krt_heap_free(heap, s->access[i].gaps, sizeof(*s->access[i].gaps));
	}
	krt_heap_free(heap, s->access, s->cap * sizeof(*s->access));
	krt_heap_free(heap, s, sizeof(*s));
}
