/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an executable touches, and what it meets there.
 *
 * A footprint is made once from the sets of all enabled nodes and shared by
 * every launch.  It hangs on the spaces that it touches, so that an operation
 * knows whether executables are around: it is compared with launches in flight,
 * and logged for launches to come.  It hangs on the owners that its nodes name, so
 * that the end of memory finds it.  A launch looks at what was logged since the
 * one before and at what else is in flight, never at its nodes.
 *
 * Segments lie in lists by how the bytes are touched and how sure that is; a meeting
 * is as sure as the surest two lists that meet.  Those of one list are disjoint, but
 * for segments with gaps, whose gaps are compared where they overlap.
 */
#include "engine_int.h"
#include "mix.h"

#include <stdlib.h>
#include <string.h>

#define SEGS_MAX (1u << 20) /* of one footprint, before neighbours are joined */
#define ROWS_MAX (1u << 16) /* of one access */
#define TRIES_MAX 64	     /* segments with gaps that one look-up holds against an access */

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- who conflicts with what ----------------------------------------------------------------- */

struct krt_how krt_flist_how(unsigned list)
{
	static const uint8_t kinds[KRT_FKINDS] = {
		[KRT_FK_READ] = KRT_ACC_READ,
		[KRT_FK_WRITE] = KRT_ACC_WRITE,
		[KRT_FK_ATOMIC] = KRT_ACC_ATOMIC,
		[KRT_FK_BARRIER] = KRT_ACC_ATOMIC,
	};
	unsigned k = list - KRT_FL_KERNEL;

	switch (list) {
	case KRT_FL_COPY_READ:
		return (struct krt_how){.kind = KRT_ACC_READ, .copy = true};
	case KRT_FL_COPY_WRITE:
		return (struct krt_how){.kind = KRT_ACC_WRITE, .copy = true};
	case KRT_FL_POINTER:
		return (struct krt_how){.kind = KRT_ACC_UNKNOWN, .sure = KRT_SURE_FROM};
	default:
		return (struct krt_how){.kind = kinds[k % KRT_FKINDS],
					.sure = (uint8_t)(k / KRT_FKINDS),
					.coop = k % KRT_FKINDS == KRT_FK_BARRIER};
	}
}

static unsigned kind_of(unsigned list)
{
	return krt_flist_how(list).kind;
}

int krt_how_conflict(struct krt_how a, struct krt_how b)
{
	if (a.kind == KRT_ACC_ATOMIC && b.kind == KRT_ACC_ATOMIC && (a.coop || b.coop))
		return a.coop && b.coop && a.sure <= KRT_SURE_SOME && b.sure <= KRT_SURE_SOME
			       ? KRT_CERTAIN
			       : KRT_POSSIBLE;
	if (a.kind == KRT_ACC_UNKNOWN)
		return b.copy && b.kind == KRT_ACC_WRITE ? KRT_LIKELY : KRT_POSSIBLE;
	if (b.kind == KRT_ACC_UNKNOWN)
		return a.copy && a.kind == KRT_ACC_WRITE ? KRT_LIKELY : KRT_POSSIBLE;
	if (!krt_access_conflict(a.kind, b.kind))
		return KRT_NO_CONFLICT;
	return (int)krt_access_confidence(a.sure, b.sure);
}

/* Only launches that meet their grids object to two atomic updates. */
static enum krt_rule_id rule_of(unsigned kind, unsigned list)
{
	return kind == KRT_ACC_ATOMIC && kind_of(list) == KRT_ACC_ATOMIC
		       ? KRT_RULE_COOP_SHARED
		       : KRT_RULE_GRAPH_EXEC_OVERLAP;
}

/* What only may run is never certain. */
static int with_node(const struct krt_footprint *f, uint32_t node, int confidence)
{
	bool maybe = f->image->node[node].flags & KRT_GN_MAYBE;

	return maybe && confidence > KRT_LIKELY ? KRT_LIKELY : confidence;
}

/* Kernels that wait for something in memory have an order of their own, but at a barrier. */
static int with_op(const struct krt_footprint *f, uint32_t node, const struct krt_op_info *op,
		   enum krt_rule_id rule, int confidence)
{
	struct krt_op_info mine = krt_gset_op(f->image->node[node].type, f->set[node]);

	if (confidence == KRT_NO_CONFLICT)
		return confidence;
	if (rule != KRT_RULE_COOP_SHARED)
		confidence = (int)krt_sync_confidence(&mine, op, (enum krt_confidence)confidence);
	return with_node(f, node, confidence);
}

static int with_nodes(const struct krt_footprint *f, uint32_t x, const struct krt_footprint *g,
		      uint32_t y, enum krt_rule_id rule, int confidence)
{
	struct krt_op_info its = krt_gset_op(g->image->node[y].type, g->set[y]);

	return with_op(f, x, &its, rule, with_node(g, y, confidence));
}

/* --- making one --------------------------------------------------------------------------------- */

struct interval {
	uint64_t space, from, end, limit;
	const struct krt_pattern *gaps;
	uint32_t node;
	uint8_t list, know;
	bool maybe;
};
struct named {
	struct krt_owner *owner;
	uint64_t from, end;
	uint32_t node;
	uint8_t know, role, kind, sure, rank;
	bool stray, held, wrote;
};
struct maker {
	struct krt_engine *e;
	struct krt_footprint *f;
	struct interval *iv;
	uint32_t n, cap;
	struct named *name;
	uint32_t names, names_cap;
	bool full;
};

static int list_of(const struct krt_gaccess *a, bool coop)
{
	unsigned first = KRT_FL_KERNEL + a->sure * KRT_FKINDS;

	switch ((enum krt_gaccess_role)a->role) {
	case KRT_GROLE_COPY_SRC:
		return KRT_FL_COPY_READ;
	case KRT_GROLE_COPY_DST:
	case KRT_GROLE_SET:
		return KRT_FL_COPY_WRITE;
	case KRT_GROLE_KERNEL:
		if (a->know == KRT_KNOW_WORD)
			break;
		return a->kind == KRT_ACC_READ	   ? (int)first + KRT_FK_READ
		       : a->kind == KRT_ACC_WRITE  ? (int)first + KRT_FK_WRITE
		       : a->kind != KRT_ACC_ATOMIC ? KRT_FL_POINTER
		       : coop			   ? (int)first + KRT_FK_BARRIER
						   : (int)first + KRT_FK_ATOMIC;
	case KRT_GROLE_HOSTFN:
	case KRT_GROLE_MEMOP: /* a flag: met on purpose */
		break;
	}
	return -1;
}

static void add_interval(struct maker *m, const struct interval *iv)
{
	if (m->n >= SEGS_MAX) {
		m->full = true;
		return;
	}
	if (krt_heap_grow(&m->e->heap, &m->iv, &m->cap, m->n, sizeof(*m->iv)))
		m->iv[m->n++] = *iv;
}

static void add_bytes(struct maker *m, const struct krt_gaccess *a, uint32_t node)
{
	const struct krt_gmem *own =
		a->space == KRT_SPACE_GRAPH ? krt_graph_image_mem(m->f->image, a->addr) : NULL;
	const struct krt_owner *o = a->block ? a->block : a->owner;
	int list = list_of(a, m->f->set[node]->coop);
	struct interval iv = {.space = a->space,
			      .gaps = a->gaps,
			      .node = node,
			      .list = (uint8_t)list,
			      .know = a->know,
			      .maybe = m->f->image->node[node].flags & KRT_GN_MAYBE};

	/* what the graph allocates and frees itself is nobody else's */
	if (list < 0 || !a->space || !a->width || (own && own->free != KRT_GNODE_NONE))
		return;
	if (a->space == KRT_SPACE_GRAPH) /* to others it is memory that was never allocated */
		iv.space = KRT_SPACE_UNKNOWN;
	if (m->n >= SEGS_MAX || a->slices > ROWS_MAX || a->rows > ROWS_MAX / a->slices) {
		m->full = true;
		return;
	}
	for (uint64_t z = 0; z < a->slices; z++)
		for (uint64_t y = 0; y < a->rows && m->n < SEGS_MAX; y++) {
			iv.from = a->key + z * a->slice_pitch + y * a->pitch;
			iv.end = iv.limit = iv.from + a->width;
			if (a->sure == KRT_SURE_FROM && o)
				iv.limit = o->off + o->size;
			add_interval(m, &iv);
		}
}

static void add_owner(struct maker *m, const struct krt_gaccess *a, struct krt_owner *o,
		      uint32_t node)
{
	struct named *n;

	if (!o || !krt_heap_grow(&m->e->heap, &m->name, &m->names_cap, m->names, sizeof(*n)))
		return;
	n = &m->name[m->names++];
	*n = (struct named){.owner = o,
			    .from = a->addr,
			    .end = a->addr + a->width,
			    .node = node,
			    .know = a->know,
			    .role = a->role,
			    .kind = a->kind,
			    .sure = a->sure,
			    .stray = a->stray,
			    .held = a->held,
			    .rank = !a->stray};
	if (a->know == KRT_KNOW_WORD)
		return;
	n->rank = (uint8_t)(2 + KRT_SURES - a->sure);
	if (m->f->image->node[node].flags & KRT_GN_MAYBE)
		return;
	n->rank += KRT_SURES;
	n->wrote =
		a->sure == KRT_SURE_ALL && (a->kind == KRT_ACC_WRITE || a->kind == KRT_ACC_ATOMIC);
}

static int by_place(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->list != y->list)
		return x->list < y->list ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (!x->gaps != !y->gaps)
		return x->gaps ? 1 : -1;
	if (x->maybe != y->maybe)
		return x->maybe ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Of one owner the one that is known best comes first. */
static int by_owner(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->owner->serial != y->owner->serial)
		return x->owner->serial < y->owner->serial ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	/* what it writes before what it reads */
	if (x->kind != y->kind)
		return x->kind > y->kind ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static struct krt_space *space_of(struct krt_engine *e, uint64_t id, const struct krt_owner *o)
{
	struct krt_mem *m;

	if (id == KRT_SPACE_PAGEABLE)
		return &e->mem.pageable_space;
	if (id == KRT_SPACE_UNKNOWN)
		return &e->mem.unknown_space;
	if (!o)
		return NULL;
	m = o->kind == KRT_MEM_ARRAY ? krt_array_get(&e->mem, o->base)
				     : krt_mem_at(&e->mem, o->base);
	return m && m->space->id == id ? m->space : NULL;
}

static void hang_group(struct krt_fgroup *g, struct krt_space *s)
{
	g->space = s;
	if (!s)
		return;
	g->next = s->graphs;
	if (g->next)
		g->next->prev = g;
	s->graphs = g;
}

static void unhang_group(struct krt_fgroup *g)
{
	if (!g->space)
		return;
	if (g->prev)
		g->prev->next = g->next;
	else
		g->space->graphs = g->next;
	if (g->next)
		g->next->prev = g->prev;
	g->space = NULL;
	g->prev = g->next = NULL;
}

static bool make_groups(struct maker *m)
{
	struct krt_footprint *f = m->f;
	struct krt_fseg *s, *solid = NULL; /* the latest without gaps of the list */
	uint32_t groups = 0, segs = 0;

	if (m->n)
		qsort(m->iv, m->n, sizeof(*m->iv), by_place);
	for (uint32_t i = 0; i < m->n; i++)
		groups += !i || m->iv[i].space != m->iv[i - 1].space;
	f->group = krt_heap_alloc(&m->e->heap, groups * sizeof(*f->group));
	f->groups = f->group ? groups : 0;
	f->seg = krt_heap_alloc(&m->e->heap, m->n * sizeof(*f->seg));
	f->segs_cap = f->seg ? m->n : 0;
	if (!f->group || !f->seg)
		return false;
	groups = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct interval *iv = &m->iv[i];
		struct krt_fgroup *g;
		uint64_t from = iv->from;

		if (!i || iv->space != iv[-1].space) {
			g = &f->group[groups++];
			g->fp = f;
			g->id = iv->space;
		}
		g = &f->group[groups - 1];
		if (!g->count[iv->list]) {
			g->at[iv->list] = segs;
			solid = NULL;
		}
		/* those without gaps are cut to what is new */
		if (solid && solid->end >= iv->end)
			solid->limit = higher(solid->limit, iv->limit);
		if (solid && solid->end > from && (!iv->gaps || solid->end >= iv->end))
			from = solid->end;
		if (from >= iv->end)
			continue;
		if (solid && solid == &f->seg[segs - 1] && !iv->gaps && solid->end == from &&
		    solid->node == iv->node) {
			solid->end = iv->end;
			solid->limit = higher(solid->limit, iv->limit);
			solid->reach = higher(solid->reach, iv->end);
			continue;
		}
		s = &f->seg[segs++];
		*s = (struct krt_fseg){.from = from,
				       .end = iv->end,
				       .reach = iv->end,
				       .limit = iv->limit,
				       .gaps = iv->gaps,
				       .node = iv->node,
				       .know = iv->know};
		if (g->count[iv->list]++ && s[-1].reach > s->reach)
			s->reach = s[-1].reach;
		if (!iv->gaps)
			solid = s;
	}
	f->segs = segs;
	return true;
}

static bool make_uses(struct maker *m)
{
	struct krt_footprint *f = m->f;
	uint32_t uses = 0;

	if (m->names)
		qsort(m->name, m->names, sizeof(*m->name), by_owner);
	for (uint32_t i = 0; i < m->names; i++)
		uses += !i || m->name[i].owner != m->name[i - 1].owner;
	f->use = krt_heap_alloc(&m->e->heap, uses * sizeof(*f->use));
	if (!f->use)
		return false;
	for (uint32_t i = 0; i < m->names; i++) {
		const struct named *n = &m->name[i];
		struct krt_owner_use *u;

		if (i && n->owner == n[-1].owner) {
			f->use[f->uses - 1].wrote |= n->wrote;
			continue;
		}
		u = &f->use[f->uses++];
		*u = (struct krt_owner_use){.fp = f,
					    .owner = n->owner,
					    .next = n->owner->uses,
					    .from = n->from,
					    .end = n->end,
					    .node = n->node,
					    .know = n->know,
					    .role = n->role,
					    .kind = n->kind,
					    .sure = n->sure,
					    .stray = n->stray,
					    .held = n->held,
					    .wrote = n->wrote};
		n->owner->refs++;
		if (u->next)
			u->next->prev = u;
		n->owner->uses = u;
	}
	return true;
}

static void mark(struct krt_owner_use *u)
{
	if (u->stale)
		return;
	u->stale = true;
	u->next_stale = u->fp->stale;
	u->fp->stale = u;
}

void krt_footprint_mark(struct krt_owner *o)
{
	for (struct krt_owner_use *u = o->uses; u; u = u->next)
		mark(u);
}

/* The block that has the bytes of a capture's temporary now, which no node of this graph names. */
static bool squatted(const struct krt_engine *e, const struct krt_owner_use *u)
{
	const struct krt_owner *o = u->owner;
	const struct krt_block *b = krt_block_at(&e->mem, u->from);

	if (!b || b->owner == o || b->capture != o->capture || u->fp->opaque)
		return false;
	for (const struct krt_owner_use *k = b->owner ? b->owner->uses : NULL; k; k = k->next)
		if (k->fp == u->fp)
			return false;
	return true;
}

/* What is stale from birth. */
static void mark_all(struct krt_engine *e, struct krt_footprint *f)
{
	for (uint32_t i = f->uses; i--;) {
		struct krt_owner_use *u = &f->use[i];
		const struct krt_owner *o = u->owner;

		if (o->ended && (!o->block || !o->capture || o->recycled || squatted(e, u)))
			mark(u);
		if (o->kind == KRT_MEM_PAGEABLE && f->set[u->node]->stack)
			f->stack = true;
	}
}

/* May the node let the CPU know, in a way that is not seen, that it has come? */
static bool tells_host(const struct krt_gnode *d, const struct krt_gset *s)
{
	switch (d->type) {
	case KRT_GNODE_HOST:
	case KRT_GNODE_EVENT_RECORD:
	case KRT_GNODE_SEMAS_SIGNAL:
	case KRT_GNODE_BATCH_MEM_OP:
		return true;
	case KRT_GNODE_KERNEL:
		if (s->wild)
			return true;
		for (uint32_t i = 0; i < s->n; i++)
			if (s->access[i].kind != KRT_ACC_READ &&
			    (s->access[i].host || (s->access[i].owner &&
						   s->access[i].owner->kind == KRT_MEM_MANAGED)))
				return true;
		return false;
	default:
		return false;
	}
}

static const struct krt_gaccess *fetch_of(const struct krt_gset *s)
{
	const struct krt_gaccess *dst = NULL;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->access[i].role == KRT_GROLE_COPY_SRC && s->access[i].host)
			return NULL;
		if (s->access[i].role == KRT_GROLE_COPY_DST && s->access[i].host)
			dst = &s->access[i];
	}
	return dst;
}

struct krt_footprint *krt_footprint_new(struct krt_engine *e, struct krt_exec *x)
{
	struct krt_footprint *f = krt_heap_alloc(&e->heap, sizeof(*f));
	struct maker m = {.e = e, .f = f};
	const struct krt_graph_image *g = x->image;
	bool told = false;

	if (!f)
		return NULL;
	f->refs = 1;
	f->id = ++e->graphs.footprints;
	f->exec = x;
	f->image = krt_graph_image_ref(x->image);
	f->set = krt_heap_alloc(&e->heap, g->nodes * sizeof(*f->set));
	for (uint32_t i = 0; f->set && i < g->nodes; i++) {
		struct krt_gset *s = x->set[i];

		if (!s)
			continue;
		f->set[i] = krt_gset_ref(s);
		if (x->off[i])
			continue;
		f->opaque |= s->opaque || g->node[i].flags & KRT_GN_UNREAD;
		f->wild |= s->wild || g->node[i].flags & KRT_GN_UNREAD;
		told |= tells_host(&g->node[i], s);
		if (!f->fetch)
			f->fetch = fetch_of(s);
		f->foreign |= krt_rights_lacking(e, &g->node[i], s);
		for (uint32_t k = 0; k < s->n; k++) {
			add_bytes(&m, &s->access[k], i);
			add_owner(&m, &s->access[k], s->access[k].owner, i);
			add_owner(&m, &s->access[k], s->access[k].block, i);
		}
	}
	if (told)
		f->fetch = NULL;
	if (f->set && !e->heap.failed && make_groups(&m) && make_uses(&m)) {
		for (uint32_t i = 0; i < f->groups; i++)
			hang_group(&f->group[i], space_of(e, f->group[i].id, NULL));
		for (uint32_t i = 0; i < f->uses; i++) {
			const struct krt_owner *o = f->use[i].owner;
			struct krt_fgroup *group = krt_footprint_group(f, o->space);

			if (group && !group->space && !o->ended && !o->block) {
				hang_group(group, space_of(e, o->space, o));
				group->addr = o->base;
			}
		}
		mark_all(e, f);
	} else {
		krt_footprint_unref(e, f);
		f = NULL;
	}
	if (m.full)
		krt_reason(e, KRT_REASON_ROWS, "a graph of too many pieces");
	krt_heap_free(&e->heap, m.iv, m.cap * sizeof(*m.iv));
	krt_heap_free(&e->heap, m.name, m.names_cap * sizeof(*m.name));
	return f;
}

struct krt_fgroup *krt_footprint_group(const struct krt_footprint *f, uint64_t space)
{
	uint32_t lo = 0, hi = f->groups;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->group[mid].id < space)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->groups && f->group[lo].id == space ? &f->group[lo] : NULL;
}

static void log_shrink(struct krt_engine *e, bool full);

static void land(struct krt_engine *e, struct krt_footprint *f)
{
	if (!f->flight)
		return;
	krt_op_unref(&e->heap, f->flight);
	f->flight = NULL;
	if (f->prev)
		f->prev->next = f->next;
	else
		e->graphs.flying = f->next;
	if (f->next)
		f->next->prev = f->prev;
	else
		e->graphs.flying_last = f->prev;
	f->prev = f->next = NULL;
	e->graphs.nflying--;
	krt_footprint_unref(e, f);
}

void krt_footprint_fly(struct krt_engine *e, struct krt_footprint *f, struct krt_op_info *op)
{
	krt_op_ref(op);
	if (f->flight) { /* the launch before it is complete when this one is */
		krt_op_unref(&e->heap, f->flight);
		f->flight = op;
		return;
	}
	f->flight = op;
	f->refs++;
	f->next = e->graphs.flying;
	if (f->next)
		f->next->prev = f;
	else
		e->graphs.flying_last = f;
	e->graphs.flying = f;
	/* a program that makes a graph for each launch, and never waits */
	if (++e->graphs.nflying > KRT_FLYING_MAX && !e->graphs.flying_last->exec)
		land(e, e->graphs.flying_last);
}

void krt_footprint_unref(struct krt_engine *e, struct krt_footprint *f)
{
	struct krt_heap *h = &e->heap;

	if (!f || --f->refs)
		return;
	for (uint32_t i = 0; i < f->groups; i++)
		unhang_group(&f->group[i]);
	for (uint32_t i = 0; i < f->uses; i++) {
		struct krt_owner_use *u = &f->use[i];

		if (u->prev)
			u->prev->next = u->next;
		else
			u->owner->uses = u->next;
		if (u->next)
			u->next->prev = u->prev;
		krt_owner_unref(&e->graphs.owners, u->owner);
	}
	for (uint32_t i = 0; f->set && i < f->image->nodes; i++)
		krt_gset_unref(f->set[i]);
	/* allocated for exactly what they held */
	krt_heap_free(h, f->set, f->image->nodes * sizeof(*f->set));
	krt_heap_free(h, f->group, f->groups * sizeof(*f->group));
	krt_heap_free(h, f->seg, f->segs_cap * sizeof(*f->seg));
	krt_heap_free(h, f->use, f->uses * sizeof(*f->use));
	krt_heap_free(h, f->flag, f->flags_cap * sizeof(*f->flag));
	krt_graph_image_unref(f->image);
	krt_heap_free(h, f, sizeof(*f));
}

void krt_footprint_retire(struct krt_engine *e, struct krt_footprint *f)
{
	if (!f)
		return;
	f->exec = NULL;
	krt_footprint_unref(e, f);
}

void krt_footprint_space_ends(void *engine, struct krt_space *s)
{
	krt_shadow_space_ends(engine, s);
	while (s->graphs)
		unhang_group(s->graphs);
}

void krt_graph_sweep(struct krt_engine *e)
{
	struct krt_footprint *f = e->graphs.flying, *next;

	for (; f; f = next) {
		next = f->next;
		if (krt_order_settled(e->order, f->flight->stamp))
			land(e, f);
	}
	log_shrink(e, false);
}

/* --- looking into one ----------------------------------------------------------------------------- */

static bool seg_meets(const struct krt_fseg *s, const struct krt_pattern *p)
{
	struct krt_pattern solid;

	if (s->gaps)
		return krt_patterns_meet(s->gaps, p);
	if (!krt_pattern_gaps(p))
		return true;
	solid = krt_pattern_solid(s->from, s->end);
	return krt_patterns_meet(&solid, p);
}

#define WORD_BYTES 8

/* A conflict with a segment's bytes that meet p's. */
static int with_bytes(const struct krt_fseg *s, struct krt_how mine, const struct krt_pattern *p,
		      struct krt_how its, int confidence)
{
	struct krt_pattern solid = krt_pattern_solid(s->from, s->end);

	if (confidence == KRT_LIKELY)
		return (int)krt_access_covered(KRT_LIKELY, mine.sure, s->from, s->end, its.sure,
					       p->lo, p->hi);
	if (confidence != KRT_CERTAIN)
		return confidence;
	/* of a barrier's word some bytes are all of it */
	if (mine.kind == KRT_ACC_ATOMIC && its.kind == KRT_ACC_ATOMIC)
		return (mine.sure == KRT_SURE_ALL && its.sure == KRT_SURE_ALL) ||
				       lower(s->end, p->hi) - higher(s->from, p->lo) <= WORD_BYTES
			       ? KRT_CERTAIN
			       : KRT_POSSIBLE;
	if ((s->gaps || krt_pattern_gaps(p)) && !krt_pattern_share(s->gaps ? s->gaps : &solid, p))
		return KRT_LIKELY;
	return confidence;
}

const struct krt_fseg *krt_footprint_find(struct krt_engine *e, const struct krt_fgroup *g,
					  unsigned list, const struct krt_pattern *p)
{
	const struct krt_fseg *s = g->fp->seg + g->at[list];
	uint32_t lo = 0, hi = g->count[list], n = hi;
	unsigned tried = 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		e->graphs.steps++;
		if (s[mid].reach <= p->lo)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* where there are gaps, several may be there and not meet it */
	for (; lo < n && s[lo].from < p->hi && tried < TRIES_MAX; lo++, tried++) {
		e->graphs.steps++;
		if (s[lo].end > p->lo && seg_meets(&s[lo], p))
			return &s[lo];
	}
	return NULL;
}

/* The last one of a list that begins before p ends and has bytes in common with it, as of find. */
static const struct krt_fseg *find_last(struct krt_engine *e, const struct krt_fgroup *g,
					unsigned list, const struct krt_pattern *p)
{
	const struct krt_fseg *s = g->fp->seg + g->at[list];
	uint32_t lo = 0, hi = g->count[list];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		e->graphs.steps++;
		if (s[mid].from < p->hi)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (unsigned tried = 0; lo-- > 0 && tried < TRIES_MAX && s[lo].reach > p->lo; tried++) {
		e->graphs.steps++;
		if (s[lo].end > p->lo && seg_meets(&s[lo], p))
			return &s[lo];
	}
	return NULL;
}

static const struct krt_fseg *find(struct krt_engine *e, const struct krt_fgroup *g, unsigned list,
				   uint64_t from, uint64_t end)
{
	struct krt_pattern p = krt_pattern_solid(from, end);

	return krt_footprint_find(e, g, list, &p);
}

struct hit {
	int confidence; /* KRT_NO_CONFLICT: none */
	unsigned list;
	const struct krt_fseg *seg; /* the first one */
	uint64_t from, end;	    /* from the first to the last byte of those as sure */
};

static int hit_confidence(const struct krt_fgroup *g, unsigned list, const struct krt_fseg *s,
			  struct krt_how how, const struct krt_op_info *op,
			  const struct krt_pattern *p)
{
	int c = with_bytes(s, krt_flist_how(list), p, how,
			   krt_how_conflict(how, krt_flist_how(list)));

	return with_op(g->fp, s->node, op, rule_of(how.kind, list), c);
}

/* Memory without an allocation: what two nodes touch there is not one buffer. */
static bool unallocated(uint64_t space)
{
	return space == KRT_SPACE_PAGEABLE || space == KRT_SPACE_UNKNOWN;
}

/*
 * The surest conflict of an access with a footprint in one space: with all of it, or
 * with one piece where there is no allocation.
 */
static struct hit conflict(struct krt_engine *e, const struct krt_fgroup *g, struct krt_how how,
			   const struct krt_op_info *op, const struct krt_pattern *p)
{
	struct hit h = {.confidence = KRT_NO_CONFLICT};

	for (unsigned list = 0; list < KRT_FLISTS; list++) {
		int c = g->count[list] ? krt_how_conflict(how, krt_flist_how(list))
				       : KRT_NO_CONFLICT;
		const struct krt_fseg *s, *last;
		uint64_t end;

		if (c == KRT_NO_CONFLICT || c < h.confidence)
			continue;
		s = krt_footprint_find(e, g, list, p);
		if (!s)
			continue;
		c = hit_confidence(g, list, s, how, op, p);
		if (c == KRT_NO_CONFLICT || c < h.confidence)
			continue;
		last = unallocated(g->id) ? s : find_last(e, g, list, p);
		if (!last || hit_confidence(g, list, last, how, op, p) != c)
			last = s;
		end = lower(p->hi, last->end);
		if (c > h.confidence || (unallocated(g->id) && higher(p->lo, s->from) < h.from))
			h = (struct hit){.confidence = c,
					 .list = list,
					 .seg = s,
					 .from = higher(p->lo, s->from),
					 .end = end};
		if (unallocated(g->id))
			continue;
		h.from = lower(h.from, higher(p->lo, s->from));
		h.end = higher(h.end, end);
	}
	return h;
}

static bool settled(struct krt_engine *e, struct krt_footprint *f)
{
	if (!f->flight || !krt_order_settled(e->order, f->flight->stamp))
		return !f->flight;
	land(e, f);
	return true;
}

/* --- pending ---------------------------------------------------------------------------------------- */

static void pend_set(struct krt_engine *e, struct krt_pending *at, const struct krt_pending *p)
{
	krt_op_ref(p->op);
	if (at->op)
		krt_op_unref(&e->heap, at->op);
	*at = *p;
}

/* Another place where the two meet, or a newer operation of the same call site. */
static void pend_again(struct krt_engine *e, struct krt_pending *k, const struct krt_pending *p)
{
	if (p->confidence < k->confidence || p->op->seq < k->op->seq)
		return;
	if (p->confidence > k->confidence || p->op != k->op) {
		pend_set(e, k, p);
		return;
	}
	k->from = lower(k->from, p->from);
	k->end = higher(k->end, p->end);
}

/* Both sides of a copy may lie in memory without an allocation; a batch has several. */
static uint16_t side_of(const struct krt_op_info *op, unsigned item, unsigned kind)
{
	return op->class == KRT_OPC_COPY ? (uint16_t)(2 * item + (kind != KRT_ACC_READ)) : 0;
}

static uint16_t side_of_touch(const struct krt_graph_touch *t)
{
	return side_of(t->op, t->touch ? t->touch->item : 0, t->kind);
}

static bool same_part(const struct krt_pending *a, const struct krt_pending *b)
{
	return a->space == b->space &&
	       (!unallocated(a->space) || (a->node == b->node && a->side == b->side));
}

/* The newest of each call site and stream is kept: what came before it is ordered before it. */
static void pend_add(struct krt_engine *e, struct krt_exec *x, const struct krt_pending *p)
{
	struct krt_pending *same = NULL, *weak = NULL;

	for (uint32_t i = 0; i < x->npend; i++) {
		struct krt_pending *k = &x->pend[i];

		if (krt_op_domain(k->op) == krt_op_domain(p->op) && k->kind == p->kind) {
			if (k->op->api == p->op->api && k->op->stack == p->op->stack &&
			    k->op->kernel == p->op->kernel && same_part(k, p)) {
				pend_again(e, k, p);
				return;
			}
			if (k->confidence <= p->confidence)
				same = k;
		}
		if (k->confidence < p->confidence)
			weak = k;
	}
	if (x->npend < KRT_PENDING_MAX) {
		memset(&x->pend[x->npend], 0, sizeof(x->pend[0]));
		pend_set(e, &x->pend[x->npend++], p);
	} else if (same || weak) {
		pend_set(e, same ? same : weak, p);
	}
}

void krt_pending_clear(struct krt_engine *e, struct krt_exec *x)
{
	for (uint32_t i = 0; i < x->npend; i++)
		krt_op_unref(&e->heap, x->pend[i].op);
	x->npend = 0;
}

/* An access of the history. */
static struct krt_how how_of(const struct krt_access *a)
{
	return (struct krt_how){.kind = a->kind,
				.sure = a->sure,
				.copy = a->op->class != KRT_OPC_KERNEL,
				.coop = a->op->coop};
}

struct seed {
	struct krt_engine *e;
	struct krt_exec *x;
	const struct krt_fgroup *g;
	const struct krt_fseg *seg;
	unsigned list;
	uint64_t addr; /* of the allocation */
};

static void seed_one(void *user, const struct krt_access *a, uint64_t from, uint64_t end)
{
	struct seed *s = user;
	struct krt_pattern bytes;
	int c = krt_how_conflict(how_of(a), krt_flist_how(s->list));
	struct krt_pending p = {.op = a->op,
				.space = s->g->id,
				.from = from,
				.end = end,
				.addr = s->addr,
				.node = s->seg->node,
				.side = side_of(a->op, a->item, a->kind),
				.kind = a->kind,
				.know = a->know,
				.sure = a->sure,
				.node_know = s->seg->know,
				.list = (uint8_t)s->list};

	if (c == KRT_NO_CONFLICT || krt_order_settled(s->e->order, a->op->stamp))
		return;
	if (!krt_pattern_of(&s->e->patterns, a->pattern, from, end, &bytes))
		c = KRT_POSSIBLE;
	else if (!seg_meets(s->seg, &bytes))
		return;
	else
		c = with_bytes(s->seg, krt_flist_how(s->list), &bytes, how_of(a), c);
	/* only as far as the segment goes: it may be a part */
	if (a->sure == KRT_SURE_WITHIN && c == KRT_LIKELY &&
	    (from == s->seg->from || end == s->seg->end))
		c = KRT_POSSIBLE;
	c = with_op(s->g->fp, s->seg->node, a->op, rule_of(a->kind, s->list), c);
	p.confidence = (uint8_t)c;
	pend_add(s->e, s->x, &p);
}

/* What a former owner of the bytes did for sure. */
static void seed_past(void *user, const struct krt_access *a, uint64_t from, uint64_t end)
{
	if (a->know != KRT_KNOW_POINTER && a->know != KRT_KNOW_WORD && a->know != KRT_KNOW_REACH &&
	    a->know != KRT_KNOW_START)
		seed_one(user, a, from, end);
}

/* Stream-ordered memory whose allocation may not have come yet. */
static void seed_allocation(struct krt_engine *e, struct krt_exec *x,
			    const struct krt_owner_use *u)
{
	const struct krt_owner *o = u->owner;
	const struct krt_mem *m = o->kind == KRT_MEM_POOL && !o->block && !o->ended
					  ? krt_mem_base(&e->mem, o->base)
					  : NULL;
	struct krt_pending p = {.space = o->space,
				.addr = o->base,
				.node = u->node,
				.know = KRT_KNOW_API,
				.node_know = u->know};

	if (!m || m->owner != o || !m->alloc_op ||
	    krt_order_settled(e->order, m->alloc_op->stamp))
		return;
	p.op = m->alloc_op;
	p.list = (uint8_t)u->kind;
	p.confidence = (uint8_t)with_node(u->fp, u->node,
					  u->know == KRT_KNOW_WORD  ? KRT_POSSIBLE
					  : u->sure != KRT_SURE_ALL ? KRT_LIKELY
								    : KRT_CERTAIN);
	pend_add(e, x, &p);
}

void krt_footprint_seed(struct krt_engine *e, struct krt_exec *x)
{
	struct krt_footprint *f = x->fp;

	krt_pending_clear(e, x);
	x->seen = e->graphs.logged; /* the history has it all */
	for (uint32_t i = 0; i < f->uses; i++)
		seed_allocation(e, x, &f->use[i]);
	for (uint32_t i = 0; i < f->groups; i++) {
		struct krt_fgroup *g = &f->group[i];
		struct seed s = {.e = e, .x = x, .g = g, .addr = g->addr};

		if (!g->space || (!g->space->sure.tree.count && !g->space->may.tree.count &&
				  !g->space->past.tree.count))
			continue;
		for (s.list = 0; s.list < KRT_FLISTS; s.list++)
			for (uint32_t k = 0; k < g->count[s.list]; k++) {
				s.seg = &f->seg[g->at[s.list] + k];
				krt_ranges_each(&g->space->sure, s.seg->from, s.seg->end, seed_one,
						&s);
				krt_ranges_each(&g->space->may, s.seg->from, s.seg->end, seed_one,
						&s);
				krt_ranges_each(&g->space->past, s.seg->from, s.seg->end, seed_past,
						&s);
			}
	}
}

/* --- operations meet launches --------------------------------------------------------------------- */

static struct krt_how how_of_touch(const struct krt_graph_touch *t)
{
	return (struct krt_how){.kind = (uint8_t)t->kind,
				.sure = (uint8_t)t->sure,
				.copy = t->op->class != KRT_OPC_KERNEL,
				.coop = t->op->coop};
}

static struct krt_pattern bytes_of(const struct krt_graph_touch *t, uint64_t from, uint64_t end)
{
	struct krt_pattern p = t->pattern ? *t->pattern : krt_pattern_solid(from, end);

	p.lo = from;
	p.hi = end;
	return p;
}

/* Of a pair in memory without an allocation: which node it is of. */
static uint16_t item_of(uint32_t node, unsigned list)
{
	return (uint16_t)(1 + (2ull * node + (kind_of(list) != KRT_ACC_READ)) % UINT16_MAX);
}

static void meet_flight(struct krt_engine *e, const struct krt_graph_touch *t,
			const struct krt_fgroup *g, const struct hit *h,
			enum krt_finding_view view)
{
	struct krt_pair p = {.rule = rule_of(t->kind, h->list),
			     .confidence = (enum krt_confidence)h->confidence,
			     .view = view,
			     .cur = t->op,
			     .prev = g->fp->flight,
			     .cur_what = krt_what_of(t->kind),
			     .prev_what = krt_what_of(kind_of(h->list)),
			     .cur_know = (uint8_t)t->know,
			     .prev_know = h->seg->know,
			     .cur_sure = (uint8_t)t->sure,
			     .prev_sure = krt_flist_how(h->list).sure,
			     .cur_item = side_of_touch(t),
			     .mem = t->mem,
			     .prev_fp = g->fp,
			     .prev_node = h->seg->node};

	if (unallocated(g->id))
		p.prev_item = item_of(h->seg->node, h->list);
	p.from = krt_mem_addr(t->mem, h->from);
	p.end = krt_mem_addr(t->mem, h->end);
	krt_pair_add(e, &p);
}

/* Its capture gave the block back, or the program did before the launch: the graph goes on using
 * it. */
static bool still_its_own(const struct krt_owner *b, const struct krt_footprint *f)
{
	return b->capture && !b->recycled && b->freed.seq < f->flight->seq;
}

/* The pool has taken the bytes back since: krt_graph_flights() has told it of the launch. */
static bool changed_hands(const struct krt_footprint *f, uint32_t node, uint64_t key)
{
	const struct krt_gset *s = f->set[node];

	for (uint32_t i = 0; i < s->n; i++) {
		const struct krt_owner *b = s->access[i].block;

		if (b && b->ended && !still_its_own(b, f) && key >= b->off &&
		    key - b->off < b->size)
			return true;
	}
	return false;
}

static void log_drop(struct krt_engine *e, struct krt_glog *k)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, e->graphs.log, k);
	krt_op_unref(heap, k->op);
	krt_heap_free(heap, k, sizeof(*k));
}

/* What is known to be over goes; if that is not enough, the oldest. */
static void log_shrink(struct krt_engine *e, bool full)
{
	struct krt_glog *k, *tmp;

	HASH_ITER (hh, e->graphs.log, k, tmp)
		if (krt_order_settled(e->order, k->op->stamp))
			log_drop(e, k);
	while (full && HASH_COUNT(e->graphs.log) > KRT_GLOG_MAX / 4 * 3)
		log_drop(e, e->graphs.log);
}

static struct krt_glog *log_last(const struct krt_engine *e)
{
	struct krt_glog *first = e->graphs.log;

	return first ? ELMT_FROM_HH(first->hh.tbl, first->hh.tbl->tail) : NULL;
}

static void log_add(struct krt_engine *e, const struct krt_graph_touch *t, uint64_t from,
		    uint64_t end)
{
	struct krt_heap *heap = &e->heap;
	uint64_t key = krt_mix(0, (uint64_t)t->op->api << 32 | t->op->stack);
	struct krt_glog *k;

	key = krt_mix(krt_mix(key, t->op->kernel), krt_op_domain(t->op));
	key = krt_mix(krt_mix(key, t->mem->space->id), from);
	key = krt_mix(krt_mix(key, end), t->kind << 16 | t->sure << 8 | t->know);
	if (t->pattern) /* by rows and pieces: of the same hull they tell it apart enough */
		key = krt_mix(krt_mix(key, t->pattern->at),
			      krt_mix(t->pattern->pitch, t->pattern->stride));
	HASH_FIND(hh, e->graphs.log, &key, sizeof(key), k);
	if (k) { /* to the end of the list */
		HASH_DELETE(hh, e->graphs.log, k);
		krt_op_unref(heap, k->op);
		memset(k, 0, sizeof(*k));
	} else {
		if (HASH_COUNT(e->graphs.log) >= KRT_GLOG_MAX)
			log_shrink(e, true);
		k = krt_heap_alloc(heap, sizeof(*k));
	}
	if (!k)
		return;
	*k = (struct krt_glog){.key = key,
			       .number = ++e->graphs.logged,
			       .op = t->op,
			       .space = t->mem->space->id,
			       .from = from,
			       .end = end,
			       .addr = t->mem->node.key,
			       .pattern = bytes_of(t, from, end),
			       .side = side_of_touch(t),
			       .kind = (uint8_t)t->kind,
			       .know = (uint8_t)t->know,
			       .sure = (uint8_t)t->sure};
	HASH_ADD(hh, e->graphs.log, key, sizeof(k->key), k);
	if (!k->hh.tbl) {
		krt_heap_free(heap, k, sizeof(*k));
		return;
	}
	krt_op_ref(k->op);
}

/* Of one operation there are rows without end: held against the executables one by one. */
static void pend_now(struct krt_engine *e, const struct krt_graph_touch *t, uint64_t from,
		     uint64_t end)
{
	struct krt_pattern bytes = bytes_of(t, from, end);

	for (struct krt_fgroup *g = t->mem->space->graphs; g; g = g->next) {
		struct krt_pending p = {.op = t->op,
					.space = g->id,
					.addr = t->mem->node.key,
					.side = side_of_touch(t),
					.kind = (uint8_t)t->kind,
					.know = (uint8_t)t->know,
					.sure = (uint8_t)t->sure};
		struct hit h;

		if (!g->fp->exec)
			continue;
		h = conflict(e, g, how_of_touch(t), t->op, &bytes);
		if (h.confidence == KRT_NO_CONFLICT)
			continue;
		p.from = h.from;
		p.end = h.end;
		p.node = h.seg->node;
		p.node_know = h.seg->know;
		p.list = (uint8_t)h.list;
		p.confidence = (uint8_t)h.confidence;
		pend_add(e, g->fp->exec, &p);
	}
}

static void remember(struct krt_engine *e, const struct krt_graph_touch *t, uint64_t from,
		     uint64_t end)
{
	if (e->graphs.logged_op != t->op->seq || e->graphs.logged_call != e->records) {
		e->graphs.logged_op = t->op->seq;
		e->graphs.logged_call = e->records;
		e->graphs.rows = 0;
	}
	if (++e->graphs.rows <= KRT_GLOG_ROWS)
		log_add(e, t, from, end);
	else
		pend_now(e, t, from, end);
}

void krt_graph_meet(struct krt_engine *e, const struct krt_graph_touch *t, uint64_t from,
		    uint64_t end)
{
	struct krt_pattern bytes = bytes_of(t, from, end);

	for (struct krt_footprint *f = e->graphs.flying; f; f = f->next) {
		const struct krt_fgroup *g;
		enum krt_finding_view view;
		struct hit h;

		e->graphs.steps++;
		if (!(t->touch ? krt_unordered_read(e, t->touch, f->flight, &view)
			       : krt_unordered(e, f->flight, t->stream, &view)))
			continue;
		g = krt_footprint_group(f, t->mem->space->id);
		for (uint64_t at = from; g && at < end;
		     at = unallocated(g->id) ? h.end : end) {
			bytes.lo = at;
			h = conflict(e, g, how_of_touch(t), t->op, &bytes);
			if (h.confidence == KRT_NO_CONFLICT)
				break;
			if (!changed_hands(f, h.seg->node, higher(at, h.seg->from)))
				meet_flight(e, t, g, &h, view);
		}
		bytes.lo = from;
	}
	if (!t->forget)
		remember(e, t, from, end);
}

/* The CPU: with copies; with kernels only where memory is managed, see touch.c. */
void krt_graph_meet_host(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
			 uint64_t from, uint64_t end, bool write, uint64_t only)
{
	unsigned kind = write ? KRT_ACC_WRITE : KRT_ACC_READ;
	struct krt_pattern bytes = krt_pattern_solid(from, end);

	for (struct krt_footprint *f = e->graphs.flying; f; f = f->next) {
		const struct krt_fgroup *g = krt_footprint_group(f, mem->space->id);
		struct krt_pair p = {
			.rule = write ? KRT_RULE_HOST_WRITE_RACE : KRT_RULE_HOST_READ_RACE};

		if (!g || (only && f->flight->seq != only) || !krt_unordered(e, f->flight, NULL, &p.view))
			continue;
		for (unsigned list = 0; list < KRT_FLISTS; list++) {
			int c = g->count[list] ? krt_how_conflict((struct krt_how){.kind = kind},
								  krt_flist_how(list))
					       : KRT_NO_CONFLICT;
			const struct krt_fseg *s, *last;

			if (c == KRT_NO_CONFLICT ||
			    (!krt_flist_how(list).copy && mem->kind != KRT_MEM_MANAGED))
				continue;
			s = find(e, g, list, from, end);
			if (!s)
				continue;
			last = find_last(e, g, list, &bytes);
			if (list == KRT_FL_POINTER && write)
				c = KRT_LIKELY;
			p.confidence = (enum krt_confidence)with_node(f, s->node, c);
			if (krt_host_may_know(e, op, f->flight))
				p.confidence = KRT_POSSIBLE;
			p.cur = op;
			p.prev = f->flight;
			p.cur_what = krt_what_of(kind);
			p.prev_what = krt_what_of(kind_of(list));
			p.cur_know = krt_host_know(op);
			p.prev_know = s->know;
			p.prev_sure = krt_flist_how(list).sure;
			p.mem = mem;
			p.from = krt_mem_addr(mem, higher(from, s->from));
			p.end = krt_mem_addr(mem, lower(end, last->end));
			p.prev_fp = f;
			p.prev_node = s->node;
			if (!unallocated(g->id)) {
				krt_pair_add(e, &p);
				continue;
			}
			for (; s <= last; s++) { /* each node's piece */
				p.from = krt_mem_addr(mem, higher(from, s->from));
				p.end = krt_mem_addr(mem, lower(end, s->end));
				p.prev_node = s->node;
				p.prev_item = item_of(s->node, list);
				krt_pair_add(e, &p);
			}
		}
	}
}

/* --- memory ends ------------------------------------------------------------------------------------ */

static enum krt_confidence use_confidence(const struct krt_owner_use *u)
{
	if (u->know == KRT_KNOW_WORD)
		return u->role == KRT_GROLE_HOSTFN ? KRT_LIKELY : KRT_POSSIBLE;
	return (enum krt_confidence)with_node(u->fp, u->node,
					      (int)krt_life_confidence(u->sure, u->held));
}

static void free_use(struct krt_engine *e, struct krt_op_info *op, struct krt_stream_info *s,
		     const struct krt_owner_use *u, const struct krt_mem *mem,
		     enum krt_rule_id rule)
{
	struct krt_pair p = {.rule = rule, .confidence = use_confidence(u)};

	if (!u->fp->flight || !krt_unordered(e, u->fp->flight, s, &p.view))
		return;
	p.cur = op;
	p.prev = u->fp->flight;
	p.cur_what = "free";
	p.prev_what = krt_what_of(u->kind);
	p.cur_know = KRT_KNOW_API;
	p.prev_know = u->know;
	p.prev_sure = u->sure;
	p.mem = mem;
	if (u->sure != KRT_SURE_FROM) {
		p.from = u->from;
		p.end = u->end;
	}
	p.prev_fp = u->fp;
	p.prev_node = u->node;
	krt_pair_add(e, &p);
}

void krt_graph_free(struct krt_engine *e, struct krt_op_info *op, struct krt_stream_info *s,
		    struct krt_mem *mem, enum krt_rule_id rule)
{
	for (const struct krt_owner_use *u = mem->owner->uses; u; u = u->next)
		free_use(e, op, s, u, mem, rule);
}

void krt_graph_free_unknown(struct krt_engine *e, struct krt_op_info *op, struct krt_stream_info *s,
			    struct krt_mem *mem)
{
	uint64_t from = krt_mem_key(mem, mem->node.key), end = from + mem->size;
	struct krt_pattern bytes = krt_pattern_solid(from, end);

	if (!e->judge || e->exiting)
		return;
	for (struct krt_fgroup *g = mem->space->graphs; g; g = g->next) {
		struct krt_footprint *f = g->fp;
		struct krt_pair p = {.rule = KRT_RULE_FREE_IN_USE};
		struct hit h;

		if (!f->flight || f->flight == op || !krt_unordered(e, f->flight, s, &p.view))
			continue;
		h = conflict(e, g, (struct krt_how){.kind = KRT_ACC_WRITE, .copy = true}, op,
			     &bytes);
		if (h.confidence == KRT_NO_CONFLICT)
			continue;
		/* whatever it does there: the memory is gone */
		p.confidence = (enum krt_confidence)with_node(
			f, h.seg->node,
			h.list == KRT_FL_POINTER
				? KRT_LIKELY
				: (int)krt_life_confidence(krt_flist_how(h.list).sure, false));
		p.cur = op;
		p.prev = f->flight;
		p.cur_what = "free";
		p.prev_what = krt_what_of(kind_of(h.list));
		p.cur_know = KRT_KNOW_API;
		p.prev_know = h.seg->know;
		p.prev_sure = krt_flist_how(h.list).sure;
		p.mem = mem;
		p.from = krt_mem_addr(mem, h.from);
		p.end = krt_mem_addr(mem, h.end);
		p.prev_fp = f;
		p.prev_node = h.seg->node;
		krt_pair_add(e, &p);
	}
}

void krt_graph_flights(struct krt_engine *e, const struct krt_owner *o, krt_graph_flight_fn *fn,
		       void *user)
{
	uint64_t from = o->off, end = o->off + o->size, base = o->base - o->off;

	for (const struct krt_owner_use *u = o->uses; u; u = u->next) {
		struct krt_footprint *f = u->fp;
		const struct krt_fgroup *g = krt_footprint_group(f, o->space);

		if (!f->flight || !g || krt_order_settled(e->order, f->flight->stamp))
			continue;
		for (unsigned list = 0; list < KRT_FLISTS; list++) {
			const struct krt_fseg *s = g->count[list] ? find(e, g, list, from, end)
								  : NULL;
			const struct krt_fseg *last = f->seg + g->at[list] + g->count[list];

			for (; s && s < last && s->from < end; s++)
				if (s->end > from)
					fn(user, f->flight, krt_flist_how(list), s->know, s->gaps,
					   base + higher(from, s->from), base + lower(end, s->end));
		}
	}
}

void krt_graph_heap_gone(struct krt_engine *e, const struct krt_call *c, struct krt_op_info *op,
			 struct krt_mem *mem)
{
	struct krt_owner *o = mem->owner;

	if (e->judge && !e->exiting && !krt_unseen_call(e, c))
		krt_graph_free(e, op, NULL, mem, KRT_RULE_HOST_FREE_IN_USE);
	if (o->ended)
		return;
	o->ended = o->heap = true;
	o->freed = (struct krt_origin){
		.api = c->rec->api, .seq = c->rec->t0, .stack = c->rec->stack};
	krt_footprint_mark(o);
}

struct heap_end {
	struct krt_engine *e;
	const struct krt_call *c;
	struct krt_op_info *op;
};

static void heap_owner_ends(void *user, struct krt_owner *o)
{
	struct heap_end *h = user;

	if (h->e->judge && !h->e->exiting && !krt_unseen_call(h->e, h->c))
		for (const struct krt_owner_use *u = o->uses; u; u = u->next)
			free_use(h->e, h->op, NULL, u, &h->e->mem.pageable,
				 KRT_RULE_HOST_FREE_IN_USE);
	o->ended = o->heap = true;
	o->freed = (struct krt_origin){
		.api = h->c->rec->api, .seq = h->c->rec->t0, .stack = h->c->rec->stack};
	krt_owner_forget(o);
	krt_footprint_mark(o);
}

void krt_graph_heap_end(struct krt_engine *e, const struct krt_call *c, struct krt_op_info *op,
			uint64_t addr, uint64_t len)
{
	struct heap_end h = {.e = e, .c = c, .op = op};

	krt_owners_each(&e->graphs.owners, KRT_OWNERS_HEAP, addr,
			len > UINT64_MAX - addr ? UINT64_MAX : addr + len, heap_owner_ends, &h);
}

/* --- memory comes --------------------------------------------------------------------------------------- */

static void block_comes(void *user, struct krt_owner *o)
{
	(void)user;
	o->recycled = true;
	krt_owner_forget(o);
	krt_footprint_mark(o);
}

void krt_graph_block_made(struct krt_engine *e, struct krt_block *b)
{
	/* another owner within captures: contents are the pool's business */
	if (!b->capture)
		krt_owners_each(&e->graphs.owners, KRT_OWNERS_LOOSE, b->node.key,
				b->node.key + b->size, block_comes, NULL);
}

static void mapping_comes(void *user, struct krt_owner *o)
{
	struct krt_mem *m = user;

	if (m->owner || o->base != m->node.key || o->size != m->size ||
	    o->space != m->space->id || o->off != m->space_off)
		return;
	/* the same physical memory at the same place: as if it had never been away */
	krt_owner_forget(o);
	o->ended = false;
	memset(&o->freed, 0, sizeof(o->freed));
	o->refs++;
	m->owner = o;
}

void krt_graph_mapped(struct krt_engine *e, struct krt_mem *mem)
{
	if (mem->size)
		krt_owners_each(&e->graphs.owners, KRT_OWNERS_MAPPED, mem->node.key,
				mem->node.key + mem->size, mapping_comes, mem);
}

/* --- launches ------------------------------------------------------------------------------------------- */

void krt_footprint_flags(struct krt_engine *e, struct krt_footprint *f, struct krt_stream_info *s)
{
	/* which of its pointers are flags is worked out when there are more flags */
	if (f->flags_of != e->nflags) {
		f->flags_of = e->nflags;
		f->flags = 0;
		for (uint32_t i = 0; i < f->image->nodes; i++)
			for (uint32_t k = 0; f->set[i] && k < f->set[i]->n; k++) {
				const struct krt_gaccess *a = &f->set[i]->access[k];

				uint64_t flag = a->base ? a->base : a->addr;

				if (a->role == KRT_GROLE_KERNEL && krt_flag_known(e, flag) &&
				    krt_heap_grow(&e->heap, &f->flag, &f->flags_cap, f->flags,
						  sizeof(*f->flag)))
					f->flag[f->flags++] = flag;
			}
	}
	for (uint32_t i = 0; i < f->flags; i++)
		krt_flag_touch(e, s, f->flag[i]);
}

static bool segs_meet(const struct krt_fseg *x, const struct krt_fseg *y)
{
	struct krt_pattern solid;

	if (y->gaps)
		return seg_meets(x, y->gaps);
	solid = krt_pattern_solid(y->from, y->end);
	return seg_meets(x, &solid);
}

#define PARTS_MAX 64 /* of one space without allocations */

static bool same_side(const struct krt_fmeet_part *a, const struct krt_fmeet_part *b, unsigned i)
{
	return item_of(a->node[i], a->list[i]) == item_of(b->node[i], b->list[i]);
}

/* The part of a meeting that two segments belong to; those of a space begin at first. */
static struct krt_fmeet_part *part_of(struct krt_engine *e, struct krt_fmeet *m, uint32_t first,
				      const struct krt_fmeet_part *new)
{
	bool one = !unallocated(new->space);

	for (uint32_t i = first; i < m->n; i++)
		if (one || (same_side(&m->part[i], new, 0) && same_side(&m->part[i], new, 1)))
			return &m->part[i];
	if (m->n - first >= PARTS_MAX ||
	    !krt_heap_grow(&e->heap, &m->part, &m->cap, m->n, sizeof(*m->part)))
		return NULL;
	m->part[m->n] = *new;
	return &m->part[m->n++];
}

static void meeting_add(struct krt_engine *e, struct krt_fmeet *m, uint32_t first,
			const struct krt_fmeet_part *new)
{
	struct krt_fmeet_part *p = part_of(e, m, first, new);

	if (!p || new->confidence < p->confidence)
		return;
	if (new->confidence > p->confidence)
		*p = *new;
	p->from = lower(p->from, new->from);
	p->end = higher(p->end, new->end);
}

/* What two lists of one space have in common. */
static void common(struct krt_engine *e, struct krt_fmeet *m, uint32_t first,
		   const struct krt_fgroup *a, const struct krt_fgroup *b, unsigned la, unsigned lb)
{
	const struct krt_fseg *x = a->fp->seg + a->at[la], *y = b->fp->seg + b->at[lb];
	const struct krt_fseg *xe = x + a->count[la], *ye = y + b->count[lb];
	int c = krt_how_conflict(krt_flist_how(la), krt_flist_how(lb));
	struct krt_pattern bytes;

	for (; c != KRT_NO_CONFLICT && x < xe; x++) {
		unsigned tried = 0;

		while (y < ye && y->reach <= x->from)
			y++;
		for (const struct krt_fseg *k = y; k < ye && k->from < x->end && tried < TRIES_MAX;
		     k++, tried++) {
			struct krt_fmeet_part part = {.list = {(uint8_t)la, (uint8_t)lb},
						      .node = {x->node, k->node},
						      .know = {x->know, k->know},
						      .space = a->id,
						      .from = higher(x->from, k->from),
						      .end = lower(x->end, k->end)};
			int sure;

			if (k->end <= x->from || !segs_meet(x, k))
				continue;
			bytes = k->gaps ? *k->gaps : krt_pattern_solid(k->from, k->end);
			sure = with_bytes(x, krt_flist_how(la), &bytes, krt_flist_how(lb), c);
			sure = with_nodes(a->fp, x->node, b->fp, k->node,
					  rule_of(kind_of(la), lb), sure);
			if (sure == KRT_NO_CONFLICT)
				continue;
			part.confidence = (uint8_t)sure;
			meeting_add(e, m, first, &part);
		}
	}
}

static void forget_meets(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_fmeet *m, *tmp;

	HASH_ITER (hh, e->graphs.meets, m, tmp) {
		HASH_DELETE(hh, e->graphs.meets, m);
		krt_heap_free(heap, m->part, m->cap * sizeof(*m->part));
		krt_heap_free(heap, m, sizeof(*m));
	}
	e->graphs.nmeets = 0;
}

/* Two footprints, a with the smaller id. */
static const struct krt_fmeet *meeting(struct krt_engine *e, const struct krt_footprint *a,
				       const struct krt_footprint *b)
{
	struct krt_heap *heap = &e->heap;
	uint64_t key = (uint64_t)a->id << 32 | b->id;
	struct krt_fmeet *m;

	HASH_FIND(hh, e->graphs.meets, &key, sizeof(key), m);
	if (m)
		return m;
	if (e->graphs.nmeets >= KRT_FMEETS_MAX)
		forget_meets(e);
	m = krt_heap_alloc(heap, sizeof(*m));
	if (!m)
		return NULL;
	m->key = key;
	for (uint32_t i = 0; i < a->groups; i++) {
		const struct krt_fgroup *g = krt_footprint_group(b, a->group[i].id);
		uint32_t first = m->n;

		for (unsigned k = 0; g && k < KRT_FLISTS * KRT_FLISTS; k++)
			if (a->group[i].count[k / KRT_FLISTS] && g->count[k % KRT_FLISTS])
				common(e, m, first, &a->group[i], g, k / KRT_FLISTS,
				       k % KRT_FLISTS);
	}
	HASH_ADD(hh, e->graphs.meets, key, sizeof(m->key), m);
	if (!m->hh.tbl) {
		krt_heap_free(heap, m->part, m->cap * sizeof(*m->part));
		krt_heap_free(heap, m, sizeof(*m));
		return NULL;
	}
	e->graphs.nmeets += 1 + m->n;
	return m;
}

/* The memory of a space that begins at addr, or NULL: not there any more. */
static struct krt_mem *memory_of(struct krt_engine *e, uint64_t space, uint64_t addr)
{
	struct krt_mem *m;

	if (space == KRT_SPACE_PAGEABLE)
		return &e->mem.pageable;
	if (space == KRT_SPACE_UNKNOWN)
		return &e->mem.unknown;
	m = krt_mem_base(&e->mem, addr);
	if (!m)
		m = krt_array_get(&e->mem, addr);
	return m && m->space->id == space ? m : NULL;
}

/* me: which of the two the launch in hand is. */
static void flights_meet(struct krt_engine *e, struct krt_footprint *f, struct krt_footprint *mine,
			 struct krt_op_info *op, const struct krt_fmeet_part *m, unsigned me,
			 enum krt_finding_view view)
{
	const struct krt_fgroup *g = krt_footprint_group(mine, m->space);
	struct krt_pair p = {.rule = rule_of(kind_of(m->list[0]), m->list[1]), .view = view};

	p.mem = g ? memory_of(e, m->space, g->addr) : NULL;
	if (!p.mem)
		return;
	p.confidence = (enum krt_confidence)m->confidence;
	p.cur = op;
	p.prev = f->flight;
	p.cur_what = krt_what_of(kind_of(m->list[me]));
	p.prev_what = krt_what_of(kind_of(m->list[!me]));
	p.cur_know = m->know[me];
	p.prev_know = m->know[!me];
	p.cur_sure = krt_flist_how(m->list[me]).sure;
	p.prev_sure = krt_flist_how(m->list[!me]).sure;
	p.from = krt_mem_addr(p.mem, m->from);
	p.end = krt_mem_addr(p.mem, m->end);
	p.cur_fp = mine;
	p.cur_node = m->node[me];
	p.prev_fp = f;
	p.prev_node = m->node[!me];
	if (unallocated(m->space)) {
		p.cur_item = item_of(p.cur_node, m->list[me]);
		p.prev_item = item_of(p.prev_node, m->list[!me]);
	}
	krt_pair_add(e, &p);
}

static void judge_flight(struct krt_engine *e, struct krt_footprint *f, struct krt_footprint *mine,
			 struct krt_op_info *op)
{
	enum krt_finding_view view;
	const struct krt_fmeet *m;

	if (!krt_unordered(e, f->flight, op->stream, &view))
		return;
	m = f->id < mine->id ? meeting(e, f, mine) : meeting(e, mine, f);
	for (uint32_t i = 0; m && i < m->n; i++)
		flights_meet(e, f, mine, op, &m->part[i], f->id < mine->id, view);
}

/*
 * The bytes are not what the node means: that has been said.  Memory that came to the
 * same address later is a space of its own, and another node may well mean that.
 */
static bool is_stale(const struct krt_footprint *f, uint64_t space, uint64_t addr)
{
	for (const struct krt_owner_use *u = f->stale; u; u = u->next_stale)
		if (u->owner->space == space && addr - u->owner->base < u->owner->size)
			return true;
	return false;
}

/* Returns where to go on, k->end: nothing more is met. */
static uint64_t meet_logged(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op,
			    const struct krt_glog *k, const struct krt_fgroup *g,
			    enum krt_finding_view view, uint64_t from)
{
	struct krt_how how = {.kind = k->kind,
			      .sure = k->sure,
			      .copy = k->op->class != KRT_OPC_KERNEL,
			      .coop = k->op->coop};
	struct krt_pair p = {.cur = op, .prev = k->op, .view = view};
	struct krt_pattern bytes = k->pattern;
	struct hit h;

	bytes.lo = from;
	h = conflict(e, g, how, k->op, &bytes);
	p.mem = h.confidence == KRT_NO_CONFLICT ? NULL : memory_of(e, k->space, k->addr);
	if (!p.mem)
		return k->end;
	p.from = krt_mem_addr(p.mem, h.from);
	p.end = krt_mem_addr(p.mem, h.end);
	if (is_stale(x->fp, k->space, p.from))
		return k->end;
	p.rule = rule_of(k->kind, h.list);
	p.confidence = (enum krt_confidence)h.confidence;
	p.cur_what = krt_what_of(kind_of(h.list));
	p.prev_what = krt_what_of(k->kind);
	p.cur_know = h.seg->know;
	p.prev_know = k->know;
	p.cur_sure = krt_flist_how(h.list).sure;
	p.prev_sure = k->sure;
	p.prev_item = k->side;
	p.cur_fp = x->fp;
	p.cur_node = h.seg->node;
	if (unallocated(g->id))
		p.cur_item = item_of(p.cur_node, h.list);
	krt_pair_add(e, &p);
	return unallocated(g->id) ? h.end : k->end;
}

/* What came since the launch before. */
static void judge_log(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op)
{
	for (struct krt_glog *k = log_last(e); k && k->number > x->seen; k = k->hh.prev) {
		const struct krt_fgroup *g;
		enum krt_finding_view view;

		e->graphs.steps++;
		if (!krt_unordered(e, k->op, op->stream, &view))
			continue;
		g = krt_footprint_group(x->fp, k->space);
		for (uint64_t at = k->from; g && at < k->end;)
			at = meet_logged(e, x, op, k, g, view, at);
	}
	x->seen = e->graphs.logged;
}

void krt_footprint_judge(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op)
{
	struct krt_footprint *f, *next;

	for (uint32_t i = 0; i < x->npend; i++) {
		const struct krt_pending *k = &x->pend[i];
		struct krt_pair p = {.rule = KRT_RULE_GRAPH_EXEC_OVERLAP};

		e->graphs.steps++;
		p.mem = memory_of(e, k->space, k->addr);
		if (!p.mem || !krt_unordered(e, k->op, op->stream, &p.view) ||
		    (k->kind && is_stale(x->fp, k->space, krt_mem_addr(p.mem, k->from))))
			continue;
		p.rule = rule_of(k->kind, k->list);
		p.confidence = (enum krt_confidence)k->confidence;
		p.cur = op;
		p.prev = k->op;
		p.cur_what = krt_what_of(k->kind ? kind_of(k->list) : k->list);
		p.prev_what = k->kind ? krt_what_of(k->kind) : "allocate";
		if (!k->kind)
			p.rule = KRT_RULE_UBA_STREAM;
		p.cur_know = k->node_know;
		p.prev_know = k->know;
		p.cur_sure = k->kind ? krt_flist_how(k->list).sure : KRT_SURE_ALL;
		p.prev_sure = k->sure;
		p.prev_item = k->side;
		if (k->kind) {
			p.from = krt_mem_addr(p.mem, k->from);
			p.end = krt_mem_addr(p.mem, k->end);
		}
		p.cur_fp = x->fp;
		p.cur_node = k->node;
		if (unallocated(k->space))
			p.cur_item = item_of(k->node, k->list);
		krt_pair_add(e, &p);
	}
	/* judged once: the next launch comes after this one */
	krt_pending_clear(e, x);
	judge_log(e, x, op);
	for (f = e->graphs.flying; f; f = next) {
		next = f->next;
		e->graphs.steps++;
		if (f != x->fp && !settled(e, f))
			judge_flight(e, f, x->fp, op);
	}
}

void krt_footprint_left(struct krt_engine *e, struct krt_footprint *f, struct krt_op_info *op)
{
	const struct krt_fgroup *g = krt_footprint_group(f, KRT_SPACE_UNKNOWN);

	for (unsigned list = 0; g && list < KRT_FLISTS; list++) {
		const struct krt_fseg *s = f->seg + g->at[list], *last = s + g->count[list];
		struct krt_mem *m = s < last ? krt_mem_freed_from(&e->mem, s->from) : NULL;

		for (; m && m->node.key < last[-1].end;
		     m = krt_mem_freed_from(&e->mem, m->node.key + m->size)) {
			struct krt_pair p = {.rule = KRT_RULE_UAF_STREAM, .view = KRT_BOTH_VIEWS};

			s = m->of_graph ? find(e, g, list, m->node.key, m->node.key + m->size)
					: NULL;
			if (!s || !m->free_op || m->free_external || op->stream->external ||
			    op->stream->external_own || krt_graph_image_mem(f->image, m->node.key))
				continue;
			p.confidence = (enum krt_confidence)with_node(
				f, s->node,
				(int)krt_life_confidence(krt_flist_how(list).sure, false));
			p.cur = op;
			p.prev = m->free_op;
			p.cur_what = krt_what_of(kind_of(list));
			p.prev_what = "free";
			p.cur_know = s->know;
			p.cur_sure = krt_flist_how(list).sure;
			p.prev_know = KRT_KNOW_API;
			p.mem = m;
			p.from = higher(m->node.key, s->from);
			p.end = lower(m->node.key + m->size, s->end);
			p.cur_fp = f;
			p.cur_node = s->node;
			krt_pair_add(e, &p);
		}
	}
	krt_pairs_flush(e); /* the launch may end, or bring back, what they name */
}

void krt_footprints_free(struct krt_engine *e)
{
	while (e->graphs.flying)
		land(e, e->graphs.flying);
	while (e->graphs.log)
		log_drop(e, e->graphs.log);
	forget_meets(e);
}
