/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations and frees of every kind.
 *
 * A free is judged against what was enqueued before it; what comes after meets
 * the remembered range (touch.c).  Stream-ordered memory is freed by an
 * operation of its stream; ordinary memory by the host, after whatever the
 * driver waits for (a row of semantics.def, in force before the judgement: the
 * wait is inside the call).
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"

#include <string.h>

static struct krt_mem *add(struct krt_engine *e, const struct krt_call *c, uint64_t base,
			   uint64_t size, enum krt_mem_kind kind)
{
	struct krt_mem *m;

	if (!base)
		return NULL;
	m = krt_mem_add(&e->mem, base, size, kind, NULL, 0, c);
	if (m)
		m->ctx = krt_call_context(e, c);
	e->cov.allocations++;
	return m;
}

/*
 * The memory that a free names.  Another thread can be given the address, and
 * tell of it, before this call is told: what came of a call that ended after
 * this one began is not what this one frees.
 */
static struct krt_mem *named(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *m = krt_mem_base(&e->mem, c->addr);

	return m && c->rec->t0 < m->born ? NULL : m;
}

/* --- allocation ----------------------------------------------------------------------- */

static void alloc_async(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_op_info *op;
	struct krt_mem *m;

	/* In a capture it is memory of the graph: nothing exists yet. */
	if (!s || krt_capturing(e, s))
		return;
	op = krt_enqueue(e, c, s, KRT_OPC_ALLOC);
	if (!op)
		return;
	m = add(e, c, c->out_addr, c->bytes, KRT_MEM_POOL);
	if (m) {
		m->ctx = s->ctx;
		m->handle = c->pool;
		m->alloc_op = op;
	} else {
		krt_op_unref(&e->heap, op);
	}
}

static void host_devptr(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *m = krt_mem_at(&e->mem, c->addr), *alias;

	/* The same number on systems with unified addressing: nothing to add. */
	if (!m || !c->out_addr || krt_mem_at(&e->mem, c->out_addr) == m)
		return;
	/* the pointer may be into the middle: the alias begins there */
	alias = krt_mem_add(&e->mem, c->out_addr, m->node.key + m->size - c->addr, m->kind,
			    m->space, m->space_off + (c->addr - m->node.key), c);
	if (!alias)
		return;
	alias->alias = true;
	alias->ctx = m->ctx;
	alias->made = m->made;
}

unsigned krt_channel_bytes(unsigned format)
{
	static const uint8_t width[CU_AD_FORMAT_FLOAT + 1] = {
		[CU_AD_FORMAT_UNSIGNED_INT8] = 1,  [CU_AD_FORMAT_UNSIGNED_INT16] = 2,
		[CU_AD_FORMAT_UNSIGNED_INT32] = 4, [CU_AD_FORMAT_SIGNED_INT8] = 1,
		[CU_AD_FORMAT_SIGNED_INT16] = 2,   [CU_AD_FORMAT_SIGNED_INT32] = 4,
		[CU_AD_FORMAT_HALF] = 2,	   [CU_AD_FORMAT_FLOAT] = 4,
	};

	return format < sizeof(width) ? width[format] : 0;
}

static void array_create(struct krt_engine *e, const struct krt_call *c)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUDA_ARRAY_DESCRIPTOR flat;
	struct krt_mem *a;

	if (!c->out_handle)
		return;
	a = krt_array_add(&e->mem, c->out_handle, c);
	e->cov.allocations++;
	if (!a)
		return;
	a->ctx = krt_call_context(e, c);
	if (c->array_desc.len >= sizeof(d)) {
		memcpy(&d, c->array_desc.data, sizeof(d));
	} else if (c->array_desc.len >= sizeof(flat)) {
		memcpy(&flat, c->array_desc.data, sizeof(flat));
		d = (CUDA_ARRAY3D_DESCRIPTOR){.Width = flat.Width,
					      .Height = flat.Height,
					      .Format = flat.Format,
					      .NumChannels = flat.NumChannels};
	} else {
		return;
	}
	if (!krt_channel_bytes(d.Format) || !d.NumChannels || d.NumChannels > 4)
		return;
	a->row = d.Width * d.NumChannels * krt_channel_bytes(d.Format);
	a->height = d.Height ? d.Height : 1;
	/* level 0 of a mipmapped array stands for all of it only by its handle: no size is known
	 * then */
	if (!krt_has(c, KRT_ROLE_U32))
		a->size = a->row * a->height * (d.Depth ? d.Depth : 1);
}

static void array_alias(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *a = c->out_handle ? krt_array_get(&e->mem, c->out_handle) : NULL;

	if (!c->out_handle || (a && a->parent == c->array))
		return;
	a = krt_array_add(&e->mem, c->out_handle, c);
	if (!a)
		return;
	a->parent = c->array;
	a->part = c->number[0];
}

static void imported(struct krt_engine *e, const struct krt_call *c, uint64_t size)
{
	struct krt_mem *m = krt_mem_base(&e->mem, c->out_addr);

	if (!c->out_addr || (m && m->imported)) /* opened again: the same memory */
		return;
	/* the size is often not told: as far as the next allocation */
	if (!size) {
		struct krt_mem *next = krt_mem_from(&e->mem, c->out_addr);

		size = next && next->node.key - c->out_addr < 1ull << 40
			       ? next->node.key - c->out_addr
			       : 1ull << 30;
	}
	m = add(e, c, c->out_addr, size, KRT_MEM_IMPORTED);
	if (m)
		m->imported = true;
}

static void vmm_map(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_phys *p = krt_phys_get(&e->mem, c->handle, true, c);
	struct krt_mem *m;

	if (!p || !c->addr)
		return;
	m = krt_mem_add(&e->mem, c->addr, c->bytes, KRT_MEM_MAPPED, p->space, c->offset, c);
	if (m) {
		m->handle = c->handle;
		m->ctx = krt_call_context(e, c);
		krt_graph_mapped(e, m);
	}
	e->cov.allocations++;
}

/* --- frees ------------------------------------------------------------------------------ */

/* Who frees: an operation of a stream, or the host. */
static struct krt_op_info *free_op(struct krt_engine *e, const struct krt_call *c,
				   struct krt_stream_info *s)
{
	return s ? krt_enqueue(e, c, s, KRT_OPC_FREE) : krt_op_new(&e->obj, c, NULL, KRT_OPC_FREE);
}

/* Judged, and out of the books. */
static void end_memory(struct krt_engine *e, const struct krt_call *c, struct krt_mem *m,
		       struct krt_op_info *op, struct krt_stream_info *s, enum krt_rule_id rule,
		       bool remember)
{
	krt_touch_free(e, op, s, m, rule);
	krt_pairs_flush(e);
	m->free_external = s && (s->external || s->external_own);
	if (remember)
		krt_mem_retire(&e->mem, m, c, op);
	else
		krt_mem_drop(&e->mem, m);
}

/* The context whose device the driver waits for. */
static struct krt_context_info *owner(struct krt_engine *e, const struct krt_call *c,
				      const struct krt_mem *m)
{
	return m && m->ctx ? m->ctx : krt_call_context(e, c);
}

static enum krt_sem_id free_row(const struct krt_mem *m)
{
	switch (m->kind) {
	case KRT_MEM_MANAGED:
		return KRT_SEM_FREE_MANAGED;
	case KRT_MEM_POOL:
		return KRT_SEM_FREE_POOL;
	case KRT_MEM_IMPORTED:
		return KRT_SEM_FREE_MAPPED;
	default:
		return KRT_SEM_FREE_DEVICE;
	}
}

static void device_free(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *m = krt_mem_base(&e->mem, c->addr), *freed = named(e, c);
	struct krt_op_info *op;

	if (!c->addr)
		return;
	e->cov.frees++;
	if (!m) {
		op = free_op(e, c, NULL);
		if (!op)
			return;
		krt_graph_memory_ends(e, c, op, NULL, c->addr);
		krt_op_unref(&e->heap, op);
		return;
	}
	if (freed)
		krt_unfinished_free(e, m);
	krt_host_edge(e, c, free_row(m), NULL, NULL, NULL, owner(e, c, m));
	op = freed ? free_op(e, c, NULL) : NULL;
	if (!op)
		return;
	end_memory(e, c, freed, op, NULL, KRT_RULE_FREE_IN_USE, true);
	krt_op_unref(&e->heap, op);
}

static void free_async(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_mem *m = named(e, c);
	struct krt_op_info *op;

	if (!s || krt_capturing(e, s))
		return;
	e->cov.frees++;
	op = free_op(e, c, s);
	if (!op)
		return;
	if (m) {
		krt_unfinished_free(e, m);
		krt_touch_alloc(e, op, m); /* freed before it is there, in device order */
		end_memory(e, c, m, op, s, KRT_RULE_FREE_IN_USE, true);
	} else if (!krt_mem_at(&e->mem, c->addr)) {
		krt_graph_memory_ends(e, c, op, s, c->addr);
	}
	krt_op_unref(&e->heap, op);
}

/* Pinned or registered memory and its device addresses. */
static void host_end(struct krt_engine *e, const struct krt_call *c, enum krt_mem_kind kind)
{
	struct krt_mem *m = named(e, c);
	struct krt_op_info *op;
	struct krt_space *space;

	if (kind == KRT_MEM_PINNED)
		e->cov.frees++;
	krt_host_edge(e, c, krt_sem_of_op(c->op), NULL, NULL, NULL, owner(e, c, m));
	if (!m || m->kind != kind)
		return;
	op = free_op(e, c, NULL);
	if (!op)
		return;
	space = m->space;
	space->refs++; /* kept while its aliases are looked for */
	krt_touch_free(e, op, NULL, m, KRT_RULE_HOST_FREE_IN_USE);
	for (struct krt_node *n = krt_tree_first(&e->mem.live), *next; space->refs > 2 && n;
	     n = next) {
		struct krt_mem *a = krt_entry(n, struct krt_mem, node);

		next = krt_tree_next(n);
		if (a != m && a->space == space) {
			krt_touch_free(e, op, NULL, a, KRT_RULE_HOST_FREE_IN_USE);
			krt_pairs_flush(e);
			krt_mem_drop(&e->mem, a);
		}
	}
	space->refs--;
	krt_pairs_flush(e);
	krt_mem_drop(&e->mem, m);
	krt_op_unref(&e->heap, op);
}

static void array_destroy(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *a = krt_array_get(&e->mem, c->array), *k, *tmp;
	struct krt_op_info *op;

	e->cov.frees++;
	krt_host_edge(e, c, krt_sem_of_op(c->op), NULL, NULL, NULL, owner(e, c, a));
	op = a ? free_op(e, c, NULL) : NULL;
	if (!op)
		return;
	HASH_ITER (hh, e->mem.arrays, k, tmp)
		if (k->parent == c->array && k != a)
			end_memory(e, c, k, op, NULL, KRT_RULE_FREE_IN_USE, false);
	end_memory(e, c, a, op, NULL, KRT_RULE_FREE_IN_USE, false);
	krt_op_unref(&e->heap, op);
}

/* cuMemUnmap: whole mappings of a range. */
static void vmm_unmap(struct krt_engine *e, const struct krt_call *c)
{
	uint64_t end = c->bytes > UINT64_MAX - c->addr ? UINT64_MAX : c->addr + c->bytes;
	struct krt_op_info *op = free_op(e, c, NULL);
	struct krt_mem *m;

	if (!op)
		return;
	e->cov.frees++;
	krt_host_edge(e, c, krt_sem_of_op(c->op), NULL, NULL, NULL, krt_call_context(e, c));
	for (uint64_t at = c->addr;
	     at < end && (m = krt_mem_from(&e->mem, at)) && m->node.key < end;) {
		at = m->node.key + (m->size ? m->size : 1);
		if (m->kind == KRT_MEM_MAPPED)
			end_memory(e, c, m, op, NULL, KRT_RULE_FREE_IN_USE, true);
	}
	krt_op_unref(&e->heap, op);
}

static void mem_close(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *m = krt_mem_base(&e->mem, c->addr);
	struct krt_op_info *op;

	if (!m)
		return;
	krt_host_edge(e, c, krt_sem_of_op(c->op), NULL, NULL, NULL, owner(e, c, m));
	op = free_op(e, c, NULL);
	if (!op)
		return;
	end_memory(e, c, m, op, NULL, KRT_RULE_FREE_IN_USE, false);
	krt_op_unref(&e->heap, op);
}

/*
 * A module's variables end with it.  Whether the unload waits for its kernels is
 * stated nowhere, so that one still running is likely a mistake, not surely.
 */
static void module_end(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_op_info *op = NULL;
	struct krt_node *next;

	krt_host_edge(e, c, krt_sem_of_op(c->op), NULL, NULL, NULL, krt_call_context(e, c));
	for (struct krt_node *n = krt_tree_first(&e->mem.live); n; n = next) {
		struct krt_mem *m = krt_entry(n, struct krt_mem, node);

		next = krt_tree_next(n);
		if (!m->variable || m->handle != c->module)
			continue;
		op = op ? op : free_op(e, c, NULL);
		if (!op)
			return;
		if (!m->alias)
			krt_touch_free(e, op, NULL, m, KRT_RULE_FREE_IN_USE);
		else if (m->owner && e->judge && !e->exiting)
			krt_graph_free(e, op, NULL, m, KRT_RULE_FREE_IN_USE);
		for (uint32_t i = 1; i < e->pairs; i++)
			if (e->pair[i].cur == op && e->pair[i].confidence == KRT_CERTAIN)
				e->pair[i].confidence = KRT_LIKELY;
		krt_pairs_flush(e);
		krt_mem_drop(&e->mem, m);
	}
	if (op)
		krt_op_unref(&e->heap, op);
}

/* What goes with a context: not mappings, not pool memory. */
static void context_memory_end(struct krt_engine *e, const struct krt_context_info *ctx)
{
	struct krt_node *next;
	struct krt_mem *a, *tmp;

	for (struct krt_node *n = krt_tree_first(&e->mem.live); n; n = next) {
		struct krt_mem *m = krt_entry(n, struct krt_mem, node);

		next = krt_tree_next(n);
		if (m->ctx == ctx && m->kind != KRT_MEM_MAPPED && m->kind != KRT_MEM_POOL &&
		    m->kind != KRT_MEM_IMPORTED)
			krt_mem_drop(&e->mem, m);
	}
	HASH_ITER (hh, e->mem.arrays, a, tmp)
		if (a->ctx == ctx)
			krt_mem_drop(&e->mem, a);
}

static void context_end(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_context_info *ctx;

	if (c->op == KRT_OP_PRIMARY_RESET) {
		for (uint32_t i = 0; i < e->obj.ncontexts; i++) {
			ctx = e->obj.all_contexts[i];
			if (!ctx->primary || ctx->device != (uint32_t)c->device || ctx->ended)
				continue;
			krt_host_edge(e, c, krt_sem_of_op(c->op), NULL, NULL, NULL, ctx);
			context_memory_end(e, ctx);
			krt_context_end(&e->obj, ctx);
		}
		return;
	}
	HASH_FIND(hh, e->obj.contexts, &c->ctx, sizeof(c->ctx), ctx);
	if (!ctx)
		return;
	krt_host_edge(e, c, krt_sem_of_op(c->op), NULL, NULL, NULL, ctx);
	if (!ctx->green) /* a green context's memory belongs to the primary one */
		context_memory_end(e, ctx);
	krt_context_end(&e->obj, ctx);
}

static void pointer_attr(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *m = krt_mem_at(&e->mem, c->addr);

	/* its value is not told: set is what programs do */
	if (m && c->number[1] == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		m->sync_memops = true;
}

/*
 * Allocations that cost a trip to the driver, and their frees; those of the
 * stream-ordered pools do not.
 */
static void hot_memory(struct krt_engine *e, const struct krt_call *c)
{
	switch (c->op) {
	case KRT_OP_ALLOC:
	case KRT_OP_ALLOC_MANAGED:
	case KRT_OP_HOST_ALLOC:
		krt_hot_made(e, c, KRT_MADE_MEMORY, c->out_addr, c->bytes);
		break;
	case KRT_OP_ALLOC_PITCH:
		krt_hot_made(e, c, KRT_MADE_MEMORY, c->out_addr, c->out_size * c->height);
		break;
	case KRT_OP_HOST_REGISTER:
		krt_hot_made(e, c, KRT_MADE_MEMORY, c->addr, c->bytes);
		break;
	case KRT_OP_ARRAY_CREATE:
		krt_hot_made(e, c, KRT_MADE_MEMORY, c->out_handle, 0);
		break;
	case KRT_OP_FREE:
	case KRT_OP_HOST_FREE:
	case KRT_OP_HOST_UNREGISTER:
		krt_hot_gone(e, c, KRT_MADE_MEMORY, c->addr);
		break;
	case KRT_OP_ARRAY_DESTROY:
		krt_hot_gone(e, c, KRT_MADE_MEMORY, c->array);
		break;
	case KRT_OP_MODULE_UNLOAD:
	case KRT_OP_LIBRARY_UNLOAD:
		krt_hot_gone(e, c, KRT_MADE_MODULE, c->module);
		break;
	default:
		break;
	}
}

void krt_life_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_phys *p;
	struct krt_mem *m;

	if (c->op == KRT_OP_HEAP_END) {
		krt_touch_heap_end(e, c, c->addr, c->bytes);
		return;
	}
	if (!c->ok)
		return;
	hot_memory(e, c);
	switch (c->op) {
	case KRT_OP_ALLOC:
		add(e, c, c->out_addr, c->bytes, KRT_MEM_DEVICE);
		break;
	case KRT_OP_ALLOC_PITCH:
		add(e, c, c->out_addr, c->out_size * c->height, KRT_MEM_DEVICE);
		break;
	case KRT_OP_ALLOC_MANAGED:
		add(e, c, c->out_addr, c->bytes, KRT_MEM_MANAGED);
		break;
	case KRT_OP_HOST_ALLOC:
		add(e, c, c->out_addr, c->bytes, KRT_MEM_PINNED);
		break;
	case KRT_OP_HOST_REGISTER:
		m = add(e, c, c->addr, c->bytes, KRT_MEM_REGISTERED);
		if (m)
			krt_touch_registered(e, m);
		break;
	case KRT_OP_HOST_DEVPTR:
		host_devptr(e, c);
		break;
	case KRT_OP_ALLOC_ASYNC:
		alloc_async(e, c);
		break;
	case KRT_OP_ARRAY_CREATE:
		array_create(e, c);
		break;
	case KRT_OP_ARRAY_ALIAS:
		array_alias(e, c);
		break;
	case KRT_OP_MODULE_GLOBAL:
		krt_variable_told(e, c);
		break;
	case KRT_OP_IPC_MEM_OPEN:
		imported(e, c, 0);
		break;
	case KRT_OP_POOL_IMPORT:
		if (!(c->api->flags & KRT_F_HANDLE))
			imported(e, c, 0);
		break;
	case KRT_OP_EXT_MEM_MAP:
		if (c->in.len >= 16)
			imported(e, c, krt_u64_at(&c->in, 1));
		break;
	case KRT_OP_GFX_POINTER:
		imported(e, c, c->out_size);
		break;
	case KRT_OP_VMM_CREATE:
		krt_phys_get(&e->mem, c->out_handle, true, c);
		break;
	case KRT_OP_VMM_RELEASE:
		p = krt_phys_get(&e->mem, c->handle, false, c);
		if (p)
			krt_phys_put(&e->mem, p);
		break;
	case KRT_OP_VMM_MAP:
		vmm_map(e, c);
		break;
	case KRT_OP_VMM_UNMAP:
		vmm_unmap(e, c);
		break;
	case KRT_OP_FREE:
		device_free(e, c);
		break;
	case KRT_OP_FREE_ASYNC:
		free_async(e, c);
		break;
	case KRT_OP_HOST_FREE:
		host_end(e, c, KRT_MEM_PINNED);
		break;
	case KRT_OP_HOST_UNREGISTER:
		host_end(e, c, KRT_MEM_REGISTERED);
		break;
	case KRT_OP_ARRAY_DESTROY:
		array_destroy(e, c);
		break;
	case KRT_OP_IPC_MEM_CLOSE:
		mem_close(e, c);
		break;
	case KRT_OP_MODULE_UNLOAD:
	case KRT_OP_LIBRARY_UNLOAD:
		module_end(e, c);
		break;
	case KRT_OP_CTX_DESTROY:
	case KRT_OP_GREEN_DESTROY:
	case KRT_OP_PRIMARY_RESET:
		context_end(e, c);
		break;
	case KRT_OP_POINTER_ATTR:
		pointer_attr(e, c);
		break;
	case KRT_OP_NOTE_HOST_READ:
		krt_touch_host(e, c, c->addr, c->bytes, false);
		break;
	case KRT_OP_NOTE_HOST_WRITE:
		krt_touch_host(e, c, c->addr, c->bytes, true);
		break;
	case KRT_OP_NOTE_POOL_CREATE:
	case KRT_OP_NOTE_POOL_DESTROY:
	case KRT_OP_NOTE_BLOCK_ALLOC:
	case KRT_OP_NOTE_BLOCK_USE:
	case KRT_OP_NOTE_BLOCK_RESIZE:
	case KRT_OP_NOTE_BLOCK_FREE:
		krt_pool_op(e, c);
		break;
	default:
		break;
	}
}
