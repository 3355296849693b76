/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers that lie in device memory, as small copies from the host put them
 * there: tables that kernels take their buffers from.
 *
 * A record has those words alone which looked like device addresses; the other
 * words of such a copy are known to be none (0).  What is known of memory is
 * forgotten as soon as anything may have changed it, seen or not: any write, a
 * kernel whose writes are not known, the end of its allocation or block.  Memory
 * that the CPU can write behind our backs is left out altogether.
 *
 * Words are kept by space, so that a write through another mapping is met, in
 * pieces of KRT_SHADOW_WORDS at most.  Together they are bounded; the oldest go.
 */
#include "engine_int.h"

#include <string.h>

#define KRT_SHADOW_WORDS 512
#define KRT_SHADOW_BYTES ((size_t)16 << 20)
#define MOVED_MAX	 4096 /* pieces that one copy moves */
#define PIECES_MAX	 64   /* of one graph in one space */

/* Pieces of one space, disjoint; there is one. */
struct krt_shadow {
	struct krt_tree tree;
	struct krt_space *space;
};

struct krt_shadow_piece {
	struct krt_node node; /* key: of its first byte */
	struct krt_shadow *in;
	struct krt_shadow_piece *older, *newer;
	uint32_t n;
	uint64_t word[];
};

static struct krt_shadow_piece *piece_of(struct krt_node *n)
{
	return n ? krt_entry(n, struct krt_shadow_piece, node) : NULL;
}

static size_t piece_size(const struct krt_shadow_piece *p)
{
	return sizeof(*p) + p->n * sizeof(*p->word);
}

static uint64_t piece_end(const struct krt_shadow_piece *p)
{
	return p->node.key + p->n * 8ull;
}

/* --- the pieces ------------------------------------------------------------------ */

static void drop(struct krt_engine *e, struct krt_shadow_piece *p)
{
	struct krt_shadow *s = p->in;

	krt_tree_remove(&s->tree, &p->node);
	*(p->older ? &p->older->newer : &e->shadows.oldest) = p->newer;
	*(p->newer ? &p->newer->older : &e->shadows.newest) = p->older;
	e->shadows.bytes -= piece_size(p);
	krt_heap_free(&e->heap, p, piece_size(p));
	if (s->tree.count)
		return;
	s->space->shadow = NULL;
	krt_heap_free(&e->heap, s, sizeof(*s));
}

static struct krt_shadow *of_space(struct krt_engine *e, struct krt_space *space)
{
	if (!space->shadow) {
		space->shadow = krt_heap_alloc(&e->heap, sizeof(*space->shadow));
		if (space->shadow)
			space->shadow->space = space;
	}
	return space->shadow;
}

/* Where nothing is. */
static void put(struct krt_engine *e, struct krt_space *space, uint64_t key, const uint64_t *word,
		uint32_t n)
{
	struct krt_shadow_piece *p;
	struct krt_shadow *s;

	while (e->shadows.bytes > KRT_SHADOW_BYTES)
		drop(e, e->shadows.oldest);
	s = of_space(e, space);
	p = s ? krt_heap_alloc(&e->heap, sizeof(*p) + n * sizeof(*word)) : NULL;
	if (!p) {
		if (s && !s->tree.count) {
			space->shadow = NULL;
			krt_heap_free(&e->heap, s, sizeof(*s));
		}
		return;
	}
	p->node.key = key;
	p->in = s;
	p->n = n;
	memcpy(p->word, word, n * sizeof(*word));
	krt_tree_insert(&s->tree, &p->node);
	p->older = e->shadows.newest;
	*(p->older ? &p->older->newer : &e->shadows.oldest) = p;
	e->shadows.newest = p;
	e->shadows.bytes += piece_size(p);
}

/* The first piece that ends behind key. */
static struct krt_shadow_piece *piece_from(const struct krt_shadow *s, uint64_t key)
{
	struct krt_shadow_piece *p = piece_of(krt_tree_floor(&s->tree, key));

	return p && piece_end(p) > key ? p : piece_of(krt_tree_ceil(&s->tree, key));
}

static void clear(struct krt_engine *e, struct krt_space *space, uint64_t from, uint64_t end)
{
	struct krt_shadow_piece *p;

	while (from < end && space->shadow && (p = piece_from(space->shadow, from)) &&
	       p->node.key < end) {
		uint64_t key = p->node.key, last = piece_end(p), word[KRT_SHADOW_WORDS];
		uint32_t n = p->n, head = from > key ? (uint32_t)((from - key) / 8) : 0,
			 tail = end < last ? (uint32_t)((end - key + 7) / 8) : n;

		memcpy(word, p->word, n * sizeof(*word));
		drop(e, p);
		if (head)
			put(e, space, key, word, head);
		if (tail < n)
			put(e, space, key + tail * 8ull, word + tail, n - tail);
		from = last;
	}
}

void krt_shadow_clear(struct krt_engine *e, struct krt_mem *mem, uint64_t from, uint64_t end)
{
	if (mem->space && mem->space->shadow)
		clear(e, mem->space, from, end);
}

void krt_shadow_forget(struct krt_engine *e)
{
	while (e->shadows.oldest)
		drop(e, e->shadows.oldest);
}

void krt_shadow_space_ends(struct krt_engine *e, struct krt_space *space)
{
	if (space->shadow)
		clear(e, space, 0, UINT64_MAX);
}

/* --- what changes memory ----------------------------------------------------------- */

void krt_shadow_changed(struct krt_engine *e, uint64_t addr, uint64_t len)
{
	uint64_t end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len, to;

	for (; e->shadows.oldest && addr < end; addr = to) {
		struct krt_mem *mem = krt_piece_at(e, addr, end, &to);

		if (mem)
			krt_shadow_clear(e, mem, krt_mem_key(mem, addr), krt_mem_key(mem, to));
	}
}

void krt_shadow_reached(struct krt_engine *e, uint64_t addr)
{
	struct krt_mem *mem = e->shadows.oldest ? krt_mem_at(&e->mem, addr) : NULL;
	const struct krt_block *b;

	if (!mem || !mem->space->shadow)
		return;
	b = krt_block_at(&e->mem, addr);
	if (b)
		krt_shadow_changed(e, b->node.key, b->size);
	else
		krt_shadow_changed(e, mem->node.key, mem->size);
}

void krt_shadow_written(struct krt_engine *e, const struct krt_shape *s)
{
	if (!e->shadows.oldest || s->array || !s->width || !s->rows || !s->slices)
		return;
	/* what lies between rows goes too */
	krt_shadow_changed(e, s->addr,
			   (s->slices - 1) * s->slice_pitch + (s->rows - 1) * s->pitch + s->width);
}

void krt_shadow_launched(struct krt_engine *e, const struct krt_footprint *f)
{
	if (!e->shadows.oldest)
		return;
	if (!f || f->wild) {
		krt_shadow_forget(e);
		return;
	}
	for (uint32_t i = 0; i < f->groups; i++) {
		const struct krt_fgroup *g = &f->group[i];

		for (unsigned list = 0; list < KRT_FLISTS; list++) {
			const struct krt_fseg *s = f->seg + g->at[list];
			struct krt_how how = krt_flist_how(list);
			uint32_t n = g->count[list];

			if (!n || !g->space || !g->space->shadow || how.kind == KRT_ACC_READ)
				continue;
			if (how.sure == KRT_SURE_FROM)
				clear(e, g->space, 0, UINT64_MAX);
			else if (n > PIECES_MAX) /* a launch does not look at all of them */
				clear(e, g->space, s[0].from, s[n - 1].reach);
			for (uint32_t k = 0; k < n && n <= PIECES_MAX; k++)
				clear(e, g->space, s[k].from, s[k].end);
		}
	}
}

/* --- copies --------------------------------------------------------------------------- */

/* Of kinds that the CPU does not write by itself. */
static struct krt_mem *table_at(struct krt_engine *e, const struct krt_shape *s)
{
	struct krt_mem *mem = s->array ? NULL : krt_mem_at(&e->mem, s->addr);

	if (!mem || s->rows != 1 || s->slices != 1 || s->addr - mem->node.key + s->width > mem->size)
		return NULL;
	switch (mem->kind) {
	case KRT_MEM_DEVICE:
	case KRT_MEM_POOL:
	case KRT_MEM_MAPPED:
	case KRT_MEM_GLOBAL:
		return mem;
	case KRT_MEM_MANAGED:
	case KRT_MEM_PINNED:
	case KRT_MEM_REGISTERED:
	case KRT_MEM_PAGEABLE:
	case KRT_MEM_ARRAY:
	case KRT_MEM_IMPORTED:
	case KRT_MEM_UNKNOWN:
		return NULL;
	}
	return NULL;
}

struct source {
	struct krt_engine *e;
	bool changes;
};

static void source_access(void *user, const struct krt_access *a, uint64_t from, uint64_t end)
{
	struct source *s = user;

	(void)from, (void)end;
	if (a->kind != KRT_ACC_READ &&
	    !krt_order_before_host(s->e->order, KRT_VIEW_DOC, a->op->stamp))
		s->changes = true;
}

/*
 * The bytes were read at the call: is what the copy will find there the same, as
 * far as the device is concerned?  Who else writes it has a race with the copy.
 */
static bool source_stays(struct krt_engine *e, const struct krt_shape *s)
{
	struct source check = {.e = e};
	struct krt_mem *mem = krt_mem_at(&e->mem, s->addr);
	uint64_t key;

	if (!mem)
		mem = &e->mem.pageable;
	else if (mem->kind != KRT_MEM_PINNED && mem->kind != KRT_MEM_REGISTERED)
		return false;
	key = krt_mem_key(mem, s->addr);
	krt_ranges_each(&mem->space->sure, key, key + s->width, source_access, &check);
	krt_ranges_each(&mem->space->may, key, key + s->width, source_access, &check);
	for (uint32_t i = 0; mem != &e->mem.pageable && i < mem->users.count; i++)
		if (mem->users.user[i].sort != KRT_USER_READ &&
		    mem->users.user[i].sort != KRT_USER_WRITE &&
		    !krt_order_before_host(e->order, KRT_VIEW_DOC, mem->users.user[i].op->stamp))
			return false;
	return !check.changes && !(mem != &e->mem.pageable && mem->space->graphs);
}

/* The runs of a copy of the call in hand; copies of a batch come in their order. */
static const char *runs_of(struct krt_engine *e, const struct krt_call *c, uint32_t item)
{
	const char *p = c->pointers.data;
	struct krt_pointer_run run;

	if (e->shadows.seq != c->rec->t0 || e->shadows.item > item)
		e->shadows.at = 0;
	e->shadows.seq = c->rec->t0;
	e->shadows.item = item;
	for (; e->shadows.at + sizeof(run) <= c->pointers.len; e->shadows.at += (uint32_t)sizeof(run) + run.n * 8) {
		memcpy(&run, p + e->shadows.at, sizeof(run));
		if (run.n > (c->pointers.len - e->shadows.at - sizeof(run)) / 8)
			break;
		if (run.item >= item)
			return run.item == item ? p + e->shadows.at : NULL;
	}
	return NULL;
}

static void from_host(struct krt_engine *e, const struct krt_call *c, struct krt_mem *mem,
		      const struct krt_shape *dst, uint32_t item)
{
	uint64_t word[KRT_POINTERS_COPY_MAX / 8], skip = -dst->addr & 7, n = 0, key;
	const char *p = runs_of(e, c, item), *stop = (const char *)c->pointers.data + c->pointers.len;
	struct krt_pointer_run run;

	if (!p || dst->width > KRT_POINTERS_COPY_MAX)
		return;
	memset(word, 0, sizeof(word));
	for (; (size_t)(stop - p) >= sizeof(run); p += run.n * 8ull) {
		memcpy(&run, p, sizeof(run));
		p += sizeof(run);
		if (run.item != item || run.n > (size_t)(stop - p) / 8 || run.offset < skip ||
		    (run.offset - skip) % 8 || run.offset + run.n * 8ull > dst->width)
			break;
		memcpy(word + (run.offset - skip) / 8, p, run.n * 8ull);
		n = (run.offset - skip) / 8 + run.n;
	}
	key = krt_mem_key(mem, dst->addr) + skip;
	for (uint64_t at = 0; at < n; at += KRT_SHADOW_WORDS)
		put(e, mem->space, key + at * 8, word + at,
		    (uint32_t)(n - at < KRT_SHADOW_WORDS ? n - at : KRT_SHADOW_WORDS));
}

static void from_device(struct krt_engine *e, struct krt_mem *mem, const struct krt_shape *dst,
			const struct krt_shape *src)
{
	struct krt_mem *from = table_at(e, src);
	uint64_t key, end, to = krt_mem_key(mem, dst->addr), word[KRT_SHADOW_WORDS];
	struct krt_shadow_piece *p;

	if (!from || !from->space->shadow || (src->addr - dst->addr) % 8)
		return;
	key = krt_mem_key(from, src->addr);
	end = key + src->width;
	if (from->space == mem->space && key < to + dst->width && to < end)
		return;
	to -= key;
	for (unsigned i = 0; i < MOVED_MAX && from->space->shadow &&
			     (p = piece_from(from->space->shadow, key)) && p->node.key < end;
	     i++) {
		uint64_t first = p->node.key, last = piece_end(p);
		uint32_t skip = key > first ? (uint32_t)((key - first + 7) / 8) : 0,
			 stop = end < last ? (uint32_t)((end - first) / 8) : p->n;

		key = last;
		if (skip >= stop)
			continue;
		memcpy(word, p->word + skip, (stop - skip) * sizeof(*word));
		put(e, mem->space, to + first + skip * 8ull, word, stop - skip);
	}
}

void krt_shadow_copied(struct krt_engine *e, const struct krt_call *c, const struct krt_shape *dst,
		       const struct krt_shape *src, uint32_t item)
{
	struct krt_shape d = *dst, s = *src;
	struct krt_mem *mem;

	if (!c->pointers.data && !e->shadows.oldest)
		return;
	krt_shape_join(&d);
	krt_shape_join(&s);
	mem = table_at(e, &d);
	if (!mem || s.rows != 1 || s.slices != 1 || s.array || s.width != d.width)
		return;
	if (c->pointers.data && source_stays(e, &s))
		from_host(e, c, mem, &d, item);
	else
		from_device(e, mem, &d, &s);
}

bool krt_shadow_near(struct krt_engine *e, const struct krt_shape *s)
{
	struct krt_mem *mem = e->shadows.oldest ? table_at(e, s) : NULL;
	const struct krt_shadow_piece *p;
	uint64_t key;

	if (!mem || !mem->space->shadow || s->width > KRT_POINTERS_COPY_MAX || s->addr % 8 || s->width % 8)
		return false;
	key = krt_mem_key(mem, s->addr);
	p = piece_from(mem->space->shadow, key ? key - 1 : 0);
	return p && p->node.key <= key + s->width;
}

void krt_shadow_zeroed(struct krt_engine *e, const struct krt_shape *s)
{
	static const uint64_t none[KRT_SHADOW_WORDS];
	struct krt_mem *mem = table_at(e, s);
	uint64_t n = s->width / 8;

	for (uint64_t at = 0; mem && at < n; at += KRT_SHADOW_WORDS)
		put(e, mem->space, krt_mem_key(mem, s->addr) + at * 8, none,
		    (uint32_t)(n - at < KRT_SHADOW_WORDS ? n - at : KRT_SHADOW_WORDS));
}

/* --- reading ------------------------------------------------------------------------------ */

size_t krt_shadow_read(struct krt_engine *e, uint64_t addr, uint64_t *words, size_t n)
{
	struct krt_mem *mem = e->shadows.oldest ? krt_mem_at(&e->mem, addr) : NULL;
	uint64_t key, end;
	size_t done = 0;

	if (!mem || !mem->space->shadow)
		return 0;
	key = krt_mem_key(mem, addr);
	end = krt_mem_key(mem, mem->node.key) + mem->size;
	while (done < n) {
		struct krt_shadow_piece *p = piece_from(mem->space->shadow, key);
		size_t i, k;

		if (!p || p->node.key > key || (key - p->node.key) % 8)
			break;
		i = (size_t)(key - p->node.key) / 8;
		k = p->n - i < n - done ? p->n - i : n - done;
		k = k < (end - key) / 8 ? k : (size_t)(end - key) / 8;
		if (!k)
			break;
		memcpy(words + done, p->word + i, k * sizeof(*words));
		done += k;
		key += k * 8;
	}
	return done;
}
