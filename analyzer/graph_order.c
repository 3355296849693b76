/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of an executable: nodes that touch the same bytes with no path
 * between them, and the lifetimes of memory that the graph allocates itself.
 *
 * The nodes are taken in a topological order and fed to the same map of byte
 * ranges as live operations are, so that a node meets the last write and the
 * reads since, not every node before it.  "Ordered" is answered by chains: each
 * node continues the chain of one of its predecessors where that one is its
 * chain's last, and has one vector of how far it comes after each chain.  A graph
 * that is too wide for the vectors is searched instead, with a bound; beyond it
 * the coverage says so.
 *
 * An edge that only orders launches (port 2) orders no data.  A programmatic edge
 * (port 1) counts: the dependent kernel waits on the device; but where both kernels'
 * PTX says that the one lets it begin and that it never waits, the two may run together
 * (what came before the trigger may be there in fact: no more than likely).  What comes after a
 * wait for a semaphore or a value in memory, by a kernel too, may be ordered by
 * something unseen, and is not judged.
 *
 * What a kernel only may touch, or with gaps, hides nothing that came before it; gaps
 * are compared where two accesses overlap.
 *
 * When one node of an executable has changed, it alone is held against the others.
 *
 * Changes (change.h) may add edges; one that would lead back is left out and told.
 */
#include "engine_int.h"
#include "graph.h"
#include "mix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS_MAX (1u << 23) /* entries: 32 MiB */
#define STEPS_MAX   (1u << 26) /* of searches in a graph that is too wide for vectors */
#define ROWS_MAX    (1u << 18)
#define USERS_MAX   64
#define PAIRS_MAX   64 /* of one node with others */
#define TOLD_MAX    256 /* pairs of one graph, of each confidence */
#define ALL	    UINT32_MAX
#define PORT_PROGRAMMATIC 1
#define PORT_LAUNCH_ORDER 2

/* Memory that a space or an owner stands for. */
struct gspace {
	uint64_t id;
	struct krt_ranges sure, may;
	UT_hash_handle hh;
};

/* Who touches an owner's memory at all: the last node of each chain and sort. */
enum guser_sort {
	GUSER_WORD,    /* a kernel with such a word in a larger parameter */
	GUSER_POINTER, /* with a plain pointer */
	GUSER_FROM,    /* what it does there is known, how far is not */
	GUSER_READ,    /* the rest: the bytes tell */
	GUSER_WRITE,
};
struct guser {
	uint32_t node;
	uint8_t sort; /* enum guser_sort */
	uint8_t kind, know, sure;
};
struct gusers {
	uint32_t owner; /* serial */
	struct guser user[USERS_MAX];
	unsigned count;
	UT_hash_handle hh;
};

struct gpair {
	enum krt_rule_id rule;
	enum krt_confidence confidence;
	uint32_t other;
	const struct krt_gaccess *mine;
	uint8_t its_kind, its_know, its_sure;
	uint16_t its_item; /* of an access with bytes: which one of the other node */
	const struct krt_gmem *mem; /* of the graph itself */
	uint64_t from, end;	    /* addresses; equal: not known */
	bool early;		    /* there is an edge, which the later one does not wait for */
};

struct order {
	struct krt_engine *e;
	const struct krt_origin *made;
	const struct krt_graph_image *g;
	struct krt_gset *const *set; /* of each node */
	const uint8_t *disabled;
	uint32_t one; /* the node that changed, ALL: none */
	uint32_t *pred_at, *pred, *succ_at, *succ;
	uint32_t *topo, *place; /* nodes in order; the place of a node in it */
	uint32_t *chain, *pos, chains;
	uint32_t *vec;	     /* nodes x chains, or NULL */
	uint32_t *stamp, now; /* of searches */
	struct krt_gedge *added; /* by changes */
	uint32_t nadded, added_cap;
	uint32_t *early;      /* of a node: which one it does not wait for, + 1; NULL: of none */
	uint8_t *mark;	     /* one: comes before or after it */
	uint8_t *unseen;     /* may be ordered by something that is not in the graph */
	uint64_t steps;
	bool gave_up, found, possible; /* possible: such pairs are told too */
	unsigned told[KRT_CERTAIN + 1];
	struct krt_op_info **op;
	struct gspace *spaces;
	struct gusers *users;
	struct gpair pair[PAIRS_MAX];
	unsigned pairs;
	/* the access in hand */
	uint32_t node;
	const struct krt_gaccess *access;
};

/* --- the plain graph -------------------------------------------------------------- */

static bool carries_order(const struct krt_gedge *d)
{
	return d->from_port != PORT_LAUNCH_ORDER;
}

/* Those of the graph, and behind them those that changes add. */
static uint32_t edges(const struct order *o)
{
	return o->g->edges + o->nadded;
}

static const struct krt_gedge *edge_at(const struct order *o, uint32_t i)
{
	return i < o->g->edges ? &o->g->edge[i] : &o->added[i - o->g->edges];
}

/* Neighbours as arrays: those of node i lie at at[i]..at[i + 1]. */
static bool neighbours(struct order *o, bool back, uint32_t **at, uint32_t **list)
{
	const struct krt_graph_image *g = o->g;
	struct krt_heap *h = &o->e->heap;
	uint32_t *a = krt_heap_alloc(h, (g->nodes + 2) * sizeof(*a));
	uint32_t *l = krt_heap_alloc(h, (edges(o) + 1) * sizeof(*l));

	*at = a;
	*list = l;
	if (!a || !l)
		return false;
	for (uint32_t i = 0; i < edges(o); i++)
		if (carries_order(edge_at(o, i)))
			a[(back ? edge_at(o, i)->to : edge_at(o, i)->from) + 2]++;
	for (uint32_t i = 2; i < g->nodes + 2; i++)
		a[i] += a[i - 1];
	for (uint32_t i = 0; i < edges(o); i++)
		if (carries_order(edge_at(o, i)))
			l[a[(back ? edge_at(o, i)->to : edge_at(o, i)->from) + 1]++] =
				back ? edge_at(o, i)->from : edge_at(o, i)->to;
	return true;
}

/* False: the edges make a circle, or no memory. */
static bool sort_nodes(struct order *o)
{
	uint32_t n = o->g->nodes, head = 0, tail = 0;
	uint32_t *left = o->pos; /* lent: filled in later */

	for (uint32_t i = 0; i < n; i++) {
		left[i] = o->pred_at[i + 1] - o->pred_at[i];
		if (!left[i])
			o->topo[tail++] = i;
	}
	for (; head < tail; head++) {
		uint32_t v = o->topo[head];

		o->place[v] = head;
		for (uint32_t i = o->succ_at[v]; i < o->succ_at[v + 1]; i++)
			if (!--left[o->succ[i]])
				o->topo[tail++] = o->succ[i];
	}
	return tail == n;
}

static void make_chains(struct order *o)
{
	uint32_t *last = o->stamp; /* lent: whether a node is its chain's last */

	for (uint32_t k = 0; k < o->g->nodes; k++) {
		uint32_t v = o->topo[k];

		o->chain[v] = ALL;
		for (uint32_t i = o->pred_at[v]; i < o->pred_at[v + 1]; i++)
			if (last[o->pred[i]]) {
				last[o->pred[i]] = 0;
				o->chain[v] = o->chain[o->pred[i]];
				o->pos[v] = o->pos[o->pred[i]] + 1;
				break;
			}
		if (o->chain[v] == ALL) {
			o->chain[v] = o->chains++;
			o->pos[v] = 1;
		}
		last[v] = 1;
	}
	memset(o->stamp, 0, o->g->nodes * sizeof(*o->stamp));
}

static void make_vectors(struct order *o)
{
	size_t w = o->chains;

	if (o->g->nodes > VECTORS_MAX / (w ? w : 1))
		return;
	o->vec = krt_heap_alloc(&o->e->heap, o->g->nodes * w * sizeof(*o->vec));
	if (!o->vec)
		return;
	for (uint32_t k = 0; k < o->g->nodes; k++) {
		uint32_t v = o->topo[k], *to = o->vec + v * w;

		for (uint32_t i = o->pred_at[v]; i < o->pred_at[v + 1]; i++) {
			const uint32_t *from = o->vec + o->pred[i] * w;

			for (size_t c = 0; c < w; c++)
				if (from[c] > to[c])
					to[c] = from[c];
		}
		to[o->chain[v]] = o->pos[v];
	}
}

/* Marks what is reached from v; topo is lent as the stack. */
static void spread(struct order *o, uint32_t v, const uint32_t *at, const uint32_t *list,
		   uint8_t *mark)
{
	uint32_t top = 0;

	o->topo[top++] = v;
	while (top) {
		uint32_t u = o->topo[--top];

		for (uint32_t i = at[u]; i < at[u + 1]; i++)
			if (!mark[list[i]]) {
				mark[list[i]] = 1;
				o->topo[top++] = list[i];
			}
	}
}

/* A search back from b; true also when the bound is reached. */
static bool search(struct order *o, uint32_t a, uint32_t b)
{
	uint32_t top = 0, n = o->g->nodes, *stack;
	bool hit = false;

	if (o->steps > STEPS_MAX) {
		o->gave_up = true;
		return true;
	}
	stack = krt_heap_alloc(&o->e->heap, n * sizeof(*stack));
	if (!stack)
		return true;
	o->now++;
	stack[top++] = b;
	while (top && !hit) {
		uint32_t u = stack[--top];

		for (uint32_t i = o->pred_at[u]; i < o->pred_at[u + 1] && !hit; i++) {
			uint32_t p = o->pred[i];

			o->steps++;
			hit = p == a;
			if (o->stamp[p] == o->now || o->place[p] < o->place[a])
				continue;
			o->stamp[p] = o->now;
			stack[top++] = p;
		}
	}
	krt_heap_free(&o->e->heap, stack, n * sizeof(*stack));
	return hit;
}

/* Does a path lead from a to b? */
static bool before(struct order *o, uint32_t a, uint32_t b)
{
	if (a == b)
		return false;
	if (o->one != ALL) /* one of them is it */
		return o->mark[a == o->one ? b : a] == (a == o->one ? 2 : 1);
	if (o->place[a] > o->place[b])
		return false;
	if (o->vec)
		return o->vec[(size_t)b * o->chains + o->chain[a]] >= o->pos[a];
	return search(o, a, b);
}

/* In different bodies of one conditional: never both in one round. */
static bool exclusive(const struct krt_graph_image *g, uint32_t a, uint32_t b)
{
	for (uint32_t x = a; g->node[x].holder != KRT_GNODE_NONE; x = g->node[x].holder) {
		if (g->node[g->node[x].holder].type != KRT_GNODE_CONDITIONAL)
			continue;
		for (uint32_t y = b; g->node[y].holder != KRT_GNODE_NONE; y = g->node[y].holder)
			if (g->node[y].holder == g->node[x].holder)
				return g->node[y].body != g->node[x].body;
	}
	return false;
}

static bool unordered(struct order *o, uint32_t a, uint32_t b)
{
	return a != b && !o->unseen[a] && !o->unseen[b] && !before(o, a, b) && !before(o, b, a) &&
	       !exclusive(o->g, a, b) && !o->gave_up;
}

/* --- pairs --------------------------------------------------------------------------- */

static bool maybe(const struct order *o, uint32_t node)
{
	return o->g->node[node].flags & KRT_GN_MAYBE;
}

/* Memory without an allocation: what two accesses touch is not one buffer. */
static bool unallocated(const struct krt_gaccess *a)
{
	return !a->owner || a->owner->kind == KRT_MEM_PAGEABLE;
}

static bool same_memory(const struct gpair *a, const struct gpair *b)
{
	return a->mine->owner == b->mine->owner &&
	       (!unallocated(a->mine) || (a->mine == b->mine && a->its_item == b->its_item));
}

static void pair_add(struct order *o, const struct gpair *p)
{
	struct gpair *q = o->pair;
	unsigned i;

	if (p->confidence == KRT_POSSIBLE && !o->possible)
		return;
	for (i = 0; i < o->pairs; i++, q++)
		if (q->other == p->other && q->rule == p->rule && same_memory(q, p))
			break;
	if (i < o->pairs) {
		bool stronger = p->confidence > q->confidence, bytes = p->from < p->end;

		if (p->confidence < q->confidence)
			return;
		if (!stronger && bytes && q->from < q->end) {
			q->from = p->from < q->from ? p->from : q->from;
			q->end = p->end > q->end ? p->end : q->end;
		} else if (stronger || bytes) {
			*q = *p;
		}
		return;
	}
	if (i < PAIRS_MAX)
		o->pair[o->pairs++] = *p;
}

static uint32_t node_of(const struct krt_op_info *op)
{
	return (uint32_t)op->seq;
}

static uint64_t to_addr(const struct krt_gaccess *a, uint64_t key)
{
	return key - a->key + a->addr;
}

static struct krt_how how_of(const struct krt_gaccess *a)
{
	return (struct krt_how){
		.kind = a->kind, .sure = a->sure, .copy = a->role != KRT_GROLE_KERNEL};
}

/* Of two nodes' accesses: not surer than what may run, or than kernels that wait for each other. */
static int at_most(const struct order *o, uint32_t a, uint32_t b, int confidence)
{
	struct krt_op_info x = krt_gset_op(o->g->node[a].type, o->set[a]);
	struct krt_op_info y = krt_gset_op(o->g->node[b].type, o->set[b]);

	confidence = (int)krt_sync_confidence(&x, &y, (enum krt_confidence)confidence);
	return (maybe(o, a) || maybe(o, b)) && confidence > KRT_LIKELY ? KRT_LIKELY : confidence;
}

/* One of the two is behind a programmatic edge from the other, and does not wait for it. */
static bool begins_early(const struct order *o, uint32_t a, uint32_t b)
{
	return o->early && (o->early[a] == b + 1 || o->early[b] == a + 1);
}

/* Do two accesses that overlap in [from, end) meet?  *c: how sure it is, if all is touched. */
static bool bytes_meet(const struct krt_gaccess *a, const struct krt_gaccess *b, uint64_t from,
		       uint64_t end, int *c)
{
	struct krt_pattern shared = krt_pattern_solid(from, end);
	const struct krt_pattern *x = a->gaps ? a->gaps : &shared, *y = b->gaps ? b->gaps : &shared;

	if (!a->gaps && !b->gaps)
		return true;
	if (!krt_patterns_meet(x, y))
		return false;
	if (*c == KRT_CERTAIN && !krt_pattern_share(x, y))
		*c = KRT_LIKELY;
	return true;
}

/* One past its last byte, a key. */
static uint64_t last_of(const struct krt_gaccess *a)
{
	uint64_t n = (a->slices ? a->slices - 1 : 0) * a->slice_pitch +
		     (a->rows ? a->rows - 1 : 0) * a->pitch + a->width;

	return n > UINT64_MAX - a->key ? UINT64_MAX : a->key + n;
}

static void meet(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	struct order *o = user;
	const struct krt_gaccess *a = o->access, *b;
	uint32_t other = node_of(prev->op);
	struct gpair p = {.rule = KRT_RULE_GRAPH_UNORDERED_NODES,
			  .other = other,
			  .mine = a,
			  .its_kind = prev->kind,
			  .its_know = prev->know,
			  .its_item = prev->item,
			  .from = to_addr(a, from),
			  .end = to_addr(a, end)};
	int c;

	p.early = begins_early(o, other, o->node);
	if (!p.early && !unordered(o, other, o->node))
		return;
	b = &o->set[other]->access[prev->item];
	p.its_sure = b->sure;
	c = krt_how_conflict(how_of(a), how_of(b));
	if (c == KRT_NO_CONFLICT || !bytes_meet(a, b, from, end, &c))
		return;
	c = (int)krt_access_covered((enum krt_confidence)c, a->sure, a->key, last_of(a), b->sure,
				    b->key, last_of(b));
	if (p.early && c > KRT_LIKELY)
		c = KRT_LIKELY;
	p.confidence = (enum krt_confidence)at_most(o, other, o->node, c);
	pair_add(o, &p);
}

static bool begins_only(const struct krt_gaccess *a)
{
	return a->kind == KRT_ACC_UNKNOWN || a->sure == KRT_SURE_FROM;
}

static void meet_users(struct order *o, const struct gusers *u)
{
	const struct krt_gaccess *a = o->access;

	for (unsigned i = 0; u && i < u->count; i++) {
		const struct guser *k = &u->user[i];
		struct gpair p = {.rule = KRT_RULE_GRAPH_UNORDERED_NODES,
				  .confidence = KRT_POSSIBLE,
				  .other = k->node,
				  .mine = a,
				  .its_kind = k->kind,
				  .its_know = k->know,
				  .its_sure = k->sure};

		if (k->sort > GUSER_FROM && !begins_only(a)) /* the bytes have told */
			continue;
		if (krt_access_conflict(k->kind, a->kind) && unordered(o, p.other, o->node))
			pair_add(o, &p);
	}
}

/* --- memory of the graph itself ----------------------------------------------------------- */

static void lifetime(struct order *o, const struct krt_gaccess *a)
{
	const struct krt_graph_image *g = o->g;
	bool word = a->know == KRT_KNOW_WORD;
	uint32_t v = o->node;
	struct gpair p = {.mine = a};
	const struct krt_gmem *m = krt_graph_image_mem(g, a->addr);
	uint64_t seq, free_seq;
	unsigned lives = 0;

	/* an address may have several lives in one graph: inside any of them is fine */
	for (uint32_t i = 0; m && i < g->mems; i++) {
		const struct krt_gmem *k = &g->mem[i];

		if (a->addr < k->addr || a->addr - k->addr >= k->bytes)
			continue;
		lives++;
		if (before(o, k->alloc, v) && (k->free == KRT_GNODE_NONE || before(o, v, k->free)))
			return;
	}
	if (lives != 1 || o->unseen[v])
		return;
	p.mem = m;
	p.from = a->addr;
	p.end = a->width && a->addr + a->width > a->addr ? a->addr + a->width : a->addr;
	if (!before(o, m->alloc, v)) {
		p.rule = KRT_RULE_UBA_STREAM;
		p.other = m->alloc;
		p.confidence = word			 ? KRT_POSSIBLE
			       : a->sure != KRT_SURE_ALL ? KRT_LIKELY
							 : KRT_CERTAIN;
	} else {
		seq = o->set[v] ? o->set[v]->made.seq : 0;
		free_seq = o->set[m->free] ? o->set[m->free]->made.seq : 0;
		p.rule = before(o, m->free, v) || (free_seq && seq > free_seq)
				 ? KRT_RULE_UAF_STREAM
				 : KRT_RULE_FREE_IN_USE;
		p.other = m->free;
		p.confidence = word ? KRT_POSSIBLE : krt_life_confidence(a->sure, a->held);
	}
	if (exclusive(g, p.other, v))
		return;
	if ((maybe(o, v) || maybe(o, p.other)) && p.confidence > KRT_LIKELY)
		p.confidence = KRT_LIKELY;
	pair_add(o, &p);
}

/* --- accesses of one node ------------------------------------------------------------------ */

static struct gspace *space_of(struct order *o, uint64_t id, bool make)
{
	struct krt_heap *heap = &o->e->heap;
	struct gspace *s;

	if (!id) /* memory that was gone when the node was made lies nowhere */
		return NULL;
	HASH_FIND(hh, o->spaces, &id, sizeof(id), s);
	if (s || !make)
		return s;
	s = krt_heap_alloc(heap, sizeof(*s));
	if (!s)
		return NULL;
	s->id = id;
	s->may.may = true;
	HASH_ADD(hh, o->spaces, id, sizeof(s->id), s);
	if (!s->hh.tbl) {
		krt_heap_free(heap, s, sizeof(*s));
		return NULL;
	}
	return s;
}

static struct gusers *users_of(struct order *o, const struct krt_gaccess *a, bool make)
{
	const struct krt_owner *owner = a->block ? a->block : a->owner;
	struct krt_heap *heap = &o->e->heap;
	struct gusers *u;

	if (!owner)
		return NULL;
	HASH_FIND(hh, o->users, &owner->serial, sizeof(owner->serial), u);
	if (u || !make)
		return u;
	u = krt_heap_alloc(heap, sizeof(*u));
	if (!u)
		return NULL;
	u->owner = owner->serial;
	HASH_ADD(hh, o->users, owner, sizeof(u->owner), u);
	if (!u->hh.tbl) {
		krt_heap_free(heap, u, sizeof(*u));
		return NULL;
	}
	return u;
}

static unsigned sort_of(const struct krt_gaccess *a)
{
	if (a->kind == KRT_ACC_UNKNOWN)
		return a->know == KRT_KNOW_WORD ? GUSER_WORD : GUSER_POINTER;
	if (begins_only(a))
		return GUSER_FROM;
	return a->kind == KRT_ACC_READ ? GUSER_READ : GUSER_WRITE;
}

static void note_user(struct order *o, const struct krt_gaccess *a)
{
	struct gusers *u = users_of(o, a, true);
	struct guser k = {.node = o->node,
			  .sort = (uint8_t)sort_of(a),
			  .kind = a->kind,
			  .know = a->know,
			  .sure = a->sure};

	for (unsigned i = 0; u && i < u->count; i++)
		if (u->user[i].sort == k.sort && u->user[i].kind == k.kind &&
		    o->chain[u->user[i].node] == o->chain[o->node]) {
			u->user[i] = k;
			return;
		}
	if (u && u->count < USERS_MAX)
		u->user[u->count++] = k;
}

/* Other gaps have another number, so that they do not replace each other. */
static uint16_t gaps_number(const struct krt_gaccess *a)
{
	const struct krt_pattern *p = a->gaps;
	uint64_t h;

	if (!p)
		return 0;
	h = krt_mix(krt_mix(krt_mix(0, p->at), p->pitch), p->row);
	return (uint16_t)(1 + krt_mix(krt_mix(h, p->stride), p->width) % UINT16_MAX);
}

/* Every row of an access: met, or remembered. */
static void each_row(struct order *o, const struct krt_gaccess *a, struct gspace *s, bool add)
{
	struct krt_access r = {.op = o->op[o->node],
			       .item = (uint16_t)(a - o->set[o->node]->access),
			       .kind = a->kind,
			       .know = a->know,
			       .sure = a->sure,
			       .pattern = gaps_number(a)};
	uint64_t rows = a->rows ? a->rows : 1, slices = a->slices ? a->slices : 1;
	/* what surely touches all of it stands for what came before */
	bool may = a->sure != KRT_SURE_ALL || a->gaps || maybe(o, o->node);

	if (slices > ROWS_MAX || rows > ROWS_MAX / slices) {
		krt_reason(o->e, KRT_REASON_ROWS, "a node of a graph");
		return;
	}
	for (uint64_t z = 0; z < slices; z++)
		for (uint64_t y = 0; y < rows; y++) {
			uint64_t from = a->key + z * a->slice_pitch + y * a->pitch;
			uint64_t end = from + (a->width ? a->width : 1);

			if (end < from)
				continue;
			if (add) {
				krt_ranges_add(&o->e->heap, may ? &s->may : &s->sure, from, end,
					       &r);
				continue;
			}
			if (a->kind == KRT_ACC_UNKNOWN)
				krt_ranges_each(&s->sure, from, end, meet, o);
			else
				krt_ranges_conflicts(&s->sure, from, end, a->kind, meet, o);
			krt_ranges_conflicts(&s->may, from, end, a->kind, meet, o);
		}
}

static bool takes_part(const struct order *o, uint32_t v)
{
	return o->set[v] && o->set[v]->n && !(o->disabled && o->disabled[v]);
}

static void check_node(struct order *o, uint32_t v)
{
	const struct krt_gset *set = o->set[v];

	o->node = v;
	for (uint32_t i = 0; i < set->n; i++) {
		const struct krt_gaccess *a = &set->access[i];
		struct gspace *s;

		if (a->role == KRT_GROLE_MEMOP)
			continue;
		o->access = a;
		if (a->space == KRT_SPACE_GRAPH && (o->one == ALL || o->one == v))
			lifetime(o, a);
		s = space_of(o, a->space, false);
		if (s && a->know != KRT_KNOW_WORD)
			each_row(o, a, s, false);
		meet_users(o, users_of(o, a, false));
	}
}

static void add_node(struct order *o, uint32_t v)
{
	const struct krt_gset *set = o->set[v];
	struct krt_op_info *op = krt_heap_alloc(&o->e->heap, sizeof(*op));

	if (!op)
		return;
	op->refs = 1;
	op->seq = v;
	op->class = o->g->node[v].type == KRT_GNODE_KERNEL ? KRT_OPC_KERNEL : KRT_OPC_COPY;
	op->stamp.domain = o->chain[v] + 1;
	o->op[v] = op;
	o->node = v;
	for (uint32_t i = 0; i < set->n && i <= UINT16_MAX; i++) {
		const struct krt_gaccess *a = &set->access[i];
		struct gspace *s;

		if (a->role == KRT_GROLE_MEMOP)
			continue;
		s = a->know == KRT_KNOW_WORD ? NULL : space_of(o, a->space, true);
		if (s)
			each_row(o, a, s, true);
		note_user(o, a);
	}
}

/* --- findings -------------------------------------------------------------------------------- */

struct node_text {
	char api[256], place[64], node[320], declared[KRT_PLACE];
};

static void side_of(const struct order *o, uint32_t v, const char *what, unsigned know,
		    enum krt_sureness sure, const struct gpair *p, struct krt_side *side,
		    struct krt_operation *out, struct node_text *t)
{
	const struct krt_gset *set = o->set[v];
	const struct krt_kernel_info *kernel =
		set && set->kernel ? krt_kernel_get(&o->e->obj, set->kernel) : NULL;

	side->api = krt_gset_api(o->e, o->g->node[v].type, set, t->api, sizeof(t->api));
	side->what = what;
	snprintf(t->place, sizeof(t->place), "graph node %u", o->g->node[v].place);
	side->stream = t->place;
	side->seq = set ? set->made.seq : 0;
	side->scan = know == KRT_KNOW_POINTER || know == KRT_KNOW_WORD;
	side->word = know == KRT_KNOW_WORD;
	side->some = sure != KRT_SURE_ALL && !side->scan;
	side->from = sure == KRT_SURE_FROM && !side->scan;
	out->what = what;
	out->api = side->api;
	if (o->g->node[v].type == KRT_GNODE_KERNEL && kernel && *kernel->name)
		out->kernel = kernel->name;
	out->stream = side->stream;
	out->sequence = side->seq;
	out->knowledge = krt_know_text(know);
	out->declared_at = krt_declared_at(kernel, know, t->declared);
	out->stack_id = set ? set->made.stack : 0;
	if (p->from < p->end) {
		out->range_base = p->from;
		out->range_len = p->end - p->from;
	}
}

static void buffer_of(const struct order *o, const struct gpair *p, struct krt_buffer *b,
		      uint32_t *stack)
{
	const struct krt_owner *owner = p->mine->owner;
	const struct krt_gset *set;

	*stack = 0;
	if (p->mem) {
		memset(b, 0, sizeof(*b));
		b->kind = krt_mem_kind_name(KRT_MEM_POOL);
		b->base = p->mem->addr;
		b->size = p->mem->bytes;
		b->offset = p->from - b->base;
		b->len = p->end - p->from;
		set = o->set[p->mem->alloc];
		if (set && set->made.seq) {
			b->allocated_by = krt_api_text(set->made.api);
			b->allocated_seq = set->made.seq;
			*stack = set->made.stack;
		}
		return;
	}
	if (owner) {
		krt_owner_buffer(owner, p->from, p->end, b);
		*stack = owner->made.stack;
		return;
	}
	memset(b, 0, sizeof(*b));
	b->kind = krt_mem_kind_name(p->mine->host ? KRT_MEM_PAGEABLE : KRT_MEM_UNKNOWN);
	b->base = p->from;
	b->size = b->len = p->end - p->from;
}

static void report(struct order *o, uint32_t v, const struct gpair *p)
{
	bool nodes = p->rule == KRT_RULE_GRAPH_UNORDERED_NODES;
	uint32_t cur = v, prev = p->other, stack;
	const char *cur_what = krt_what_of(p->mine->kind),
		   *prev_what = nodes			      ? krt_what_of(p->its_kind)
				: p->rule == KRT_RULE_UBA_STREAM ? "allocate"
								 : "free";
	unsigned cur_know = p->mine->know, prev_know = nodes ? p->its_know : KRT_KNOW_API;
	enum krt_sureness cur_sure = p->mine->sure, prev_sure = nodes ? p->its_sure : KRT_SURE_ALL;
	struct krt_graph_facts k = {.api = krt_api_text(o->made->api), .seq = o->made->seq};
	struct krt_facts f = {.rule = p->rule,
			      .confidence = p->confidence,
			      .view = KRT_BOTH_VIEWS,
			      .graph = &k};
	const struct krt_gset *a, *b;
	struct node_text cur_text, prev_text;
	struct krt_finding shape;
	char buffer[256];

	o->found |= p->confidence > KRT_POSSIBLE;
	if (o->told[p->confidence]++ >= TOLD_MAX)
		return;
	memset(&shape, 0, sizeof(shape));
	/* a free that comes after the use is the operation at fault */
	a = o->set[cur];
	b = o->set[prev];
	if (p->rule == KRT_RULE_FREE_IN_USE || (nodes && a && b && a->made.seq < b->made.seq)) {
		const char *what = cur_what;
		unsigned know = cur_know;
		enum krt_sureness sure = cur_sure;

		cur = p->other;
		prev = v;
		cur_what = prev_what;
		prev_what = what;
		cur_know = prev_know;
		prev_know = know;
		cur_sure = prev_sure;
		prev_sure = sure;
		a = o->set[cur];
		b = o->set[prev];
	}
	side_of(o, cur, cur_what, cur_know, cur_sure, p, &f.cur, &shape.current, &cur_text);
	side_of(o, prev, prev_what, prev_know, prev_sure, p, &f.prev, &shape.previous, &prev_text);
	k.cur = krt_gset_text(o->e, o->g->node[cur].type, a, cur_text.node, sizeof(cur_text.node));
	k.prev = krt_gset_text(o->e, o->g->node[prev].type, b, prev_text.node,
			       sizeof(prev_text.node));
	k.captured = a && b && a->capture && b->capture && a->made.seq && b->made.seq;
	k.maybe = maybe(o, cur) || maybe(o, prev);
	k.early = p->early;
	buffer_of(o, p, &shape.buffer, &stack);
	krt_buffer_text(&shape.buffer, buffer, sizeof(buffer));
	f.buffer = buffer;
	f.offset = shape.buffer.offset;
	f.len = shape.buffer.len;
	f.size = shape.buffer.size;
	if (nodes && unallocated(p->mine))
		f.part = 1 + (uint32_t)(p->mine - o->set[v]->access) * UINT16_MAX + p->its_item;
	krt_find(o->e, &f, &shape, stack);
}

static void flush(struct order *o, uint32_t v)
{
	for (unsigned i = 0; i < o->pairs; i++)
		report(o, v, &o->pair[i]);
	o->pairs = 0;
}

/* --- a whole graph ------------------------------------------------------------------------------ */

/* What comes after a wait for something outside of the graph. */
static void mark_unseen(struct order *o)
{
	for (uint32_t v = 0; v < o->g->nodes; v++) {
		const struct krt_gnode *n = &o->g->node[v];
		bool waits = n->type == KRT_GNODE_SEMAS_WAIT || n->type == KRT_GNODE_BATCH_MEM_OP ||
			     (o->set[v] && o->set[v]->waits);

		if (!waits || (o->disabled && o->disabled[v]) || o->unseen[v])
			continue;
		o->unseen[v] = 1;
		spread(o, v, o->succ_at, o->succ, o->unseen);
	}
}

/* An edge that a change added is a full one. */
static bool in_full(const struct order *o, const struct krt_gedge *d)
{
	for (unsigned i = 0; i < o->nadded; i++)
		if (o->added[i].from == d->from && o->added[i].to == d->to)
			return true;
	return false;
}

static void find_early(struct order *o)
{
	const struct krt_graph_image *g = o->g;

	for (uint32_t i = 0; i < g->edges; i++) {
		const struct krt_gedge *d = &g->edge[i];

		if (d->from_port != PORT_PROGRAMMATIC || !o->set[d->from] || !o->set[d->to] ||
		    !o->set[d->from]->triggers || !o->set[d->to]->goes || in_full(o, d))
			continue;
		if (!o->early)
			o->early = krt_heap_alloc(&o->e->heap, g->nodes * sizeof(*o->early));
		if (!o->early)
			return;
		o->early[d->to] = d->from + 1;
	}
}

/* --- changes (change.h) ------------------------------------------------------------- */

struct maker {
	uint64_t seq;
	uint32_t node;
};

static int by_seq(const void *a, const void *b)
{
	const struct maker *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static uint64_t made_at(const struct order *o, uint32_t v, const struct krt_call_site *site)
{
	const struct krt_gset *s = o->set[v];

	return s && krt_change_makes_node(site, &s->made) ? s->made.seq : 0;
}

/* The last one that was made before seq; later: the first one after it.  ALL: none. */
static uint32_t made_beside(const struct maker *m, uint32_t n, uint64_t seq, bool later)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (m[mid].seq < seq)
			low = mid + 1;
		else
			high = mid;
	}
	if (!later)
		return low ? m[low - 1].node : ALL;
	while (low < n && m[low].seq == seq)
		low++;
	return low < n ? m[low].node : ALL;
}

static void add_edges_to(struct order *o, const struct krt_call_site *before, const struct maker *m,
			 uint32_t n, bool later)
{
	for (uint32_t v = 0; v < o->g->nodes; v++) {
		uint64_t seq = made_at(o, v, before);
		uint32_t from = seq ? made_beside(m, n, seq, later) : ALL;

		if (from != ALL && krt_heap_grow(&o->e->heap, &o->added, &o->added_cap, o->nadded,
						 sizeof(*o->added)))
			o->added[o->nadded++] = (struct krt_gedge){.from = from, .to = v};
	}
}

static void add_edges_of(struct order *o, const struct krt_change *c, struct maker *m)
{
	uint32_t n = 0, had = o->nadded;

	for (uint32_t v = 0; v < o->g->nodes; v++) {
		uint64_t seq = made_at(o, v, &c->after);

		if (seq)
			m[n++] = (struct maker){.seq = seq, .node = v};
	}
	qsort(m, n, sizeof(*m), by_seq);
	/* as an event that is captured; nodes that are added may be so in any order */
	add_edges_to(o, &c->before, m, n, false);
	if (o->nadded == had)
		add_edges_to(o, &c->before, m, n, true);
}

static void add_edges(struct order *o)
{
	size_t size = o->g->nodes * sizeof(struct maker);
	struct maker *m = NULL;

	for (unsigned i = 0; i < o->e->cfg.nchanges; i++) {
		if (o->e->cfg.changes[i].kind != KRT_CHANGE_NODES)
			continue;
		if (!m)
			m = krt_heap_alloc(&o->e->heap, size);
		if (m)
			add_edges_of(o, &o->e->cfg.changes[i], m);
	}
	krt_heap_free(&o->e->heap, m, size);
}

/* They make a circle: the graph without them. */
static void leave_out(struct order *o)
{
	for (unsigned i = 0; i < o->e->cfg.nchanges; i++)
		if (o->e->cfg.changes[i].kind == KRT_CHANGE_NODES)
			krt_change_cycle(o->e, i);
	krt_heap_free(&o->e->heap, o->added, o->added_cap * sizeof(*o->added));
	o->added = NULL;
	o->nadded = o->added_cap = 0;
}

static bool lists(struct order *o)
{
	return neighbours(o, true, &o->pred_at, &o->pred) &&
	       neighbours(o, false, &o->succ_at, &o->succ);
}

static void drop_lists(struct order *o)
{
	struct krt_heap *h = &o->e->heap;
	size_t at = (o->g->nodes + 2) * sizeof(*o->pred_at), n = (edges(o) + 1) * sizeof(*o->pred);

	krt_heap_free(h, o->pred_at, at);
	krt_heap_free(h, o->succ_at, at);
	krt_heap_free(h, o->pred, n);
	krt_heap_free(h, o->succ, n);
	o->pred_at = o->succ_at = o->pred = o->succ = NULL;
}

static bool prepare(struct order *o)
{
	struct krt_heap *h = &o->e->heap;
	size_t n = o->g->nodes;

	add_edges(o);
	o->topo = krt_heap_alloc(h, n * sizeof(*o->topo));
	o->place = krt_heap_alloc(h, n * sizeof(*o->place));
	o->chain = krt_heap_alloc(h, n * sizeof(*o->chain));
	o->pos = krt_heap_alloc(h, n * sizeof(*o->pos));
	o->stamp = krt_heap_alloc(h, n * sizeof(*o->stamp));
	o->mark = krt_heap_alloc(h, n);
	o->unseen = krt_heap_alloc(h, n);
	o->op = krt_heap_alloc(h, n * sizeof(*o->op));
	if (!o->topo || !o->place || !o->chain || !o->pos || !o->stamp || !o->mark || !o->unseen ||
	    !o->op || !lists(o))
		return false;
	mark_unseen(o);
	find_early(o);
	if (o->one != ALL) {
		spread(o, o->one, o->succ_at, o->succ, o->mark);
		for (uint32_t i = 0; i < n; i++)
			o->mark[i] = o->mark[i] ? 2 : 0;
		spread(o, o->one, o->pred_at, o->pred, o->mark);
		return true;
	}
	if (!sort_nodes(o)) {
		if (!o->nadded)
			return false;
		drop_lists(o);
		leave_out(o);
		if (!lists(o) || !sort_nodes(o))
			return false;
	}
	make_chains(o);
	make_vectors(o);
	return !h->failed;
}

static void clean_up(struct order *o)
{
	struct krt_heap *heap = &o->e->heap;
	size_t n = o->g->nodes;
	struct gspace *s, *stmp;
	struct gusers *u, *utmp;

	HASH_ITER (hh, o->spaces, s, stmp) {
		HASH_DELETE(hh, o->spaces, s);
		krt_ranges_clear(heap, &s->sure, 0, UINT64_MAX);
		krt_ranges_clear(heap, &s->may, 0, UINT64_MAX);
		krt_heap_free(heap, s, sizeof(*s));
	}
	HASH_ITER (hh, o->users, u, utmp) {
		HASH_DELETE(hh, o->users, u);
		krt_heap_free(heap, u, sizeof(*u));
	}
	for (size_t i = 0; o->op && i < n; i++)
		if (o->op[i])
			krt_op_unref(heap, o->op[i]);
	krt_heap_free(heap, o->op, n * sizeof(*o->op));
	krt_heap_free(heap, o->early, n * sizeof(*o->early));
	krt_heap_free(heap, o->topo, n * sizeof(*o->topo));
	krt_heap_free(heap, o->place, n * sizeof(*o->place));
	krt_heap_free(heap, o->chain, n * sizeof(*o->chain));
	krt_heap_free(heap, o->pos, n * sizeof(*o->pos));
	krt_heap_free(heap, o->stamp, n * sizeof(*o->stamp));
	krt_heap_free(heap, o->mark, n);
	krt_heap_free(heap, o->unseen, n);
	krt_heap_free(heap, o->vec, n * o->chains * sizeof(*o->vec));
	drop_lists(o);
	krt_heap_free(heap, o->added, o->added_cap * sizeof(*o->added));
}

bool krt_graph_order(struct krt_engine *e, const struct krt_origin *made,
		     const struct krt_graph_image *g, struct krt_gset *const *set,
		     const uint8_t *disabled, uint32_t node, bool possible)
{
	struct order *o;
	bool found;

	if (!e->judge || !g->nodes || (node != KRT_GNODE_NONE && node >= g->nodes))
		return false;
	if (node != KRT_GNODE_NONE &&
	    (!set[node] || !set[node]->n || (disabled && disabled[node])))
		return false;
	o = krt_heap_alloc(&e->heap, sizeof(*o));
	if (!o)
		return false;
	*o = (struct order){.e = e,
			    .made = made,
			    .g = g,
			    .set = set,
			    .disabled = disabled,
			    .one = node,
			    .possible = possible};
	if (prepare(o)) {
		if (node != ALL)
			add_node(o, node);
		for (uint32_t i = 0; i < g->nodes && !e->heap.failed; i++) {
			uint32_t v = node == ALL ? o->topo[i] : i;

			if (!takes_part(o, v))
				continue;
			check_node(o, v);
			flush(o, v);
			if (node == ALL)
				add_node(o, v);
		}
	}
	if (o->gave_up)
		krt_reason(e, KRT_REASON_GRAPH, "a graph of %u nodes is too wide to be checked inside",
			   g->nodes);
	found = o->found;
	clean_up(o);
	krt_heap_free(&e->heap, o, sizeof(*o));
	return found;
}
