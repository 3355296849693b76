/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of templates: what each touches, settled when it is made, with the
 * owners that its addresses have then.  See graph.h.
 */
#include "demangle.h"
#include "engine_int.h"
#include "mix.h"
#include "ptx/flow.h"
#include "../interposer/cuabi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 4096 /* of one access that leaves its allocation */

/* --- owners ----------------------------------------------------------------------------- */

static struct krt_owner *owner_new(struct krt_engine *e)
{
	struct krt_owner *o = krt_heap_alloc(&e->heap, sizeof(*o));

	if (o) {
		o->refs = 1;
		o->serial = ++e->graphs.owners.serial;
	}
	return o;
}

static struct krt_owner *owner_ref(struct krt_owner *o)
{
	o->refs++;
	return o;
}

static void into_index(struct krt_owners *all, enum krt_owner_where where, struct krt_owner *o)
{
	struct krt_tree *t = &all->index[where].of_size[krt_owner_class(o->size)];
	struct krt_owner *first;

	if (o->in)
		return;
	o->in = &all->index[where];
	o->in->count++;
	o->node.key = o->base;
	o->same = o->same_prev = NULL;
	if (krt_tree_insert(t, &o->node))
		return;
	first = krt_entry(krt_tree_floor(t, o->base), struct krt_owner, node);
	o->same_prev = first;
	o->same = first->same;
	if (o->same)
		o->same->same_prev = o;
	first->same = o;
}

void krt_owners_each(struct krt_owners *all, enum krt_owner_where where, uint64_t from, uint64_t end,
		     void (*fn)(void *user, struct krt_owner *o), void *user)
{
	for (unsigned class = 0; all->index[where].count && end && class < 64; class++) {
		struct krt_tree *t = &all->index[where].of_size[class];
		struct krt_node *n = t->count ? krt_tree_floor(t, end - 1) : NULL, *prev;

		/* none is twice as long as its class is named for */
		for (; n && (n->key >= from || (from - n->key) >> class < 2); n = prev) {
			struct krt_owner *o = krt_entry(n, struct krt_owner, node), *next;

			prev = krt_tree_prev(n);
			for (; o; o = next) {
				next = o->same;
				if (o->base < end && (o->base >= from || from - o->base < o->size))
					fn(user, o);
			}
		}
	}
}

static struct krt_owner *owner_of_mem(struct krt_engine *e, struct krt_mem *m)
{
	struct krt_owner *o = m->owner;
	const char *name;

	if (o)
		return owner_ref(o);
	o = owner_new(e);
	if (!o)
		return NULL;
	o->kind = m->kind;
	o->base = m->node.key;
	o->size = m->size;
	o->made = m->made;
	if (m->space) {
		o->space = m->space->id;
		o->off = m->space_off;
	} else { /* freed before */
		o->ended = true;
		o->freed = m->freed;
	}
	name = m->kind == KRT_MEM_ARRAY ? NULL : krt_name_at(&e->mem, m->node.key);
	if (name)
		o->name = krt_heap_strdup(&e->heap, name);
	m->owner = owner_ref(o);
	return o;
}

static struct krt_owner *owner_of_block(struct krt_engine *e, struct krt_block *b,
					const struct krt_mem *m)
{
	struct krt_owner *o = b->owner;
	const char *name;

	if (o)
		return owner_ref(o);
	o = owner_new(e);
	if (!o)
		return NULL;
	o->block = true;
	o->kind = m->kind;
	o->base = b->node.key;
	o->size = b->size;
	o->made = b->made;
	o->capture = b->capture;
	o->space = m->space->id;
	o->off = m->space_off + (b->node.key - m->node.key);
	name = krt_name_at(&e->mem, b->node.key);
	if (name)
		o->name = krt_heap_strdup(&e->heap, name);
	b->owner = owner_ref(o);
	return o;
}

static struct krt_owner *owner_of_heap(struct krt_engine *e, uint64_t base, uint64_t size)
{
	struct krt_owner_index *in = &e->graphs.owners.index[KRT_OWNERS_HEAP];
	struct krt_node *n = krt_tree_floor(&in->of_size[krt_owner_class(size)], base);
	struct krt_owner *o = n && n->key == base ? krt_entry(n, struct krt_owner, node) : NULL;

	while (o && o->size != size)
		o = o->same;
	if (o)
		return owner_ref(o);
	o = owner_new(e);
	if (!o)
		return NULL;
	o->kind = KRT_MEM_PAGEABLE;
	o->base = base;
	o->size = size;
	o->space = KRT_SPACE_PAGEABLE;
	o->off = base;
	into_index(&e->graphs.owners, KRT_OWNERS_HEAP, o);
	return o;
}

/* A call that makes memory where some was, says that the end was not told. */
static bool tells_end(const struct krt_call *c)
{
	switch (c->op) {
	case KRT_OP_NOTE_BLOCK_ALLOC:
	case KRT_OP_ALLOC:
	case KRT_OP_ALLOC_PITCH:
	case KRT_OP_ALLOC_MANAGED:
	case KRT_OP_ALLOC_ASYNC:
	case KRT_OP_HOST_ALLOC:
	case KRT_OP_HOST_REGISTER:
	case KRT_OP_HOST_DEVPTR:
	case KRT_OP_VMM_MAP:
	case KRT_OP_MODULE_GLOBAL:
		return false;
	default:
		return true;
	}
}

/* Takes over the reference that the memory had. */
void krt_owner_ends(void *engine, struct krt_owner *o)
{
	struct krt_engine *e = engine;
	const char *name = o->kind == KRT_MEM_ARRAY ? NULL : krt_name_at(&e->mem, o->base);

	if (!o->ended) {
		o->ended = true;
		if (e->call && tells_end(e->call))
			o->freed = (struct krt_origin){.api = e->call->rec->api,
						       .seq = e->call->rec->t0,
						       .stack = e->call->rec->stack};
		if (name) { /* it may have got another one since */
			krt_heap_freestr(&e->heap, o->name);
			o->name = krt_heap_strdup(&e->heap, name);
		}
		if (o->block && o->capture)
			into_index(&e->graphs.owners, KRT_OWNERS_LOOSE, o);
		else if (!o->block && o->kind == KRT_MEM_MAPPED)
			into_index(&e->graphs.owners, KRT_OWNERS_MAPPED, o);
		if (!o->block || !o->capture)
			krt_footprint_mark(o);
	}
	krt_owner_unref(&e->graphs.owners, o);
}

void krt_owner_buffer(const struct krt_owner *o, uint64_t from, uint64_t end, struct krt_buffer *b)
{
	memset(b, 0, sizeof(*b));
	b->kind = krt_mem_kind_name(o->kind);
	b->name = o->name;
	b->base = o->base < KRT_VARIABLE_BASE ? o->base : 0;
	b->size = o->size;
	if (from < end) {
		b->offset = o->kind == KRT_MEM_ARRAY ? from : from - o->base;
		b->len = end - from;
	}
	if (o->made.seq) {
		b->allocated_by = krt_api_text(o->made.api);
		b->allocated_seq = o->made.seq;
	}
	if (o->freed.seq) {
		b->freed_by = krt_api_text(o->freed.api);
		b->freed_seq = o->freed.seq;
	}
}

/* --- sets ------------------------------------------------------------------------------------ */

struct build {
	struct krt_engine *e;
	const struct krt_call *c;
	const struct krt_graph_image *g; /* or NULL */
	struct krt_gset *set;
};

/* Memory that a graph allocates itself: where it ends, 0: it is none. */
static uint64_t own_range(const struct build *b, uint64_t addr, uint64_t *from)
{
	const struct krt_gmem *m = b->g ? krt_graph_image_mem(b->g, addr) : NULL;
	struct krt_node *n;
	struct krt_gentry *t;

	if (m) {
		*from = m->addr;
		return m->addr + m->bytes;
	}
	n = krt_tree_floor(&b->e->graphs.own, addr);
	if (!n)
		return 0;
	t = krt_entry(n, struct krt_gentry, own);
	*from = n->key;
	return addr - n->key < t->bytes ? n->key + t->bytes : 0;
}

static uint64_t own_end(const struct build *b, uint64_t addr)
{
	uint64_t from;

	return own_range(b, addr, &from);
}

static struct krt_gaccess *push(struct build *b, const struct krt_gaccess *proto)
{
	struct krt_gset *s = b->set;

	if (!krt_heap_grow(&b->e->heap, &s->access, &s->cap, s->n, sizeof(*s->access)))
		return NULL;
	s->access[s->n] = *proto;
	return &s->access[s->n++];
}

/* a->addr lies in mem. */
static void owned(struct build *b, struct krt_gaccess *a, struct krt_mem *mem)
{
	struct krt_block *k = mem->kind == KRT_MEM_ARRAY ? NULL : krt_block_at(&b->e->mem, a->addr);

	a->host = mem->kind == KRT_MEM_PINNED || mem->kind == KRT_MEM_REGISTERED;
	a->space = mem->space->id;
	a->key = krt_mem_key(mem, a->addr);
	a->owner = owner_of_mem(b->e, mem);
	if (k)
		a->block = owner_of_block(b->e, k, mem);
}

/* One row: split where the memory changes. */
static void add_line(struct build *b, const struct krt_gaccess *proto, uint64_t addr, uint64_t len)
{
	uint64_t end = len > UINT64_MAX - addr ? UINT64_MAX : addr + len;

	while (addr < end && !b->e->heap.failed) {
		struct krt_gaccess *a = push(b, proto);
		struct krt_mem *mem, *freed;
		uint64_t to, own = own_end(b, addr);

		if (!a)
			return;
		a->addr = addr;
		a->rows = a->slices = 1;
		mem = krt_piece_at(b->e, addr, end, &to);
		freed = mem || own ? NULL : krt_mem_freed_at(&b->e->mem, addr);
		if (mem) {
			owned(b, a, mem);
		} else if (own) {
			a->space = KRT_SPACE_GRAPH;
			a->key = addr;
			a->host = false;
			if (own < to)
				to = own;
		} else if (freed && freed->of_graph) { /* there when a launch has allocated it */
			a->space = KRT_SPACE_GRAPH;
			a->key = addr;
			a->host = false;
			if (freed->node.key + freed->size < to)
				to = freed->node.key + freed->size;
		} else if (freed && !proto->host) { /* dead from the start: nowhere */
			a->owner = owner_of_mem(b->e, freed);
			if (freed->node.key + freed->size < to)
				to = freed->node.key + freed->size;
		} else {
			a->space = proto->host ? KRT_SPACE_PAGEABLE : KRT_SPACE_UNKNOWN;
			a->key = addr;
			if (proto->host)
				a->owner = owner_of_heap(b->e, addr, to - addr);
		}
		a->width = a->pitch = a->slice_pitch = to - addr;
		addr = to;
	}
}

static uint64_t shape_end(const struct krt_shape *s)
{
	return s->addr + (s->slices - 1) * s->slice_pitch + (s->rows - 1) * s->pitch + s->width;
}

static void add_shape(struct build *b, struct krt_gaccess *proto, struct krt_shape s)
{
	struct krt_mem *mem;
	uint64_t rows = 0;

	if (!s.width || !s.rows || !s.slices)
		return;
	krt_shape_join(&s);
	proto->host = s.host;
	if (!s.array && s.rows == 1 && s.slices == 1) {
		add_line(b, proto, s.addr, s.width);
		return;
	}
	mem = s.array ? s.array : krt_mem_at(&b->e->mem, s.addr);
	if (mem && (s.array || shape_end(&s) <= mem->node.key + mem->size)) {
		struct krt_gaccess *a = push(b, proto);

		if (!a)
			return;
		a->addr = s.addr;
		a->width = s.width;
		a->rows = s.rows;
		a->pitch = s.pitch;
		a->slices = s.slices;
		a->slice_pitch = s.slice_pitch;
		owned(b, a, mem);
		return;
	}
	for (uint64_t z = 0; z < s.slices; z++)
		for (uint64_t y = 0; y < s.rows; y++) {
			if (rows++ == ROWS_MAX) {
				krt_reason(b->e, KRT_REASON_ROWS, "a node of a graph");
				return;
			}
			add_line(b, proto, s.addr + z * s.slice_pitch + y * s.pitch, s.width);
		}
}

static void add_copy(struct build *b, const void *payload, uint32_t len)
{
	struct krt_bytes params = {.data = payload, .len = len};
	struct krt_gaccess a = {.kind = KRT_ACC_READ, .know = KRT_KNOW_API,
				.role = KRT_GROLE_COPY_SRC};
	struct krt_shape dst, src;

	if (!krt_copy_node(b->e, b->c, &params, &dst, &src))
		return;
	add_shape(b, &a, src);
	a.kind = KRT_ACC_WRITE;
	a.role = KRT_GROLE_COPY_DST;
	add_shape(b, &a, dst);
}

/* CUDA_MEMSET_NODE_PARAMS, of both versions */
struct set_params {
	uint64_t dst, pitch;
	uint32_t value, element;
	uint64_t width, height;
};

static bool set_shape(const void *payload, uint32_t len, struct krt_shape *s)
{
	struct set_params p;
	uint64_t n;

	if (len < sizeof(p))
		return false;
	memcpy(&p, payload, sizeof(p));
	*s = (struct krt_shape){
		.addr = p.dst, .rows = p.height ? p.height : 1, .pitch = p.pitch, .slices = 1};
	return !__builtin_mul_overflow(p.width, (uint64_t)p.element, &s->width) &&
	       !__builtin_mul_overflow(s->rows - 1, s->pitch, &n) &&
	       !__builtin_add_overflow(n, s->width, &n) &&
	       !__builtin_add_overflow(n, s->addr, &n);
}

static void add_set(struct build *b, const void *payload, uint32_t len)
{
	struct krt_gaccess a = {
		.kind = KRT_ACC_WRITE, .know = KRT_KNOW_API, .role = KRT_GROLE_SET};
	struct krt_shape s;

	if (set_shape(payload, len, &s))
		add_shape(b, &a, s);
}

static void add_host_function(struct build *b, const void *payload)
{
	struct krt_gaccess a = {.kind = KRT_ACC_UNKNOWN,
				.know = KRT_KNOW_WORD,
				.role = KRT_GROLE_HOSTFN,
				.sure = KRT_SURE_FROM,
				.host = true};
	uint64_t v[2];

	memcpy(v, payload, sizeof(v));
	if (v[1] > 4096)
		add_line(b, &a, v[1], 1);
}

static void add_memops(struct build *b, const void *payload, uint32_t len)
{
	struct krt_gaccess a = {
		.kind = KRT_ACC_UNKNOWN, .know = KRT_KNOW_API, .role = KRT_GROLE_MEMOP};
	CUstreamBatchMemOpParams m;
	uint64_t n;

	memcpy(&n, payload, 8);
	for (uint64_t at = 8; n-- && at + sizeof(m) <= len; at += sizeof(m)) {
		memcpy(&m, (const char *)payload + at, sizeof(m));
		b->set->waits |= m.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
				 m.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
		switch (m.operation) {
		case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		case CU_STREAM_MEM_OP_WAIT_VALUE_32:
			add_line(b, &a, m.writeValue.address, 4);
			break;
		case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		case CU_STREAM_MEM_OP_WAIT_VALUE_64:
			add_line(b, &a, m.writeValue.address, 8);
			break;
		default:
			break;
		}
	}
}

/* --- kernels --- */

static void pattern_add(struct build *b, struct krt_gaccess *a, const struct krt_pattern *p)
{
	if (!krt_pattern_gaps(p))
		return;
	a->gaps = krt_heap_alloc(&b->e->heap, sizeof(*a->gaps));
	if (!a->gaps)
		return;
	*a->gaps = *p;
	/* of addresses, so far */
	a->gaps->lo += a->key - a->addr;
	a->gaps->hi += a->key - a->addr;
	a->gaps->at += a->key - a->addr;
}

/*
 * Bytes with gaps that may be touched.  Where they do not lie in one piece of memory
 * the gaps do not count.
 */
static void add_pattern(struct build *b, const struct krt_gaccess *proto,
			const struct krt_pattern *p)
{
	uint32_t n = b->set->n;

	add_line(b, proto, p->lo, p->hi - p->lo);
	if (b->set->n == n + 1 && !b->e->heap.failed)
		pattern_add(b, &b->set->access[n], p);
}

/* Rows that are all touched, but those that the allocation's end cuts off. */
static void add_rows_cut(struct build *b, const struct krt_gaccess *proto,
			 const struct krt_shape *s, const struct krt_pattern *p)
{
	for (uint64_t y = 0; y < s->rows && y < ROWS_MAX; y++) {
		uint64_t from = s->addr + y * s->pitch, end = from + s->width;

		from = from < p->lo ? p->lo : from;
		end = end > p->hi ? p->hi : end;
		if (from < end)
			add_line(b, proto, from, end - from);
	}
}

static void kernel_access(void *user, const struct krt_kernel_access *k)
{
	struct build *b = user;
	struct krt_gaccess a = {
		.kind = (uint8_t)k->kind,
		.know = (uint8_t)k->know,
		.role = KRT_GROLE_KERNEL,
		.sure = (uint8_t)(k->len ? k->sure : KRT_SURE_FROM),
		.base = k->base,
		.held = k->within > 8,
		.stray = k->know == KRT_KNOW_WORD &&
			 (k->within > KRT_LIST_FROM || (!k->pure && k->within > KRT_MIXED_FROM))};
	bool array = k->mem && k->mem->kind == KRT_MEM_ARRAY;
	uint64_t off = k->mem && !array ? k->mem->node.key : 0, own, from;
	uint64_t len = k->rows > 1 ? (k->rows - 1) * k->pitch + k->len : k->len;
	bool cut = k->from < k->end, pieces = k->stride > k->width && k->width;
	struct krt_pattern p = {.lo = (cut ? k->from : k->addr) + off,
				.hi = (cut ? k->end : k->addr + len) + off,
				.at = k->addr + off,
				.pitch = k->pitch,
				.row = k->len,
				.rows = k->rows,
				.stride = pieces ? k->stride : k->len,
				.width = pieces ? k->width : k->len};
	struct krt_shape s = {.addr = k->addr + off,
			      .width = k->len,
			      .rows = k->rows > 1 ? k->rows : 1,
			      .pitch = k->rows > 1 ? k->pitch : k->len,
			      .slices = 1,
			      .array = array ? k->mem : NULL};

	if (k->loaded) {
		/* at the launch other pointers may lie there */
		b->set->opaque = true;
		b->set->wild |= k->kind != KRT_ACC_READ;
		return;
	}
	if (!k->len && !array) {
		/* a word inside a larger parameter counts where it led to something alive */
		if (k->know != KRT_KNOW_WORD || krt_mem_at(&b->e->mem, s.addr) ||
		    own_end(b, s.addr))
			add_line(b, &a, s.addr, 1);
	} else if (!k->len || (k->sure == KRT_SURE_ALL && !pieces)) {
		s.width = k->len ? k->len : 1;
		s.slice_pitch = (s.rows - 1) * s.pitch + s.width;
		if (s.rows > 1 && (p.lo > s.addr || p.hi < s.addr + s.slice_pitch))
			add_rows_cut(b, &a, &s, &p);
		else
			add_shape(b, &a, s);
	} else if (array) {
		s.addr = p.lo;
		s.width = s.pitch = s.slice_pitch = p.hi - p.lo;
		s.rows = 1;
		add_shape(b, &a, s);
	} else {
		own = k->base ? own_range(b, k->base, &from) : 0;
		if (own) {
			p.lo = p.lo < from ? from : p.lo;
			p.hi = p.hi > own ? own : p.hi;
		}
		if (p.lo < p.hi)
			add_pattern(b, &a, &p);
	}
}

static bool is_memory(void *user, uint64_t addr)
{
	struct build *b = user;

	return krt_mem_at(&b->e->mem, addr) || own_end(b, addr) ||
	       krt_mem_freed_at(&b->e->mem, addr);
}

static bool kernel_params(const void *payload, uint32_t len, struct krt_kernel_params *p)
{
	struct krt_node_kernel k;
	struct krt_params head;

	memset(p, 0, sizeof(*p));
	if (len < sizeof(k) + sizeof(head))
		return false;
	memcpy(&k, payload, sizeof(k));
	memcpy(&head, (const char *)payload + sizeof(k), sizeof(head));
	p->kernel = head.kernel;
	memcpy(p->grid, k.grid, sizeof(p->grid));
	memcpy(p->block, k.block, sizeof(p->block));
	p->shared = k.shared;
	if (head.len != KRT_PARAMS_UNKNOWN && head.len <= len - sizeof(k) - sizeof(head)) {
		p->bytes = (const uint8_t *)payload + sizeof(k) + sizeof(head);
		p->len = head.len;
		p->known = true;
	}
	return true;
}

static void add_kernel(struct build *b, const void *payload, uint32_t len, uint64_t ctx,
		       struct krt_stream_info *s)
{
	struct krt_node_kernel k;
	struct krt_kernel_params p;
	enum krt_tier tier;
	struct krt_kernel_ask ask = {
		.call = b->c, .stream = s, .is_memory = is_memory, .fn = kernel_access, .user = b};

	if (!kernel_params(payload, len, &p)) {
		b->set->opaque = b->set->wild = true;
		return;
	}
	memcpy(&k, payload, sizeof(k));
	b->set->kernel = p.kernel;
	b->set->coop = k.coop;
	if (s)
		ask.ctx = s->ctx;
	else
		HASH_FIND(hh, b->e->obj.contexts, &ctx, sizeof(ctx), ask.ctx);
	tier = krt_kernel_accesses(b->e, &p, &ask);
	b->set->opaque |= ask.opaque;
	b->set->wild |= ask.wild;
	b->set->waits = ask.waits;
	if (tier == KRT_TIER_RANGE ||
	    tier == KRT_TIER_ROLE) { /* of others the PTX may not be known */
		b->set->triggers = ask.flags & KRT_FLOW_PDL_LAUNCH;
		b->set->goes = !(ask.flags & (KRT_FLOW_PDL_WAIT | KRT_FLOW_UNKNOWN_CALL |
					      KRT_FLOW_UNKNOWN_INST));
	}
	b->set->large = ask.writes;
	b->set->spins = ask.flags & KRT_FLOW_SPINS;
	b->set->locks = ask.flags & KRT_FLOW_LOCKS;
	b->set->ordered = ask.flags & KRT_FLOW_ORDERED;
}

static uint64_t hash_shape(uint64_t h, const struct krt_shape *s)
{
	h = krt_mix(krt_mix(krt_mix(h, s->addr), s->width), s->rows);
	return krt_mix(krt_mix(krt_mix(krt_mix(h, s->pitch), s->slices), s->slice_pitch),
		   s->array ? s->array->handle : 0);
}

/* Of what the parameters mean, so that it is the same by whatever query they were read. */
static uint64_t hash_of(struct krt_engine *e, const struct krt_call *c, unsigned type,
			const void *payload, uint32_t len)
{
	uint64_t h = krt_mix(0, type);
	struct krt_bytes params = {.data = payload, .len = len};
	struct krt_kernel_params p;
	struct krt_shape dst, src;

	switch (type) {
	case KRT_GNODE_KERNEL:
		if (!kernel_params(payload, len, &p))
			return h;
		h = krt_mix(h, p.kernel);
		h = krt_mix_bytes(krt_mix_bytes(h, p.grid, sizeof(p.grid)), p.block,
				  sizeof(p.block));
		h = krt_mix(h, p.shared);
		return p.known ? krt_mix_bytes(h, p.bytes, p.len) : h;
	case KRT_GNODE_MEMCPY:
		return krt_copy_node(e, c, &params, &dst, &src)
			       ? hash_shape(hash_shape(h, &dst), &src)
			       : h;
	case KRT_GNODE_MEMSET:
		return set_shape(payload, len, &dst) ? hash_shape(h, &dst) : h;
	case KRT_GNODE_GRAPH: /* the nodes inside have sets of their own */
	case KRT_GNODE_CONDITIONAL:
		return h;
	default:
		return krt_mix_bytes(h, payload, len);
	}
}

struct krt_gset *krt_gset_ref(struct krt_gset *s)
{
	s->refs++;
	return s;
}

struct krt_gset *krt_gset_new(struct krt_engine *e, const struct krt_call *c,
			      const struct krt_graph_image *g, unsigned type, uint64_t ctx,
			      const void *payload, uint32_t len, struct krt_stream_info *s)
{
	struct krt_gset *set = krt_heap_alloc(&e->heap, sizeof(*set));
	struct build b = {.e = e, .c = c, .g = g, .set = set};
	struct krt_lane *l = krt_call_lane(e, c->lane);

	if (!set)
		return NULL;
	set->refs = 1;
	set->owners = &e->graphs.owners;
	set->hash = hash_of(e, c, type, payload, len);
	set->made = (struct krt_origin){
		.api = c->rec->api, .seq = c->rec->t0, .stack = c->rec->stack};
	set->thread = l ? l->thread : 0;
	set->waits = type == KRT_GNODE_SEMAS_WAIT;
	if (!len)
		return set;
	switch (type) {
	case KRT_GNODE_KERNEL:
		add_kernel(&b, payload, len, ctx, s);
		break;
	case KRT_GNODE_MEMCPY:
		add_copy(&b, payload, len);
		break;
	case KRT_GNODE_MEMSET:
		add_set(&b, payload, len);
		break;
	case KRT_GNODE_HOST:
		add_host_function(&b, payload);
		break;
	case KRT_GNODE_BATCH_MEM_OP:
		add_memops(&b, payload, len);
		break;
	case KRT_GNODE_WAIT_EVENT:
	case KRT_GNODE_EVENT_RECORD:
		if (len >= sizeof(set->event))
			memcpy(&set->event, payload, sizeof(set->event));
		break;
	default:
		break;
	}
	for (uint32_t i = 0; i < set->n && type != KRT_GNODE_KERNEL; i++)
		set->large |= set->access[i].width * set->access[i].rows * set->access[i].slices >
			      KRT_FLAG_BYTES;
	if (!e->heap.failed)
		return set;
	krt_gset_unref(set);
	return NULL;
}

/* --- the store --------------------------------------------------------------------------------- */

static struct krt_gentry *entry_get(struct krt_engine *e, uint64_t handle)
{
	struct krt_gentry *t;

	HASH_FIND(hh, e->graphs.nodes, &handle, sizeof(handle), t);
	return t;
}

static struct krt_gtemplate *template_get(struct krt_engine *e, uint64_t handle, bool make)
{
	struct krt_heap *heap = &e->heap;
	struct krt_gtemplate *t;

	HASH_FIND(hh, e->graphs.templates, &handle, sizeof(handle), t);
	if (t || !make)
		return t;
	t = krt_heap_alloc(heap, sizeof(*t));
	if (!t)
		return NULL;
	t->handle = handle;
	HASH_ADD(hh, e->graphs.templates, handle, sizeof(t->handle), t);
	if (t->hh.tbl)
		return t;
	krt_heap_free(heap, t, sizeof(*t));
	return NULL;
}

static void own_drop(struct krt_engine *e, struct krt_gentry *t)
{
	if (t->bytes)
		krt_tree_remove(&e->graphs.own, &t->own);
	t->bytes = 0;
}

static void entry_drop(struct krt_engine *e, struct krt_gentry *t)
{
	struct krt_heap *heap = &e->heap;
	struct krt_gtemplate *g = template_get(e, t->graph, false);

	if (t->prev)
		t->prev->next = t->next;
	else if (g && g->first == t)
		g->first = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else if (g && g->last == t)
		g->last = t->prev;
	own_drop(e, t);
	krt_gset_unref(t->set);
	HASH_DELETE(hh, e->graphs.nodes, t);
	krt_heap_free(heap, t, sizeof(*t));
}

static void template_drop(struct krt_engine *e, uint64_t handle)
{
	struct krt_heap *heap = &e->heap;
	struct krt_gtemplate *g = template_get(e, handle, false), *k;

	while (g) {
		struct krt_gtemplate *next = g->drop;

		while (g->first)
			entry_drop(e, g->first);
		HASH_DELETE(hh, e->graphs.templates, g);
		/* copies that lie in its nodes */
		for (k = g->children ? e->graphs.templates : NULL; k; k = k->hh.next)
			if (k->parent == g->handle) {
				k->parent = 0;
				k->drop = next;
				next = k;
			}
		krt_heap_free(heap, g, sizeof(*g));
		g = next;
	}
}

/* Takes the reference to set; what the handle stood for before is forgotten. */
static void entry_put(struct krt_engine *e, uint64_t handle, uint64_t graph, unsigned type,
		      struct krt_gset *set)
{
	struct krt_heap *heap = &e->heap;
	struct krt_gtemplate *g = template_get(e, graph, true);
	struct krt_gentry *t = entry_get(e, handle);

	if (t)
		entry_drop(e, t);
	t = g && set && handle ? krt_heap_alloc(heap, sizeof(*t)) : NULL;
	if (!t) {
		krt_gset_unref(set);
		return;
	}
	t->handle = handle;
	t->graph = graph;
	t->type = (uint16_t)type;
	t->set = set;
	HASH_ADD(hh, e->graphs.nodes, handle, sizeof(t->handle), t);
	if (!t->hh.tbl) {
		krt_gset_unref(set);
		krt_heap_free(heap, t, sizeof(*t));
		return;
	}
	t->prev = g->last;
	if (g->last)
		g->last->next = t;
	else
		g->first = t;
	g->last = t;
}

static void own_put(struct krt_engine *e, uint64_t handle, const void *payload)
{
	struct krt_gentry *t = entry_get(e, handle);
	uint64_t v[2];

	memcpy(v, payload, sizeof(v));
	if (!t || !v[1] || v[1] > UINT64_MAX - v[0])
		return;
	t->own.key = v[0];
	t->bytes = v[1];
	if (!krt_tree_insert(&e->graphs.own, &t->own))
		t->bytes = 0;
}

/* --- nodes of copies of graphs: clones, child graphs --- */

struct of_hash {
	uint64_t hash;
	uint32_t place; /* in the list, or the image */
	struct krt_gset *set;
};

static int by_hash(const void *a, const void *b)
{
	const struct of_hash *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Does the template lie in the graph, or is it the graph? */
static bool inside(struct krt_engine *e, const struct krt_gtemplate *t, uint64_t graph)
{
	for (unsigned depth = 0; t && depth <= KRT_GDEPTH_MAX; depth++) {
		if (t->handle == graph)
			return true;
		t = t->parent ? template_get(e, t->parent, false) : NULL;
	}
	return false;
}

struct olds {
	struct of_hash *set;
	uint32_t n, cap;
};

static void old_add(struct krt_engine *e, struct olds *o, struct krt_gset *set)
{
	if (!set || !krt_heap_grow(&e->heap, &o->set, &o->cap, o->n, sizeof(*o->set)))
		return;
	o->set[o->n] =
		(struct of_hash){.hash = set->hash, .place = o->n, .set = krt_gset_ref(set)};
	o->n++;
}

/* The sets of a graph and of what lies in it; of an executable. */
static void olds_of(struct krt_engine *e, struct olds *o, uint64_t graph, const struct krt_exec *x)
{
	struct krt_gtemplate *first = graph ? template_get(e, graph, false) : NULL, *t;

	for (t = first && first->children ? e->graphs.templates : first; t; t = t->hh.next) {
		if (inside(e, t, graph))
			for (struct krt_gentry *k = t->first; k; k = k->next)
				old_add(e, o, k->set);
		if (!first->children)
			break;
	}
	for (uint32_t i = 0; x && x->set && i < x->image->nodes; i++)
		old_add(e, o, x->set[i]);
}

static void belongs(struct krt_engine *e, uint64_t graph, uint64_t to);

/*
 * Nodes of the image that are not known get the sets of nodes of the graph
 * `from`, or of the executable, with the same parameters, the first the first;
 * the others one of now.
 */
static void adopt(struct krt_engine *e, const struct krt_call *c, struct krt_graph_image *g,
		  uint64_t from, const struct krt_exec *x)
{
	struct olds o = {0};
	struct of_hash *old;
	uint32_t n, fresh = 0, at = 0;
	struct of_hash *new = krt_heap_alloc(&e->heap, ((size_t)g->nodes + 1) * sizeof(*new));

	olds_of(e, &o, from, x);
	old = o.set;
	n = o.n;
	for (uint32_t i = 0; new && i < g->nodes; i++)
		if (g->node[i].type != KRT_GNODE_END)
			new[fresh++] = (struct of_hash){
				.hash = hash_of(e, c, g->node[i].type, g->node[i].payload,
						g->node[i].len),
				.place = i};
	if (n)
		qsort(old, n, sizeof(*old), by_hash);
	if (fresh)
		qsort(new, fresh, sizeof(*new), by_hash);
	for (uint32_t i = 0; i < fresh && !e->heap.failed; i++) {
		struct krt_gnode *d = &g->node[new[i].place];
		const struct krt_gentry *known = entry_get(e, d->node);
		struct krt_gset *set;

		while (at < n && old[at].hash < new[i].hash)
			at++;
		if (g->graph == from && known && known->type == d->type &&
		    known->set->hash == new[i].hash)
			set = krt_gset_ref(known->set); /* moved, not copied */
		else if (at < n && old[at].hash == new[i].hash)
			set = krt_gset_ref(old[at++].set);
		else
			set = krt_gset_new(e, c, g, d->type, d->ctx, d->payload, d->len, NULL);
		entry_put(e, d->node, d->graph, d->type, set);
	}
	for (uint32_t i = 0; i < g->nodes; i++)
		if (g->node[i].holder != KRT_GNODE_NONE)
			belongs(e, g->node[i].graph, g->node[g->node[i].holder].graph);
	for (uint32_t i = 0; i < n; i++)
		krt_gset_unref(old[i].set);
	krt_heap_free(&e->heap, old, o.cap * sizeof(*old));
	krt_heap_free(&e->heap, new, ((size_t)g->nodes + 1) * sizeof(*new));
}

/* A graph inside a node of another goes with it; the body that a clone names is its original's. */
static void belongs(struct krt_engine *e, uint64_t graph, uint64_t to)
{
	struct krt_gtemplate *parent = to ? template_get(e, to, false) : NULL;
	struct krt_gtemplate *child =
		parent && graph && graph != to ? template_get(e, graph, true) : NULL;

	if (!child || child->parent || inside(e, parent, graph))
		return;
	child->parent = to;
	parent->children = true;
}

/* Of a conditional node: they get their nodes later. */
static void bodies(struct krt_engine *e, const struct krt_node_rec *r, uint64_t to)
{
	uint32_t at = sizeof(*r) + 16, n = 0;
	struct krt_graph_rec g;

	if (r->size >= at)
		memcpy(&n, (const char *)r + sizeof(*r) + 12, 4);
	for (; n && r->size - at >= sizeof(g); n--, at += g.size) {
		memcpy(&g, (const char *)r + at, sizeof(g));
		if (g.size < sizeof(g) || g.size > r->size - at)
			return;
		belongs(e, g.graph, to);
	}
}

/* The graph of a child node is a copy of the one that the program gave. */
static void adopt_child(struct krt_engine *e, const struct krt_call *c,
			const struct krt_node_rec *r, uint64_t graph)
{
	struct krt_exec *x = NULL;
	struct krt_graph_image *g;
	uint64_t from = c->handle;

	if (r->type == KRT_GNODE_CONDITIONAL)
		bodies(e, r, graph);
	if (r->type != KRT_GNODE_GRAPH || r->flags & KRT_NODE_UNREAD)
		return;
	g = krt_graph_image_new(&e->heap, r + 1, r->size - (uint32_t)sizeof(*r));
	if (!g)
		return;
	if (c->op == KRT_OP_GRAPH_LAUNCH)
		HASH_FIND(hh, e->graphs.execs, &c->exec, sizeof(c->exec), x);
	else if (!from && c->in.len >= 24) /* CUgraphNodeParams */
		from = krt_u64_at(&c->in, 2);
	if (g->graph != from)
		template_drop(e, g->graph); /* the handle is another graph's now */
	adopt(e, c, g, from, x);
	belongs(e, g->graph, graph);
	krt_graph_image_unref(g);
}

/* --- from calls --- */

static bool node_of(const struct krt_call *c, struct krt_node_rec *r)
{
	if (!c->node_rec.data || c->node_rec.len < sizeof(*r))
		return false;
	memcpy(r, c->node_rec.data, sizeof(*r));
	return r->size >= sizeof(*r) && r->size <= c->node_rec.len;
}

static uint32_t payload_len(const struct krt_node_rec *r)
{
	return r->flags & KRT_NODE_UNREAD ? 0 : r->size - (uint32_t)sizeof(*r);
}

static void node_made(struct krt_engine *e, const struct krt_call *c, uint64_t handle,
		      uint64_t graph, unsigned capture, struct krt_stream_info *s)
{
	const struct krt_node_rec *rec = c->node_rec.data;
	struct krt_node_rec r;
	struct krt_gset *set;

	if (!node_of(c, &r))
		return;
	if (!handle)
		handle = r.node;
	set = krt_gset_new(e, c, NULL, r.type, r.ctx, rec + 1, payload_len(&r), s);
	if (!set)
		return;
	set->capture = capture;
	set->stack = r.flags & KRT_NODE_STACK;
	entry_put(e, handle, graph, r.type, set);
	if (r.type == KRT_GNODE_MEM_ALLOC && payload_len(&r) >= 16)
		own_put(e, handle, rec + 1);
	adopt_child(e, c, rec, graph);
}

void krt_graph_captured(struct krt_engine *e, struct krt_stream_info *s)
{
	const struct krt_call *c = e->call;

	if (c && c->ok && c->node_rec.data)
		node_made(e, c, 0, c->capture ? c->capture->graph : 0, s->capture, s);
}

void krt_gnode_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_graph_image *g;
	struct krt_gentry *t;
	struct krt_node_rec r;

	switch (c->op) {
	case KRT_OP_GRAPH_CREATE:
		template_drop(e, c->out_handle); /* the handle is another graph's now */
		break;
	case KRT_OP_GRAPH_DESTROY:
		template_drop(e, c->graph);
		break;
	case KRT_OP_GRAPH_CLONE:
		template_drop(e, c->out_handle);
		g = c->graph_rec.data
			    ? krt_graph_image_new(&e->heap, c->graph_rec.data, c->graph_rec.len)
			    : NULL;
		if (!g)
			break;
		adopt(e, c, g, c->graph, NULL);
		krt_graph_image_unref(g);
		break;
	case KRT_OP_GRAPH_NODE_ADD:
		node_made(e, c, c->out_handle, c->graph, 0, NULL);
		break;
	case KRT_OP_GRAPH_NODE_SET:
		t = entry_get(e, c->node);
		if (node_of(c, &r))
			node_made(e, c, c->node, t ? t->graph : 0, 0, NULL);
		else if (t)
			entry_drop(e, t);
		break;
	case KRT_OP_GRAPH_NODE_DESTROY:
		t = entry_get(e, c->node);
		if (t)
			entry_drop(e, t);
		break;
	default:
		break;
	}
}

void krt_gnode_capture_end(struct krt_engine *e, const struct krt_call *c)
{
	if (!c->ok && c->capture && c->capture->graph &&
	    c->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		template_drop(e, c->capture->graph);
}

bool krt_graph_image_resolve(struct krt_engine *e, const struct krt_call *c,
			     struct krt_graph_image *g)
{
	for (uint32_t i = 0; i < g->nodes; i++) {
		struct krt_gnode *d = &g->node[i];
		struct krt_gentry *t;

		if (d->type == KRT_GNODE_END || d->set)
			continue;
		t = entry_get(e, d->node);
		if (t && t->type == d->type &&
		    t->set->hash == hash_of(e, c, d->type, d->payload, d->len)) {
			d->set = krt_gset_ref(t->set);
			continue;
		}
		d->set = krt_gset_new(e, c, g, d->type, d->ctx, d->payload, d->len, NULL);
		if (!d->set)
			return false;
		/* when and where it was made is not known, or when it got these parameters */
		d->set->made = t && t->type == d->type ? t->set->made : (struct krt_origin){0};
	}
	return !e->heap.failed;
}

void krt_gnodes_free(struct krt_engine *e)
{
	while (e->graphs.templates)
		template_drop(e, e->graphs.templates->handle);
}

struct krt_op_info krt_gset_op(unsigned type, const struct krt_gset *s)
{
	return (struct krt_op_info){.class = type == KRT_GNODE_KERNEL	? KRT_OPC_KERNEL
					     : type == KRT_GNODE_MEMCPY ? KRT_OPC_COPY
					     : type == KRT_GNODE_MEMSET ? KRT_OPC_SET
									: KRT_OPC_OTHER,
				    .kernel = s->kernel,
				    .spins = s->spins,
				    .locks = s->locks,
				    .ordered = s->ordered,
				    .large = s->large};
}

/* --- names ----------------------------------------------------------------------------------- */

const char *krt_gset_api(const struct krt_engine *e, unsigned type, const struct krt_gset *s,
			 char *buf, size_t len)
{
	const struct krt_kernel_info *k =
		s && s->kernel ? krt_kernel_get(&e->obj, s->kernel) : NULL;

	if (type == KRT_GNODE_KERNEL && k && *k->name)
		snprintf(buf, len, "kernel %s", k->name);
	else
		snprintf(buf, len, "%s node", krt_gnode_type_name(type));
	return buf;
}

const char *krt_gset_text(const struct krt_engine *e, unsigned type, const struct krt_gset *s,
			  char *buf, size_t len)
{
	const struct krt_kernel_info *k =
		s && s->kernel ? krt_kernel_get(&e->obj, s->kernel) : NULL;
	const char *how = "captured by";
	char name[KRT_SHORT_NAME] = "";
	int n;

	if (k)
		krt_demangle_short(k->name, name);
	n = snprintf(buf, len, "%s node%s%s", krt_gnode_type_name(type), k ? " " : "", name);
	if (!s || !s->made.seq || n < 0 || (size_t)n >= len)
		return buf;
	switch (krt_api[s->made.api].op) {
	case KRT_OP_GRAPH_NODE_ADD:
		how = "added by";
		break;
	case KRT_OP_GRAPH_NODE_SET:
	case KRT_OP_GRAPH_EXEC_SET:
	case KRT_OP_GRAPH_EXEC_UPDATE:
		how = "set by";
		break;
	default:
		break;
	}
	snprintf(buf + n, len - (size_t)n, " (%s %s #%" PRIu64 ")", how,
		 krt_api_text(s->made.api), s->made.seq);
	return buf;
}

const char *krt_gnode_text(const struct krt_engine *e, const struct krt_graph_image *g,
			   uint32_t node, char *buf, size_t len)
{
	return krt_gset_text(e, g->node[node].type, g->node[node].set, buf, len);
}

const char *krt_gnode_api(const struct krt_engine *e, const struct krt_graph_image *g, uint32_t node,
			  char *buf, size_t len)
{
	return krt_gset_api(e, g->node[node].type, g->node[node].set, buf, len);
}
