/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that a replay did not get: advice, and only with evidence.
 *
 * An input that is left at its old value.  Bytes that an executable reads and
 * does not write, and that live operations of one call site write, are an input
 * of it.  One that was written before every replay so far, three at least, and
 * not before this one, although another input was, is told; but only when all is
 * over, and when it was left out now and then: what is written only when it
 * changes soon has more replays without than with.
 *
 * Fresh data that went elsewhere.  A new allocation (or block) as large as an
 * input was written by the same kernel or call that wrote the input before,
 * nobody read it, and the input was not written since the replay before: twice at
 * least, and at half of the replays.
 *
 * What a kernel that only holds a pointer may have written counts as written, and
 * what it may have read as read; of one that is known to write from somewhere on, all
 * of that block or allocation.  A launch costs a bounded number of steps: its
 * inputs and the latest new allocations, never its nodes.
 */
#include "engine_int.h"
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_MAX    32 /* inputs of one executable */
#define EARLIER_MIN  3	/* replays that an input was written before */
#define MISSES_RATIO 3	/* times as often written as left out */
#define FRESH_MAX    32 /* new allocations that nobody has read */
#define FRESH_WAIT   4	/* replays that a reader of one may still come */
#define FRESH_MIN    2

/* What one call site writes of one allocation. */
struct unit {
	uint64_t site, space, from, end; /* keys */
	uint64_t addr;			 /* of the first byte */
	uint32_t serial;		 /* of the allocation */
	struct krt_op_info *writer;	 /* the latest */
	uint64_t written_before, left_out, streak;
	bool written; /* since the latest replay */
	bool told;    /* the first time without it is worth telling */
	bool irregular; /* written when it changes: given up */
	/* of that first time */
	struct krt_op_info *launch, *before; /* before: what had written it last */
	uint64_t replay;
	char other[200]; /* an input that was written before it */
};

struct krt_inputs {
	uint64_t launches, last; /* seq of the latest launch, of the making before the first */
	uint64_t record;	 /* of the latest launch, in the engine's count */
	struct unit *unit;
	uint32_t units, units_cap;
	/* sizes of what it reads, sorted: of one footprint */
	uint64_t *size;
	uint32_t sizes, footprint;
	/* fresh data that it did not read */
	uint64_t hits;
	struct krt_op_info *fresh_writer, *fresh_launch;
	struct krt_buffer input; /* strings are constants */
	uint32_t input_stack;
	char fresh[160];
};

/* A new allocation that something wrote, and nothing has read. */
struct krt_fresh {
	uint64_t base, size, space, key;
	uint32_t serial; /* of the allocation or block; 0: no entry */
	bool block;
	struct krt_op_info *op;
	/* the launch that did not read it, though it reads something like it */
	uint64_t exec; /* handle, 0: none yet */
	struct krt_op_info *launch;
	uint64_t launches; /* of the executable then */
	struct krt_buffer input;
	uint32_t input_stack;
	char text[160]; /* of the new allocation */
};

static bool device_kind(enum krt_mem_kind k)
{
	return k == KRT_MEM_DEVICE || k == KRT_MEM_POOL || k == KRT_MEM_MAPPED;
}

/* --- what an executable reads and writes ------------------------------------------------ */

#define TRIES_MAX 64

/* Does a segment that only begins somewhere reach into [from, end), at most? */
static bool may_reach(const struct krt_fgroup *g, unsigned list, uint64_t from, uint64_t end)
{
	const struct krt_fseg *s = g->fp->seg + g->at[list];
	uint32_t lo = 0, hi = g->count[list];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s[mid].from < end)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (unsigned tried = 0; lo-- && tried < TRIES_MAX; tried++)
		if (s[lo].limit > from)
			return true;
	return false;
}

/* Lists of these kinds; far: where only the beginning is known, as far as it may go. */
static bool overlaps(struct krt_engine *e, const struct krt_fgroup *g, unsigned kinds, bool far,
		     uint64_t from, uint64_t end)
{
	struct krt_pattern p = krt_pattern_solid(from, end);

	for (unsigned list = 0; list < KRT_FLISTS; list++) {
		struct krt_how how = krt_flist_how(list);

		if (!g->count[list] || !(how.kind & kinds))
			continue;
		if (far && how.sure == KRT_SURE_FROM ? may_reach(g, list, from, end)
						     : krt_footprint_find(e, g, list, &p) != NULL)
			return true;
	}
	return false;
}

static bool reads(struct krt_engine *e, const struct krt_fgroup *g, uint64_t from, uint64_t end)
{
	return overlaps(e, g, KRT_ACC_READ | KRT_ACC_UNKNOWN, false, from, end);
}

static bool writes(struct krt_engine *e, const struct krt_fgroup *g, uint64_t from, uint64_t end)
{
	return overlaps(e, g, KRT_ACC_WRITE | KRT_ACC_ATOMIC, true, from, end);
}

static struct krt_inputs *inputs_of(struct krt_engine *e, struct krt_exec *x)
{
	if (!x->inputs) {
		x->inputs = krt_heap_alloc(&e->heap, sizeof(*x->inputs));
		if (x->inputs)
			x->inputs->last = x->made.seq;
	}
	return x->inputs;
}

static void op_set(struct krt_engine *e, struct krt_op_info **to, struct krt_op_info *op)
{
	if (op)
		krt_op_ref(op);
	if (*to)
		krt_op_unref(&e->heap, *to);
	*to = op;
}

/* --- inputs that are written again and again ------------------------------------------------ */

static void unit_written(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op,
			 const struct krt_mem *mem, uint64_t from, uint64_t end)
{
	struct krt_inputs *in = inputs_of(e, x);
	uint64_t site = krt_call_site(e, op->stack) ^ op->api;
	struct unit *u = NULL;

	for (uint32_t i = 0; in && i < in->units; i++) {
		struct unit *k = &in->unit[i];

		if (k->space != mem->space->id || k->serial != mem->serial)
			continue;
		if (k->site == site)
			u = k;
	}
	if (!u) {
		if (!in || in->units >= UNITS_MAX ||
		    !krt_heap_grow(&e->heap, &in->unit, &in->units_cap, in->units, sizeof(*u)))
			return;
		u = &in->unit[in->units++];
		memset(u, 0, sizeof(*u));
		u->site = site;
		u->space = mem->space->id;
		u->serial = mem->serial;
		u->from = from;
		u->end = end;
	}
	u->from = from < u->from ? from : u->from;
	u->end = end > u->end ? end : u->end;
	u->addr = krt_mem_addr(mem, u->from);
	u->written = true;
	op_set(e, &u->writer, op);
}

/* Did another executable's launch since then write it, or may it have? */
static bool written_by_a_graph(struct krt_engine *e, const struct krt_exec *x, const struct unit *u)
{
	const struct krt_mem *mem = krt_mem_at(&e->mem, u->addr);

	if (!mem || mem->serial != u->serial) /* gone: not ours to judge */
		return true;
	for (const struct krt_fgroup *g = mem->space->graphs; g; g = g->next) {
		const struct krt_exec *y = g->fp->exec;

		if (!y || y == x || !y->inputs || y->inputs->last < x->inputs->last ||
		    !y->inputs->launches)
			continue;
		if (overlaps(e, g, KRT_ACC_WRITE | KRT_ACC_ATOMIC | KRT_ACC_UNKNOWN, true, u->from,
			     u->end))
			return true;
	}
	return false;
}

static void unit_text(struct krt_engine *e, const struct unit *u, char *buf, size_t len)
{
	const struct krt_mem *mem = krt_mem_at(&e->mem, u->addr);
	struct krt_buffer b;

	*buf = 0;
	if (!mem || mem->serial != u->serial)
		return;
	krt_buffer_of(e, mem, krt_mem_addr(mem, u->from), krt_mem_addr(mem, u->end), &b);
	krt_buffer_text(&b, buf, len);
}

static void units_launch(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op)
{
	struct krt_inputs *in = x->inputs;
	const struct unit *any = NULL;

	for (uint32_t i = 0; i < in->units; i++) {
		const struct krt_mem *mem = krt_mem_at(&e->mem, in->unit[i].addr);

		in->unit[i].written |= mem && mem->space->id == in->unit[i].space &&
				       mem->space->stirred > in->record;
		if (in->unit[i].written && !any)
			any = &in->unit[i];
	}
	if (!any) /* the same again, on purpose */
		return;
	for (uint32_t i = 0; i < in->units; i++) {
		struct unit *u = &in->unit[i];

		if (u->irregular)
			continue;
		if (u->written || written_by_a_graph(e, x, u)) {
			u->written_before++;
			if (!u->left_out)
				u->streak++;
			continue;
		}
		if (u->left_out++) {
			u->irregular = u->left_out > 8 &&
				       u->left_out * MISSES_RATIO > u->written_before;
			continue;
		}
		u->told = u->streak >= EARLIER_MIN;
		if (!u->told)
			continue;
		op_set(e, &u->launch, op);
		op_set(e, &u->before, u->writer);
		u->replay = in->launches + 1;
		unit_text(e, any, u->other, sizeof(u->other));
	}
	for (uint32_t i = 0; i < in->units; i++)
		in->unit[i].written = false;
}

/* --- findings ------------------------------------------------------------------------------------ */

static void find(struct krt_engine *e, struct krt_input_facts *k, const struct krt_buffer *b,
		 uint32_t alloc_stack, const struct krt_op_info *launch,
		 const struct krt_op_info *writer)
{
	const struct krt_kernel_info *kernel =
		writer->kernel ? krt_kernel_get(&e->obj, writer->kernel) : NULL;
	char cur[160], prev[160], buffer[256], name[200];
	struct krt_facts f = {.rule = KRT_RULE_GRAPH_STALE_INPUT,
			      .confidence = KRT_LIKELY,
			      .view = KRT_BOTH_VIEWS,
			      .input = k};
	struct krt_finding shape;

	memset(&shape, 0, sizeof(shape));
	shape.buffer = *b;
	krt_buffer_text(b, buffer, sizeof(buffer));
	f.buffer = buffer;
	f.offset = b->offset;
	f.len = b->len;
	f.size = b->size;
	krt_side_plain(&f.cur, &shape.current, launch, "read", cur, sizeof(cur));
	krt_side_plain(&f.prev, &shape.previous, writer, "write", prev, sizeof(prev));
	if (kernel && *kernel->name) {
		snprintf(name, sizeof(name), "kernel %s", kernel->name);
		f.prev.api = shape.previous.api = name;
		shape.previous.kernel = kernel->name;
	}
	krt_find(e, &f, &shape, alloc_stack);
}

/* All is over: what was left out now and then. */
static void units_end(struct krt_engine *e, struct krt_inputs *in)
{
	for (uint32_t i = 0; i < in->units; i++) {
		const struct unit *u = &in->unit[i];
		const struct krt_mem *mem = krt_mem_at(&e->mem, u->addr);
		struct krt_input_facts k = {.replay = u->replay,
					    .earlier = u->streak,
					    .left_out = u->left_out,
					    .other = *u->other ? u->other : NULL};
		struct krt_buffer b;

		if (!u->told || u->irregular || u->left_out * MISSES_RATIO > u->written_before)
			continue;
		memset(&b, 0, sizeof(b));
		if (mem && mem->serial == u->serial) {
			krt_buffer_of(e, mem, krt_mem_addr(mem, u->from), krt_mem_addr(mem, u->end),
				      &b);
		} else {
			b.kind = krt_mem_kind_name(KRT_MEM_DEVICE);
			b.base = u->addr;
			b.size = b.len = u->end - u->from;
		}
		find(e, &k, &b, mem && mem->serial == u->serial ? mem->made.stack : 0, u->launch,
		     u->before);
	}
}

/* --- fresh data ------------------------------------------------------------------------------------ */

static void fresh_drop(struct krt_engine *e, struct krt_fresh *f)
{
	op_set(e, &f->op, NULL);
	op_set(e, &f->launch, NULL);
	memset(f, 0, sizeof(*f));
}

static void fresh_add(struct krt_engine *e, struct krt_op_info *op, const struct krt_mem *mem,
		      const struct krt_block *b)
{
	struct krt_fresh *f = NULL;

	if (!e->fresh) {
		e->fresh = krt_heap_alloc(&e->heap, FRESH_MAX * sizeof(*e->fresh));
		if (!e->fresh)
			return;
	}
	for (unsigned i = 0; i < FRESH_MAX && !f; i++)
		if (!e->fresh[i].serial)
			f = &e->fresh[i];
	for (unsigned i = 0; i < FRESH_MAX && !f; i++) { /* rather one that nobody waits for */
		f = &e->fresh[e->fresh_next++ % FRESH_MAX];
		if (f->exec)
			f = NULL;
	}
	if (!f)
		f = &e->fresh[e->fresh_next++ % FRESH_MAX];
	fresh_drop(e, f);
	f->base = b ? b->node.key : mem->node.key;
	f->size = b ? b->size : mem->size;
	f->serial = b ? b->serial : mem->serial;
	f->block = b;
	f->space = mem->space->id;
	f->key = krt_mem_key(mem, f->base);
	op_set(e, &f->op, op);
}

/* Something touches memory: the first time it is written, later it may be read. */
static void fresh_touch(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
			uint64_t addr, unsigned kind)
{
	struct krt_block *b = krt_block_at(&e->mem, addr);
	struct krt_input_mark *m = b ? &b->input : &mem->input;
	uint32_t serial = b ? b->serial : mem->serial;
	bool first = !m->seq;

	if (kind != KRT_ACC_READ) {
		if (first) {
			m->api[0] = op->api;
			m->kernel[0] = op->kernel;
		}
		m->api[1] = op->api;
		m->kernel[1] = op->kernel;
		m->seq = op->seq;
	} else if (first) {
		m->seq = op->seq;
	}
	if (first) {
		if (kind != KRT_ACC_READ && e->graphs.execs && device_kind(mem->kind))
			fresh_add(e, op, mem, b);
		return;
	}
	for (unsigned i = 0; e->fresh && i < FRESH_MAX; i++)
		if (e->fresh[i].serial == serial && e->fresh[i].op != op && kind != KRT_ACC_WRITE)
			fresh_drop(e, &e->fresh[i]);
}

static bool ended(const struct krt_engine *e, const struct krt_fresh *f)
{
	const struct krt_block *b = f->block ? krt_block_at(&e->mem, f->base) : NULL;
	const struct krt_mem *mem = f->block ? NULL : krt_mem_at(&e->mem, f->base);

	return f->block ? !b || b->serial != f->serial : !mem || mem->serial != f->serial;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_input(const struct krt_owner_use *u)
{
	return (u->kind == KRT_ACC_READ || u->kind == KRT_ACC_UNKNOWN) && !u->owner->ended &&
	       u->know != KRT_KNOW_WORD && device_kind(u->owner->kind);
}

/* Does it read anything of that size?  Worked out once a footprint. */
static bool reads_size(struct krt_engine *e, struct krt_exec *x, uint64_t size)
{
	struct krt_inputs *in = x->inputs;
	uint32_t lo = 0, hi;

	if (in->footprint != x->fp->id) {
		uint32_t n = 0;

		krt_heap_free(&e->heap, in->size, in->sizes * sizeof(*in->size));
		in->sizes = 0;
		in->footprint = x->fp->id;
		for (uint32_t i = 0; i < x->fp->uses; i++)
			n += is_input(&x->fp->use[i]);
		in->size = n ? krt_heap_alloc(&e->heap, n * sizeof(*in->size)) : NULL;
		for (uint32_t i = 0; in->size && i < x->fp->uses; i++)
			if (is_input(&x->fp->use[i]))
				in->size[in->sizes++] = x->fp->use[i].owner->size;
		if (in->sizes)
			qsort(in->size, in->sizes, sizeof(*in->size), by_size);
	}
	hi = in->sizes;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (in->size[mid] < size)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < in->sizes && in->size[lo] == size;
}

/* An input like it that was not written since the launch before, by what it was written once. */
static const struct krt_owner_use *like(struct krt_engine *e, const struct krt_exec *x,
					const struct krt_fresh *f)
{
	for (uint32_t i = 0; i < x->fp->uses; i++) {
		const struct krt_owner_use *u = &x->fp->use[i];
		const struct krt_owner *o = u->owner;
		const struct krt_fgroup *g;
		const struct krt_input_mark *m;
		const struct krt_block *b;
		const struct krt_mem *mem;

		if (!is_input(u) || o->size != f->size || o->block != f->block || o->base == f->base)
			continue;
		b = o->block ? krt_block_at(&e->mem, o->base) : NULL;
		mem = krt_mem_at(&e->mem, o->base);
		if (!mem || (o->block && !b))
			continue;
		m = b ? &b->input : &mem->input;
		if (!m->seq || m->seq > x->inputs->last)
			continue;
		if (!((m->api[0] == f->op->api && m->kernel[0] == f->op->kernel) ||
		      (m->api[1] == f->op->api && m->kernel[1] == f->op->kernel)))
			continue;
		g = krt_footprint_group(x->fp, o->space);
		if (!g || !writes(e, g, o->off, o->off + o->size))
			return u;
	}
	return NULL;
}

static void hit(struct krt_engine *e, struct krt_inputs *in, struct krt_fresh *f)
{
	in->hits++;
	op_set(e, &in->fresh_writer, f->op);
	op_set(e, &in->fresh_launch, f->launch);
	in->input = f->input;
	in->input_stack = f->input_stack;
	memcpy(in->fresh, f->text, sizeof(in->fresh));
	fresh_drop(e, f);
}

static void fresh_text(struct krt_engine *e, struct krt_fresh *f)
{
	const struct krt_mem *mem = krt_mem_at(&e->mem, f->base);
	struct krt_buffer b;

	if (mem) {
		krt_buffer_of(e, mem, f->base, f->base, &b);
	} else {
		memset(&b, 0, sizeof(b));
		b.kind = krt_mem_kind_name(KRT_MEM_DEVICE);
	}
	b.base = f->base;
	krt_buffer_text(&b, f->text, sizeof(f->text));
}

static void fresh_launch(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op)
{
	struct krt_inputs *in = x->inputs;

	for (unsigned i = 0; e->fresh && i < FRESH_MAX; i++) {
		struct krt_fresh *f = &e->fresh[i];
		const struct krt_owner_use *u;
		const struct krt_fgroup *g;

		if (!f->serial)
			continue;
		g = krt_footprint_group(x->fp, f->space);
		if (g && reads(e, g, f->key, f->key + f->size)) { /* it reads just that */
			fresh_drop(e, f);
			continue;
		}
		if (f->exec == x->handle) {
			if (ended(e, f) || in->launches - f->launches >= FRESH_WAIT)
				hit(e, in, f);
			continue;
		}
		if (f->exec || f->op->seq <= in->last || !reads_size(e, x, f->size))
			continue;
		u = like(e, x, f);
		if (!u)
			continue;
		f->exec = x->handle;
		f->launches = in->launches;
		op_set(e, &f->launch, op);
		krt_owner_buffer(u->owner, u->from, u->from, &f->input);
		f->input.name = NULL; /* it may not live as long */
		fresh_text(e, f);
		f->input_stack = u->owner->made.stack;
	}
}

/* --- hooks -------------------------------------------------------------------------------------------- */

void krt_input_touch(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
		     uint64_t addr, uint64_t len, unsigned kind, enum krt_sureness sure)
{
	uint64_t from = krt_mem_key(mem, addr), end = from + len;

	if (mem->kind == KRT_MEM_ARRAY || mem == &e->mem.pageable || mem == &e->mem.unknown)
		return;
	fresh_touch(e, op, mem, addr, kind);
	if (kind == KRT_ACC_READ || !device_kind(mem->kind))
		return;
	/* a pointer, or some bytes: all of the allocation may have been written */
	if (kind != KRT_ACC_WRITE || (sure != KRT_SURE_ALL && sure != KRT_SURE_SOME)) {
		mem->space->stirred = e->records;
		return;
	}
	for (struct krt_fgroup *g = mem->space->graphs; g; g = g->next) {
		struct krt_exec *x = g->fp->exec;

		if (x && reads(e, g, from, end) && !writes(e, g, from, end))
			unit_written(e, x, op, mem, from, end);
		for (uint32_t i = 0; x && x->inputs && i < x->inputs->units; i++) {
			struct unit *u = &x->inputs->unit[i];

			u->written |= u->space == g->id && u->from < end && from < u->end;
		}
	}
}

void krt_input_launch(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op)
{
	struct krt_inputs *in = inputs_of(e, x);

	if (!in || !x->fp)
		return;
	units_launch(e, x, op);
	fresh_launch(e, x, op);
	in->launches++;
	in->last = op->seq;
	in->record = e->records;
}

void krt_input_end(struct krt_engine *e, struct krt_exec *x)
{
	struct krt_inputs *in = x->inputs;

	if (!in || !e->judge)
		return;
	for (unsigned i = 0; e->fresh && i < FRESH_MAX; i++)
		if (e->fresh[i].serial && e->fresh[i].exec == x->handle)
			hit(e, in, &e->fresh[i]);
	units_end(e, in);
	if (in->hits >= FRESH_MIN && in->hits * 2 >= in->launches) {
		struct krt_input_facts k = {
			.fresh = in->fresh, .hits = in->hits, .launches = in->launches};

		find(e, &k, &in->input, in->input_stack, in->fresh_launch, in->fresh_writer);
	}
}

void krt_input_free(struct krt_engine *e, struct krt_exec *x)
{
	struct krt_inputs *in = x->inputs;
	struct krt_heap *h = &e->heap;

	for (unsigned i = 0; e->fresh && i < FRESH_MAX; i++)
		if (e->fresh[i].exec == x->handle)
			fresh_drop(e, &e->fresh[i]);
	if (!in)
		return;
	for (uint32_t i = 0; i < in->units; i++) {
		op_set(e, &in->unit[i].writer, NULL);
		op_set(e, &in->unit[i].launch, NULL);
		op_set(e, &in->unit[i].before, NULL);
	}
	op_set(e, &in->fresh_writer, NULL);
	op_set(e, &in->fresh_launch, NULL);
	krt_heap_free(h, in->unit, in->units_cap * sizeof(*in->unit));
	krt_heap_free(h, in->size, in->sizes * sizeof(*in->size));
	krt_heap_free(h, in, sizeof(*in));
	x->inputs = NULL;
}

void krt_inputs_free(struct krt_engine *e)
{
	for (unsigned i = 0; e->fresh && i < FRESH_MAX; i++)
		fresh_drop(e, &e->fresh[i]);
	krt_heap_free(&e->heap, e->fresh, FRESH_MAX * sizeof(*e->fresh));
	e->fresh = NULL;
}
