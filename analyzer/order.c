/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Happens-before: see order.h for what is promised.
 *
 * A domain has an id, never reused, and while it lives a compact *slot*.  Its
 * knowledge of the other domains has four parts, looked up in this order:
 *
 *   its own epoch      FIFO: everything earlier in the stream
 *   the host's clock   o->slot[].known, one dense table for the process.  What
 *                      the host knows, every later operation knows, so a domain
 *                      keeps only the host *version* of its latest operation
 *   its tree           what it learned from other streams: an immutable, shared,
 *                      reference counted radix tree from slot to epochs (both
 *                      views in one entry)
 *   its context        barriers that it has not met yet: the legacy stream's
 *                      clock, and the floor set by waits of the whole context
 *
 * Invariants
 *   - epochs come from one counter.  A domain whose knowledge grows by more than
 *     the host's clock gets a new epoch.  So who knows epoch n of domain T in a
 *     view knows all that T knew at n in that view, and a wait for something
 *     known is found in O(1).
 *   - documented knowledge is a subset of observed knowledge, entry by entry.
 *   - a blocking stream that is not dirty knows nothing that its context's
 *     legacy stream does not know; at its first operation after one of the
 *     legacy stream it takes over that stream's tree by reference.
 *   - tree nodes are immutable once committed.  node->known says that the host
 *     knows all of it: it is dropped where met, and absorbed only once.
 *   - a slot is recycled once the host knows its last epoch in the documented
 *     view.  Entries of its former life that are left in trees are below every
 *     epoch of the next life, so they say nothing about it.
 *   - changes are built aside and committed when complete: a call that runs out
 *     of memory leaves what was known, or part of what it would have added (the
 *     default-stream order comes before the rest), and never anything else.
 *
 * No locking: the caller serialises.
 */
#include "order.h"
#include <stdlib.h>
#include <string.h>

#define FAN       16u /* children of a node, entries of a leaf */
#define FAN_BITS  4u
#define STEPS     8192u /* remembered steps of the host's clock */
#define HISTORY   2     /* earlier trees of a domain */
#define KNOWN_ALL ((1u << KRT_VIEWS) - 1)

/* --- structures ---------------------------------------------------------------- */

struct entry {
	uint64_t e[KRT_VIEWS];
};

/*
 * A node of level k covers FAN^(k+1) slots from its position on.  A child may be
 * of a lower level than its parent's level - 1: it then covers the first slots.
 */
struct node {
	uint32_t refs;
	uint8_t level; /* 0: leaf */
	uint8_t known; /* views (bits) in which the host knows everything in it */
	uint16_t used; /* entries or children that are there, bits */
	bool full;     /* every slot that it covers has an entry */
	uint64_t max;  /* newest epoch in it, observed view */
	uint64_t min;  /* oldest epoch of the entries that are there, documented view */
};

struct leaf {
	struct node n;
	struct entry e[FAN];
};

struct inner {
	struct node n;
	struct node *c[FAN];
};

struct krt_snapshot {
	struct krt_order *o;
	uint32_t refs;
	krt_domain domain;
	uint32_t slot; /* of domain, when that is not 0 */
	uint64_t epoch, work; /* work: of its last operation; waits have epochs too */
	uint64_t version[KRT_VIEWS];
	struct node *tree;
};

struct list {
	struct list *next, *prev;
};

struct context;

struct domain {
	krt_domain id;
	uint32_t slot;
	enum krt_stream_kind kind;
	bool ended;
	bool active;   /* the host does not know the last epoch, documented view */
	bool dirty;    /* blocking: on the list of what the legacy stream must join */
	bool advanced; /* on o->advanced */
	struct context *ctx;
	uint64_t birth;              /* last epoch given before this life of the slot */
	uint64_t epoch;              /* newest */
	uint64_t work;		     /* the newest operation's, 0: there was none */
	uint64_t since;              /* the tree is in force from this epoch on */
	uint64_t version[KRT_VIEWS]; /* host version that the latest operation knows */
	uint64_t legacy_seen;        /* epoch of the legacy stream that was taken over */
	uint64_t floor_seen;
	uint64_t pruned;             /* host version of the last pruning */
	uint32_t unpruned;           /* operations since that wanted one */
	struct node *tree;
	struct {                     /* the trees before, newest first */
		struct node *tree;
		uint64_t since;
	} history[HISTORY];
	struct list in_context, in_active, in_dirty;
	struct domain *next_advanced, *next_retired;
};

struct context {
	krt_context id;
	uint32_t device;
	bool ended;
	struct list in_order;
	struct list streams, active, dirty;
	struct domain *legacy;
	struct node *full;    /* the legacy stream's tree with its own epoch in it */
	uint64_t full_epoch;
	struct node *floor;   /* what waits of the whole context must be complete */
	uint64_t floor_number;
	uint64_t floor_version[KRT_VIEWS];
};

struct slot {
	struct domain *d; /* NULL: free */
	uint32_t next_free;
	uint64_t known[KRT_VIEWS];   /* the host knows up to this epoch */
	uint64_t version[KRT_VIEWS]; /* since this version */
	uint64_t step[KRT_VIEWS];    /* what it knew before, 0: nothing */
	uint64_t own[KRT_VIEWS];     /* what the running call waited for by itself, if it is call `own_call` */
	uint64_t own_call;
};

struct step {
	uint64_t epoch, version, older;
};

struct moment {
	uint64_t t1, version, epoch;
};

/* Ids to objects: open addressing, linear probing, no tombstones; id 0 is empty. */
struct map {
	struct pair {
		uint32_t id;
		void *object;
	} *pair;
	uint32_t size, used; /* size: a power of two, or 0 */
};

#define OWN_TREES 8 /* of one call; what further ones tell is taken as not known */

struct krt_order {
	struct krt_order_mem mem;
	bool failed;
	uint32_t last_domain, last_context;
	uint64_t epoch;   /* newest of all domains */
	uint64_t version; /* of the host's clock */
	struct map domains, contexts;
	struct list all_contexts;
	struct slot *slot;
	uint32_t nslots, slots_size, free_slot; /* free_slot: index + 1, 0: none */
	uint64_t active; /* domains that the host does not fully know */
	struct domain *advanced; /* the host learned of them in the running call */
	struct domain *retired, **retired_end;

	/* krt_order_at() */
	struct step *steps;
	uint64_t next_step;
	struct moment *moments;
	uint64_t next_moment;
	uint64_t now;          /* t1 of the running call, 0: none */
	bool early;            /* it began before the newest change */
	uint64_t early_version, early_epoch;
	uint64_t call;         /* number of the running call */
	/* what was complete before that which an early call waited for by itself */
	struct {
		struct node *tree;
		unsigned views;
	} own[OWN_TREES];
	unsigned nown;

	struct krt_order_stats stats;
};

#define RAISE(to, from) do { if ((to) < (from)) (to) = (from); } while (0)

/* --- memory ---------------------------------------------------------------------- */

static void *take(struct krt_order *o, size_t size)
{
	void *p = o->mem.alloc(o->mem.user, size);

	if (p)
		o->stats.clock_bytes += size;
	else
		o->failed = true;
	return p;
}

static void *take_zeroed(struct krt_order *o, size_t size)
{
	void *p = take(o, size);

	if (p)
		memset(p, 0, size);
	return p;
}

static void give(struct krt_order *o, void *p, size_t size)
{
	if (!p)
		return;
	o->stats.clock_bytes -= size;
	o->mem.free(o->mem.user, p, size);
}

static void *plain_alloc(void *user, size_t size)
{
	(void)user;
	return malloc(size);
}

static void plain_free(void *user, void *ptr, size_t size)
{
	(void)user;
	(void)size;
	free(ptr);
}

/* --- lists ------------------------------------------------------------------------ */

#define owner(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

static void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static void list_add(struct list *at, struct list *l)
{
	l->next = at;
	l->prev = at->prev;
	at->prev->next = l;
	at->prev = l;
}

static void list_del(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

/* --- id maps ----------------------------------------------------------------------- */

static uint32_t home(const struct map *m, uint32_t id)
{
	return (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 32) & (m->size - 1);
}

static void *map_get(const struct map *m, uint32_t id)
{
	if (!m->size || !id)
		return NULL;
	for (uint32_t i = home(m, id);; i = (i + 1) & (m->size - 1)) {
		if (m->pair[i].id == id)
			return m->pair[i].object;
		if (!m->pair[i].id)
			return NULL;
	}
}

static void map_put(struct map *m, uint32_t id, void *object)
{
	uint32_t i = home(m, id);

	while (m->pair[i].id)
		i = (i + 1) & (m->size - 1);
	m->pair[i].id = id;
	m->pair[i].object = object;
	m->used++;
}

/* Room for one more; the table is never more than half full. */
static bool map_reserve(struct krt_order *o, struct map *m)
{
	struct map bigger = { .size = m->size ? m->size * 2 : 16 };

	if (m->used < m->size / 2)
		return true;
	bigger.pair = take_zeroed(o, bigger.size * sizeof(*bigger.pair));
	if (!bigger.pair)
		return false;
	for (uint32_t i = 0; i < m->size; i++)
		if (m->pair[i].id)
			map_put(&bigger, m->pair[i].id, m->pair[i].object);
	give(o, m->pair, m->size * sizeof(*m->pair));
	*m = bigger;
	return true;
}

static void map_del(struct map *m, uint32_t id)
{
	uint32_t mask = m->size - 1, i = home(m, id), j;

	while (m->pair[i].id != id)
		i = (i + 1) & mask;
	for (j = (i + 1) & mask; m->pair[j].id; j = (j + 1) & mask) {
		/* Move it up unless its home lies between the hole and itself. */
		if (((j - home(m, m->pair[j].id)) & mask) >= ((j - i) & mask)) {
			m->pair[i] = m->pair[j];
			i = j;
		}
	}
	m->pair[i].id = 0;
	m->pair[i].object = NULL;
	m->used--;
}

/* A new id that is not in use: they come around after 2^32 only. */
static uint32_t new_id(const struct map *m, uint32_t *last)
{
	do {
		++*last;
	} while (!*last || map_get(m, *last));
	return *last;
}

/* --- the host's clock ---------------------------------------------------------------- */

/* What the host knew of the slot at a version of its clock. */
static uint64_t host_at(const struct krt_order *o, uint32_t slot, enum krt_view v, uint64_t version)
{
	const struct slot *s = &o->slot[slot];
	uint64_t epoch = s->known[v], step = s->step[v];

	if (s->version[v] <= version)
		return epoch;
	while (step) {
		const struct step *st = &o->steps[step % STEPS];

		if (step + STEPS < o->next_step)
			return epoch; /* too long ago to tell: rather known than not */
		epoch = st->epoch;
		if (st->version <= version)
			return epoch;
		step = st->older;
	}
	return 0;
}

static uint64_t tree_epoch(const struct node *n, uint32_t slot, enum krt_view v);

/*
 * A call that began early does not know what others taught the host meanwhile,
 * but it knows what it waited for itself.
 */
static uint64_t own_wait(const struct krt_order *o, uint32_t slot, enum krt_view v)
{
	const struct slot *s = &o->slot[slot];
	uint64_t epoch = o->early && s->own_call == o->call ? s->own[v] : 0;

	for (unsigned i = 0; i < o->nown; i++)
		if (o->own[i].views & 1u << v)
			RAISE(epoch, tree_epoch(o->own[i].tree, slot, v));
	return epoch;
}

static void own_waited(struct krt_order *o, uint32_t slot, uint64_t epoch, unsigned views)
{
	struct slot *s = &o->slot[slot];

	if (!o->early)
		return;
	if (s->own_call != o->call) {
		s->own_call = o->call;
		for (unsigned v = 0; v < KRT_VIEWS; v++)
			s->own[v] = 0;
	}
	for (unsigned v = 0; v < KRT_VIEWS; v++)
		if (views & 1u << v)
			RAISE(s->own[v], epoch);
}

/* The version that operations of the running call know. */
static uint64_t call_version(const struct krt_order *o)
{
	return o->early ? o->early_version : o->version;
}

/* The version that calls still in flight know at least. */
static uint64_t stable_version(const struct krt_order *o)
{
	if (!o->moments)
		return o->version;
	if (o->next_moment <= KRT_ORDER_TIMES)
		return 0;
	return o->moments[o->next_moment % KRT_ORDER_TIMES].version;
}

/* --- trees ---------------------------------------------------------------------------- */

static struct leaf *leaf_of(struct node *n)
{
	return (struct leaf *)n;
}

static struct inner *inner_of(struct node *n)
{
	return (struct inner *)n;
}

static const struct leaf *const_leaf(const struct node *n)
{
	return (const struct leaf *)n;
}

static const struct inner *const_inner(const struct node *n)
{
	return (const struct inner *)n;
}

static size_t node_size(unsigned level)
{
	return level ? sizeof(struct inner) : sizeof(struct leaf);
}

/* Slots below one child of a node. */
static unsigned shift_of(const struct node *n)
{
	return FAN_BITS * n->level;
}

static bool covers(const struct node *n, uint32_t slot)
{
	return !((uint64_t)slot >> (shift_of(n) + FAN_BITS));
}

static struct node *ref(struct node *n)
{
	if (n)
		n->refs++;
	return n;
}

static void unref(struct krt_order *o, struct node *n)
{
	if (!n || --n->refs)
		return;
	if (n->level)
		for (unsigned i = 0; i < FAN; i++)
			unref(o, inner_of(n)->c[i]);
	give(o, n, node_size(n->level));
}

static void own_waited_tree(struct krt_order *o, struct node *tree, unsigned views)
{
	if (!o->early || !tree || o->nown == OWN_TREES)
		return;
	o->own[o->nown].tree = ref(tree);
	o->own[o->nown++].views = views;
}

static void own_forget(struct krt_order *o)
{
	while (o->nown)
		unref(o, o->own[--o->nown].tree);
}

static struct node *new_node(struct krt_order *o, unsigned level)
{
	struct node *n = take_zeroed(o, node_size(level));

	if (n) {
		n->refs = 1;
		n->level = (uint8_t)level;
	}
	return n;
}

/* A private copy that shares the children. */
static struct node *copy_node(struct krt_order *o, const struct node *n)
{
	struct node *c = take(o, node_size(n->level));

	if (!c)
		return NULL;
	memcpy(c, n, node_size(n->level));
	c->refs = 1;
	c->known = 0;
	if (c->level)
		for (unsigned i = 0; i < FAN; i++)
			ref(inner_of(c)->c[i]);
	return c;
}

static const struct entry *find(const struct node *n, uint32_t slot)
{
	while (n && covers(n, slot)) {
		unsigned shift = shift_of(n);

		if (!n->level)
			return &const_leaf(n)->e[slot];
		n = const_inner(n)->c[slot >> shift];
		slot &= (1u << shift) - 1;
	}
	return NULL;
}

static uint64_t tree_epoch(const struct node *n, uint32_t slot, enum krt_view v)
{
	const struct entry *e = find(n, slot);

	return e ? e->e[v] : 0;
}

/* Brings the header of a private node up to date with what is in it. */
static void summarise(struct node *n)
{
	uint64_t min = UINT64_MAX, max = 0;
	bool full = true;
	unsigned used = 0;

	for (unsigned i = 0; i < FAN; i++) {
		uint64_t low, high;

		if (n->level) {
			const struct node *c = inner_of(n)->c[i];

			if (!c)
				continue;
			low = c->min;
			high = c->max;
			full &= c->full && c->level + 1 == n->level;
		} else {
			low = leaf_of(n)->e[i].e[KRT_VIEW_DOC];
			high = leaf_of(n)->e[i].e[KRT_VIEW_OBS];
			if (!high)
				continue;
		}
		used |= 1u << i;
		min = low < min ? low : min;
		max = high > max ? high : max;
	}
	n->used = (uint16_t)used;
	n->full = full && used == (1u << FAN) - 1;
	n->min = min;
	n->max = max;
	n->known = 0;
}

/* Raises one slot to epoch in the views.  *at is the caller's own, not committed yet. */
static bool tree_set(struct krt_order *o, struct node **at, uint32_t slot, uint64_t epoch,
		     unsigned views)
{
	struct node *n = *at;

	if (!n) {
		unsigned level = 0;

		while ((uint64_t)slot >> (FAN_BITS * (level + 1)))
			level++;
		n = *at = new_node(o, level);
		if (!n)
			return false;
	}
	while (!covers(n, slot)) {
		struct node *up = new_node(o, n->level + 1u);

		if (!up)
			return false;
		inner_of(up)->c[0] = n;
		n = *at = up;
	}
	if (n->refs > 1) {
		struct node *c = copy_node(o, n);

		if (!c)
			return false;
		n->refs--;
		n = *at = c;
	}
	if (n->level) {
		if (!tree_set(o, &inner_of(n)->c[slot >> shift_of(n)],
			      slot & ((1u << shift_of(n)) - 1), epoch, views))
			return false;
	} else {
		for (unsigned v = 0; v < KRT_VIEWS; v++)
			if (views & 1u << v && leaf_of(n)->e[slot].e[v] < epoch)
				leaf_of(n)->e[slot].e[v] = epoch;
	}
	summarise(n);
	return true;
}

/* Is everything in a also in b, in both views?  Seen from the headers; false: perhaps. */
static bool within(const struct node *a, const struct node *b)
{
	return a->max <= b->min && (b->full ? a->level <= b->level :
				    !a->level && !b->level && !(a->used & ~b->used));
}

/* Does the host know the entry, in all views? */
static bool entry_known(const struct krt_order *o, uint32_t slot, const struct entry *e)
{
	for (unsigned v = 0; v < KRT_VIEWS; v++)
		if (e->e[v] > o->slot[slot].known[v])
			return false;
	return true;
}

/* Takes over a private inner node: frees an empty one, and one that has but its first child. */
static struct node *settle(struct krt_order *o, struct node *n)
{
	struct node *first = inner_of(n)->c[0];

	for (unsigned i = 1; i < FAN; i++)
		if (inner_of(n)->c[i])
			return n;
	inner_of(n)->c[0] = NULL;
	unref(o, n);
	return first;
}

/* The node with child i replaced by c, whose reference is taken over (also on failure). */
static bool with_child(struct krt_order *o, struct node *n, unsigned i, struct node *c,
		       struct node **out)
{
	struct node *copy;

	if (inner_of(n)->c[i] == c) {
		unref(o, c);
		*out = ref(n);
		return true;
	}
	copy = copy_node(o, n);
	if (!copy) {
		unref(o, c);
		return false;
	}
	unref(o, inner_of(copy)->c[i]);
	inner_of(copy)->c[i] = c;
	summarise(copy);
	*out = settle(o, copy);
	return true;
}

/*
 * *out = a reference to the element-wise maximum of a and b in the views, and
 * of a alone in the others; a or b itself wherever it is that already.  prune:
 * new leaves leave out what the host knows.
 */
static bool join(struct krt_order *o, struct node *a, struct node *b, uint32_t base,
		 unsigned views, bool prune, struct node **out)
{
	bool same_a = true, same_b = true;
	struct node *n, *c = NULL;

	if (a == b || !b || (prune && (b->known & views) == views)) {
		*out = ref(a);
		return true;
	}
	if (views == KNOWN_ALL && (!a || within(a, b))) {
		*out = ref(b);
		return true;
	}
	if (a && within(b, a)) {
		*out = ref(a);
		return true;
	}
	if (a && a->level > b->level)
		return join(o, inner_of(a)->c[0], b, base, views, prune, &c) &&
		       with_child(o, a, 0, c, out);
	if (!b->level) {
		struct leaf new;
		bool empty = true;

		memset(&new, 0, sizeof(new));
		for (unsigned i = 0; i < FAN; i++) {
			for (unsigned v = 0; v < KRT_VIEWS; v++) {
				uint64_t ea = a ? leaf_of(a)->e[i].e[v] : 0;
				uint64_t eb = leaf_of(b)->e[i].e[v];

				new.e[i].e[v] = views & 1u << v && eb > ea ? eb : ea;
				same_a &= new.e[i].e[v] == ea;
				same_b &= new.e[i].e[v] == eb;
			}
			if (prune && entry_known(o, base + i, &new.e[i]))
				memset(&new.e[i], 0, sizeof(new.e[i]));
			empty &= !new.e[i].e[KRT_VIEW_OBS];
		}
		if ((same_a && a) || same_b || empty) {
			*out = empty ? NULL : ref(same_a && a ? a : b);
			return true;
		}
		n = new_node(o, 0);
		if (!n)
			return false;
		memcpy(leaf_of(n)->e, new.e, sizeof(new.e));
		summarise(n);
		*out = n;
		return true;
	}
	n = new_node(o, b->level);
	if (!n)
		return false;
	for (unsigned i = 0; i < FAN; i++) {
		/* A shallower a is as good as one whose first child it is. */
		struct node *ca = !a			 ? NULL
				  : a->level == b->level ? inner_of(a)->c[i]
				  : i			 ? NULL
							 : a;
		struct node *cb = inner_of(b)->c[i];

		if (!join(o, ca, cb, base + (i << shift_of(b)), views, prune, &c)) {
			unref(o, n);
			return false;
		}
		inner_of(n)->c[i] = c;
		same_a &= c == ca;
		same_b &= c == cb;
	}
	if (same_a && a) {
		unref(o, n);
		n = ref(a);
	} else if (same_b) {
		unref(o, n);
		n = ref(b);
	} else {
		summarise(n);
		n = settle(o, n);
	}
	*out = n;
	return true;
}

/* *out = a reference to n without the leaves that the host knows. */
static bool prune_tree(struct krt_order *o, struct node *n, uint32_t base, struct node **out)
{
	struct node *copy = NULL, *c;

	*out = NULL;
	if (!n || n->known == KNOWN_ALL)
		return true;
	if (!n->level) {
		for (unsigned i = 0; i < FAN; i++) {
			const struct entry *e = &leaf_of(n)->e[i];

			if (e->e[KRT_VIEW_OBS] && !entry_known(o, base + i, e)) {
				*out = ref(n);
				return true;
			}
		}
		n->known = KNOWN_ALL;
		return true;
	}
	for (unsigned i = 0; i < FAN; i++) {
		if (!prune_tree(o, inner_of(n)->c[i], base + (i << shift_of(n)), &c)) {
			unref(o, copy);
			return false;
		}
		if (c == inner_of(n)->c[i]) {
			unref(o, c);
			continue;
		}
		if (!copy)
			copy = copy_node(o, n);
		if (!copy) {
			unref(o, c);
			return false;
		}
		unref(o, inner_of(copy)->c[i]);
		inner_of(copy)->c[i] = c;
	}
	if (!copy) {
		*out = ref(n);
		return true;
	}
	summarise(copy);
	*out = settle(o, copy);
	if (!*out)
		n->known = KNOWN_ALL;
	return true;
}

/* --- what a domain knows ------------------------------------------------------------------ */

static bool blocking(const struct domain *d)
{
	return d->kind == KRT_STREAM_BLOCKING;
}

/* The legacy stream whose newest operation d has not met yet, or NULL. */
static const struct domain *unseen_legacy(const struct domain *d)
{
	const struct domain *l = d->ctx->legacy;

	return blocking(d) && l && l->epoch != d->legacy_seen ? l : NULL;
}

/* Newest epoch of a slot that the next operation of d knows. */
static uint64_t next_knows(const struct krt_order *o, const struct domain *d, enum krt_view v,
			   uint32_t slot)
{
	const struct context *ctx = d->ctx;
	const struct domain *l = unseen_legacy(d);
	uint64_t version = call_version(o), epoch, e;

	if (slot == d->slot)
		return d->epoch;
	RAISE(version, d->version[v]);
	RAISE(version, ctx->floor_version[v]);
	epoch = tree_epoch(d->tree, slot, v);
	if (d->floor_seen != ctx->floor_number) {
		e = tree_epoch(ctx->floor, slot, v);
		RAISE(epoch, e);
	}
	if (blocking(d) && ctx->legacy)
		RAISE(version, ctx->legacy->version[v]);
	if (l) {
		e = slot == l->slot ? l->epoch : tree_epoch(l->tree, slot, v);
		RAISE(epoch, e);
	}
	if (d->kind == KRT_STREAM_LEGACY) {
		for (const struct list *i = ctx->dirty.next; i != &ctx->dirty; i = i->next) {
			const struct domain *b = owner(i, const struct domain, in_dirty);

			RAISE(version, b->version[v]);
			e = slot == b->slot ? b->epoch : tree_epoch(b->tree, slot, v);
			RAISE(epoch, e);
		}
	}
	e = host_at(o, slot, v, version);
	RAISE(epoch, e);
	return epoch;
}

/* The same of the domain as it is: barriers met, the host's clock taken in. */
static bool knows(const struct krt_order *o, const struct domain *d, enum krt_view v,
		  uint32_t slot, uint64_t epoch)
{
	return (slot == d->slot && epoch <= d->epoch) || tree_epoch(d->tree, slot, v) >= epoch ||
	       host_at(o, slot, v, d->version[v]) >= epoch;
}

/*
 * Is there anything in n, in the view, that neither tree nor the host at the
 * version knows?  own: a slot that does not count, UINT32_MAX: none.
 */
static bool lacks(const struct krt_order *o, const struct node *tree, uint64_t version,
		  uint32_t own, enum krt_view v, const struct node *n, uint32_t base)
{
	if (!n || n == tree)
		return false;
	for (unsigned i = 0; i < FAN; i++) {
		uint32_t slot = base + (i << shift_of(n));
		uint64_t e;

		if (n->level) {
			if (lacks(o, tree, version, own, v, const_inner(n)->c[i], slot))
				return true;
			continue;
		}
		e = const_leaf(n)->e[i].e[v];
		if (e && slot != own && tree_epoch(tree, slot, v) < e &&
		    host_at(o, slot, v, version) < e)
			return true;
	}
	return false;
}

/* Does d lack anything of the tree in the view? */
static bool news(const struct krt_order *o, const struct domain *d, enum krt_view v,
		 const struct node *n)
{
	return lacks(o, d->tree, d->version[v], d->slot, v, n, 0);
}

static void raise_versions(struct domain *d, const uint64_t version[KRT_VIEWS])
{
	for (unsigned v = 0; v < KRT_VIEWS; v++)
		RAISE(d->version[v], version[v]);
}

/* Nothing that the domain's tree or a new one holds is worth more than the host's clock. */
static bool may_prune(const struct krt_order *o, const struct domain *d)
{
	return d->version[KRT_VIEW_DOC] == o->version && d->version[KRT_VIEW_OBS] == o->version;
}

static void activate(struct krt_order *o, struct domain *d)
{
	if (d->active || o->slot[d->slot].known[KRT_VIEW_DOC] >= d->epoch)
		return;
	d->active = true;
	o->active++;
	list_add(&d->ctx->active, &d->in_active);
}

static void dirty(struct domain *d)
{
	if (!blocking(d) || d->dirty)
		return;
	d->dirty = true;
	list_add(&d->ctx->dirty, &d->in_dirty);
}

static void clean(struct domain *d)
{
	if (!d->dirty)
		return;
	d->dirty = false;
	list_del(&d->in_dirty);
}

/* The host knows all that the domain ever knew: there was nothing else before. */
static void forget_history(struct krt_order *o, struct domain *d)
{
	for (unsigned i = 0; i < HISTORY; i++) {
		unref(o, d->history[i].tree);
		d->history[i].tree = NULL;
		d->history[i].since = 0;
	}
	d->history[0].since = d->birth + 1;
}

/* The domain knows more: tree's reference is taken over, a new epoch begins. */
static void learn(struct krt_order *o, struct domain *d, struct node *tree)
{
	if (o->slot[d->slot].known[KRT_VIEW_DOC] >= d->epoch) {
		forget_history(o, d);
		unref(o, d->tree);
	} else {
		unref(o, d->history[HISTORY - 1].tree);
		memmove(&d->history[1], &d->history[0], (HISTORY - 1) * sizeof(d->history[0]));
		d->history[0].tree = d->tree;
		d->history[0].since = d->since;
	}
	d->tree = tree;
	d->epoch = d->since = ++o->epoch;
	activate(o, d);
}

/* Drops what the host knows; as seldom as keeps it O(1) an operation. */
static bool prune_domain(struct krt_order *o, struct domain *d)
{
	struct node *tree;

	if (!d->tree || d->pruned == o->version || !may_prune(o, d))
		return true;
	if (d->tree->known == KNOWN_ALL || !o->active) {
		unref(o, d->tree);
		d->tree = NULL;
		forget_history(o, d);
		return true;
	}
	if (++d->unpruned >> shift_of(d->tree) == 0)
		return true;
	if (!prune_tree(o, d->tree, 0, &tree))
		return false;
	unref(o, d->tree);
	d->tree = tree;
	d->pruned = o->version;
	d->unpruned = 0;
	return true;
}

/* A legacy stream's operation: after everything earlier on every blocking stream. */
static bool meet_blocking(struct krt_order *o, struct domain *l)
{
	struct context *ctx = l->ctx;
	struct node *tree = ref(l->tree), *joined;
	struct list *i;

	for (i = ctx->dirty.next; i != &ctx->dirty; i = i->next)
		raise_versions(l, owner(i, struct domain, in_dirty)->version);
	for (i = ctx->dirty.next; i != &ctx->dirty; i = i->next) {
		struct domain *b = owner(i, struct domain, in_dirty);

		o->stats.joins++;
		if (host_at(o, b->slot, KRT_VIEW_DOC, l->version[KRT_VIEW_DOC]) >= b->epoch ||
		    tree_epoch(tree, b->slot, KRT_VIEW_DOC) >= b->epoch) {
			o->stats.fast_joins++;
			continue;
		}
		if (!join(o, tree, b->tree, 0, KNOWN_ALL, may_prune(o, l), &joined)) {
			unref(o, tree);
			return false;
		}
		unref(o, tree);
		tree = joined;
		if (!tree_set(o, &tree, b->slot, b->epoch, KNOWN_ALL)) {
			unref(o, tree);
			return false;
		}
	}
	while (ctx->dirty.next != &ctx->dirty)
		clean(owner(ctx->dirty.next, struct domain, in_dirty));
	if (tree == l->tree)
		unref(o, tree);
	else
		learn(o, l, tree);
	return true;
}

/* A blocking stream's operation: after everything earlier on the legacy stream. */
static bool meet_legacy(struct krt_order *o, struct domain *b)
{
	struct context *ctx = b->ctx;
	struct domain *l = ctx->legacy;
	struct node *full;

	if (knows(o, b, KRT_VIEW_DOC, l->slot, l->epoch)) {
		b->legacy_seen = l->epoch;
		return true;
	}
	o->stats.joins++;
	if (ctx->full_epoch != l->epoch) {
		full = ref(l->tree);
		if (!tree_set(o, &full, l->slot, l->epoch, KNOWN_ALL)) {
			unref(o, full);
			return false;
		}
		unref(o, ctx->full);
		ctx->full = full;
		ctx->full_epoch = l->epoch;
	}
	b->legacy_seen = l->epoch;
	learn(o, b, ref(ctx->full));
	return true;
}

static bool meet_floor(struct krt_order *o, struct domain *d)
{
	struct context *ctx = d->ctx;
	struct node *tree;

	o->stats.joins++;
	if (!news(o, d, KRT_VIEW_DOC, ctx->floor) && !news(o, d, KRT_VIEW_OBS, ctx->floor)) {
		d->floor_seen = ctx->floor_number;
		return true;
	}
	if (!join(o, d->tree, ctx->floor, 0, KNOWN_ALL, may_prune(o, d), &tree))
		return false;
	d->floor_seen = ctx->floor_number;
	learn(o, d, tree);
	return true;
}

/* What every call on a stream does first, whatever it is. */
static bool touch(struct krt_order *o, struct domain *d)
{
	for (unsigned v = 0; v < KRT_VIEWS; v++) {
		if (d->version[v] >= call_version(o))
			continue;
		d->version[v] = call_version(o);
		dirty(d); /* a later call on the legacy stream may have begun before this one */
	}
	raise_versions(d, d->ctx->floor_version);
	if (blocking(d) && d->ctx->legacy)
		raise_versions(d, d->ctx->legacy->version);
	if (!prune_domain(o, d))
		return false;
	if (d->kind == KRT_STREAM_LEGACY && d->ctx->dirty.next != &d->ctx->dirty &&
	    !meet_blocking(o, d))
		return false;
	if (unseen_legacy(d) && !meet_legacy(o, d))
		return false;
	return d->floor_seen == d->ctx->floor_number || meet_floor(o, d);
}

/* --- life ------------------------------------------------------------------------------------ */

struct krt_order *krt_order_new(const struct krt_order_mem *mem)
{
	static const struct krt_order_mem plain = { plain_alloc, plain_free, NULL };
	struct krt_order *o;

	if (!mem)
		mem = &plain;
	o = mem->alloc(mem->user, sizeof(*o));
	if (!o)
		return NULL;
	memset(o, 0, sizeof(*o));
	o->mem = *mem;
	o->stats.clock_bytes = sizeof(*o);
	o->next_step = 1;
	o->retired_end = &o->retired;
	list_init(&o->all_contexts);
	return o;
}

static void free_domain(struct krt_order *o, struct domain *d)
{
	struct context *ctx = d->ctx;

	clean(d);
	if (d->active) {
		list_del(&d->in_active);
		o->active--;
	}
	list_del(&d->in_context);
	if (ctx->legacy == d)
		ctx->legacy = NULL;
	map_del(&o->domains, d->id);
	o->slot[d->slot].d = NULL;
	o->slot[d->slot].next_free = o->free_slot;
	o->free_slot = d->slot + 1;
	forget_history(o, d);
	unref(o, d->tree);
	give(o, d, sizeof(*d));
	o->stats.domains_live--;
}

static void free_context(struct krt_order *o, struct context *ctx)
{
	list_del(&ctx->in_order);
	map_del(&o->contexts, ctx->id);
	unref(o, ctx->full);
	unref(o, ctx->floor);
	give(o, ctx, sizeof(*ctx));
}

void krt_order_destroy(struct krt_order *o)
{
	struct krt_order_mem mem;

	if (!o)
		return;
	own_forget(o);
	while (o->all_contexts.next != &o->all_contexts) {
		struct context *ctx = owner(o->all_contexts.next, struct context, in_order);

		while (ctx->streams.next != &ctx->streams)
			free_domain(o, owner(ctx->streams.next, struct domain, in_context));
		free_context(o, ctx);
	}
	give(o, o->domains.pair, o->domains.size * sizeof(*o->domains.pair));
	give(o, o->contexts.pair, o->contexts.size * sizeof(*o->contexts.pair));
	give(o, o->slot, o->slots_size * sizeof(*o->slot));
	give(o, o->steps, STEPS * sizeof(*o->steps));
	give(o, o->moments, KRT_ORDER_TIMES * sizeof(*o->moments));
	mem = o->mem;
	mem.free(mem.user, o, sizeof(*o));
}

bool krt_order_failed(const struct krt_order *o)
{
	return o->failed;
}

krt_context krt_order_context(struct krt_order *o, uint32_t device)
{
	struct context *ctx;

	if (!map_reserve(o, &o->contexts))
		return 0;
	ctx = take_zeroed(o, sizeof(*ctx));
	if (!ctx)
		return 0;
	ctx->id = new_id(&o->contexts, &o->last_context);
	ctx->device = device;
	list_init(&ctx->streams);
	list_init(&ctx->active);
	list_init(&ctx->dirty);
	list_add(&o->all_contexts, &ctx->in_order);
	map_put(&o->contexts, ctx->id, ctx);
	return ctx->id;
}

static struct context *context_of(const struct krt_order *o, krt_context id)
{
	return map_get(&o->contexts, id);
}

static struct domain *domain_of(const struct krt_order *o, krt_domain id)
{
	return map_get(&o->domains, id);
}

static bool slot_reserve(struct krt_order *o)
{
	uint32_t size = o->slots_size ? o->slots_size * 2 : 16;
	struct slot *s;

	if (o->free_slot || o->nslots < o->slots_size)
		return true;
	s = take_zeroed(o, size * sizeof(*s));
	if (!s)
		return false;
	if (o->nslots)
		memcpy(s, o->slot, o->nslots * sizeof(*s));
	give(o, o->slot, o->slots_size * sizeof(*s));
	o->slot = s;
	o->slots_size = size;
	return true;
}

krt_domain krt_order_stream(struct krt_order *o, krt_context id, enum krt_stream_kind kind)
{
	struct context *ctx = context_of(o, id);
	struct domain *d;

	if (!ctx || ctx->ended)
		return 0;
	if (kind == KRT_STREAM_LEGACY && ctx->legacy)
		return ctx->legacy->id;
	if (!map_reserve(o, &o->domains) || !slot_reserve(o))
		return 0;
	d = take_zeroed(o, sizeof(*d));
	if (!d)
		return 0;
	d->id = new_id(&o->domains, &o->last_domain);
	d->kind = kind;
	d->ctx = ctx;
	if (o->free_slot) {
		d->slot = o->free_slot - 1;
		o->free_slot = o->slot[d->slot].next_free;
	} else {
		d->slot = o->nslots++;
		o->stats.slots = o->nslots;
	}
	o->slot[d->slot].d = d;
	/* No work yet: known by everyone, in no need of a place in anybody's clock. */
	d->birth = o->epoch;
	d->since = o->epoch + 1;
	list_init(&d->in_active);
	list_init(&d->in_dirty);
	list_add(&ctx->streams, &d->in_context);
	map_put(&o->domains, d->id, d);
	if (kind == KRT_STREAM_LEGACY)
		ctx->legacy = d;
	o->stats.domains_live++;
	o->stats.domains_ever++;
	return d->id;
}

/* Ended and known by the host: gone once no call in flight can know less. */
static void queue_retired(struct krt_order *o, struct domain *d)
{
	d->next_retired = NULL;
	*o->retired_end = d;
	o->retired_end = &d->next_retired;
}

static void retire(struct krt_order *o)
{
	uint64_t stable = stable_version(o);

	while (o->retired) {
		struct domain *d = o->retired;
		struct context *ctx = d->ctx;

		if (d->epoch && o->slot[d->slot].version[KRT_VIEW_DOC] > stable)
			break;
		o->retired = d->next_retired;
		if (!o->retired)
			o->retired_end = &o->retired;
		free_domain(o, d);
		if (ctx->ended && ctx->streams.next == &ctx->streams)
			free_context(o, ctx);
	}
}

static void end_stream(struct krt_order *o, struct domain *d)
{
	if (d->ended)
		return;
	d->ended = true;
	if (!d->active)
		queue_retired(o, d);
}

void krt_order_stream_end(struct krt_order *o, krt_domain stream)
{
	struct domain *d = domain_of(o, stream);

	if (!d || d->kind == KRT_STREAM_LEGACY)
		return;
	end_stream(o, d);
	retire(o);
}

void krt_order_context_end(struct krt_order *o, krt_context id)
{
	struct context *ctx = context_of(o, id);

	if (!ctx || ctx->ended)
		return;
	ctx->ended = true;
	if (ctx->streams.next == &ctx->streams) {
		free_context(o, ctx);
		return;
	}
	for (struct list *i = ctx->streams.next; i != &ctx->streams; i = i->next)
		end_stream(o, owner(i, struct domain, in_context));
	retire(o);
}

/* --- time ----------------------------------------------------------------------------------------
 */

void krt_order_at(struct krt_order *o, uint64_t t0, uint64_t t1)
{
	uint64_t lo, hi;

	own_forget(o);
	o->early = false;
	o->call++;
	if (!t0 || !t1)
		return;
	if (!o->moments) {
		struct step *steps = take(o, STEPS * sizeof(*o->steps));
		struct moment *moments = take(o, KRT_ORDER_TIMES * sizeof(*o->moments));

		if (!steps || !moments) {
			give(o, steps, STEPS * sizeof(*o->steps));
			give(o, moments, KRT_ORDER_TIMES * sizeof(*o->moments));
			return;
		}
		o->steps = steps;
		o->moments = moments;
	}
	if (o->now) {
		o->moments[o->next_moment++ % KRT_ORDER_TIMES] = (struct moment){
			.t1 = o->now, .version = o->version, .epoch = o->epoch };
		retire(o);
	}
	if (t0 <= o->now) {
		/* The state after the last call that returned before this one began. */
		lo = o->next_moment > KRT_ORDER_TIMES ? o->next_moment - KRT_ORDER_TIMES : 0;
		hi = o->next_moment;
		if (lo && o->moments[lo % KRT_ORDER_TIMES].t1 >= t0) {
			o->early_version = o->moments[lo % KRT_ORDER_TIMES].version;
			o->early_epoch = o->moments[lo % KRT_ORDER_TIMES].epoch;
		} else {
			while (lo < hi) {
				uint64_t mid = lo + (hi - lo) / 2;

				if (o->moments[mid % KRT_ORDER_TIMES].t1 < t0)
					lo = mid + 1;
				else
					hi = mid;
			}
			o->early_version = lo ? o->moments[(lo - 1) % KRT_ORDER_TIMES].version : 0;
			o->early_epoch = lo ? o->moments[(lo - 1) % KRT_ORDER_TIMES].epoch : 0;
		}
		o->early = o->early_version != o->version || o->early_epoch != o->epoch;
	}
	RAISE(o->now, t1);
}

/* --- operations
 * ------------------------------------------------------------------------------------ */

struct krt_stamp krt_order_begin(struct krt_order *o, krt_domain stream)
{
	struct domain *d = domain_of(o, stream);
	struct krt_stamp s = { 0, 0 };

	if (!d || d->ended || !touch(o, d))
		return s;
	d->epoch = d->work = ++o->epoch;
	activate(o, d);
	dirty(d);
	s.domain = d->id;
	s.epoch = d->epoch;
	return s;
}

/* A stamp of nothing, of a retired domain, or of nobody: complete. */
static const struct domain *pending_domain(const struct krt_order *o, struct krt_stamp s)
{
	const struct domain *d = domain_of(o, s.domain);

	return d && s.epoch > d->birth ? d : NULL;
}

bool krt_order_before_stream(const struct krt_order *o, enum krt_view v, struct krt_stamp s,
			     krt_domain stream)
{
	const struct domain *of = pending_domain(o, s), *d = domain_of(o, stream);

	if (!of)
		return true;
	if (!d)
		return krt_order_before_host(o, v, s);
	return next_knows(o, d, v, of->slot) >= s.epoch;
}

bool krt_order_before_host(const struct krt_order *o, enum krt_view v, struct krt_stamp s)
{
	const struct domain *of = pending_domain(o, s);

	return !of || host_at(o, of->slot, v, call_version(o)) >= s.epoch ||
	       own_wait(o, of->slot, v) >= s.epoch;
}

bool krt_order_settled(const struct krt_order *o, struct krt_stamp s)
{
	const struct domain *of = pending_domain(o, s);

	return !of || host_at(o, of->slot, KRT_VIEW_DOC, stable_version(o)) >= s.epoch;
}

uint64_t krt_order_known(const struct krt_order *o, enum krt_view v, krt_domain of,
			 krt_domain stream)
{
	const struct domain *f = domain_of(o, of), *d = domain_of(o, stream);
	uint64_t epoch;

	if (!f)
		return UINT64_MAX;
	epoch = d ? next_knows(o, d, v, f->slot) : host_at(o, f->slot, v, call_version(o));
	return epoch > f->birth ? epoch : 0;
}

bool krt_order_seen(const struct krt_order *o, enum krt_view v, struct krt_stamp s,
		    krt_domain stream)
{
	const struct domain *f = domain_of(o, s.domain), *d = domain_of(o, stream);

	return !f || !d || knows(o, d, v, f->slot, s.epoch);
}

uint64_t krt_order_last(const struct krt_order *o, krt_domain id)
{
	const struct domain *d = domain_of(o, id);

	return d ? d->epoch : 0;
}

/* --- snapshots
 * ------------------------------------------------------------------------------------- */

static struct krt_snapshot *new_snapshot(struct krt_order *o)
{
	struct krt_snapshot *s = take_zeroed(o, sizeof(*s));

	if (!s)
		return NULL;
	s->o = o;
	s->refs = 1;
	o->stats.snapshots++;
	return s;
}

struct krt_snapshot *krt_order_record(struct krt_order *o, krt_domain stream)
{
	struct domain *d = domain_of(o, stream);
	struct krt_snapshot *s;

	/* An ended stream does nothing more: it is what it was. */
	if (!d || (!d->ended && !touch(o, d)))
		return NULL;
	s = new_snapshot(o);
	if (!s)
		return NULL;
	s->domain = d->id;
	s->slot = d->slot;
	s->epoch = d->epoch;
	s->work = d->work;
	memcpy(s->version, d->version, sizeof(s->version));
	s->tree = ref(d->tree);
	return s;
}

struct krt_snapshot *krt_order_record_host(struct krt_order *o)
{
	struct krt_snapshot *s = new_snapshot(o);

	if (s)
		for (unsigned v = 0; v < KRT_VIEWS; v++)
			s->version[v] = call_version(o);
	return s;
}

/* Adds a tree and one more domain to a snapshot. */
static bool add_clock(struct krt_order *o, struct krt_snapshot *s, struct node *tree,
		      uint32_t slot, uint64_t epoch, const uint64_t version[KRT_VIEWS])
{
	struct node *joined;

	for (unsigned v = 0; v < KRT_VIEWS; v++)
		RAISE(s->version[v], version[v]);
	if (!join(o, s->tree, tree, 0, KNOWN_ALL, false, &joined))
		return false;
	unref(o, s->tree);
	s->tree = joined;
	return !epoch || tree_set(o, &s->tree, slot, epoch, KNOWN_ALL);
}

struct krt_snapshot *krt_order_record_context(struct krt_order *o, krt_context id)
{
	struct context *ctx = context_of(o, id);
	struct krt_snapshot *s;

	if (!ctx)
		return NULL;
	s = krt_order_record_host(o);
	if (!s)
		return NULL;
	/* Who is not active is known by the host. */
	for (struct list *i = ctx->active.next; i != &ctx->active; i = i->next) {
		struct domain *d = owner(i, struct domain, in_active);

		if (!add_clock(o, s, d->tree, d->slot, d->epoch, d->version)) {
			krt_snapshot_unref(o, s);
			return NULL;
		}
	}
	if (o->early) {
		/* In this call the host may know less: then these are not covered by its clock. */
		for (struct list *i = ctx->streams.next; i != &ctx->streams; i = i->next) {
			struct domain *d = owner(i, struct domain, in_context);

			if (!d->active &&
			    !add_clock(o, s, d->tree, d->slot, d->epoch, d->version)) {
				krt_snapshot_unref(o, s);
				return NULL;
			}
		}
	}
	return s;
}

struct krt_snapshot *krt_snapshot_ref(struct krt_snapshot *s)
{
	if (s)
		s->refs++;
	return s;
}

void krt_snapshot_unref(struct krt_order *o, struct krt_snapshot *s)
{
	if (!s || --s->refs)
		return;
	unref(o, s->tree);
	o->stats.snapshots--;
	give(o, s, sizeof(*s));
}

struct krt_snapshot *krt_snapshot_join(struct krt_order *o, const struct krt_snapshot *a,
				       const struct krt_snapshot *b)
{
	struct krt_snapshot *s;

	if (!a || !b)
		return NULL;
	s = new_snapshot(o);
	if (!s)
		return NULL;
	if (!add_clock(o, s, a->tree, a->slot, a->epoch, a->version) ||
	    !add_clock(o, s, b->tree, b->slot, b->epoch, b->version)) {
		krt_snapshot_unref(o, s);
		return NULL;
	}
	return s;
}

bool krt_snapshot_has(const struct krt_snapshot *s, enum krt_view v, struct krt_stamp stamp)
{
	const struct domain *of = pending_domain(s->o, stamp);

	if (!of || krt_order_before_host(s->o, v, stamp))
		return true;
	return (of->slot == s->slot && s->epoch >= stamp.epoch) ||
	       tree_epoch(s->tree, of->slot, v) >= stamp.epoch ||
	       host_at(s->o, of->slot, v, s->version[v]) >= stamp.epoch;
}

static bool has_all(const struct krt_snapshot *s, const struct node *n, uint32_t base)
{
	for (unsigned i = 0; n && i < FAN; i++) {
		const struct domain *d;
		struct krt_stamp stamp;

		if (!(n->used >> i & 1))
			continue;
		if (n->level) {
			if (!has_all(s, const_inner(n)->c[i], base + (i << shift_of(n))))
				return false;
			continue;
		}
		d = s->o->slot[base + i].d;
		if (!d)
			continue;
		stamp.domain = d->id;
		stamp.epoch = const_leaf(n)->e[i].e[KRT_VIEW_DOC];
		if (d->work < stamp.epoch)
			stamp.epoch = d->work;
		if (!krt_snapshot_has(s, KRT_VIEW_DOC, stamp))
			return false;
	}
	return true;
}

bool krt_snapshot_covers(const struct krt_snapshot *s, const struct krt_snapshot *other)
{
	struct krt_stamp own = {.domain = other->domain, .epoch = other->work};

	return krt_snapshot_has(s, KRT_VIEW_DOC, own) && has_all(s, other->tree, 0);
}

struct krt_stamp krt_snapshot_stamp(const struct krt_snapshot *s)
{
	return (struct krt_stamp){ .domain = s->domain, .epoch = s->domain ? s->epoch : 0 };
}

/* --- edges between streams
 * --------------------------------------------------------------------------- */

/* The view whose order counts as added, and the views that the edge really has. */
static unsigned all_views(unsigned views, enum krt_view *counts)
{
	views &= KNOWN_ALL;
	if (views & KRT_IN_DOC)
		views |= KRT_IN_OBS;
	*counts = views & KRT_IN_DOC ? KRT_VIEW_DOC : KRT_VIEW_OBS;
	return views;
}

bool krt_order_wait(struct krt_order *o, krt_domain stream, const struct krt_snapshot *s,
		    unsigned views)
{
	struct domain *d = domain_of(o, stream);
	enum krt_view counts;
	struct node *tree;
	bool added;

	views = all_views(views, &counts);
	if (!d || d->ended || !s || !views || !touch(o, d))
		return false;
	o->stats.joins++;
	/* The record may know more of the host than a call that began early. */
	added = s->version[counts] > d->version[counts];
	for (unsigned v = 0; v < KRT_VIEWS; v++) {
		if (!(views & 1u << v) || s->version[v] <= d->version[v])
			continue;
		d->version[v] = s->version[v];
		dirty(d);
	}
	/* Known in the documented view: known in both. */
	if (s->domain && (!s->epoch || knows(o, d, counts, s->slot, s->epoch))) {
		o->stats.fast_joins++;
		return added;
	}
	added |= s->domain || news(o, d, counts, s->tree);
	if (!added && !news(o, d, KRT_VIEW_OBS, s->tree))
		return false;
	if (!join(o, d->tree, s->tree, 0, views, may_prune(o, d), &tree))
		return false;
	if (s->domain && !tree_set(o, &tree, s->slot, s->epoch, views)) {
		unref(o, tree);
		return false;
	}
	learn(o, d, tree);
	dirty(d);
	return added;
}

bool krt_order_wait_context(struct krt_order *o, krt_context id, const struct krt_snapshot *s,
			    unsigned views)
{
	struct context *ctx = context_of(o, id);
	enum krt_view counts;
	struct node *tree, *floor;
	bool some = false, added = false, lack;

	views = all_views(views, &counts);
	if (!ctx || !s || !views)
		return false;
	o->stats.joins++;
	for (unsigned v = 0; v < KRT_VIEWS; v++) {
		uint64_t *version = &ctx->floor_version[v];
		bool more;

		if (!(views & 1u << v))
			continue;
		/* A wait knows what its call knew of the host, like any operation. */
		RAISE(*version, call_version(o));
		more = s->version[v] > *version;
		RAISE(*version, s->version[v]);
		if (s->domain)
			lack = s->epoch && tree_epoch(ctx->floor, s->slot, v) < s->epoch &&
			       host_at(o, s->slot, v, *version) < s->epoch;
		else
			lack = lacks(o, ctx->floor, *version, UINT32_MAX, v, s->tree, 0);
		some |= lack;
		added |= v == counts && (lack || more);
	}
	if (!some) {
		o->stats.fast_joins++;
		return added;
	}
	if (!prune_tree(o, ctx->floor, 0, &floor))
		return false;
	if (!join(o, floor, s->tree, 0, views, false, &tree)) {
		unref(o, floor);
		return false;
	}
	unref(o, floor);
	if (s->domain && s->epoch && !tree_set(o, &tree, s->slot, s->epoch, views)) {
		unref(o, tree);
		return false;
	}
	unref(o, ctx->floor);
	ctx->floor = tree;
	ctx->floor_number++;
	return added;
}

/* --- edges to the host
 * -------------------------------------------------------------------------------- */

/* The host's clock takes in one epoch; true when that is news. */
static bool host_epoch(struct krt_order *o, uint32_t slot, enum krt_view v, uint64_t epoch)
{
	struct slot *s = &o->slot[slot];
	struct domain *d = s->d;

	if (epoch <= s->known[v])
		return false;
	if (o->steps && s->version[v] != o->version + 1) {
		o->steps[o->next_step % STEPS] = (struct step){
			.epoch = s->known[v], .version = s->version[v], .older = s->step[v] };
		s->step[v] = o->next_step++;
	}
	s->known[v] = epoch;
	s->version[v] = o->version + 1;
	if (v == KRT_VIEW_DOC && d && d->active && !d->advanced && epoch >= d->epoch) {
		d->advanced = true;
		d->next_advanced = o->advanced;
		o->advanced = d;
	}
	return true;
}

/* The same for a tree, without what it took in before; returns the views with news. */
static unsigned host_tree(struct krt_order *o, struct node *n, uint32_t base, unsigned views)
{
	unsigned added = 0;

	if (!n || (n->known & views) == views)
		return 0;
	for (unsigned i = 0; i < FAN; i++) {
		if (n->level) {
			added |= host_tree(o, inner_of(n)->c[i], base + (i << shift_of(n)), views);
			continue;
		}
		for (unsigned v = 0; v < KRT_VIEWS; v++)
			if (views & 1u << v && host_epoch(o, base + i, v, leaf_of(n)->e[i].e[v]))
				added |= 1u << v;
	}
	n->known |= views;
	return added;
}

static unsigned host_clock(struct krt_order *o, struct node *tree, uint32_t slot, uint64_t epoch,
			   unsigned views)
{
	unsigned added = 0, unknown = 0;

	for (unsigned v = 0; v < KRT_VIEWS; v++) {
		if (!(views & 1u << v) || o->slot[slot].known[v] >= epoch)
			continue;
		unknown |= 1u << v;
		host_epoch(o, slot, v, epoch);
		added |= 1u << v;
	}
	if (unknown)
		added |= host_tree(o, tree, 0, unknown);
	return added;
}

/* Ends a call that taught the host: a new version, and the books of what it now knows. */
static bool host_done(struct krt_order *o, unsigned added, enum krt_view counts)
{
	if (added) {
		o->version++;
		while (o->advanced) {
			struct domain *d = o->advanced;

			o->advanced = d->next_advanced;
			d->advanced = d->active = false;
			o->active--;
			list_del(&d->in_active);
			if (d->ended)
				queue_retired(o, d);
		}
		retire(o);
	}
	return added & 1u << counts;
}

/* A domain up to an epoch: the tree that was in force then. */
static unsigned host_domain(struct krt_order *o, struct domain *d, uint64_t epoch, unsigned views)
{
	struct node *tree = d->tree;

	o->stats.joins++;
	if (epoch > d->epoch)
		epoch = d->epoch;
	if (epoch <= d->birth)
		return 0;
	own_waited(o, d->slot, epoch, views);
	if (epoch < d->since) {
		/* Older than remembered: the oldest there is, rather too much than too little. */
		for (unsigned i = 0; i < HISTORY; i++) {
			if (!d->history[i].since)
				break;
			tree = d->history[i].tree;
			if (epoch >= d->history[i].since)
				break;
		}
	}
	own_waited_tree(o, tree, views);
	return host_clock(o, tree, d->slot, epoch, views);
}

/* What the running call's synchronisation of a whole stream covers. */
static uint64_t covered(const struct krt_order *o)
{
	return o->early ? o->early_epoch : UINT64_MAX;
}

bool krt_order_host_join(struct krt_order *o, const struct krt_snapshot *s, unsigned views)
{
	enum krt_view counts;
	unsigned added;

	views = all_views(views, &counts);
	if (!s || !views)
		return false;
	o->stats.joins++;
	if (s->domain) {
		own_waited(o, s->slot, s->epoch, views);
		own_waited_tree(o, s->tree, views);
		if (!s->epoch || o->slot[s->slot].known[counts] >= s->epoch) {
			o->stats.fast_joins++;
			return false;
		}
		added = host_clock(o, s->tree, s->slot, s->epoch, views);
	} else {
		own_waited_tree(o, s->tree, views);
		added = host_tree(o, s->tree, 0, views);
	}
	return host_done(o, added, counts);
}

bool krt_order_host_join_stream(struct krt_order *o, krt_domain stream, unsigned views)
{
	struct domain *d = domain_of(o, stream);
	enum krt_view counts;

	views = all_views(views, &counts);
	if (!d || !views)
		return false;
	return host_done(o, host_domain(o, d, covered(o), views), counts);
}

static unsigned host_context(struct krt_order *o, struct context *ctx, unsigned views)
{
	unsigned added = 0;

	for (struct list *i = ctx->active.next; i != &ctx->active; i = i->next)
		added |= host_domain(o, owner(i, struct domain, in_active), covered(o), views);
	/* Who is not active is known by the host, though not yet by a call that began early. */
	for (struct list *i = ctx->streams.next; o->early && i != &ctx->streams; i = i->next) {
		struct domain *d = owner(i, struct domain, in_context);

		if (!d->active)
			added |= host_domain(o, d, covered(o), views);
	}
	return added;
}

bool krt_order_host_join_context(struct krt_order *o, krt_context id, unsigned views)
{
	struct context *ctx = context_of(o, id);
	enum krt_view counts;

	views = all_views(views, &counts);
	if (!ctx || !views)
		return false;
	return host_done(o, host_context(o, ctx, views), counts);
}

bool krt_order_host_join_device(struct krt_order *o, uint32_t device, unsigned views)
{
	enum krt_view counts;
	unsigned added = 0;

	views = all_views(views, &counts);
	for (struct list *i = o->all_contexts.next; i != &o->all_contexts; i = i->next) {
		struct context *ctx = owner(i, struct context, in_order);

		if (ctx->device == device && views)
			added |= host_context(o, ctx, views);
	}
	return host_done(o, added, counts);
}

bool krt_order_host_join_stamp(struct krt_order *o, struct krt_stamp s, unsigned views)
{
	struct domain *d = domain_of(o, s.domain);
	enum krt_view counts;

	views = all_views(views, &counts);
	if (!d || !views)
		return false;
	return host_done(o, host_domain(o, d, s.epoch, views), counts);
}

void krt_order_get_stats(const struct krt_order *o, struct krt_order_stats *st)
{
	*st = o->stats;
}
