/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may use what: contexts, devices and the memory, modules and events of
 * others.
 *
 * Memory is judged by device: a kernel reaches the plain memory of another
 * device when a context of its own has peer access, a pool when the pool was
 * opened to its device, a mapping when cuMemSetAccess named its device.  Host
 * and managed memory is everybody's.  Copies and sets find their way between
 * devices by themselves: of them, and of what belongs to another context of one
 * device, only a call that the driver refused is told about.  Of a handle of
 * another context likewise: the refusal is the proof.
 *
 * An image without code for its device is often a probe: it counts only when
 * nothing was loaded or launched on that device afterwards.
 *
 * Where an owner or a device is not known nothing is said.
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"

#include <stdio.h>
#include <string.h>

#define DEVICES 64 /* bits of a mask */

/* A module or function, and the context that it was loaded in. */
struct krt_owned {
	uint64_t key, module;
	struct krt_context_info *ctx;
	UT_hash_handle hh;
};
#define OWNED_MAX 65536

/* A pool of the driver's that was made or opened to others before our eyes. */
struct krt_driver_pool {
	uint64_t key;
	bool known; /* device is */
	uint32_t device;
	uint64_t may; /* devices beside its own */
	UT_hash_handle hh;
};
#define POOLS_MAX 4096

/* --- devices ------------------------------------------------------------------------ */

static bool device_known(const struct krt_context_info *ctx)
{
	return ctx && ctx->handle && ctx->known && ctx->device < DEVICES;
}

/* "context 2 (device 1)" */
static const char *context_text(const struct krt_context_info *ctx, char *buf, size_t len)
{
	if (device_known(ctx))
		snprintf(buf, len, "%scontext %u (device %u)", ctx->green ? "green " : "",
			 ctx->number, ctx->device);
	else
		snprintf(buf, len, "context %u", ctx->number);
	return buf;
}

/* "device 0 and device 2" */
static const char *devices_text(uint64_t mask, char *buf, size_t len)
{
	size_t n = 0;

	snprintf(buf, len, "no device");
	for (unsigned i = 0; i < DEVICES && n < len; i++)
		if (mask >> i & 1)
			n += (size_t)snprintf(buf + n, len - n, "%sdevice %u", n ? " and " : "", i);
	return buf;
}

/* Access is between two contexts; any pair of the two devices will do here. */
static bool peers(const struct krt_engine *e, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < e->obj.ncontexts; i++) {
		const struct krt_context_info *c = e->obj.all_contexts[i];

		if (!c->ended && c->device == from && c->peers >> to & 1)
			return true;
	}
	return false;
}

static void peer_access(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_context_info *ctx = krt_call_context(e, c), *peer;
	uint64_t bits;

	HASH_FIND(hh, e->obj.contexts, &c->ctx, sizeof(c->ctx), peer);
	bits = device_known(peer) ? 1ull << peer->device : UINT64_MAX;
	if (!ctx)
		return;
	if (c->op == KRT_OP_PEER_ENABLE)
		ctx->peers |= bits;
	else if (device_known(peer))
		ctx->peers &= ~bits;
}

/* --- pools and mappings -------------------------------------------------------------- */

/* Adds to *may what a list of CUmemAccessDesc gives, and takes away what it takes. */
static void access_list(const struct krt_bytes *b, uint64_t *may)
{
	CUmemAccessDesc d;

	for (uint32_t at = 0; at + sizeof(d) <= b->len; at += sizeof(d)) {
		memcpy(&d, (const char *)b->data + at, sizeof(d));
		if (d.location.type != CU_MEM_LOCATION_TYPE_DEVICE || d.location.id < 0 ||
		    d.location.id >= DEVICES)
			continue;
		if (d.flags)
			*may |= 1ull << d.location.id;
		else
			*may &= ~(1ull << d.location.id);
	}
}

static struct krt_driver_pool *pool_get(struct krt_engine *e, uint64_t handle, bool make)
{
	struct krt_heap *heap = &e->heap;
	struct krt_driver_pool *p;

	HASH_FIND(hh, e->driver_pools, &handle, sizeof(handle), p);
	if (p || !make || HASH_COUNT(e->driver_pools) >= POOLS_MAX)
		return p;
	p = krt_heap_alloc(heap, sizeof(*p));
	if (!p)
		return NULL;
	p->key = handle;
	HASH_ADD(hh, e->driver_pools, key, sizeof(p->key), p);
	if (p->hh.tbl)
		return p;
	krt_heap_free(heap, p, sizeof(*p));
	return NULL;
}

static void pool_drop(struct krt_engine *e, struct krt_driver_pool *p)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, e->driver_pools, p);
	krt_heap_free(heap, p, sizeof(*p));
}

static void pool_made(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_driver_pool *p = pool_get(e, c->out_handle, true);
	CUmemPoolProps props;

	if (!p || c->in.len < sizeof(props))
		return;
	memcpy(&props, c->in.data, sizeof(props));
	p->may = 0;
	p->known = props.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
		   (unsigned)props.location.id < DEVICES;
	p->device = (uint32_t)props.location.id;
}

static void pool_access(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_driver_pool *p = pool_get(e, c->pool, true);

	access_list(&c->in, p ? &p->may : &e->pools_may);
	if (p && !p->known) /* perhaps the current pool of some device */
		access_list(&c->in, &e->pools_may);
}

static void range_access(struct krt_engine *e, const struct krt_call *c)
{
	uint64_t end = c->bytes > UINT64_MAX - c->addr ? UINT64_MAX : c->addr + c->bytes;
	struct krt_mem *m;

	for (uint64_t at = c->addr;
	     at < end && (m = krt_mem_from(&e->mem, at)) && m->node.key < end;) {
		at = m->node.key + (m->size ? m->size : 1);
		if (m->kind == KRT_MEM_MAPPED)
			access_list(&c->in, &m->may);
	}
}

/* --- memory --------------------------------------------------------------------------- */

/* Why the device of ctx has no right to the memory; KRT_WRONG_NOT: it has, or who knows. */
static enum krt_wrong no_right(struct krt_engine *e, const struct krt_mem *m,
			       const struct krt_context_info *ctx)
{
	const struct krt_driver_pool *p = NULL;
	uint32_t owner;

	if (!e->initialised || !device_known(ctx) || m->imported)
		return KRT_WRONG_NOT;
	switch (m->kind) {
	case KRT_MEM_MAPPED:
		return m->may >> ctx->device & 1 ? KRT_WRONG_NOT : KRT_WRONG_MAPPED;
	case KRT_MEM_POOL:
		if (!device_known(m->ctx))
			return KRT_WRONG_NOT;
		owner = m->ctx->device;
		if (m->handle) {
			HASH_FIND(hh, e->driver_pools, &m->handle, sizeof(m->handle), p);
			if (!p || !p->known)
				return KRT_WRONG_NOT;
			owner = p->device;
		}
		return owner == ctx->device || (p ? p->may : e->pools_may) >> ctx->device & 1 ||
				       peers(e, ctx->device, owner)
			       ? KRT_WRONG_NOT
			       : KRT_WRONG_POOL;
	case KRT_MEM_DEVICE:
	case KRT_MEM_GLOBAL:
		return !device_known(m->ctx) || m->ctx->device == ctx->device ||
				       peers(e, ctx->device, m->ctx->device)
			       ? KRT_WRONG_NOT
			       : KRT_WRONG_PEER;
	case KRT_MEM_MANAGED:
	case KRT_MEM_PINNED:
	case KRT_MEM_REGISTERED:
	case KRT_MEM_PAGEABLE:
	case KRT_MEM_ARRAY:
	case KRT_MEM_IMPORTED:
	case KRT_MEM_UNKNOWN:
		break;
	}
	return KRT_WRONG_NOT;
}

struct told {
	struct krt_facts f;
	struct krt_finding shape;
	char api[256], stream[160], owner[80], user[80], thing[280], buffer[256];
};

static void tell_begin(struct told *t, enum krt_wrong wrong, enum krt_confidence confidence)
{
	memset(&t->f, 0, sizeof(t->f));
	memset(&t->shape, 0, sizeof(t->shape));
	t->f.rule = KRT_RULE_WRONG_DEVICE;
	t->f.view = KRT_BOTH_VIEWS;
	t->f.confidence = confidence;
	t->f.wrong = wrong;
	t->f.owner = t->owner;
	t->f.user = t->user;
	t->f.thing = t->thing;
	t->owner[0] = t->user[0] = t->thing[0] = 0;
}

static void tell_call(struct told *t, const struct krt_stream_info *s, const char *api,
		      const char *what, uint64_t seq, uint32_t stack)
{
	t->f.cur.api = api;
	t->f.cur.what = what;
	t->f.cur.stream = krt_stream_text(s, t->stream, sizeof(t->stream));
	t->f.cur.seq = seq;
	t->f.cur.host = !s;
	t->shape.current.what = what;
	t->shape.current.api = api;
	t->shape.current.stream = t->f.cur.stream;
	t->shape.current.sequence = seq;
	t->shape.current.stack_id = stack;
	t->shape.current.knowledge = "api";
}

static void tell_memory(struct krt_engine *e, struct told *t, const struct krt_mem *m,
			uint64_t from, uint64_t end)
{
	krt_buffer_of(e, m, from, end, &t->shape.buffer);
	krt_buffer_text(&t->shape.buffer, t->buffer, sizeof(t->buffer));
	t->f.buffer = t->buffer;
	t->f.offset = t->shape.buffer.offset;
	t->f.len = t->shape.buffer.len;
	t->f.size = m->size;
	t->shape.current.range_base = from;
	t->shape.current.range_len = end - from;
}

/* The kernel of op, or of a node of the graph that op launches. */
static void tell_kernel(struct krt_engine *e, const struct krt_op_info *op,
			const struct krt_context_info *ctx, uint32_t kernel,
			const struct krt_mem *m, uint64_t from, uint64_t end, const char *what,
			enum krt_knowledge know, enum krt_confidence confidence)
{
	enum krt_wrong wrong = no_right(e, m, ctx);
	const struct krt_kernel_info *k;
	const struct krt_driver_pool *p = NULL;
	char place[KRT_PLACE];
	struct told t;

	if (wrong == KRT_WRONG_NOT || !e->judge)
		return;
	tell_begin(&t, wrong, confidence);
	k = kernel ? krt_kernel_get(&e->obj, kernel) : NULL;
	if (k && *k->name)
		snprintf(t.api, sizeof(t.api), "kernel %s", k->name);
	else
		snprintf(t.api, sizeof(t.api), "%s", krt_api[op->api].base);
	tell_call(&t, op->stream, t.api, what, op->seq, op->stack);
	t.f.cur.scan = know == KRT_KNOW_POINTER || know == KRT_KNOW_WORD;
	t.shape.current.kernel = k ? k->name : NULL;
	t.shape.current.knowledge = krt_know_text(know);
	t.shape.current.declared_at = krt_declared_at(k, know, place);
	tell_memory(e, &t, m, from, end);
	context_text(ctx, t.user, sizeof(t.user));
	if (wrong == KRT_WRONG_MAPPED) {
		devices_text(m->may, t.owner, sizeof(t.owner));
	} else if (m->kind == KRT_MEM_POOL && m->handle) {
		HASH_FIND(hh, e->driver_pools, &m->handle, sizeof(m->handle), p);
		devices_text(p ? 1ull << p->device : 0, t.owner, sizeof(t.owner));
	} else {
		context_text(m->ctx, t.owner, sizeof(t.owner));
	}
	snprintf(t.thing, sizeof(t.thing), "device %u", ctx->device);
	krt_find(e, &t.f, &t.shape, m->made.seq ? m->made.stack : 0);
}

void krt_rights_kernel(struct krt_engine *e, const struct krt_op_info *op, const struct krt_mem *m,
		       uint64_t from, uint64_t end, const char *what, enum krt_knowledge know,
		       enum krt_confidence confidence)
{
	tell_kernel(e, op, op->stream->ctx, op->kernel, m, from, end, what, know, confidence);
}

/* --- kernels of graphs ------------------------------------------------------------------- */

static const struct krt_context_info *context_of_node(struct krt_engine *e,
						      const struct krt_gnode *d)
{
	struct krt_context_info *c;

	HASH_FIND(hh, e->obj.contexts, &d->ctx, sizeof(d->ctx), c);
	return c;
}

/* The memory that an access of a node lies in, as long as it is the same that it was. */
static const struct krt_mem *memory_of(struct krt_engine *e, const struct krt_gaccess *a)
{
	const struct krt_mem *m =
		a->owner && !a->owner->ended ? krt_mem_at(&e->mem, a->addr) : NULL;

	return m && m->kind != KRT_MEM_ARRAY ? m : NULL;
}

bool krt_rights_lacking(struct krt_engine *e, const struct krt_gnode *d, const struct krt_gset *s)
{
	const struct krt_context_info *ctx;

	if (d->type != KRT_GNODE_KERNEL || !d->ctx)
		return false;
	ctx = context_of_node(e, d);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct krt_mem *m = memory_of(e, &s->access[i]);

		if (m && no_right(e, m, ctx) != KRT_WRONG_NOT)
			return true;
	}
	return false;
}

static enum krt_confidence confidence_of(const struct krt_gnode *d, const struct krt_gaccess *a)
{
	int c = a->know == KRT_KNOW_WORD  ? KRT_POSSIBLE
		: a->sure != KRT_SURE_ALL ? KRT_LIKELY
					  : KRT_CERTAIN;

	if (d->flags & KRT_GN_MAYBE && c > KRT_POSSIBLE)
		c--;
	return (enum krt_confidence)c;
}

void krt_rights_graph(struct krt_engine *e, const struct krt_op_info *op,
		      const struct krt_footprint *f, const uint8_t *off)
{
	for (uint32_t i = 0; i < f->image->nodes; i++) {
		const struct krt_gnode *d = &f->image->node[i];
		const struct krt_gset *s = f->set[i];
		const struct krt_context_info *ctx;

		if (d->type != KRT_GNODE_KERNEL || !s || off[i])
			continue;
		ctx = context_of_node(e, d);
		for (uint32_t k = 0; k < s->n; k++) {
			const struct krt_gaccess *a = &s->access[k];
			const struct krt_mem *m = memory_of(e, a);

			if (m)
				tell_kernel(e, op, ctx, s->kernel, m, a->addr, a->addr + a->width,
					    krt_what_of(a->kind), a->know, confidence_of(d, a));
		}
	}
}

/* --- modules and functions -------------------------------------------------------------- */

static void own(struct krt_engine *e, uint64_t handle, uint64_t module,
		struct krt_context_info *ctx)
{
	struct krt_heap *heap = &e->heap;
	struct krt_owned *o;

	if (!handle || !ctx)
		return;
	HASH_FIND(hh, e->owned, &handle, sizeof(handle), o);
	if (!o) {
		if (HASH_COUNT(e->owned) >= OWNED_MAX)
			return;
		o = krt_heap_alloc(heap, sizeof(*o));
		if (!o)
			return;
		o->key = handle;
		HASH_ADD(hh, e->owned, key, sizeof(o->key), o);
		if (!o->hh.tbl) {
			krt_heap_free(heap, o, sizeof(*o));
			return;
		}
	}
	o->module = module;
	o->ctx = ctx;
}

static const struct krt_owned *owned(struct krt_engine *e, uint64_t handle)
{
	struct krt_owned *o;

	HASH_FIND(hh, e->owned, &handle, sizeof(handle), o);
	return o && !o->ctx->ended ? o : NULL;
}

static void module_gone(struct krt_engine *e, uint64_t module)
{
	struct krt_heap *heap = &e->heap;
	struct krt_owned *o, *tmp;

	HASH_ITER (hh, e->owned, o, tmp)
		if (o->key == module || o->module == module) {
			HASH_DELETE(hh, e->owned, o);
			krt_heap_free(heap, o, sizeof(*o));
		}
}

/* The context of a call, where the record tells it. */
static struct krt_context_info *told_context(struct krt_engine *e, const struct krt_call *c)
{
	return c->rec->ctx ? krt_context_get(&e->obj, c->rec->ctx) : NULL;
}

static void function_found(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_owned *m;

	if (krt_has(c, KRT_ROLE_MODULE)) {
		m = owned(e, c->module);
		if (m)
			own(e, c->out_handle, c->module, m->ctx);
	} else if (krt_has(c, KRT_ROLE_FUNC)) { /* a library's kernel, for this context */
		own(e, c->out_handle, 0, told_context(e, c));
	}
}

/* --- images ---------------------------------------------------------------------------- */

static bool image_error(int result)
{
	return result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
	       result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

static void tell_image(struct krt_engine *e, struct told *t, const struct krt_context_info *ctx,
		       int result)
{
	t->f.result = result;
	context_text(ctx, t->user, sizeof(t->user));
	snprintf(t->thing, sizeof(t->thing), "%s",
		 result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION
			 ? "its PTX is newer than the driver can compile"
			 : "it holds no code that the device can run");
	krt_find(e, &t->f, &t->shape, 0);
}

/* The remembered failure becomes a finding. */
static void image_told(struct krt_engine *e, enum krt_confidence confidence)
{
	const struct krt_op_info *op = e->bad_image;
	bool judge = e->judge;
	struct told t;

	if (!op)
		return;
	tell_begin(&t, KRT_WRONG_IMAGE, confidence);
	tell_call(&t, NULL, krt_api[op->api].base, "load", op->seq, op->stack);
	e->judge = true;
	tell_image(e, &t, op->ctx, e->bad_result);
	e->judge = judge;
	krt_op_unref(&e->heap, e->bad_image);
	e->bad_image = NULL;
}

static void image_failed(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_context_info *ctx = told_context(e, c);

	if (!ctx || e->bad_image || !e->judge)
		return;
	e->bad_image = krt_op_new(&e->obj, c, NULL, KRT_OPC_OTHER);
	if (!e->bad_image)
		return;
	e->bad_image->ctx = ctx;
	e->bad_result = c->rec->result;
}

void krt_rights_served(struct krt_engine *e, const struct krt_context_info *ctx)
{
	if (e->bad_image && ctx && ctx->device == e->bad_image->ctx->device)
		image_told(e, KRT_POSSIBLE);
}

/* --- calls that the driver refused ------------------------------------------------------- */

static bool refusal(int result)
{
	switch (result) {
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
	case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
		return true;
	default:
		return false;
	}
}

static bool other(const struct krt_context_info *a, const struct krt_context_info *b)
{
	return a && b && a->handle && b->handle && !a->ended && !b->ended && a->id != b->id;
}

/* The stream of a call, NULL where it is not known. */
static struct krt_stream_info *told_stream(struct krt_engine *e, const struct krt_call *c)
{
	uint64_t handle = c->stream;
	CUlaunchConfig cfg;

	if (c->op == KRT_OP_LAUNCH_EX) {
		if (c->launch.len < sizeof(cfg))
			return NULL;
		memcpy(&cfg, c->launch.data, sizeof(cfg));
		handle = (uintptr_t)cfg.hStream;
	}
	if (handle > 2)
		return krt_stream_find(&e->obj, handle);
	return c->rec->ctx ? krt_call_stream(e, c, handle) : NULL;
}

static bool refused_handle(struct krt_engine *e, const struct krt_call *c,
			   const struct krt_stream_info *s, enum krt_wrong wrong,
			   const struct krt_context_info *owner,
			   const struct krt_context_info *user, const char *thing)
{
	struct told t;

	if (!other(owner, user))
		return false;
	tell_begin(&t, wrong, KRT_CERTAIN);
	tell_call(&t, s, c->api->base, wrong == KRT_WRONG_EVENT ? "record" : "launch", c->rec->t0,
		  c->rec->stack);
	t.f.result = c->rec->result;
	context_text(owner, t.owner, sizeof(t.owner));
	context_text(user, t.user, sizeof(t.user));
	snprintf(t.thing, sizeof(t.thing), "%s", thing);
	krt_find(e, &t.f, &t.shape, 0);
	return true;
}

static bool refused_launch(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_stream_info *s = told_stream(e, c);
	const struct krt_owned *f = owned(e, c->func);
	const struct krt_kernel_info *k = krt_kernel_get(&e->obj, krt_launch_kernel(e, c));
	char thing[280];
	struct told t;

	if (!s)
		return false;
	snprintf(thing, sizeof(thing), "kernel %s", k && *k->name ? k->name : "function");
	if (image_error(c->rec->result)) {
		tell_begin(&t, KRT_WRONG_IMAGE, KRT_LIKELY);
		tell_call(&t, s, thing, "launch", c->rec->t0, c->rec->stack);
		tell_image(e, &t, s->ctx, c->rec->result);
		return true;
	}
	return f && refusal(c->rec->result) &&
	       refused_handle(e, c, s, KRT_WRONG_FUNCTION, f->ctx, s->ctx, thing);
}

static bool refused_event(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_event_info *ev = krt_event_get(&e->obj, c->event, false), *end;
	const struct krt_stream_info *s = NULL;
	const struct krt_context_info *user = NULL;
	char thing[160];

	if (!ev || !refusal(c->rec->result))
		return false;
	switch (c->op) {
	case KRT_OP_EVENT_RECORD:
		s = told_stream(e, c);
		user = s ? s->ctx : NULL;
		break;
	case KRT_OP_CTX_RECORD:
		user = c->ctx ? krt_context_get(&e->obj, c->ctx) : told_context(e, c);
		break;
	case KRT_OP_EVENT_ELAPSED:
		end = krt_event_get(&e->obj, c->event2, false);
		user = end ? end->ctx : NULL;
		break;
	default:
		return false;
	}
	return refused_handle(e, c, s, KRT_WRONG_EVENT, ev->ctx, user,
			      krt_event_text(ev, thing, sizeof(thing)));
}

/* One side of a copy or set that works for ctx. */
static bool refused_side(struct krt_engine *e, const struct krt_call *c,
			 const struct krt_stream_info *s, const struct krt_context_info *ctx,
			 uint64_t addr, uint64_t len, bool write)
{
	const struct krt_mem *m = krt_mem_at(&e->mem, addr);
	struct told t;

	if (!m || m->imported || !other(m->ctx, ctx) || !len ||
	    len > m->node.key + m->size - addr ||
	    (m->kind != KRT_MEM_DEVICE && m->kind != KRT_MEM_GLOBAL && m->kind != KRT_MEM_POOL))
		return false;
	/* a green context's memory belongs to the device's primary one */
	if (m->ctx->device == ctx->device && (m->ctx->green || ctx->green))
		return false;
	tell_begin(&t, KRT_WRONG_MEMORY, KRT_LIKELY);
	tell_call(&t, s, c->api->base, write ? "write" : "read", c->rec->t0, c->rec->stack);
	t.f.result = c->rec->result;
	tell_memory(e, &t, m, addr, addr + len);
	context_text(m->ctx, t.owner, sizeof(t.owner));
	context_text(ctx, t.user, sizeof(t.user));
	krt_find(e, &t.f, &t.shape, m->made.seq ? m->made.stack : 0);
	return true;
}

static bool refused_copy(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_stream_info *s = told_stream(e, c);
	const struct krt_context_info *dst, *src;
	uint64_t len = c->bytes;

	if (!s || !refusal(c->rec->result))
		return false;
	dst = src = s->ctx;
	if (c->op == KRT_OP_SET)
		len = c->count > UINT64_MAX / 8 ? 0 : c->count * krt_elem_size(c->api);
	if (c->op == KRT_OP_COPY_PEER) { /* says whose memory it is */
		HASH_FIND(hh, e->obj.contexts, &c->dst_ctx, sizeof(c->dst_ctx), dst);
		HASH_FIND(hh, e->obj.contexts, &c->src_ctx, sizeof(c->src_ctx), src);
	}
	return refused_side(e, c, s, dst, c->dst, len, true) ||
	       (c->op != KRT_OP_SET && refused_side(e, c, s, src, c->src, len, false));
}

bool krt_rights_refused(struct krt_engine *e, const struct krt_call *c)
{
	if (!e->judge || e->exiting)
		return false;
	switch (c->op) {
	case KRT_OP_LAUNCH:
	case KRT_OP_LAUNCH_EX:
	case KRT_OP_LAUNCH_LEGACY:
		return refused_launch(e, c);
	case KRT_OP_EVENT_RECORD:
	case KRT_OP_CTX_RECORD:
	case KRT_OP_EVENT_ELAPSED:
		return refused_event(e, c);
	case KRT_OP_COPY:
	case KRT_OP_COPY_PEER:
	case KRT_OP_SET:
		return refused_copy(e, c);
	case KRT_OP_MODULE_LOAD:
	case KRT_OP_LIBRARY_LOAD:
	case KRT_OP_MODULE_FUNCTION:
		if (image_error(c->rec->result))
			image_failed(e, c);
		return false;
	default:
		return false;
	}
}

/* --- all of it --------------------------------------------------------------------------- */

void krt_rights_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_driver_pool *p;

	if (!c->ok) {
		if (c->op == KRT_OP_PEER_ENABLE &&
		    c->rec->result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
			peer_access(e, c);
		return;
	}
	switch (c->op) {
	case KRT_OP_PEER_ENABLE:
	case KRT_OP_PEER_DISABLE:
		peer_access(e, c);
		break;
	case KRT_OP_POOL_CREATE:
		pool_made(e, c);
		break;
	case KRT_OP_POOL_DESTROY:
		p = pool_get(e, c->pool, false);
		if (p)
			pool_drop(e, p);
		break;
	case KRT_OP_POOL_ACCESS:
		pool_access(e, c);
		break;
	case KRT_OP_VMM_ACCESS:
		range_access(e, c);
		break;
	case KRT_OP_MODULE_LOAD:
		own(e, c->out_handle, 0, told_context(e, c));
		krt_rights_served(e, told_context(e, c));
		break;
	case KRT_OP_LIBRARY_LOAD:
		krt_rights_served(e, told_context(e, c));
		break;
	case KRT_OP_MODULE_FUNCTION:
		function_found(e, c);
		break;
	case KRT_OP_MODULE_UNLOAD:
		module_gone(e, c->module);
		break;
	default:
		break;
	}
}

void krt_rights_finish(struct krt_engine *e)
{
	image_told(e, KRT_LIKELY);
}

void krt_rights_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_driver_pool *p, *ptmp;
	struct krt_owned *o, *otmp;

	HASH_ITER (hh, e->driver_pools, p, ptmp)
		pool_drop(e, p);
	HASH_ITER (hh, e->owned, o, otmp) {
		HASH_DELETE(hh, e->owned, o);
		krt_heap_free(heap, o, sizeof(*o));
	}
	if (e->bad_image)
		krt_op_unref(heap, e->bad_image);
}
