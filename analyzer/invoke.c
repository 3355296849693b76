/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches: which kernel with which parameters, on which stream, and what
 * the program declared of it.  What it touches: kernel.c.
 */
#include "engine_int.h"
#include "../interposer/cuabi.h"
#include "ptx/flow.h"

#include <string.h>

#define DECLARED_MAX 4096

/* --- declared access -------------------------------------------------------------- */

void krt_launch_note(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);
	struct krt_declared *d;

	if (!l)
		return;
	if (l->ndeclared >= DECLARED_MAX) /* for launches that never come */
		memmove(l->declared, l->declared + 1, --l->ndeclared * sizeof(*d));
	if (!krt_heap_grow(&e->heap, &l->declared, &l->declared_cap, l->ndeclared, sizeof(*d)))
		return;
	d = &l->declared[l->ndeclared++];
	d->stream = c->stream;
	d->addr = c->addr;
	d->len = c->bytes;
	d->flags = c->flags;
}

bool krt_launch_declared(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
			 bool drop, krt_kernel_fn *fn, void *user)
{
	struct krt_lane *l = krt_call_lane(e, c->lane);
	uint32_t n = 0;
	bool any = false;

	for (uint32_t i = 0; l && i < l->ndeclared; i++) {
		struct krt_declared *d = &l->declared[i];

		/* 0, 1 and 2 mean what they mean to the launch's context and thread */
		if (krt_stream_get(&e->obj, d->stream, s->ctx, l->thread, false) != s) {
			if (drop)
				l->declared[n++] = *d;
			continue;
		}
		any = true;
		if (fn && d->addr && d->len)
			krt_kernel_by_flags(d->addr, d->len, (unsigned)d->flags,
					    KRT_KNOW_ANNOTATION, fn, user);
	}
	if (l && drop)
		l->ndeclared = n;
	return any;
}

/* --- parameters --------------------------------------------------------------------- */

void krt_params_record(struct krt_engine *e, const struct krt_rec_params *r, size_t len)
{
	struct krt_heap *heap = &e->heap;
	struct krt_shared *p;
	uint32_t id;

	if (len < sizeof(*r) || r->len > len - sizeof(*r)) {
		e->malformed++;
		return;
	}
	id = r->id;
	HASH_FIND(hh, e->shared, &id, sizeof(id), p);
	if (p)
		return;
	p = krt_heap_alloc(heap, sizeof(*p));
	if (!p)
		return;
	p->id = r->id;
	p->kernel = r->kernel;
	p->len = r->len;
	p->bytes = krt_heap_alloc(heap, r->len);
	if (p->bytes) {
		memcpy(p->bytes, r->bytes, r->len);
		HASH_ADD(hh, e->shared, id, sizeof(p->id), p);
	}
	if (p->hh.tbl)
		return;
	krt_heap_free(heap, p->bytes, p->len);
	krt_heap_free(heap, p, sizeof(*p));
}

static struct krt_kernel_params params_of(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_kernel_params p = {0};
	struct krt_params head;
	struct krt_shared *shared;
	uint32_t id;

	if (!c->params.data)
		return p;
	if (c->params_kind == KRT_BLOB_SHARED && c->params.len >= 4) {
		memcpy(&id, c->params.data, 4);
		HASH_FIND(hh, e->shared, &id, sizeof(id), shared);
		if (shared)
			p = (struct krt_kernel_params){.kernel = shared->kernel,
						       .bytes = shared->bytes,
						       .len = shared->len,
						       .known = true};
	} else if (c->params_kind == KRT_BLOB_PARAMS && c->params.len >= sizeof(head)) {
		memcpy(&head, c->params.data, sizeof(head));
		p.kernel = head.kernel;
		if (head.len != KRT_PARAMS_UNKNOWN && head.len <= c->params.len - sizeof(head)) {
			p.bytes = (const uint8_t *)c->params.data + sizeof(head);
			p.len = head.len;
			p.known = true;
		}
	}
	return p;
}

struct krt_kernel_params krt_launch_params(struct krt_engine *e, const struct krt_call *c)
{
	return params_of(e, c);
}

uint32_t krt_launch_kernel(struct krt_engine *e, const struct krt_call *c)
{
	return params_of(e, c).kernel;
}

static uint64_t params_hash(const struct krt_kernel_params *p)
{
	uint64_t h = p->kernel, w;

	for (uint32_t at = 0; p->bytes && at < p->len; at += 8) {
		w = 0;
		memcpy(&w, p->bytes + at, p->len - at < 8 ? p->len - at : 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

/* --- launches ------------------------------------------------------------------------ */

struct on_op {
	struct krt_engine *e;
	struct krt_op_info *op;
	struct krt_kernel_ask *ask;
	bool early; /* it may begin before the kernel before it has ended */
};

static void touch_access(void *user, const struct krt_kernel_access *a)
{
	struct on_op *o = user;

	o->op->spins = o->ask->flags & KRT_FLOW_SPINS;
	o->op->locks = o->ask->flags & KRT_FLOW_LOCKS;
	o->op->ordered = o->ask->flags & KRT_FLOW_ORDERED;
	o->op->large = o->ask->writes;
	o->op->beside = 0;
	/* proven of both: the one lets it, the other never waits */
	if (o->early && o->ask->text && !(o->ask->flags & KRT_FLOW_PDL_WAIT) &&
	    o->op->stream->trigger_seq && o->op->stream->trigger_seq == o->op->stream->call_before)
		o->op->beside = o->op->stream->trigger_epoch;
	krt_touch_kernel(o->e, o->op, a);
}

static void spin(void *user, const struct krt_kernel_access *a)
{
	struct on_op *o = user;

	krt_flag_touch(o->e, o->op->stream, a->addr);
}

static bool pointer_like(void *user, uint64_t v)
{
	struct on_op *o = user;

	return krt_mem_at(&o->e->mem, v) || krt_mem_freed_at(&o->e->mem, v);
}

static void touch_kernel(struct krt_engine *e, const struct krt_call *c, struct krt_op_info *op,
			 const struct krt_kernel_params *p, bool early)
{
	struct krt_kernel_ask ask = {.call = c,
				     .stream = op->stream,
				     .ctx = op->stream->ctx,
				     .use_up = true,
				     .is_memory = pointer_like,
				     .fn = touch_access};
	struct on_op o = {.e = e, .op = op, .ask = &ask, .early = early};
	enum krt_tier tier;

	ask.user = &o;
	/* a flag that another stream sets may be what it waits for: given up quietly */
	if (e->flags)
		krt_kernel_scan(e, p, pointer_like, spin, &o);
	tier = krt_kernel_accesses(e, p, &ask);
	op->stream->external_own |= ask.waits; /* as a value wait that nothing has met yet */
	e->cov.launches_by[tier]++;
	e->cov.kernels_certain += !ask.vague;
	e->cov.kernels_declared += tier <= KRT_TIER_KERNELS_FILE;
	e->cov.kernels_unknown += tier >= KRT_TIER_NAME;
	if (ask.wild)
		krt_shadow_forget(e);
	op->stream->trigger_seq = ask.flags & KRT_FLOW_PDL_LAUNCH ? op->seq : 0;
	op->stream->trigger_epoch = op->stamp.epoch;
}

/* Blocks, and threads of a block. */
struct launch_size {
	uint32_t grid[3], block[3], shared;
};

static void launch(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
		   bool coop, bool early, const struct launch_size *size)
{
	struct krt_kernel_params p = params_of(e, c);
	struct krt_op_info *op;

	if (!s)
		return;
	if (!c->ok || krt_capturing(e, s)) { /* a captured one belongs to its node now */
		if (c->ok)
			krt_hot_captured(e, c);
		krt_launch_declared(e, c, s, true, NULL, NULL);
		return;
	}
	e->cov.launches++;
	krt_rights_served(e, s->ctx);
	op = krt_enqueue(e, c, s, KRT_OPC_KERNEL);
	if (!op)
		return;
	op->kernel = p.kernel;
	op->coop = coop;
	op->detail = krt_library_inside(e, c);
	memcpy(p.grid, size->grid, sizeof(p.grid));
	memcpy(p.block, size->block, sizeof(p.block));
	p.shared = size->shared;
	touch_kernel(e, c, op, &p, early);
	krt_op_unref(&e->heap, op);
	krt_site_work(e, c, 0);
	krt_hot_launch(e, c, p.kernel, params_hash(&p));
}

/* Attribute i behind the configuration. */
static bool attribute(const struct krt_call *c, uint32_t i, CUlaunchAttribute *a)
{
	size_t at = sizeof(CUlaunchConfig) + i * sizeof(*a);

	if (at + sizeof(*a) > c->launch.len)
		return false;
	memcpy(a, (const char *)c->launch.data + at, sizeof(*a));
	return true;
}

/* An event that fires before the kernel is done covers what came before the kernel. */
static uint64_t early_event(const CUlaunchAttribute *a)
{
	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		return (uintptr_t)a->value.programmaticEvent.event;
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return (uintptr_t)a->value.launchCompletionEvent.event;
	default:
		return 0;
	}
}

static void launch_ex(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_stream_info *s;
	struct krt_snapshot *before = NULL;
	struct launch_size size;
	CUlaunchAttribute a;
	CUlaunchConfig cfg;
	bool coop = false, early = false;

	if (!c->launch.data || c->launch.len < sizeof(cfg)) {
		e->malformed++;
		return;
	}
	memcpy(&cfg, c->launch.data, sizeof(cfg));
	s = krt_call_stream(e, c, (uintptr_t)cfg.hStream);
	for (uint32_t i = 0; attribute(c, i, &a); i++) {
		if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			coop = a.value.cooperative != 0;
		if (a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
			early = a.value.programmaticStreamSerializationAllowed != 0;
		if (early_event(&a) && s && c->ok && !s->capture && !before)
			before = krt_order_record(e->order, s->domain);
	}
	size = (struct launch_size){.grid = {cfg.gridDimX, cfg.gridDimY, cfg.gridDimZ},
				    .block = {cfg.blockDimX, cfg.blockDimY, cfg.blockDimZ},
				    .shared = cfg.sharedMemBytes};
	launch(e, c, s, coop, early, &size);
	for (uint32_t i = 0; before && attribute(c, i, &a); i++)
		if (early_event(&a))
			krt_record_event(e, c, early_event(&a), s, before);
	if (before)
		krt_snapshot_unref(e->order, before);
}

/* One kernel a device, ordered with all of the streams unless the flags say otherwise. */
static void launch_multi(struct krt_engine *e, const struct krt_call *c)
{
	enum { MAX = 64 };
	struct krt_stream_info *s[MAX];
	struct krt_kernel_ask none = {0};
	CUDA_LAUNCH_PARAMS p;
	uint32_t n = 0;

	if (!c->ok)
		return;
	for (uint32_t at = 0; at + sizeof(p) <= c->launch_list.len && n < MAX; at += sizeof(p)) {
		memcpy(&p, (const char *)c->launch_list.data + at, sizeof(p));
		s[n] = krt_call_stream(e, c, (uintptr_t)p.hStream);
		if (!s[n])
			return;
		n++;
	}
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < n && !(c->flags & 1u << round); i++) {
			struct krt_snapshot *snap = krt_order_record(e->order, s[i]->domain);

			for (uint32_t k = 0; snap && k < n; k++)
				if (k != i)
					krt_order_wait(e->order, s[k]->domain, snap, KRT_IN_BOTH);
			if (snap)
				krt_snapshot_unref(e->order, snap);
		}
		for (uint32_t i = 0; i < n && !round; i++) {
			struct krt_op_info *op = krt_enqueue(e, c, s[i], KRT_OPC_KERNEL);

			if (!op)
				return;
			op->coop = true;
			e->cov.launches++;
			if (krt_launch_declared(e, c, s[i], true, touch_access,
						&(struct on_op){.e = e, .op = op, .ask = &none})) {
				e->cov.launches_by[KRT_TIER_ANNOTATION]++;
				e->cov.kernels_certain++;
				e->cov.kernels_declared++;
			} else {
				e->cov.launches_by[KRT_TIER_SCAN]++;
				e->cov.kernels_unknown++;
			}
			krt_shadow_forget(e);
			krt_op_unref(&e->heap, op);
		}
	}
	krt_site_work(e, c, 0);
}

void krt_launch_op(struct krt_engine *e, const struct krt_call *c)
{
	struct launch_size size = {.shared = (uint32_t)c->shared};
	struct krt_stream_info *s;

	for (unsigned i = 0; i < 3; i++) {
		size.grid[i] = (uint32_t)c->grid[i];
		size.block[i] = (uint32_t)c->block[i];
	}
	switch (c->op) {
	case KRT_OP_LAUNCH:
		launch(e, c, krt_call_stream(e, c, c->stream), c->api->flags & KRT_F_COOP, false,
		       &size);
		break;
	case KRT_OP_LAUNCH_EX:
		launch_ex(e, c);
		break;
	case KRT_OP_LAUNCH_MULTI:
		launch_multi(e, c);
		break;
	case KRT_OP_LAUNCH_LEGACY:
		s = krt_call_stream(e, c, krt_has(c, KRT_ROLE_STREAM) ? c->stream : 0);
		launch(e, c, s, false, false, &size);
		break;
	default:
		break;
	}
}

void krt_launch_free(struct krt_engine *e)
{
	struct krt_heap *heap = &e->heap;
	struct krt_shared *p, *tmp;

	HASH_ITER (hh, e->shared, p, tmp) {
		HASH_DELETE(hh, e->shared, p);
		krt_heap_free(heap, p->bytes, p->len);
		krt_heap_free(heap, p, sizeof(*p));
	}
}
