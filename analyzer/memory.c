/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations, freed ranges, arrays, names.  See memory.h; blocks are in pool.c. */
#include "memory.h"

#include <string.h>

const char *krt_mem_kind_name(enum krt_mem_kind k)
{
	static const char *const name[] = {
#define X(n, text) [KRT_MEM_##n] = text,
		KRT_MEM_KINDS(X)
#undef X
	};
	return name[k];
}

void krt_memory_init(struct krt_memory *m, struct krt_heap *heap)
{
	memset(m, 0, sizeof(*m));
	m->heap = heap;
	m->seen = &m->seen_room;
	krt_space_init(&m->pageable_space);
	krt_space_init(&m->unknown_space);
	m->pageable.kind = KRT_MEM_PAGEABLE;
	m->pageable.space = &m->pageable_space;
	m->unknown.kind = KRT_MEM_UNKNOWN;
	m->unknown.space = &m->unknown_space;
	m->pageable.size = m->unknown.size = UINT64_MAX;
	m->pageable.serial = 1;
	m->unknown.serial = 2;
	m->pageable_space.id = KRT_SPACE_PAGEABLE;
	m->unknown_space.id = KRT_SPACE_UNKNOWN;
	m->serial = 3;
}

static struct krt_mem *mem_of(struct krt_node *n)
{
	return n ? krt_entry(n, struct krt_mem, node) : NULL;
}

static struct krt_name *name_of(struct krt_node *n)
{
	return n ? krt_entry(n, struct krt_name, node) : NULL;
}

/* An allocation of size 0 holds its first byte, so that it can be found and freed. */
static bool holds(const struct krt_mem *mem, uint64_t addr)
{
	return addr - mem->node.key < (mem->size ? mem->size : 1);
}

/* --- users ------------------------------------------------------------------- */

static void users_idle(struct krt_users *u)
{
	if (!u->link)
		return;
	*u->link = u->next;
	if (u->next)
		u->next->link = u->link;
	u->link = NULL;
}

static void users_busy(struct krt_memory *m, struct krt_users *u)
{
	if (u->link)
		return;
	u->next = m->busy_users;
	u->link = &m->busy_users;
	if (u->next)
		u->next->link = &u->next;
	m->busy_users = u;
}

void krt_users_clear(struct krt_heap *h, struct krt_users *u)
{
	users_idle(u);
	for (uint32_t i = 0; i < u->count; i++)
		krt_op_unref(h, u->user[i].op);
	krt_heap_free(h, u->user, u->cap * sizeof(*u->user));
	memset(u, 0, sizeof(*u));
}

void krt_users_prune(struct krt_heap *h, struct krt_users *u,
		     bool (*drop)(void *user, struct krt_op_info *op), void *user)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->count; i++) {
		if (drop(user, u->user[i].op))
			krt_op_unref(h, u->user[i].op);
		else
			u->user[n++] = u->user[i];
	}
	u->count = n;
}

void krt_users_note(struct krt_memory *m, struct krt_users *u, const struct krt_user *proto)
{
	struct krt_heap *h = m->heap;
	uint64_t lowest = proto->anchor;
	struct krt_user *at = NULL;

	for (uint32_t i = 0; i < u->count && !at; i++) {
		struct krt_user *x = &u->user[i];

		if (x->sort == proto->sort && x->kind == proto->kind && x->sure == proto->sure &&
		    x->held == proto->held &&
		    krt_op_domain(x->op) == krt_op_domain(proto->op))
			at = x;
	}
	if (!at) {
		if (!krt_heap_grow(h, &u->user, &u->cap, u->count, sizeof(*u->user)))
			return;
		at = &u->user[u->count++];
		at->op = NULL;
		users_busy(m, u);
	} else if (at->lowest < lowest) {
		lowest = at->lowest;
	}
	krt_op_ref(proto->op);
	if (at->op)
		krt_op_unref(h, at->op);
	*at = *proto;
	at->lowest = lowest;
}

/* --- spaces ------------------------------------------------------------------ */

void krt_space_busy(struct krt_memory *m, struct krt_space *s)
{
	if (s->link)
		return;
	s->next = m->busy_spaces;
	s->link = &m->busy_spaces;
	if (s->next)
		s->next->link = &s->next;
	m->busy_spaces = s;
}

static void space_idle(struct krt_space *s)
{
	if (!s->link)
		return;
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	s->link = NULL;
}

void krt_memory_idle(struct krt_memory *m)
{
	for (struct krt_space *s = m->busy_spaces, *next; s; s = next) {
		next = s->next;
		if (!s->sure.tree.count && !s->may.tree.count && !s->past.tree.count)
			space_idle(s);
	}
	for (struct krt_users *u = m->busy_users, *next; u; u = next) {
		next = u->next;
		if (!u->count)
			users_idle(u);
	}
}

static void space_put(struct krt_memory *m, struct krt_space *s)
{
	if (!s || --s->refs)
		return;
	space_idle(s);
	if (s->graphs || s->shadow)
		m->space_ends(m->user, s);
	krt_space_clear(m->heap, s);
	krt_heap_free(m->heap, s, sizeof(*s));
}

static struct krt_space *space_new(struct krt_memory *m)
{
	struct krt_space *s = krt_heap_alloc(m->heap, sizeof(*s));

	if (s) {
		krt_space_init(s);
		s->id = ++m->serial;
	}
	return s;
}

static void owner_end(struct krt_memory *m, struct krt_owner **o)
{
	struct krt_owner *was = *o;

	*o = NULL;
	if (was)
		m->owner_ends(m->user, was);
}

/* --- allocations ------------------------------------------------------------- */

struct krt_mem *krt_mem_at(const struct krt_memory *m, uint64_t addr)
{
	struct krt_seen *s = m->seen;
	struct krt_mem *mem;

	for (unsigned i = 0; i < KRT_SEEN; i++)
		if (addr - s->at[i].from < s->at[i].size)
			return s->at[i].mem;
	mem = mem_of(krt_tree_floor(&m->live, addr));
	if (!mem || !holds(mem, addr))
		return NULL;
	s->at[s->next].from = mem->node.key;
	s->at[s->next].size = mem->size;
	s->at[s->next].mem = mem;
	s->next = (s->next + 1) % KRT_SEEN;
	return mem;
}

static void unseen(struct krt_memory *m, const struct krt_mem *mem)
{
	for (unsigned i = 0; i < KRT_SEEN; i++)
		if (m->seen->at[i].mem == mem)
			m->seen->at[i].size = 0;
}

struct krt_mem *krt_mem_from(const struct krt_memory *m, uint64_t addr)
{
	struct krt_mem *mem = krt_mem_at(m, addr);

	return mem ? mem : mem_of(krt_tree_ceil(&m->live, addr));
}

struct krt_mem *krt_mem_base(const struct krt_memory *m, uint64_t addr)
{
	struct krt_mem *mem = mem_of(krt_tree_floor(&m->live, addr));

	return mem && mem->node.key == addr ? mem : NULL;
}

struct krt_mem *krt_mem_freed_at(const struct krt_memory *m, uint64_t addr)
{
	struct krt_mem *mem = mem_of(krt_tree_floor(&m->freed, addr));

	return mem && holds(mem, addr) && !krt_mem_at(m, addr) ? mem : NULL;
}

struct krt_mem *krt_mem_freed_from(const struct krt_memory *m, uint64_t addr)
{
	struct krt_mem *mem = mem_of(krt_tree_floor(&m->freed, addr));

	return mem && holds(mem, addr) ? mem : mem_of(krt_tree_ceil(&m->freed, addr));
}

static void origin_set(struct krt_origin *o, const struct krt_call *c)
{
	*o = krt_call_origin(c);
}

static void mem_release(struct krt_memory *m, struct krt_mem *mem)
{
	owner_end(m, &mem->owner);
	space_put(m, mem->space);
	mem->space = NULL;
	krt_users_clear(m->heap, &mem->users);
	if (mem->alloc_op)
		krt_op_unref(m->heap, mem->alloc_op);
	mem->alloc_op = NULL;
}

static void mem_destroy(struct krt_memory *m, struct krt_mem *mem)
{
	mem_release(m, mem);
	if (mem->free_op)
		krt_op_unref(m->heap, mem->free_op);
	krt_heap_free(m->heap, mem, sizeof(*mem));
}

static void freed_unlink(struct krt_memory *m, struct krt_mem *mem)
{
	if (mem->older)
		mem->older->newer = mem->newer;
	else
		m->freed_oldest = mem->newer;
	if (mem->newer)
		mem->newer->older = mem->older;
	else
		m->freed_newest = mem->older;
	krt_tree_remove(&m->freed, &mem->node);
}

/* False: not taken (an entry of the same base is there, or nothing to remember). */
static bool freed_link(struct krt_memory *m, struct krt_mem *mem)
{
	if (!mem->size || !krt_tree_insert(&m->freed, &mem->node))
		return false;
	mem->newer = NULL;
	mem->older = m->freed_newest;
	if (m->freed_newest)
		m->freed_newest->newer = mem;
	else
		m->freed_oldest = mem;
	m->freed_newest = mem;
	if (m->freed.count > KRT_FREED_MAX) {
		struct krt_mem *old = m->freed_oldest;

		freed_unlink(m, old);
		mem_destroy(m, old);
	}
	return true;
}

/* What is live again is not remembered as freed: cuts [from, end) out. */
static void freed_cut(struct krt_memory *m, uint64_t from, uint64_t end)
{
	for (;;) {
		struct krt_mem *f = mem_of(krt_tree_floor(&m->freed, from)), *up = NULL;
		uint64_t f_end;

		if (!f || !holds(f, from))
			f = mem_of(krt_tree_ceil(&m->freed, from));
		if (!f || f->node.key >= end)
			return;
		f_end = f->node.key + f->size;
		if (f_end > end) { /* an upper part is left */
			up = krt_heap_alloc(m->heap, sizeof(*up));
			if (up) {
				*up = *f;
				memset(&up->node, 0, sizeof(up->node));
				up->owner = NULL;
				up->node.key = end;
				up->size = f_end - end;
				if (up->free_op)
					krt_op_ref(up->free_op);
			}
		}
		if (f->node.key < from) {
			f->size = from - f->node.key;
		} else {
			freed_unlink(m, f);
			mem_destroy(m, f);
		}
		/* last, as it may push out the oldest entry */
		if (up && !freed_link(m, up))
			mem_destroy(m, up);
	}
}

void krt_mem_freed_forget(struct krt_memory *m, uint64_t from, uint64_t end)
{
	freed_cut(m, from, end);
}

struct krt_mem *krt_mem_add(struct krt_memory *m, uint64_t base, uint64_t size,
			    enum krt_mem_kind kind, struct krt_space *space, uint64_t space_off,
			    const struct krt_call *c)
{
	struct krt_mem *mem, *old;

	if (size > UINT64_MAX - base)
		return NULL;
	while ((old = krt_mem_from(m, base)) && old->node.key < base + (size ? size : 1))
		krt_mem_drop(m, old);
	if (size)
		freed_cut(m, base, base + size);
	mem = krt_heap_alloc(m->heap, sizeof(*mem));
	if (!mem)
		return NULL;
	mem->node.key = base;
	mem->size = size;
	mem->kind = kind;
	mem->serial = ++m->serial;
	mem->space = space;
	mem->space_off = space_off;
	if (space)
		space->refs++;
	else
		mem->space = space_new(m);
	if (!mem->space) {
		krt_heap_free(m->heap, mem, sizeof(*mem));
		return NULL;
	}
	if (c) {
		origin_set(&mem->made, c);
		mem->born = c->rec->t1;
	}
	krt_tree_insert(&m->live, &mem->node);
	return mem;
}

static void name_drop(struct krt_memory *m, struct krt_name *n)
{
	krt_tree_remove(&m->names, &n->node);
	krt_heap_freestr(m->heap, n->text);
	krt_heap_free(m->heap, n, sizeof(*n));
}

static void names_drop(struct krt_memory *m, uint64_t from, uint64_t end, bool longer)
{
	struct krt_name *n = name_of(krt_tree_ceil(&m->names, from));

	while (n && n->node.key < end) {
		struct krt_name *next = name_of(krt_tree_next(&n->node));

		if (longer || n->size <= end - n->node.key)
			name_drop(m, n);
		n = next;
	}
}

void krt_names_drop(struct krt_memory *m, uint64_t from, uint64_t end)
{
	names_drop(m, from, end, false);
}

static void mem_unlink(struct krt_memory *m, struct krt_mem *mem)
{
	owner_end(m, &mem->owner); /* while it has its name */
	if (mem->kind == KRT_MEM_ARRAY) {
		struct krt_heap *heap = m->heap;

		(void)heap;
		HASH_DELETE(hh, m->arrays, mem);
		return;
	}
	unseen(m, mem);
	krt_tree_remove(&m->live, &mem->node);
	krt_blocks_gone(m, mem->node.key, mem->node.key + mem->size);
	names_drop(m, mem->node.key, mem->node.key + mem->size, true);
}

void krt_mem_drop(struct krt_memory *m, struct krt_mem *mem)
{
	mem_unlink(m, mem);
	mem_destroy(m, mem);
}

void krt_mem_retire(struct krt_memory *m, struct krt_mem *mem, const struct krt_call *c,
		    struct krt_op_info *op)
{
	mem_unlink(m, mem);
	origin_set(&mem->freed, c);
	mem_release(m, mem);
	if (op) {
		krt_op_ref(op);
		mem->free_op = op;
	}
	if (mem->kind == KRT_MEM_ARRAY || !freed_link(m, mem))
		mem_destroy(m, mem);
}

/* --- arrays ------------------------------------------------------------------ */

struct krt_mem *krt_array_get(struct krt_memory *m, uint64_t handle)
{
	struct krt_mem *mem;

	HASH_FIND(hh, m->arrays, &handle, sizeof(handle), mem);
	return mem;
}

struct krt_mem *krt_array_add(struct krt_memory *m, uint64_t handle, const struct krt_call *c)
{
	struct krt_heap *heap = m->heap;
	struct krt_mem *mem = krt_array_get(m, handle);

	if (mem)
		krt_mem_drop(m, mem);
	mem = krt_heap_alloc(heap, sizeof(*mem));
	if (!mem)
		return NULL;
	mem->kind = KRT_MEM_ARRAY;
	mem->handle = handle;
	mem->node.key = handle;
	mem->size = UINT64_MAX;
	mem->serial = ++m->serial;
	mem->space = space_new(m);
	if (c)
		origin_set(&mem->made, c);
	if (mem->space)
		HASH_ADD(hh, m->arrays, handle, sizeof(mem->handle), mem);
	if (mem->hh.tbl)
		return mem;
	mem_destroy(m, mem);
	return NULL;
}

/* --- physical allocations ------------------------------------------------------ */

struct krt_phys *krt_phys_get(struct krt_memory *m, uint64_t handle, bool make,
			      const struct krt_call *c)
{
	struct krt_heap *heap = m->heap;
	struct krt_phys *p;

	HASH_FIND(hh, m->phys, &handle, sizeof(handle), p);
	if (p || !make)
		return p;
	p = krt_heap_alloc(heap, sizeof(*p));
	if (!p)
		return NULL;
	p->handle = handle;
	p->space = space_new(m);
	if (c)
		origin_set(&p->made, c);
	if (p->space)
		HASH_ADD(hh, m->phys, handle, sizeof(p->handle), p);
	if (p->hh.tbl)
		return p;
	space_put(m, p->space);
	krt_heap_free(heap, p, sizeof(*p));
	return NULL;
}

/* The handle is released; mappings keep the space. */
void krt_phys_put(struct krt_memory *m, struct krt_phys *p)
{
	struct krt_heap *heap = m->heap;

	HASH_DELETE(hh, m->phys, p);
	space_put(m, p->space);
	krt_heap_free(heap, p, sizeof(*p));
}

/* --- names --------------------------------------------------------------------- */

void krt_name_set(struct krt_memory *m, uint64_t base, uint64_t size, const char *text, size_t len)
{
	struct krt_name *n = name_of(krt_tree_floor(&m->names, base));

	if (!size || size > UINT64_MAX - base || m->names.count >= KRT_NAMES_MAX)
		return;
	if (n && n->node.key == base)
		name_drop(m, n);
	n = krt_heap_alloc(m->heap, sizeof(*n));
	if (!n)
		return;
	n->node.key = base;
	n->size = size;
	n->text = krt_heap_strndup(m->heap, text, strnlen(text, len));
	if (n->text)
		krt_tree_insert(&m->names, &n->node);
	else
		krt_heap_free(m->heap, n, sizeof(*n));
}

/* The narrowest is the one that begins last; a few are tried. */
const char *krt_name_at(const struct krt_memory *m, uint64_t addr)
{
	struct krt_name *n = name_of(krt_tree_floor(&m->names, addr));

	for (unsigned i = 0; n && i < 64; i++) {
		if (addr - n->node.key < n->size)
			return n->text;
		n = name_of(krt_tree_prev(&n->node));
	}
	return NULL;
}

void krt_memory_free(struct krt_memory *m)
{
	struct krt_heap *heap = m->heap;
	struct krt_phys *p, *ptmp;
	struct krt_mem *a, *atmp;
	struct krt_node *n;

	while ((n = krt_tree_first(&m->live)))
		krt_mem_drop(m, mem_of(n));
	while (m->freed_oldest) {
		a = m->freed_oldest;
		freed_unlink(m, a);
		mem_destroy(m, a);
	}
	krt_pools_free(m);
	while ((n = krt_tree_first(&m->names)))
		name_drop(m, name_of(n));
	HASH_ITER (hh, m->arrays, a, atmp)
		krt_mem_drop(m, a);
	HASH_ITER (hh, m->phys, p, ptmp)
		krt_phys_put(m, p);
	(void)heap;
	krt_users_clear(m->heap, &m->pageable.users);
	krt_users_clear(m->heap, &m->unknown.users);
	krt_space_clear(m->heap, &m->pageable_space);
	krt_space_clear(m->heap, &m->unknown_space);
}
