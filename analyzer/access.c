/* SPDX-License-Identifier: Apache-2.0 */
/* Access history by byte ranges.  See access.h. */
#include "access.h"

#include <string.h>

static struct krt_range *range_of(struct krt_node *n)
{
	return n ? krt_entry(n, struct krt_range, node) : NULL;
}

void krt_space_init(struct krt_space *s)
{
	memset(s, 0, sizeof(*s));
	s->may.may = s->past.may = true;
	s->refs = 1;
}

void krt_space_clear(struct krt_heap *h, struct krt_space *s)
{
	krt_ranges_clear(h, &s->sure, 0, UINT64_MAX);
	krt_ranges_clear(h, &s->may, 0, UINT64_MAX);
	krt_ranges_clear(h, &s->past, 0, UINT64_MAX);
}

bool krt_access_conflict(unsigned a, unsigned b)
{
	if (a == KRT_ACC_READ && b == KRT_ACC_READ)
		return false;
	return !(a == KRT_ACC_ATOMIC && b == KRT_ACC_ATOMIC);
}

const char *krt_sureness_text(enum krt_sureness s)
{
	static const char *const text[] = {
#define X(name, text) text,
		KRT_SURENESS(X)
#undef X
	};

	return (unsigned)s < KRT_SURES ? text[s] : "";
}

enum krt_confidence krt_access_confidence(enum krt_sureness a, enum krt_sureness b)
{
	if (a == KRT_SURE_ALL && b == KRT_SURE_ALL)
		return KRT_CERTAIN;
	if (a == KRT_SURE_LIMIT || b == KRT_SURE_LIMIT)
		return KRT_POSSIBLE;
	if (a == KRT_SURE_ALL || b == KRT_SURE_ALL ||
	    (a == KRT_SURE_SOME && b == KRT_SURE_SOME))
		return KRT_LIKELY;
	return KRT_POSSIBLE;
}

enum krt_confidence krt_access_covered(enum krt_confidence c, enum krt_sureness a, uint64_t alo,
				       uint64_t ahi, enum krt_sureness b, uint64_t blo,
				       uint64_t bhi)
{
	if (c == KRT_LIKELY && ((a == KRT_SURE_WITHIN && (alo < blo || ahi > bhi)) ||
				(b == KRT_SURE_WITHIN && (blo < alo || bhi > ahi))))
		return KRT_POSSIBLE;
	return c;
}

/* --- one range's accesses ---------------------------------------------------- */

static void drop_write(struct krt_heap *h, struct krt_range *r)
{
	if (r->write.op)
		krt_op_unref(h, r->write.op);
	r->write.op = NULL;
}

static void free_reads(struct krt_heap *h, struct krt_range *r)
{
	for (uint32_t i = 0; i < r->reads; i++)
		krt_op_unref(h, r->read[i].op);
	if (r->cap)
		krt_heap_free(h, r->read, r->cap * sizeof(*r->read));
	r->read = &r->one;
	r->reads = r->cap = 0;
}

static void free_range(struct krt_heap *h, struct krt_ranges *m, struct krt_range *r)
{
	krt_tree_remove(&m->tree, &r->node);
	drop_write(h, r);
	free_reads(h, r);
	krt_heap_free(h, r, sizeof(*r));
}

static bool before(const struct krt_access *a, const struct krt_access *b)
{
	krt_domain x = krt_op_domain(a->op), y = krt_op_domain(b->op);

	if (x != y)
		return x < y;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return a->know != b->know ? a->know < b->know : a->sure < b->sure;
}

static bool push_read(struct krt_heap *h, struct krt_range *r, const struct krt_access *a)
{
	uint32_t at;

	if (r->reads && !r->cap) {
		struct krt_access *p = krt_heap_alloc(h, 4 * sizeof(*p));

		if (!p)
			return false;
		p[0] = r->one;
		r->read = p;
		r->cap = 4;
	} else if (r->cap && !krt_heap_grow(h, &r->read, &r->cap, r->reads, sizeof(*r->read))) {
		return false;
	}
	/* in one order, so that neighbours can be seen to be equal */
	for (at = r->reads++; at && before(a, &r->read[at - 1]); at--)
		r->read[at] = r->read[at - 1];
	r->read[at] = *a;
	krt_op_ref(a->op);
	return true;
}

#define PATTERNS_MAX 8 /* accesses with gaps of one domain, kind and range */

/*
 * The same domain's access of the same kind is replaced: the newer one is ordered
 * after it.  (Not so one behind something unseen, which is not held against others.)  (What is put into `past` does not come in that order.)  One with other
 * gaps says nothing of its bytes; of too many such the oldest goes.
 */
static bool put_read(struct krt_heap *h, struct krt_range *r, const struct krt_access *a)
{
	struct krt_access *oldest = NULL;
	unsigned others = 0;

	for (uint32_t i = 0; i < r->reads; i++) {
		struct krt_access *old = &r->read[i];

		if (old->kind != a->kind || old->know != a->know || old->sure != a->sure ||
		    krt_op_domain(old->op) != krt_op_domain(a->op) ||
		    krt_op_external(old->op) != krt_op_external(a->op))
			continue;
		if (old->pattern != a->pattern) {
			others++;
			if (old->pattern &&
			    (!oldest || krt_op_epoch(old->op) < krt_op_epoch(oldest->op)))
				oldest = old;
			continue;
		}
		if (krt_op_epoch(old->op) > krt_op_epoch(a->op))
			return true;
		krt_op_ref(a->op);
		krt_op_unref(h, old->op);
		*old = *a;
		return true;
	}
	if (others < PATTERNS_MAX || !oldest)
		return push_read(h, r, a);
	krt_op_ref(a->op);
	krt_op_unref(h, oldest->op);
	*oldest = *a;
	return true;
}

static struct krt_range *new_range(struct krt_heap *h, struct krt_ranges *m, uint64_t from,
				   uint64_t end)
{
	struct krt_range *r = krt_heap_alloc(h, sizeof(*r));

	if (!r)
		return NULL;
	r->node.key = from;
	r->end = end;
	r->read = &r->one;
	krt_tree_insert(&m->tree, &r->node);
	return r;
}

/* Cuts r at `at` (inside it); returns the upper part. */
static struct krt_range *split(struct krt_heap *h, struct krt_ranges *m, struct krt_range *r,
			       uint64_t at)
{
	struct krt_range *up = new_range(h, m, at, r->end);

	if (!up)
		return NULL;
	up->write = r->write;
	if (up->write.op)
		krt_op_ref(up->write.op);
	for (uint32_t i = 0; i < r->reads; i++)
		if (!push_read(h, up, &r->read[i])) {
			free_range(h, m, up);
			return NULL;
		}
	r->end = at;
	return up;
}

/* First range that ends after from. */
static struct krt_range *first_at(const struct krt_ranges *m, uint64_t from)
{
	struct krt_range *r = range_of(krt_tree_floor(&m->tree, from));

	if (r && r->end > from)
		return r;
	return range_of(krt_tree_ceil(&m->tree, from));
}

static struct krt_range *after(const struct krt_range *r)
{
	return range_of(krt_tree_next(&r->node));
}

#define for_each_range(r, m, from, end)                                                            \
	for (struct krt_range *r = first_at(m, from); r && r->node.key < (end); r = after(r))

/* Makes `from` and `end` range borders.  False: no memory. */
static bool cut(struct krt_heap *h, struct krt_ranges *m, uint64_t from, uint64_t end)
{
	struct krt_range *r = first_at(m, from);

	if (r && r->node.key < from && !split(h, m, r, from))
		return false;
	r = range_of(krt_tree_floor(&m->tree, end));
	if (r && r->node.key < end && r->end > end && !split(h, m, r, end))
		return false;
	return true;
}

/* --- the map ----------------------------------------------------------------- */

void krt_ranges_conflicts(const struct krt_ranges *m, uint64_t from, uint64_t end, unsigned kind,
			  krt_access_fn *fn, void *user)
{
	for_each_range(r, m, from, end)
	{
		uint64_t lo = r->node.key > from ? r->node.key : from;
		uint64_t hi = r->end < end ? r->end : end;
		bool any = false;

		for (uint32_t i = 0; i < r->reads; i++)
			if (krt_access_conflict(r->read[i].kind, kind)) {
				fn(user, &r->read[i], lo, hi);
				any = true;
			}
		if (r->write.op && (m->may || !any || kind == KRT_ACC_READ))
			fn(user, &r->write, lo, hi);
	}
}

void krt_ranges_each(const struct krt_ranges *m, uint64_t from, uint64_t end, krt_access_fn *fn,
		     void *user)
{
	for_each_range(r, m, from, end)
	{
		uint64_t lo = r->node.key > from ? r->node.key : from;
		uint64_t hi = r->end < end ? r->end : end;

		for (uint32_t i = 0; i < r->reads; i++)
			fn(user, &r->read[i], lo, hi);
		if (r->write.op)
			fn(user, &r->write, lo, hi);
	}
}

static void add_write(struct krt_heap *h, struct krt_ranges *m, uint64_t from, uint64_t end,
		      const struct krt_access *a)
{
	struct krt_range *r = first_at(m, from), *keep = NULL;

	/* One range is left of all that were there. */
	while (r && r->node.key < end) {
		struct krt_range *next = after(r);

		if (r->node.key == from)
			keep = r;
		else
			free_range(h, m, r);
		r = next;
	}
	if (keep) {
		keep->end = end;
		krt_op_ref(a->op);
		drop_write(h, keep);
		free_reads(h, keep);
	} else {
		keep = new_range(h, m, from, end);
		if (!keep)
			return;
		krt_op_ref(a->op);
	}
	keep->write = *a;
}

static bool same(const struct krt_access *a, const struct krt_access *b)
{
	return a->op == b->op && (!a->op || (a->kind == b->kind && a->know == b->know &&
					     a->item == b->item && a->mapping == b->mapping &&
					     a->sure == b->sure && a->pattern == b->pattern &&
					     a->owner == b->owner));
}

static bool equal(const struct krt_range *a, const struct krt_range *b)
{
	if (a->end != b->node.key || a->reads != b->reads || !same(&a->write, &b->write))
		return false;
	for (uint32_t i = 0; i < a->reads; i++)
		if (!same(&a->read[i], &b->read[i]))
			return false;
	return true;
}

/* Neighbours that have become equal are one; returns it. */
static struct krt_range *join(struct krt_heap *h, struct krt_ranges *m, struct krt_range *a,
			      struct krt_range *b)
{
	if (!a || !b || !equal(a, b))
		return b;
	a->end = b->end;
	free_range(h, m, b);
	return a;
}

void krt_ranges_add(struct krt_heap *h, struct krt_ranges *m, uint64_t from, uint64_t end,
		    const struct krt_access *a)
{
	struct krt_range *last;
	uint64_t at = from;

	if (from >= end || !cut(h, m, from, end))
		return;
	if (!m->may && a->kind == KRT_ACC_WRITE) {
		add_write(h, m, from, end, a);
		return;
	}
	last = from ? range_of(krt_tree_floor(&m->tree, from - 1)) : NULL;
	while (at < end) {
		struct krt_range *r = first_at(m, at);

		if (!r || r->node.key > at) { /* a gap */
			uint64_t hi = r && r->node.key < end ? r->node.key : end;

			r = new_range(h, m, at, hi);
			if (!r)
				return;
		}
		at = r->end;
		if (!put_read(h, r, a))
			return;
		last = join(h, m, last, r);
	}
	join(h, m, last, after(last));
}

void krt_ranges_clear(struct krt_heap *h, struct krt_ranges *m, uint64_t from, uint64_t end)
{
	struct krt_range *r;

	if (from >= end)
		return;
	if (!cut(h, m, from, end) && (from || end != UINT64_MAX))
		return;
	r = first_at(m, from);
	while (r && r->node.key < end) {
		struct krt_range *next = after(r);

		free_range(h, m, r);
		r = next;
	}
}

static bool drops(const struct krt_range *r, bool (*drop)(void *user, const struct krt_access *a),
		  void *user)
{
	for (uint32_t i = 0; i < r->reads; i++)
		if (drop(user, &r->read[i]))
			return true;
	return r->write.op && drop(user, &r->write);
}

size_t krt_ranges_prune(struct krt_heap *h, struct krt_ranges *m, uint64_t from, uint64_t end,
			bool (*drop)(void *user, const struct krt_access *a), void *user)
{
	struct krt_range *r = first_at(m, from), *prev = NULL, *up;
	size_t left = 0;

	/* What lies outside stays, where anything goes at all. */
	if (r && r->node.key < from && drops(r, drop, user) && !(r = split(h, m, r, from)))
		return 0;
	up = range_of(krt_tree_floor(&m->tree, end));
	if (up && up->node.key < end && up->end > end && drops(up, drop, user) &&
	    !split(h, m, up, end))
		return 0;
	while (r && r->node.key < end) {
		struct krt_range *next = after(r);
		uint32_t n = 0;

		if (r->write.op && drop(user, &r->write))
			drop_write(h, r);
		for (uint32_t i = 0; i < r->reads; i++) {
			if (drop(user, &r->read[i]))
				krt_op_unref(h, r->read[i].op);
			else
				r->read[n++] = r->read[i];
		}
		r->reads = n;
		if (!n && r->cap)
			free_reads(h, r);
		if (!r->write.op && !r->reads) {
			free_range(h, m, r);
		} else if (prev && equal(prev, r)) {
			prev->end = r->end;
			free_range(h, m, r);
		} else {
			left += r->reads + !!r->write.op;
			prev = r;
		}
		r = next;
	}
	return left;
}
