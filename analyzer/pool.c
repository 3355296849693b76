/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suballocators: blocks handed out, taken back and handed out again, which the
 * driver knows nothing of.
 *
 * When a block ends, and when bytes are handed out, what was done there and is
 * not known to be over goes from the space's maps into its `past`: exact
 * accesses with their bytes, of a kernel with a plain pointer that byte and, as
 * what it may reach, the rest of the block.  Each carries the serial of the
 * owner's block, which stays among the ended blocks as long as an access of its owner
 * is in some past.  So the other maps hold what the present owner did, and no pair
 * across owners is found there.
 *
 * What is enqueued on such bytes meets the past: KRT-REUSE-RACE, once an earlier
 * operation and new owner.  A new owner finds garbage, so its first operation
 * writes; a kernel of which only a pointer is known is taken to (not in host or
 * managed memory, where the CPU may have filled the block).  It is judged
 * when it comes, not at the hand-over: a wait between the two is in time.  What
 * it overwrites, and what it was reported for, leaves the past.
 *
 * Not every operation on returned bytes is an owner's: the pool itself may clear
 * them.  There two operations have to conflict by what is known of both.
 */
#include "engine_int.h"

#include <string.h>

/* --- the books: pools -------------------------------------------------------------- */

static void pool_unref(struct krt_memory *m, struct krt_pool *p)
{
	if (!p || --p->refs)
		return;
	krt_heap_freestr(m->heap, p->name);
	krt_heap_free(m->heap, p, sizeof(*p));
}

struct krt_pool *krt_pool_get(struct krt_memory *m, uint64_t handle, bool make)
{
	struct krt_heap *heap = m->heap;
	struct krt_pool *p;

	HASH_FIND(hh, m->pools, &handle, sizeof(handle), p);
	if (p || !make)
		return p;
	p = krt_heap_alloc(heap, sizeof(*p));
	if (!p)
		return NULL;
	p->refs = 1;
	p->handle = handle;
	HASH_ADD(hh, m->pools, handle, sizeof(p->handle), p);
	if (p->hh.tbl)
		return p;
	krt_heap_free(heap, p, sizeof(*p));
	return NULL;
}

void krt_pool_put(struct krt_memory *m, struct krt_pool *p)
{
	struct krt_heap *heap = m->heap;

	(void)heap;
	HASH_DELETE(hh, m->pools, p);
	pool_unref(m, p);
}

/* --- the books: blocks ---------------------------------------------------------------- */

static struct krt_block *block_of(struct krt_node *n)
{
	return n ? krt_entry(n, struct krt_block, node) : NULL;
}

static struct krt_returned *returned_of(struct krt_node *n)
{
	return n ? krt_entry(n, struct krt_returned, node) : NULL;
}

static uint64_t block_end(const struct krt_block *b)
{
	return b->node.key + b->size;
}

struct krt_block *krt_block_from(const struct krt_tree *t, uint64_t addr)
{
	struct krt_block *b = block_of(krt_tree_floor(t, addr));

	return b && addr < block_end(b) ? b : block_of(krt_tree_ceil(t, addr));
}

/* The one in the tree that holds addr, not those inside it. */
static struct krt_block *holder(const struct krt_tree *t, uint64_t addr)
{
	struct krt_block *b = block_of(krt_tree_floor(t, addr));

	return b && addr < block_end(b) ? b : NULL;
}

struct krt_block *krt_block_at(const struct krt_memory *m, uint64_t addr)
{
	struct krt_block *b = NULL, *in = holder(&m->blocks, addr);

	for (; in; in = in->inner.count ? holder(&in->inner, addr) : NULL)
		b = in;
	return b;
}

static void op_put(struct krt_memory *m, struct krt_op_info **op)
{
	if (*op)
		krt_op_unref(m->heap, *op);
	*op = NULL;
}

void krt_block_unref(struct krt_memory *m, struct krt_block *b)
{
	if (!b || --b->refs)
		return;
	krt_users_clear(m->heap, &b->users);
	op_put(m, &b->alloc_op);
	op_put(m, &b->free_op);
	for (unsigned i = 0; i < b->uses; i++)
		op_put(m, &b->use[i]);
	pool_unref(m, b->pool);
	krt_heap_free(m->heap, b, sizeof(*b));
}

static struct krt_tree *tree_of(struct krt_memory *m, struct krt_block *outer)
{
	return outer ? &outer->inner : &m->blocks;
}

struct krt_block *krt_block_add(struct krt_memory *m, struct krt_block *outer, uint64_t base,
				uint64_t size, struct krt_pool *pool, const struct krt_call *c)
{
	struct krt_block *b;

	if (!size || size > UINT64_MAX - base)
		return NULL;
	b = krt_heap_alloc(m->heap, sizeof(*b));
	if (!b)
		return NULL;
	b->refs = 1;
	b->node.key = base;
	b->size = size;
	b->serial = ++m->serial;
	b->outer = outer;
	b->pool = pool;
	if (pool)
		pool->refs++;
	b->made.api = c->rec->api;
	b->made.seq = c->rec->t0;
	b->made.stack = c->rec->stack;
	krt_tree_insert(tree_of(m, outer), &b->node);
	return b;
}

static void block_unlink(struct krt_memory *m, struct krt_block *b)
{
	struct krt_node *n;

	while ((n = krt_tree_first(&b->inner)))
		krt_block_drop(m, block_of(n));
	krt_tree_remove(tree_of(m, b->outer), &b->node);
	b->outer = NULL;
	b->ended = true;
	if (b->owner)
		m->owner_ends(m->user, b->owner);
	b->owner = NULL;
}

void krt_block_drop(struct krt_memory *m, struct krt_block *b)
{
	block_unlink(m, b);
	krt_block_unref(m, b);
}

void krt_block_forget(struct krt_memory *m, struct krt_block *b)
{
	struct krt_heap *heap = m->heap;

	(void)heap;
	HASH_DELETE(hh, m->ended, b);
	krt_block_unref(m, b);
}

void krt_block_end(struct krt_memory *m, struct krt_block *b)
{
	struct krt_heap *heap = m->heap;

	block_unlink(m, b);
	HASH_ADD(hh, m->ended, serial, sizeof(b->serial), b);
	if (!b->hh.tbl) {
		krt_block_unref(m, b);
		return;
	}
	if (HASH_COUNT(m->ended) > KRT_ENDED_MAX) /* the first is the oldest */
		krt_block_forget(m, m->ended);
}

struct krt_block *krt_block_ended(const struct krt_memory *m, uint32_t serial)
{
	struct krt_block *b;

	HASH_FIND(hh, m->ended, &serial, sizeof(serial), b);
	return b;
}

/* --- the books: what was given back ------------------------------------------------------ */

static void returned_drop(struct krt_memory *m, struct krt_returned *r)
{
	if (r->older)
		r->older->newer = r->newer;
	else
		m->returned_oldest = r->newer;
	if (r->newer)
		r->newer->older = r->older;
	else
		m->returned_newest = r->older;
	krt_tree_remove(&m->returned, &r->node);
	krt_block_unref(m, r->block);
	krt_heap_free(m->heap, r, sizeof(*r));
}

static void returned_add(struct krt_memory *m, struct krt_block *b, uint64_t from, uint64_t end)
{
	struct krt_returned *r = krt_heap_alloc(m->heap, sizeof(*r));

	if (!r)
		return;
	r->node.key = from;
	r->end = end;
	if (!krt_tree_insert(&m->returned, &r->node)) {
		krt_heap_free(m->heap, r, sizeof(*r));
		return;
	}
	r->block = b;
	b->refs++;
	r->older = m->returned_newest;
	if (r->older)
		r->older->newer = r;
	else
		m->returned_oldest = r;
	m->returned_newest = r;
	if (m->returned.count > KRT_FREED_MAX)
		returned_drop(m, m->returned_oldest);
}

void krt_returned_cut(struct krt_memory *m, uint64_t from, uint64_t end)
{
	struct krt_returned *r = returned_of(krt_tree_floor(&m->returned, from)), *next;

	if (!r || r->end <= from)
		r = returned_of(krt_tree_ceil(&m->returned, from));
	for (; r && r->node.key < end; r = next) {
		struct krt_block *b = r->block;
		uint64_t r_end = r->end;

		next = returned_of(krt_tree_next(&r->node));
		b->refs++;
		if (r->node.key < from)
			r->end = from;
		else
			returned_drop(m, r);
		if (r_end > end) /* an upper part is left: the last one */
			returned_add(m, b, end, r_end);
		krt_block_unref(m, b);
		if (r_end > end)
			return;
	}
}

void krt_returned_add(struct krt_memory *m, struct krt_block *b)
{
	krt_returned_cut(m, b->node.key, block_end(b));
	returned_add(m, b, b->node.key, block_end(b));
}

struct krt_block *krt_returned_at(const struct krt_memory *m, uint64_t addr)
{
	struct krt_returned *r = returned_of(krt_tree_floor(&m->returned, addr));

	return r && addr < r->end ? r->block : NULL;
}

void krt_returned_drop(struct krt_memory *m, const struct krt_pool *p)
{
	for (struct krt_returned *r = m->returned_oldest, *next; r; r = next) {
		next = r->newer;
		if (r->block->pool == p)
			returned_drop(m, r);
	}
}

void krt_blocks_gone(struct krt_memory *m, uint64_t from, uint64_t end)
{
	struct krt_block *b;

	/* a block of several mappings is gone with the first of them */
	while (from < end && (b = krt_block_from(&m->blocks, from)) && b->node.key < end)
		krt_block_drop(m, b);
	if (m->returned.count)
		krt_returned_cut(m, from, end);
}

void krt_pools_free(struct krt_memory *m)
{
	struct krt_pool *p, *tmp;
	struct krt_node *n;

	while ((n = krt_tree_first(&m->blocks)))
		krt_block_drop(m, block_of(n));
	while (m->returned_oldest)
		returned_drop(m, m->returned_oldest);
	while (m->ended)
		krt_block_forget(m, m->ended);
	HASH_ITER (hh, m->pools, p, tmp)
		krt_pool_put(m, p);
}

/* --- into the past ------------------------------------------------------------------------- */

struct folding {
	struct krt_engine *e;
	struct krt_space *space;
	struct krt_block *owner; /* NULL: none */
};

static void fold_access(void *user, const struct krt_access *a, uint64_t from, uint64_t end)
{
	struct folding *f = user;
	struct krt_access past = *a;

	if (krt_order_settled(f->e->order, a->op->stamp))
		return;
	past.owner = f->owner ? f->owner->serial : 0;
	krt_space_busy(&f->e->mem, f->space);
	krt_ranges_add(&f->e->heap, &f->space->past, from, end, &past);
	f->e->since_sweep++;
}

/* Calls fn for each piece of [from, end): the memory that it lies in, and keys of its space. */
typedef void piece_fn(struct krt_engine *e, struct krt_mem *mem, uint64_t from, uint64_t end,
		      void *user);
static void each_piece(struct krt_engine *e, bool host, uint64_t from, uint64_t end, piece_fn *fn,
		       void *user)
{
	while (from < end && !e->heap.failed) {
		uint64_t to;
		struct krt_mem *mem = krt_piece_at(e, from, end, &to);

		if (!mem)
			mem = host ? &e->mem.pageable : &e->mem.unknown;
		fn(e, mem, krt_mem_key(mem, from), krt_mem_key(mem, from) + (to - from), user);
		from = to;
	}
}

static void fold_piece(struct krt_engine *e, struct krt_mem *mem, uint64_t from, uint64_t end,
		       void *user)
{
	struct folding f = {.e = e, .space = mem->space, .owner = user};

	krt_ranges_each(&f.space->sure, from, end, fold_access, &f);
	krt_ranges_each(&f.space->may, from, end, fold_access, &f);
	krt_ranges_clear(&e->heap, &f.space->sure, from, end);
	krt_ranges_clear(&e->heap, &f.space->may, from, end);
}

static void forget_piece(struct krt_engine *e, struct krt_mem *mem, uint64_t from, uint64_t end,
			 void *user)
{
	(void)user;
	krt_ranges_clear(&e->heap, &mem->space->sure, from, end);
	krt_ranges_clear(&e->heap, &mem->space->may, from, end);
}

static void add_piece(struct krt_engine *e, struct krt_mem *mem, uint64_t from, uint64_t end,
		      void *user)
{
	struct krt_access *a = user;

	a->mapping = mem->serial;
	krt_space_busy(&e->mem, mem->space);
	krt_ranges_add(&e->heap, &mem->space->past, from, end, a);
	e->since_sweep++;
}

static bool is_host(const struct krt_block *b)
{
	return b->pool && b->pool->kind == KRT_POOL_HOST;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A launch of a graph, of which a node names the block. */
struct launches {
	struct krt_engine *e;
	struct krt_block *b;
};

static void fold_launch(void *user, struct krt_op_info *op, struct krt_how how,
			enum krt_knowledge know, const struct krt_pattern *gaps, uint64_t from,
			uint64_t end)
{
	struct launches *l = user;
	struct krt_access a = {.op = op,
			       .owner = l->b->serial,
			       .kind = how.kind,
			       .know = (uint8_t)know,
			       .sure = how.sure};

	if (gaps)
		a.pattern = krt_pattern_id(&l->e->heap, &l->e->patterns, gaps);
	each_piece(l->e, is_host(l->b), from, end, add_piece, &a);
	if (how.sure != KRT_SURE_FROM || end >= block_end(l->b))
		return;
	a.know = KRT_KNOW_REACH;
	each_piece(l->e, is_host(l->b), end, block_end(l->b), add_piece, &a);
}

/* The owner's history: what remains to be compared when the bytes get a new one. */
static void fold_block(struct krt_engine *e, struct krt_block *b)
{
	uint64_t from = b->node.key, end = block_end(b);

	if (b->forgotten) {
		each_piece(e, is_host(b), from, end, forget_piece, NULL);
		return;
	}
	each_piece(e, is_host(b), from, end, fold_piece, b);
	for (uint32_t i = 0; i < b->users.count; i++) {
		const struct krt_user *u = &b->users.user[i];
		struct krt_access a = {.op = u->op,
				       .owner = b->serial,
				       .kind = u->kind,
				       .sure = KRT_SURE_FROM};

		if (krt_order_settled(e->order, u->op->stamp))
			continue;
		if (u->sort == KRT_USER_POINTER) {
			a.know = u->know;
			if (u->anchor >= from)
				each_piece(e, is_host(b), u->anchor, u->anchor + 1, add_piece, &a);
			a.know = KRT_KNOW_REACH;
			each_piece(e, is_host(b), higher(u->lowest + 1, from), end, add_piece, &a);
		} else if (u->sort == KRT_USER_WORD) {
			a.know = u->anchor == from && !u->list ? KRT_KNOW_START
							       : KRT_KNOW_WORD;
			each_piece(e, is_host(b), higher(u->lowest, from), end, add_piece, &a);
		}
	}
	krt_users_clear(&e->heap, &b->users);
	if (b->owner) {
		struct launches l = {.e = e, .b = b};

		krt_graph_flights(e, b->owner, fold_launch, &l);
	}
}

/* --- notes ------------------------------------------------------------------------------------- */

static bool capture_goes_on(const struct krt_engine *e, unsigned id)
{
	for (const struct krt_stream_entry *s = e->obj.streams; id && s; s = s->hh.next)
		if (s->stream->capture == id)
			return true;
	return false;
}

/* op: what took it back, NULL: that was not told. */
static void end_block(struct krt_engine *e, struct krt_block *b, struct krt_op_info *op)
{
	uint64_t from = b->node.key, end = block_end(b), was;
	struct krt_node *n;

	while ((n = krt_tree_first(&b->inner)))
		end_block(e, block_of(n), op);
	krt_shadow_changed(e, from, end - from);
	if (op) {
		krt_op_ref(op);
		b->free_op = op;
		b->freed.api = op->api;
		b->freed.seq = op->seq;
		b->freed.stack = op->stack;
	}
	was = e->since_sweep;
	fold_block(e, b);
	if (e->since_sweep != was)
		krt_block_end(&e->mem, b);
	else
		krt_block_drop(&e->mem, b); /* nothing names it */
	krt_names_drop(&e->mem, from, end);
}

/* A feed may not know the stream. */
static struct krt_stream_info *stream_of(struct krt_engine *e, const struct krt_call *c)
{
	return c->stream == UINT64_MAX ? NULL : krt_call_stream(e, c, c->stream);
}

static void block_alloc(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = stream_of(e, c);
	struct krt_pool *p = krt_pool_get(&e->mem, c->pool, true);
	struct krt_block *outer = NULL, *b, *last;
	struct krt_origin came_back = {0};
	struct krt_tree *t = &e->mem.blocks;
	uint64_t from = c->addr, end = c->addr + c->bytes;

	if (!p || !from || end <= from)
		return;
	/* within another pool's block: that pool is the one that this one is built on */
	for (unsigned depth = 0; depth < KRT_NESTED_MAX && (b = holder(t, from)) &&
				 end <= block_end(b) && b->pool != p;
	     depth++) {
		outer = b;
		t = &b->inner;
	}
	/* handed out again without a word that they came back */
	while ((b = krt_block_from(t, from)) && b->node.key < end && !e->heap.failed)
		end_block(e, b, NULL);
	last = krt_returned_at(&e->mem, from);
	if (last)
		came_back = last->freed;
	krt_shadow_changed(e, from, end - from);
	krt_returned_cut(&e->mem, from, end);
	each_piece(e, p->kind == KRT_POOL_HOST, from, end, fold_piece, NULL);
	b = krt_block_add(&e->mem, outer, from, end - from, p, c);
	if (!b)
		return;
	b->alloc_op = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER);
	b->came_back = came_back;
	b->capture = s ? s->capture : 0;
	krt_graph_block_made(e, b);
}

static void block_use(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_block *b = krt_block_at(&e->mem, c->addr);
	struct krt_stream_info *s = stream_of(e, c);

	if (!b)
		return;
	for (unsigned i = 0; i < b->uses; i++)
		if (b->use[i]->stream == s)
			return;
	if (b->uses < KRT_BLOCK_USES && (b->use[b->uses] = krt_op_new(&e->obj, c, s, KRT_OPC_OTHER)))
		b->uses++;
}

/* Its owner goes on: bytes that it loses are given back, those that it gains are handed out. */
static void block_resize(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_block *b = krt_block_at(&e->mem, c->addr), *other, *lost;
	struct krt_op_info *op;
	uint64_t was, end;

	while (b && b->node.key != c->addr)
		b = b->outer;
	if (!b || !c->bytes || c->bytes > UINT64_MAX - c->addr)
		return;
	was = block_end(b);
	end = c->addr + c->bytes;
	if (end > was) {
		if (b->outer && end > block_end(b->outer))
			return;
		while ((other = krt_block_from(tree_of(&e->mem, b->outer), was)) &&
		       other->node.key < end && !e->heap.failed)
			end_block(e, other, NULL);
		krt_returned_cut(&e->mem, was, end);
		each_piece(e, is_host(b), was, end, fold_piece, NULL);
		b->size = c->bytes;
		return;
	}
	op = end < was ? krt_op_new(&e->obj, c, NULL, KRT_OPC_FREE) : NULL;
	if (!op)
		return;
	while ((other = krt_block_from(&b->inner, end)) && !e->heap.failed)
		end_block(e, other, op);
	b->size = c->bytes;
	/* the rest is a block of its own that ends at once */
	lost = krt_block_add(&e->mem, b->outer, end, was - end, b->pool, c);
	if (lost) {
		for (uint32_t i = 0; i < b->users.count; i++) {
			const struct krt_user *u = &b->users.user[i];

			struct krt_user copy = *u;

			copy.anchor = u->lowest;
			copy.block = lost->serial;
			krt_users_note(&e->mem, &lost->users, &copy);
		}
		lost->refs++;
		lost->made = b->made;
		end_block(e, lost, op);
		krt_returned_add(&e->mem, lost);
		krt_block_unref(&e->mem, lost);
	}
	krt_op_unref(&e->heap, op);
}

static void block_free(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_block *b = krt_block_at(&e->mem, c->addr);
	struct krt_op_info *op;
	bool own;

	while (b && b->node.key != c->addr) /* an interior pointer is no block */
		b = b->outer;
	if (!b)
		return;
	op = krt_op_new(&e->obj, c, NULL, KRT_OPC_FREE);
	if (!op)
		return;
	b->forgotten = krt_unseen_call(e, c);
	/* a capture's own temporary: the graph goes on using it */
	own = capture_goes_on(e, b->capture);
	b->refs++;
	end_block(e, b, op);
	if (!own)
		krt_returned_add(&e->mem, b);
	krt_block_unref(&e->mem, b);
	krt_op_unref(&e->heap, op);
}

static void end_blocks_of(struct krt_engine *e, struct krt_tree *t, const struct krt_pool *p,
			  struct krt_op_info *op)
{
	for (struct krt_node *n = krt_tree_first(t), *next; n; n = next) {
		struct krt_block *b = block_of(n);

		next = krt_tree_next(n);
		if (b->inner.count)
			end_blocks_of(e, &b->inner, p, op);
		if (b->pool == p) {
			b->destroyed = true;
			end_block(e, b, op);
		}
	}
}

static void pool_create(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_pool *p = krt_pool_get(&e->mem, c->pool, true);

	if (!p)
		return;
	p->kind = (unsigned)c->flags;
	if (c->string.data && c->string.len) {
		krt_heap_freestr(&e->heap, p->name);
		p->name = krt_heap_strndup(&e->heap, c->string.data,
					   strnlen(c->string.data, c->string.len));
	}
}

/* The blocks end with it; what comes after is not judged against its returned ones. */
static void pool_destroy(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_pool *p = krt_pool_get(&e->mem, c->pool, false);
	struct krt_op_info *op;

	if (!p)
		return;
	op = krt_op_new(&e->obj, c, NULL, KRT_OPC_FREE);
	if (!op)
		return;
	end_blocks_of(e, &e->mem.blocks, p, op);
	krt_returned_drop(&e->mem, p);
	krt_pool_put(&e->mem, p);
	krt_op_unref(&e->heap, op);
}

void krt_pool_op(struct krt_engine *e, const struct krt_call *c)
{
	switch (c->op) {
	case KRT_OP_NOTE_POOL_CREATE:
		pool_create(e, c);
		break;
	case KRT_OP_NOTE_POOL_DESTROY:
		pool_destroy(e, c);
		break;
	case KRT_OP_NOTE_BLOCK_ALLOC:
		block_alloc(e, c);
		break;
	case KRT_OP_NOTE_BLOCK_USE:
		block_use(e, c);
		break;
	case KRT_OP_NOTE_BLOCK_RESIZE:
		block_resize(e, c);
		break;
	case KRT_OP_NOTE_BLOCK_FREE:
		block_free(e, c);
		break;
	default:
		break;
	}
}

/* --- an operation meets the past ------------------------------------------------------------ */

#define PAIRS_MAX 32 /* looked at together */

struct reuse {
	struct krt_engine *e;
	const struct krt_reuse *r;
	struct krt_mem *mem;
	uint64_t anchor; /* key of a plain pointer's byte */
	bool found;
	struct krt_pair pair[PAIRS_MAX];
	unsigned pairs;
};

/* Of a kernel's pointer: how far it goes is not known. */
static bool inexact(unsigned know, enum krt_sureness sure)
{
	return sure == KRT_SURE_FROM || know == KRT_KNOW_POINTER || know == KRT_KNOW_WORD ||
	       know == KRT_KNOW_REACH || know == KRT_KNOW_START;
}

static bool unordered(const struct reuse *u, const struct krt_op_info *prev,
		      enum krt_finding_view *view)
{
	const struct krt_reuse *r = u->r;

	if (prev == r->op || (!r->stream && prev->external))
		return false;
	return r->touch ? krt_unordered_read(u->e, r->touch, prev, view)
			: krt_unordered(u->e, prev, r->stream, view);
}

static bool cpu_writes(const struct krt_mem *m)
{
	return m->kind == KRT_MEM_MANAGED || m->kind == KRT_MEM_PINNED ||
	       m->kind == KRT_MEM_REGISTERED || m->kind == KRT_MEM_PAGEABLE;
}

/* How sure is it that the two meet?  old NULL: done before the bytes were handed out. */
static enum krt_confidence how_sure(const struct reuse *u, const struct krt_access *prev,
				    const struct krt_block *old, bool handed, uint64_t from,
				    uint64_t end)
{
	const struct krt_reuse *r = u->r;

	if (r->know == KRT_KNOW_WORD || prev->know == KRT_KNOW_WORD ||
	    r->sure == KRT_SURE_LIMIT || prev->sure == KRT_SURE_LIMIT)
		return KRT_POSSIBLE;
	/*
	 * Not from owner to owner, or memory that the CPU may have filled unseen: what is
	 * known of both decides.
	 */
	if (!old || !handed || cpu_writes(u->mem)) {
		if (!inexact(r->know, r->sure) && !inexact(prev->know, prev->sure)) {
			enum krt_confidence c = krt_access_confidence(r->sure, prev->sure);

			return old && !old->freed.seq && c > KRT_LIKELY ? KRT_LIKELY : c;
		}
		if (prev->know == KRT_KNOW_REACH || r->know == KRT_KNOW_START ||
		    prev->know == KRT_KNOW_START || (inexact(r->know, r->sure) && inexact(prev->know, prev->sure)))
			return KRT_POSSIBLE;
		if (inexact(r->know, r->sure))
			return prev->kind == KRT_ACC_WRITE && u->anchor >= from && u->anchor < end
				       ? KRT_LIKELY
				       : KRT_POSSIBLE;
		return r->kind == KRT_ACC_WRITE ? KRT_LIKELY : KRT_POSSIBLE;
	}
	/*
	 * A framework's kernels take their pointers inside a struct.  A word that is the very
	 * first byte of a block is hardly a number, yet may go unused.
	 */
	if (r->know == KRT_KNOW_START || prev->know == KRT_KNOW_START)
		return KRT_LIKELY;
	if (prev->know == KRT_KNOW_REACH || (inexact(r->know, r->sure) && (u->anchor < from || u->anchor >= end)))
		return KRT_LIKELY;
	if (r->sure == KRT_SURE_WITHIN || prev->sure == KRT_SURE_WITHIN)
		return KRT_LIKELY;
	/* it reads what somebody of the new owner wrote without our knowledge */
	if (r->kind == KRT_ACC_READ && inexact(prev->know, prev->sure))
		return KRT_LIKELY;
	return old->freed.seq ? KRT_CERTAIN : KRT_LIKELY;
}

/* What is enqueued now belongs to a block that was handed out after old had ended. */
static bool handed_out(const struct reuse *u, const struct krt_block *old, uint64_t key)
{
	const struct krt_block *b = krt_block_at(&u->e->mem, krt_mem_addr(u->mem, key));

	return b && (!old || b->serial > old->serial);
}

/* False: the two do not meet, or nothing is known of the former owner any more. */
static bool meets(const struct reuse *u, const struct krt_access *prev, struct krt_pair *p)
{
	if (!krt_access_conflict(prev->kind, u->r->kind) ||
	    (prev->owner && !krt_block_ended(&u->e->mem, prev->owner)))
		return false;
	return unordered(u, prev->op, &p->view);
}

/* Gaps in what the two touch may keep them apart. */
static bool bytes_meet(const struct reuse *u, const struct krt_access *prev, uint64_t from,
		       uint64_t end)
{
	const struct krt_patterns *all = &u->e->patterns;
	struct krt_pattern a, b;

	if (!u->r->pattern && !prev->pattern)
		return true;
	return !krt_pattern_of(all, u->r->pattern, from, end, &a) ||
	       !krt_pattern_of(all, prev->pattern, from, end, &b) || krt_patterns_meet(&a, &b);
}

static void meet_past(void *user, const struct krt_access *prev, uint64_t from, uint64_t end)
{
	struct reuse *u = user;
	const struct krt_reuse *r = u->r;
	struct krt_pair p = {.rule = KRT_RULE_REUSE_RACE};
	struct krt_block *old;

	if (!meets(u, prev, &p) || !bytes_meet(u, prev, from, end))
		return;
	old = prev->owner ? krt_block_ended(&u->e->mem, prev->owner) : NULL;
	p.confidence = krt_sync_confidence(
		r->op, prev->op, how_sure(u, prev, old, handed_out(u, old, from), from, end));
	p.cur = r->op;
	p.prev = prev->op;
	p.cur_what = krt_what_of(r->kind);
	p.prev_what = krt_what_of(prev->kind);
	p.cur_know = (uint8_t)r->know;
	p.prev_know = prev->know;
	p.cur_sure = (uint8_t)r->sure;
	p.prev_sure = prev->sure;
	p.mem = u->mem;
	p.from = krt_mem_addr(u->mem, from);
	p.end = krt_mem_addr(u->mem, end);
	p.owner = old;
	u->found |= p.confidence != KRT_POSSIBLE;
	if (u->pairs < PAIRS_MAX)
		u->pair[u->pairs++] = p;
	else
		krt_pair_add(u->e, &p);
}

/* Would an order after b be one after a as well? */
static bool implied(const struct reuse *u, const struct krt_op_info *a, const struct krt_op_info *b)
{
	if (a->stamp.domain == b->stamp.domain)
		return a->stamp.epoch < b->stamp.epoch;
	return krt_order_before_stream(u->e->order, KRT_VIEW_DOC, a->stamp, b->stamp.domain) &&
	       !krt_order_before_stream(u->e->order, KRT_VIEW_DOC, b->stamp, a->stamp.domain);
}

/* Of the operations that it meets, those that stand for the rest. */
static void meet_done(struct reuse *u)
{
	for (unsigned i = 0; i < u->pairs; i++) {
		bool said = false;

		for (unsigned k = 0; k < u->pairs && !said; k++)
			said = u->pair[k].confidence >= u->pair[i].confidence &&
			       u->pair[k].view <= u->pair[i].view &&
			       implied(u, u->pair[i].prev, u->pair[k].prev);
		if (!said)
			krt_pair_add(u->e, &u->pair[i]);
	}
	u->pairs = 0;
}

/* What was reported has said what it has to say. */
static bool was_told(void *user, const struct krt_access *prev)
{
	struct krt_pair p;

	return prev->know != KRT_KNOW_WORD && meets(user, prev, &p);
}

static void returned_use(struct krt_engine *e, const struct krt_reuse *r, struct krt_mem *mem,
			 uint64_t from, uint64_t end)
{
	struct krt_block *b = krt_returned_at(&e->mem, from);
	/*
	 * Harm comes with a new owner, and that pair is judged then.  Until it does the
	 * pool may clear what came back, and a program that knows that nobody has it
	 * reads it once more.
	 */
	struct krt_pair p = {.rule = KRT_RULE_UAF_STREAM,
			     .confidence = KRT_POSSIBLE,
			     .view = KRT_BOTH_VIEWS};

	if (!b || !b->free_op || !r->stream || krt_block_at(&e->mem, from) ||
	    r->stream->external || r->stream->external_own)
		return;
	p.cur = r->op;
	p.prev = b->free_op;
	p.cur_what = krt_what_of(r->kind);
	p.prev_what = "free";
	p.cur_know = (uint8_t)r->know;
	p.cur_sure = (uint8_t)r->sure;
	p.prev_know = KRT_KNOW_ANNOTATION;
	p.mem = mem;
	p.from = from;
	p.end = end < block_end(b) ? end : block_end(b);
	p.owner = b;
	krt_pair_add(e, &p);
}

/* True: something to report. */
static bool meet_range(struct krt_engine *e, const struct krt_reuse *r, struct krt_mem *mem,
		       uint64_t from, uint64_t end, uint64_t anchor)
{
	struct krt_ranges *past = &mem->space->past;
	struct reuse u; /* large: not cleared */

	u.e = e;
	u.r = r;
	u.mem = mem;
	u.anchor = anchor;
	u.found = false;
	u.pairs = 0;
	krt_ranges_each(past, from, end, meet_past, &u);
	meet_done(&u);
	/* the CPU, in a host function, may come before what its stream holds already */
	if (r->stream && r->kind == KRT_ACC_WRITE && r->sure == KRT_SURE_ALL && !r->pattern)
		krt_ranges_clear(&e->heap, past, from, end);
	else if (u.found)
		krt_ranges_prune(&e->heap, past, from, end, was_told, &u);
	return u.found;
}

void krt_reuse_touch(struct krt_engine *e, const struct krt_reuse *r, struct krt_mem *mem,
		     uint64_t from, uint64_t end)
{
	uint64_t addr = krt_mem_addr(mem, from);

	if (mem->space->past.tree.count && meet_range(e, r, mem, from, end, from))
		return;
	if (e->mem.returned.count)
		returned_use(e, r, mem, addr, addr + (end - from));
}

struct pointer {
	const struct krt_reuse *r;
	uint64_t addr;
	bool found;
};

static void pointer_piece(struct krt_engine *e, struct krt_mem *mem, uint64_t from, uint64_t end,
			  void *user)
{
	struct pointer *p = user;
	/* in another mapping than the pointer's it is no key that can be in [from, end) */
	uint64_t anchor = krt_mem_addr(mem, from) == p->addr ? from : UINT64_MAX;

	if (mem->space->past.tree.count)
		p->found |= meet_range(e, p->r, mem, from, end, anchor);
}

void krt_reuse_pointer(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
		       const struct krt_kernel_access *a)
{
	const struct krt_block *b = krt_block_at(&e->mem, a->addr);
	bool list = !a->pure || a->within > KRT_LIST_FROM;
	struct krt_reuse r = {.op = op,
			      .stream = op->stream,
			      .kind = a->kind,
			      .know = a->know,
			      .sure = KRT_SURE_FROM};
	struct pointer p = {.r = &r, .addr = a->addr};

	if (a->know == KRT_KNOW_WORD && b && b->node.key == a->addr && !list)
		r.know = KRT_KNOW_START;
	if (!b && !e->mem.returned.count && !mem->space->past.tree.count)
		return;
	each_piece(e, false, a->addr, b ? block_end(b) : a->addr + 1, pointer_piece, &p);
	if (e->mem.returned.count && !p.found && !b)
		returned_use(e, &r, mem, a->addr, a->addr + 1);
}

/* --- forgetting ---------------------------------------------------------------------------------- */

bool krt_past_settled(void *user, const struct krt_access *a)
{
	struct krt_engine *e = user;
	struct krt_block *b;

	if (krt_order_settled(e->order, a->op->stamp))
		return true;
	krt_pattern_mark(&e->patterns, a->pattern);
	b = a->owner ? krt_block_ended(&e->mem, a->owner) : NULL;
	if (b)
		b->swept = e->sweeps;
	return false;
}

void krt_pool_sweep(struct krt_engine *e)
{
	struct krt_block *b, *tmp;

	HASH_ITER (hh, e->mem.ended, b, tmp)
		if (b->swept != e->sweeps)
			krt_block_forget(&e->mem, b);
}
