/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies, sets and batches: from arguments to shapes, their bounds, and what
 * they order (by the rows of semantics.def).
 *
 * Bounds are judged from the arguments, whether the driver took the call or
 * not.  What reaches past an allocation is not followed into its neighbour.
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"

#include <string.h>

/* One copy of a call. */
struct copy {
	struct krt_shape dst, src;
	bool no_src;	    /* a set */
	unsigned src_order; /* batches: CUmemcpySrcAccessOrder, else 0 */
};

/* --- bounds ------------------------------------------------------------------------ */

/* Last byte of a shape + 1. */
static uint64_t shape_end(const struct krt_shape *s)
{
	return s->addr + (s->slices - 1) * s->slice_pitch + (s->rows - 1) * s->pitch + s->width;
}

static bool empty(const struct krt_shape *s)
{
	return !s->width || !s->rows || !s->slices;
}

static bool bounded(const struct krt_mem *m)
{
	switch (m->kind) {
	case KRT_MEM_DEVICE:
	case KRT_MEM_MANAGED:
	case KRT_MEM_PINNED:
	case KRT_MEM_POOL:
	case KRT_MEM_MAPPED:
	case KRT_MEM_ARRAY:
	case KRT_MEM_GLOBAL:
	case KRT_MEM_IMPORTED:
		return true;
	case KRT_MEM_REGISTERED: /* the heap may go on behind it */
	case KRT_MEM_PAGEABLE:
	case KRT_MEM_UNKNOWN:
		return false;
	}
	return false;
}

/* How many bytes lie behind the end of the allocation that the shape begins in. */
static uint64_t beyond(struct krt_engine *e, const struct krt_shape *s, struct krt_mem **in)
{
	struct krt_mem *mem = s->array ? s->array : krt_mem_at(&e->mem, s->addr);
	uint64_t end = shape_end(s), limit;

	*in = mem;
	if (!mem || !bounded(mem) || mem->size == UINT64_MAX || mem->imported)
		return 0;
	limit = (s->array ? 0 : mem->node.key) + mem->size;
	/* mappings side by side are one range to the program */
	while (mem->kind == KRT_MEM_MAPPED && end > limit) {
		const struct krt_mem *next = krt_mem_base(&e->mem, limit);

		if (!next || next->kind != KRT_MEM_MAPPED)
			break;
		limit = next->node.key + next->size;
	}
	return end > limit ? end - limit : 0;
}

static void out_of_bounds(struct krt_engine *e, const struct krt_call *c, const struct krt_shape *s,
			  const struct krt_mem *mem, uint64_t past, const char *what,
			  struct krt_stream_info *stream)
{
	char buffer[256], text[160];
	struct krt_facts f = {
		.rule = KRT_RULE_COPY_BOUNDS, .confidence = KRT_CERTAIN, .view = KRT_BOTH_VIEWS};
	struct krt_finding shape;

	if (!e->judge)
		return;
	memset(&shape, 0, sizeof(shape));
	f.cur.api = c->api->base;
	f.cur.what = what;
	f.cur.stream = stream ? krt_stream_text(stream, text, sizeof(text)) : "host";
	f.cur.seq = c->rec->t0;
	shape.current.what = what;
	shape.current.api = f.cur.api;
	shape.current.stream = f.cur.stream;
	shape.current.sequence = f.cur.seq;
	shape.current.range_base = s->addr;
	shape.current.range_len = shape_end(s) - s->addr;
	shape.current.knowledge = "api";
	shape.current.stack_id = c->rec->stack;
	krt_buffer_of(e, mem, s->addr, shape_end(s), &shape.buffer);
	krt_buffer_text(&shape.buffer, buffer, sizeof(buffer));
	f.buffer = buffer;
	f.offset = shape.buffer.offset;
	f.len = shape.buffer.len;
	f.size = mem->size;
	f.third_seq = past;
	krt_find(e, &f, &shape, mem->made.seq ? mem->made.stack : 0);
}

/* --- from arguments to shapes -------------------------------------------------------- */

static struct krt_shape line(uint64_t addr, uint64_t len)
{
	return (struct krt_shape){.addr = addr,
				  .width = len,
				  .rows = 1,
				  .pitch = len,
				  .slices = 1,
				  .slice_pitch = len};
}

static struct krt_mem *array_of(struct krt_engine *e, uint64_t handle, const struct krt_call *c)
{
	struct krt_mem *a = krt_array_get(&e->mem, handle);

	return a ? a : krt_array_add(&e->mem, handle, c);
}

/*
 * An address of either kind.  An unknown one is the program's own memory, and so
 * may be one that was device memory once: the heap can get it afterwards.  Not so
 * where the driver keeps the range to itself: pools and reserved ranges.
 */
static bool host_address(const struct krt_engine *e, uint64_t addr)
{
	const struct krt_mem *freed;

	if (krt_mem_at(&e->mem, addr))
		return false;
	freed = krt_mem_freed_at(&e->mem, addr);
	return !freed || (freed->kind != KRT_MEM_POOL && freed->kind != KRT_MEM_MAPPED);
}

/* A side of a pitched copy: where it begins and how its rows lie.  The extent is set already. */
static void place(struct krt_engine *e, const struct krt_call *c, struct krt_shape *s,
		  uint32_t type, uint64_t host, uint64_t device, uint64_t array, uint64_t x,
		  uint64_t y, uint64_t z, uint64_t pitch, uint64_t height)
{
	if (type == CU_MEMORYTYPE_ARRAY) {
		s->array = array_of(e, array, c);
		if (!s->array)
			return;
		pitch = s->array->row ? s->array->row : 1ull << 20;
		height = s->array->height ? s->array->height : 1ull << 20;
	} else {
		s->addr = type == CU_MEMORYTYPE_HOST ? host : device;
		s->host = type == CU_MEMORYTYPE_HOST;
		if (type == CU_MEMORYTYPE_UNIFIED)
			s->host = host_address(e, device);
	}
	if (!pitch)
		pitch = s->width;
	if (!height)
		height = s->rows;
	s->pitch = pitch;
	s->slice_pitch = pitch * height;
	s->addr += x + y * pitch + z * s->slice_pitch;
}

/* A struct of the driver's interface out of a blob.  False: the blob is too short. */
static bool take(const struct krt_bytes *b, uint64_t at, void *to, size_t size)
{
	if (!b->data || at > b->len || size > b->len - at)
		return false;
	memcpy(to, (const char *)b->data + at, size);
	return true;
}

static bool shape_2d(struct krt_engine *e, const struct krt_call *c, struct copy *k)
{
	CUDA_MEMCPY2D d;

	if (!take(&c->copy, 0, &d, sizeof(d)))
		return false;
	k->src.width = k->dst.width = d.WidthInBytes;
	k->src.rows = k->dst.rows = d.Height;
	k->src.slices = k->dst.slices = 1;
	place(e, c, &k->src, d.srcMemoryType, (uintptr_t)d.srcHost, d.srcDevice,
	      (uintptr_t)d.srcArray, d.srcXInBytes, d.srcY, 0, d.srcPitch, 0);
	place(e, c, &k->dst, d.dstMemoryType, (uintptr_t)d.dstHost, d.dstDevice,
	      (uintptr_t)d.dstArray, d.dstXInBytes, d.dstY, 0, d.dstPitch, 0);
	return true;
}

/* CUDA_MEMCPY3D is the same but for two reserved words. */
_Static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER), "one layout for both");

static bool shape_3d(struct krt_engine *e, const struct krt_call *c, struct copy *k)
{
	CUDA_MEMCPY3D_PEER d;

	if (!take(&c->copy, 0, &d, sizeof(d)))
		return false;
	k->src.width = k->dst.width = d.WidthInBytes;
	k->src.rows = k->dst.rows = d.Height;
	k->src.slices = k->dst.slices = d.Depth;
	place(e, c, &k->src, d.srcMemoryType, (uintptr_t)d.srcHost, d.srcDevice,
	      (uintptr_t)d.srcArray, d.srcXInBytes, d.srcY, d.srcZ, d.srcPitch, d.srcHeight);
	place(e, c, &k->dst, d.dstMemoryType, (uintptr_t)d.dstHost, d.dstDevice,
	      (uintptr_t)d.dstArray, d.dstXInBytes, d.dstY, d.dstZ, d.dstPitch, d.dstHeight);
	return true;
}

static void side_3d_batch(struct krt_engine *e, const struct krt_call *c, struct krt_shape *s,
			  const CUmemcpy3DOperand *o)
{
	if (o->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
		place(e, c, s, CU_MEMORYTYPE_ARRAY, 0, 0, (uintptr_t)o->op.array.array,
		      o->op.array.offset.x, o->op.array.offset.y, o->op.array.offset.z, 0, 0);
	else
		place(e, c, s, CU_MEMORYTYPE_UNIFIED, 0, o->op.ptr.ptr, 0, 0, 0, 0,
		      o->op.ptr.rowLength, o->op.ptr.layerHeight);
}

static struct krt_shape unified(struct krt_engine *e, uint64_t addr, uint64_t len)
{
	struct krt_shape s = line(addr, len);

	s.host = host_address(e, addr);
	return s;
}

/* COPY, COPY_ARRAY, COPY_PEER: one row on each side. */
static bool shape_line(struct krt_engine *e, const struct krt_call *c, struct copy *k)
{
	unsigned f = c->api->flags;

	k->dst = line(c->dst, c->bytes);
	k->src = line(c->src, c->bytes);
	if (c->op == KRT_OP_COPY && !(f & (KRT_F_SRC_HOST | KRT_F_SRC_DEV)))
		k->src = unified(e, c->src, c->bytes);
	if (c->op == KRT_OP_COPY && !(f & (KRT_F_DST_HOST | KRT_F_DST_DEV)))
		k->dst = unified(e, c->dst, c->bytes);
	if (f & KRT_F_SRC_HOST)
		k->src.host = true;
	if (f & KRT_F_DST_HOST)
		k->dst.host = true;
	if (f & KRT_F_DST_ARR) {
		k->dst.addr = c->dst_off;
		k->dst.array = array_of(e, c->dst_array, c);
	}
	if (f & KRT_F_SRC_ARR) {
		k->src.addr = c->src_off;
		k->src.array = array_of(e, c->src_array, c);
	}
	return true;
}

static bool shape_set(const struct krt_call *c, struct copy *k)
{
	uint64_t size = krt_elem_size(c->api);

	k->no_src = true;
	if (c->op == KRT_OP_SET) {
		if (c->count > UINT64_MAX / size)
			return false;
		k->dst = line(c->dst, c->count * size);
		return true;
	}
	if (c->width > UINT64_MAX / size)
		return false;
	k->dst.addr = c->dst;
	k->dst.width = c->width * size;
	k->dst.rows = c->height;
	k->dst.pitch = c->pitch;
	k->dst.slices = 1;
	return true;
}

/* --- doing one copy ------------------------------------------------------------------- */

static bool overflows(const struct krt_shape *s)
{
	uint64_t n, m;

	return !empty(s) &&
	       (__builtin_mul_overflow(s->slices - 1, s->slice_pitch, &n) ||
		__builtin_mul_overflow(s->rows - 1, s->pitch, &m) ||
		__builtin_add_overflow(n, m, &n) || __builtin_add_overflow(n, s->width, &n) ||
		__builtin_add_overflow(n, s->addr, &n));
}

/* Bounds of both sides; keep[i] is set to the allocation that a side must not leave. */
static bool check(struct krt_engine *e, const struct krt_call *c, const struct copy *k,
		  struct krt_stream_info *s, const struct krt_mem *keep[2])
{
	keep[0] = keep[1] = NULL;
	for (int i = 0; i < 2; i++) {
		const struct krt_shape *shape = i ? &k->src : &k->dst;
		struct krt_mem *mem;
		uint64_t past;

		if ((i && k->no_src) || empty(shape))
			continue;
		if (overflows(shape))
			return false;
		past = beyond(e, shape, &mem);
		if (!past)
			continue;
		out_of_bounds(e, c, shape, mem, past, i ? "read" : "write", s);
		keep[i] = mem;
	}
	return true;
}

bool krt_copy_node(struct krt_engine *e, const struct krt_call *c, const struct krt_bytes *params,
		   struct krt_shape *dst, struct krt_shape *src)
{
	struct krt_call node = *c;
	struct copy k;

	memset(&k, 0, sizeof(k));
	node.copy = *params;
	if (!shape_3d(e, &node, &k) || overflows(&k.dst) || overflows(&k.src))
		return false;
	*dst = k.dst;
	*src = k.src;
	return true;
}

#define HOST_ROWS_MAX 65536

static void host_side(struct krt_engine *e, const struct krt_call *c, struct krt_shape s, bool write)
{
	uint64_t left = HOST_ROWS_MAX;
	struct krt_op_info *op = krt_host_op(e, c);

	if (!op)
		return;
	krt_shape_join(&s);
	for (uint64_t z = 0; z < s.slices; z++)
		for (uint64_t y = 0; y < s.rows; y++) {
			if (!left--) {
				krt_reason(e, KRT_REASON_ROWS, "%s", c->api->base);
				y = s.rows;
				z = s.slices - 1;
				break;
			}
			krt_host_range(e, op, 0, s.addr + z * s.slice_pitch + y * s.pitch, s.width,
				       write);
		}
	krt_op_unref(&e->heap, op);
}

/* A copy that the CPU does itself: when it returns it is done. */
static void host_copy(struct krt_engine *e, const struct krt_call *c, const struct copy *k)
{
	host_side(e, c, k->src, false);
	host_side(e, c, k->dst, true);
}

static bool host_side_of(struct krt_engine *e, const struct krt_shape *s)
{
	enum krt_sem_mem kind = krt_shape_memory(e, s);

	return kind == KRT_SEM_MEM_PINNED || kind == KRT_SEM_MEM_PAGEABLE;
}

/* The source is read by the call: free when it has returned. */
static bool consumed(const struct krt_engine *e, enum krt_sem_id sem)
{
	return krt_sem_views(e->semantics, sem, KRT_EDGE_SRC) == KRT_IN_BOTH &&
	       krt_sem_views(e->semantics, sem, KRT_EDGE_OP) != KRT_IN_BOTH;
}

/* more: others of a batch follow, which are in no order with it */
static void touch_copy(struct krt_engine *e, const struct krt_call *c, const struct copy *k,
		       struct krt_op_info *op, unsigned item, enum krt_sem_id sem,
		       const struct krt_mem *keep[2], bool more)
{
	const struct krt_sem *row = krt_semantics(e->semantics, sem);
	struct krt_touch t = {
		.op = op, .stream = op->stream, .know = KRT_KNOW_API, .item = (uint16_t)item};
	bool zeroed;

	if (!k->no_src) {
		t.kind = KRT_ACC_READ;
		t.read[KRT_VIEW_DOC] = row->read[KRT_VIEW_DOC];
		t.read[KRT_VIEW_OBS] = row->read[KRT_VIEW_OBS];
		t.forget = consumed(e, sem);
		t.passing = t.forget && more;
		t.only = keep[1];
		krt_touch_shape(e, &t, &k->src);
	}
	t.kind = KRT_ACC_WRITE;
	t.read[KRT_VIEW_DOC] = t.read[KRT_VIEW_OBS] = KRT_READ_NEVER;
	t.forget = t.passing = false;
	t.only = keep[0];
	zeroed = k->no_src && !c->value && krt_shadow_near(e, &k->dst);
	krt_touch_shape(e, &t, &k->dst);
	if (!k->no_src)
		krt_shadow_copied(e, c, &k->dst, &k->src, item);
	else if (zeroed)
		krt_shadow_zeroed(e, &k->dst);
	if (!k->no_src && !empty(&k->dst) && !(krt_sem_views(e->semantics, sem, KRT_EDGE_OP) & KRT_IN_OBS) &&
	    host_side_of(e, &k->dst) && !host_side_of(e, &k->src))
		krt_unfinished_copy(e, op, k->dst.addr,
				    k->dst.rows * k->dst.slices == 1 ? k->dst.width : 0);
}

static uint64_t shape_bytes(const struct krt_shape *s)
{
	return s->width * s->rows * s->slices;
}

static bool memops(struct krt_engine *e, const struct krt_call *c, const struct copy *k)
{
	struct krt_context_info *ctx = krt_call_context(e, c);
	const struct krt_mem *d = k->dst.array ? NULL : krt_mem_at(&e->mem, k->dst.addr);
	const struct krt_mem *s =
		k->no_src || k->src.array ? NULL : krt_mem_at(&e->mem, k->src.addr);

	return (ctx && ctx->flags & CU_CTX_SYNC_MEMOPS) || (d && d->sync_memops) ||
	       (s && s->sync_memops);
}

/* Contexts of the destination and the source of a copy between them, and the current one; NULL: unknown. */
static void peer_contexts(struct krt_engine *e, const struct krt_call *c, const struct krt_stream_info *s,
			  struct krt_context_info *ctx[3])
{
	uint64_t handle[2] = {c->dst_ctx, c->src_ctx};
	CUDA_MEMCPY3D_PEER d;

	if (c->op == KRT_OP_COPY_3D_PEER) {
		memset(handle, 0, sizeof(handle));
		if (take(&c->copy, 0, &d, sizeof(d))) {
			handle[0] = (uintptr_t)d.dstContext;
			handle[1] = (uintptr_t)d.srcContext;
		}
	}
	for (int i = 0; i < 2; i++)
		ctx[i] = krt_context_get(&e->obj, handle[i]);
	ctx[2] = s->ctx;
}

static enum krt_sem_peer peer_kind(struct krt_context_info *const ctx[3])
{
	for (int i = 0; i < 2; i++)
		if (!ctx[i] || ctx[i]->device != ctx[2]->device)
			return KRT_SEM_PEER;
	return KRT_SEM_PEER_NEAR;
}

/* Such a copy is ordered with all work of the contexts around it, where the row says so. */
static void peer_order(struct krt_engine *e, const struct krt_call *c, enum krt_sem_id sem,
		       struct krt_stream_info *s, struct krt_context_info *const around[3], bool after)
{
	const struct krt_sem *row = krt_semantics(e->semantics, sem);
	unsigned views = (row->order[KRT_VIEW_DOC] == KRT_ORDER_CONTEXTS ? KRT_IN_DOC : 0) |
			 (row->order[KRT_VIEW_OBS] == KRT_ORDER_CONTEXTS ? KRT_IN_OBS : 0);

	if (!views)
		return;
	for (int i = 0; i < 3; i++) {
		struct krt_context_info *ctx = around[i];
		struct krt_snapshot *snap;

		if (!ctx)
			return;
		snap = after ? krt_order_record(e->order, s->domain)
			     : krt_order_record_context(e->order, ctx->id);
		if (!snap)
			return;
		if (after)
			krt_order_wait_context(e->order, ctx->id, snap, views);
		else
			krt_order_wait(e->order, s->domain, snap, views);
		krt_timeline_context(e, c, ctx, after, c->rec->t0, views);
		krt_snapshot_unref(e->order, snap);
	}
}

static bool is_host(enum krt_sem_mem m)
{
	return m == KRT_SEM_MEM_PAGEABLE || m == KRT_SEM_MEM_PINNED;
}

/* Where a copy between host and device meets the device, as a number that is not 0. */
static uint64_t device_side(const struct copy *k, enum krt_sem_mem dst, enum krt_sem_mem src)
{
	const struct krt_shape *s = is_host(dst) ? &k->src : &k->dst;

	if (k->no_src || is_host(dst) == is_host(src))
		return 0;
	return s->addr + ((uint64_t)(s->array ? s->array->serial : 0) << 32) + 1;
}

static void one_copy(struct krt_engine *e, const struct krt_call *c, struct copy *k)
{
	bool async = c->api->flags & KRT_F_ASYNC,
	     peer = !async && (c->op == KRT_OP_COPY_PEER || c->op == KRT_OP_COPY_3D_PEER);
	struct krt_stream_info *s = krt_call_stream(e, c, async ? c->stream : 0);
	struct krt_snapshot *before = NULL;
	const struct krt_mem *keep[2];
	enum krt_sem_mem dst, src = KRT_SEM_MEM_DEVICE;
	enum krt_sem_id sem;
	struct krt_stamp newest = krt_hot_newest(e, c);
	struct krt_context_info *around[3] = {0};
	struct krt_copied copied;
	struct krt_op_info *op;

	if (!s || !check(e, c, k, s, keep) || !c->ok || krt_capturing(e, s))
		return;
	if (k->no_src)
		e->cov.sets++;
	else
		e->cov.copies++;
	dst = krt_shape_memory(e, &k->dst);
	if (!k->no_src)
		src = krt_shape_memory(e, &k->src);
	if (peer)
		peer_contexts(e, c, s, around);
	sem = k->no_src
		      ? krt_sem_set(async, dst, memops(e, c, k))
		      : krt_sem_copy(async, peer ? peer_kind(around) : KRT_SEM_NO_PEER, dst, src, shape_bytes(&k->dst), memops(e, c, k));
	if (peer)
		peer_order(e, c, sem, s, around, false);
	if (krt_sem_views(e->semantics, sem, KRT_EDGE_EARLIER) != krt_sem_views(e->semantics, sem, KRT_EDGE_OP))
		before = krt_order_record(e->order, s->domain);
	copied = (struct krt_copied){.stream = s, .dst = dst, .src = k->no_src ? dst : src,
				     .bytes = shape_bytes(&k->dst), .sem = sem};
	copied.waited = newest.domain && !krt_order_before_host(e->order, KRT_VIEW_OBS, newest);
	op = krt_enqueue(e, c, s, k->no_src ? KRT_OPC_SET : KRT_OPC_COPY);
	if (op) {
		if (sem == KRT_SEM_COPY_HOST_TO_HOST || sem == KRT_SEM_ASYNC_HOST_TO_HOST) {
			/* its stream comes to a halt first; then the CPU copies */
			if (before)
				krt_snapshot_unref(e->order, before);
			before = NULL;
			krt_host_edge(e, c, sem, s, op, NULL, s->ctx);
			host_copy(e, c, k);
		} else {
			touch_copy(e, c, k, op, 0, sem, keep, false);
			if (peer)
				peer_order(e, c, sem, s, around, true);
			krt_host_edge(e, c, sem, s, op, before, s->ctx);
		}
		krt_op_unref(&e->heap, op);
	}
	if (before)
		krt_snapshot_unref(e->order, before);
	copied.waited &= krt_order_before_host(e->order, KRT_VIEW_OBS, newest);
	krt_site_work(e, c, device_side(k, dst, src));
	krt_hot_copy(e, c, &copied);
}

/* --- batches -------------------------------------------------------------------------- */

static const char *order_text(unsigned order)
{
	switch (order) {
	case 2:
		return "source order DURING_API_CALL";
	case 3:
		return "source order ANY";
	default:
		return "source order STREAM";
	}
}

/* The attributes in force for copy i: the last whose index is not beyond it. */
static unsigned batch_order(const struct krt_call *c, uint64_t i)
{
	CUmemcpyAttributes a = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};

	for (uint32_t k = 0; k < c->attr_idx.len / 8 && krt_u64_at(&c->attr_idx, k) <= i; k++)
		if (!take(&c->attrs, k * sizeof(a), &a, sizeof(a)))
			break;
	return a.srcAccessOrder;
}

#define BATCH_MAX 65535 /* items that are told apart */

static bool batch_item(struct krt_engine *e, const struct krt_call *c, uint64_t i, struct copy *k)
{
	CUDA_MEMCPY3D_BATCH_OP op;

	memset(k, 0, sizeof(*k));
	if (c->op == KRT_OP_COPY_BATCH) {
		if (i >= c->dsts.len / 8 || i >= c->srcs.len / 8 || i >= c->sizes.len / 8)
			return false;
		k->dst = unified(e, krt_u64_at(&c->dsts, i), krt_u64_at(&c->sizes, i));
		k->src = unified(e, krt_u64_at(&c->srcs, i), krt_u64_at(&c->sizes, i));
		k->src_order = batch_order(c, i);
		return true;
	}
	if (!take(&c->ops3d, i * sizeof(op), &op, sizeof(op)))
		return false;
	k->src.width = k->dst.width = op.extent.width;
	k->src.rows = k->dst.rows = op.extent.height;
	k->src.slices = k->dst.slices = op.extent.depth;
	k->src_order = op.srcAccessOrder;
	side_3d_batch(e, c, &k->src, &op.src);
	side_3d_batch(e, c, &k->dst, &op.dst);
	return true;
}

static void batch(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_op_info *op = NULL;
	const struct krt_mem *keep[2];
	struct copy k;

	if (!s)
		return;
	if (c->ok) {
		if (krt_capturing(e, s))
			return;
		op = krt_enqueue(e, c, s, KRT_OPC_COPY);
		if (!op)
			return;
		e->cov.copies++;
	}
	for (uint64_t i = 0; i < BATCH_MAX && batch_item(e, c, i, &k); i++) {
		if (!check(e, c, &k, s, keep) || !op)
			continue;
		/* one order for the whole batch, or that of its last copy */
		op->detail = order_text(k.src_order);
		op->loose = k.src_order == 2 || k.src_order == 3;
		touch_copy(e, c, &k, op, (unsigned)i, krt_sem_batch(k.src_order), keep, true);
	}
	if (op) {
		for (uint64_t i = 0; i < BATCH_MAX && batch_item(e, c, i, &k); i++)
			if (consumed(e, krt_sem_batch(k.src_order)) && !overflows(&k.src))
				krt_touch_passed(e, op, &k.src);
		krt_op_unref(&e->heap, op);
		krt_site_work(e, c, 0);
	}
}

/* Contents are lost: as good as written. */
static void discard(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s = krt_call_stream(e, c, c->stream);
	struct krt_touch t = {.kind = KRT_ACC_WRITE, .know = KRT_KNOW_API};

	if (!c->ok || !s || krt_capturing(e, s))
		return;
	t.op = krt_enqueue(e, c, s, KRT_OPC_SET);
	if (!t.op)
		return;
	t.stream = s;
	for (uint64_t i = 0; i < c->dsts.len / 8 && i < c->sizes.len / 8; i++) {
		struct krt_shape shape = line(krt_u64_at(&c->dsts, i), krt_u64_at(&c->sizes, i));

		krt_touch_shape(e, &t, &shape);
	}
	krt_op_unref(&e->heap, t.op);
}

void krt_copy_op(struct krt_engine *e, const struct krt_call *c)
{
	struct copy k;
	bool shaped;

	memset(&k, 0, sizeof(k));
	switch (c->op) {
	case KRT_OP_COPY:
	case KRT_OP_COPY_ARRAY:
	case KRT_OP_COPY_PEER:
		shaped = shape_line(e, c, &k);
		break;
	case KRT_OP_COPY_2D:
		shaped = shape_2d(e, c, &k);
		break;
	case KRT_OP_COPY_3D:
	case KRT_OP_COPY_3D_PEER:
		shaped = shape_3d(e, c, &k);
		break;
	case KRT_OP_SET:
	case KRT_OP_SET_2D:
		shaped = shape_set(c, &k);
		break;
	case KRT_OP_COPY_BATCH:
	case KRT_OP_COPY_3D_BATCH:
		batch(e, c);
		return;
	case KRT_OP_DISCARD_BATCH:
		discard(e, c);
		return;
	default:
		return;
	}
	/* The 32-bit forms of long ago have a layout of their own: a copy of nothing known. */
	if (shaped || c->ok)
		one_copy(e, c, &k);
}
