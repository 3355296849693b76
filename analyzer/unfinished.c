/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left unfinished: copies to the host that nothing ever waited for, and
 * memory and events handed to another process too early.
 *
 * Of each stream the newest copy to the host is kept: who waits for it has waited
 * for the ones before.  It is judged when the process exits by itself, in the
 * observed view (a call that blocks in practice has waited), and named with the
 * destruction of its stream where there was one.  Word of its completion may also
 * leave by a way that is not seen: a kernel that writes host memory, a flag, a
 * graph's host node, an exported event, an external semaphore.  Whatever is
 * ordered before such an operation is let go.
 *
 * Of another process nothing is seen.  Exported memory is judged at its free, or
 * at the exit, when nothing waited for the write up to then; an exported event
 * when it is destroyed sooner than anyone could have opened it.
 */
#include "engine_int.h"

#include <stdio.h>
#include <string.h>

#define COPIES_MAX  4096
#define EXPORTS_MAX 256
#define TOO_SOON_NS 50000 /* a message to another process and the open there take longer */

/* The newest copy to the host of a stream. */
struct krt_to_host {
	const struct krt_stream_info *key; /* alive as long as op is */
	struct krt_op_info *op;		   /* counted */
	struct krt_op_info *torn;	   /* the destruction of its stream, or NULL; counted */
	uint64_t addr, len;		   /* in host memory; len 0: not one range */
	UT_hash_handle hh;
};

struct krt_export {
	struct krt_op_info *call, *write; /* counted */
	uint32_t mem;			  /* serial of the allocation */
	uint64_t addr, len;		  /* written */
};

static bool over(struct krt_engine *e, const struct krt_op_info *op)
{
	return op->told || (op->ctx && op->ctx->sticky) ||
	       krt_order_before_host(e->order, KRT_VIEW_OBS, op->stamp);
}

/* --- copies to the host --------------------------------------------------------------- */

static void copy_drop(struct krt_engine *e, struct krt_to_host *t)
{
	struct krt_heap *heap = &e->heap;

	HASH_DELETE(hh, e->to_host, t);
	krt_op_unref(heap, t->op);
	if (t->torn)
		krt_op_unref(heap, t->torn);
	krt_heap_free(heap, t, sizeof(*t));
}

static struct krt_to_host *copy_of(struct krt_engine *e, const struct krt_stream_info *s, bool make)
{
	struct krt_heap *heap = &e->heap;
	struct krt_to_host *t, *tmp;

	HASH_FIND(hh, e->to_host, &s, sizeof(s), t);
	if (t || !make)
		return t;
	if (HASH_COUNT(e->to_host) >= e->to_host_sweep) {
		HASH_ITER (hh, e->to_host, t, tmp)
			if (over(e, t->op))
				copy_drop(e, t);
		if (HASH_COUNT(e->to_host) >= COPIES_MAX) /* the oldest goes */
			copy_drop(e, e->to_host);
		e->to_host_sweep = 2 * HASH_COUNT(e->to_host) + 16;
	}
	t = krt_heap_alloc(heap, sizeof(*t));
	if (!t)
		return NULL;
	t->key = s;
	HASH_ADD(hh, e->to_host, key, sizeof(t->key), t);
	if (t->hh.tbl)
		return t;
	krt_heap_free(heap, t, sizeof(*t));
	return NULL;
}

void krt_unfinished_copy(struct krt_engine *e, struct krt_op_info *op, uint64_t addr, uint64_t len)
{
	struct krt_to_host *t = e->judge && op->stream ? copy_of(e, op->stream, true) : NULL;

	if (!t)
		return;
	krt_op_ref(op);
	if (t->op)
		krt_op_unref(&e->heap, t->op);
	t->op = op;
	t->addr = addr;
	t->len = len;
}

static bool covered(const struct krt_engine *e, const struct krt_op_info *op,
		    const struct krt_stream_info *s, const struct krt_snapshot *snap)
{
	return s ? krt_order_before_stream(e->order, KRT_VIEW_OBS, op->stamp, s->domain)
		 : krt_snapshot_has(snap, KRT_VIEW_OBS, op->stamp);
}

/* What the stream, or the record, comes after may be known by a way that is not seen. */
static void let_go(struct krt_engine *e, const struct krt_stream_info *s,
		   const struct krt_snapshot *snap)
{
	struct krt_to_host *t, *tmp;
	uint32_t n = 0;

	HASH_ITER (hh, e->to_host, t, tmp)
		if (covered(e, t->op, s, snap))
			copy_drop(e, t);
	for (uint32_t i = 0; i < e->nexports; i++) {
		struct krt_export *x = &e->export[i];

		if (covered(e, x->write, s, snap)) {
			krt_op_unref(&e->heap, x->write);
			krt_op_unref(&e->heap, x->call);
		} else {
			e->export[n++] = *x;
		}
	}
	e->nexports = n;
}

void krt_unfinished_signal(struct krt_engine *e, const struct krt_stream_info *s)
{
	let_go(e, s, NULL);
}

void krt_host_signal(struct krt_engine *e, const struct krt_stream_info *s)
{
	krt_keep_joined(e, &e->may_know, krt_order_record(e->order, s->domain));
}

bool krt_host_may_know(const struct krt_engine *e, const struct krt_op_info *access,
		       const struct krt_op_info *prev)
{
	enum krt_knowledge know = krt_host_know(access);

	/* who notes an access says that it is one */
	return (know == KRT_KNOW_GUARD || know == KRT_KNOW_CHECKSUM) && e->may_know &&
	       krt_snapshot_has(e->may_know, KRT_VIEW_DOC, prev->stamp);
}

static void stream_destroyed(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_stream_info *s = krt_stream_find(&e->obj, c->stream);
	struct krt_to_host *t = s ? copy_of(e, s, false) : NULL;

	if (!t)
		return;
	if (over(e, t->op))
		copy_drop(e, t);
	else if (!t->torn)
		t->torn = krt_op_new(&e->obj, c, NULL, KRT_OPC_OTHER);
}

/* --- findings -------------------------------------------------------------------------- */

struct told {
	struct krt_facts f;
	struct krt_finding shape;
	char stream[160], prev[256], api[256], buffer[256], name[160];
};

static const char *api_of(struct krt_engine *e, const struct krt_op_info *op, char *buf, size_t len)
{
	const struct krt_kernel_info *k = op->kernel ? krt_kernel_get(&e->obj, op->kernel) : NULL;

	if (!k || !*k->name)
		return krt_api[op->api].base;
	snprintf(buf, len, "kernel %s", k->name);
	return buf;
}

static void tell_begin(struct told *t, enum krt_confidence confidence)
{
	memset(&t->f, 0, sizeof(t->f));
	memset(&t->shape, 0, sizeof(t->shape));
	t->f.rule = KRT_RULE_UNFINISHED;
	t->f.confidence = confidence;
	t->f.view = KRT_BOTH_VIEWS;
}

/* One side, of an operation on a stream or of a call. */
static void tell_side(struct krt_engine *e, struct told *t, bool prev, const struct krt_op_info *op,
		      const char *what)
{
	const struct krt_kernel_info *k = op->kernel ? krt_kernel_get(&e->obj, op->kernel) : NULL;
	struct krt_side *side = prev ? &t->f.prev : &t->f.cur;
	struct krt_operation *out = prev ? &t->shape.previous : &t->shape.current;

	side->api = prev ? api_of(e, op, t->prev, sizeof(t->prev))
			 : api_of(e, op, t->api, sizeof(t->api));
	side->what = what;
	side->stream =
		op->stream ? krt_stream_text(op->stream, t->stream, sizeof(t->stream)) : "host";
	side->seq = op->seq;
	side->host = !op->stream;
	out->api = side->api;
	out->kernel = k ? k->name : NULL;
	out->what = what;
	out->stream = side->stream;
	out->sequence = op->seq;
	out->stack_id = op->stack;
	out->knowledge = "api";
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
}

static void tell_copy(struct krt_engine *e, const struct krt_to_host *c)
{
	const struct krt_mem *m = krt_mem_at(&e->mem, c->addr);
	struct told t;

	tell_begin(&t, KRT_CERTAIN);
	if (c->torn)
		tell_side(e, &t, false, c->torn, "destroy");
	t.f.context_gone = c->torn && krt_api[c->torn->api].op != KRT_OP_STREAM_DESTROY;
	t.f.end_seq = e->exit_ticket;
	tell_side(e, &t, c->torn, c->op, "write");
	if (c->len && (!m || c->len <= m->node.key + m->size - c->addr))
		tell_memory(e, &t, m ? m : &e->mem.pageable, c->addr, c->addr + c->len);
	krt_find(e, &t.f, &t.shape, m && m->made.seq ? m->made.stack : 0);
}

/* The end of a context is the end of its copies, whatever waits afterwards. */
static void context_destroyed(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_to_host *t, *tmp;

	HASH_ITER (hh, e->to_host, t, tmp) {
		const struct krt_context_info *ctx = t->op->ctx;

		if (c->op == KRT_OP_PRIMARY_RESET
			    ? !ctx->primary || ctx->device != (uint32_t)c->device
			    : ctx->handle != c->ctx || ctx->ended)
			continue;
		if (!over(e, t->op) && e->judge) {
			if (t->torn)
				krt_op_unref(&e->heap, t->torn);
			t->torn = krt_op_new(&e->obj, c, NULL, KRT_OPC_OTHER);
			if (t->torn)
				tell_copy(e, t);
		}
		copy_drop(e, t);
	}
}

/* --- memory and events for other processes ----------------------------------------------- */

struct unwritten {
	struct krt_engine *e;
	struct krt_op_info *op;
	uint64_t from, end;
};

static void unfinished_write(void *user, const struct krt_access *a, uint64_t from, uint64_t end)
{
	struct unwritten *u = user;

	if (a->kind != KRT_ACC_WRITE && a->kind != KRT_ACC_ATOMIC)
		return;
	if (over(u->e, a->op) || (u->op && u->op->seq >= a->op->seq))
		return;
	u->op = a->op;
	u->from = from;
	u->end = end;
}

static void memory_exported(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_mem *m = krt_mem_at(&e->mem, c->addr);
	struct unwritten u = {.e = e};
	struct krt_export *x;

	if (!m || m->imported || !e->judge || e->nexports >= EXPORTS_MAX)
		return;
	krt_ranges_each(&m->space->sure, m->space_off, m->space_off + m->size, unfinished_write,
			&u);
	if (!u.op || !krt_heap_grow(&e->heap, &e->export, &e->exports_cap, e->nexports, sizeof(*x)))
		return;
	x = &e->export[e->nexports];
	x->call = krt_op_new(&e->obj, c, NULL, KRT_OPC_OTHER);
	if (!x->call)
		return;
	e->nexports++;
	x->write = u.op;
	krt_op_ref(u.op);
	x->mem = m->serial;
	x->addr = u.from - m->space_off + m->node.key;
	x->len = u.end - u.from;
}

static void tell_export(struct krt_engine *e, const struct krt_export *x)
{
	const struct krt_mem *m = krt_mem_at(&e->mem, x->addr);
	struct told t;

	tell_begin(&t, KRT_CERTAIN);
	tell_side(e, &t, false, x->call, "export");
	tell_side(e, &t, true, x->write, "write");
	if (m && m->serial == x->mem)
		tell_memory(e, &t, m, x->addr, x->addr + x->len);
	krt_find(e, &t.f, &t.shape, m && m->made.seq ? m->made.stack : 0);
}

void krt_unfinished_free(struct krt_engine *e, const struct krt_mem *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->nexports; i++) {
		struct krt_export *x = &e->export[i];

		if (m && x->mem != m->serial) {
			e->export[n++] = *x;
			continue;
		}
		if (e->judge && !over(e, x->write))
			tell_export(e, x);
		krt_op_unref(&e->heap, x->write);
		krt_op_unref(&e->heap, x->call);
	}
	e->nexports = n;
}

static void event_exported(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, false);

	if (!ev)
		return;
	ev->exported = c->rec->t0;
	ev->exported_ns = c->rec->start_ns ? c->rec->start_ns + c->rec->took_ns : 0;
	ev->exported_stack = c->rec->stack;
	if (ev->record)
		let_go(e, NULL, ev->record);
}

static void event_destroyed(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev = krt_event_get(&e->obj, c->event, false);
	struct krt_op_info *end;
	struct told t;

	if (!ev || !ev->exported || !e->judge || e->exiting)
		return;
	/* an event that the host has seen complete is of no use to anyone any more */
	if (ev->record &&
	    krt_order_before_host(e->order, KRT_VIEW_OBS, krt_snapshot_stamp(ev->record)))
		return;
	if (!ev->exported_ns || !c->rec->start_ns ||
	    c->rec->start_ns > ev->exported_ns + TOO_SOON_NS)
		return;
	end = krt_op_new(&e->obj, c, NULL, KRT_OPC_OTHER);
	if (!end)
		return;
	tell_begin(&t, KRT_LIKELY);
	tell_side(e, &t, false, end, "destroy");
	t.f.event = krt_event_text(ev, t.name, sizeof(t.name));
	krt_event_mention(ev, t.name, &t.f);
	t.f.prev.api = "cuIpcGetEventHandle";
	t.f.prev.what = "export";
	t.f.prev.stream = "host";
	t.f.prev.seq = ev->exported;
	t.shape.previous.api = t.f.prev.api;
	t.shape.previous.what = "export";
	t.shape.previous.stream = "host";
	t.shape.previous.sequence = ev->exported;
	t.shape.previous.stack_id = ev->exported_stack;
	t.shape.previous.knowledge = "api";
	krt_find(e, &t.f, &t.shape, 0);
	krt_op_unref(&e->heap, end);
}

/* --- all of it --------------------------------------------------------------------------- */

/* The call in hand may tell of what its stream has done, in ways that are not seen. */
static void signal_by(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_stream_info *s =
		e->to_host || e->nexports ? krt_call_stream(e, c, c->stream) : NULL;

	if (s && !s->capture)
		krt_unfinished_signal(e, s);
}

/* The same, by what the CPU may poll. */
static void flag_by(struct krt_engine *e, const struct krt_call *c)
{
	const struct krt_stream_info *s = krt_call_stream(e, c, c->stream);

	if (s && !s->capture)
		krt_host_signal(e, s);
}

void krt_unfinished_op(struct krt_engine *e, const struct krt_call *c)
{
	struct krt_event_info *ev;

	if (!c->ok)
		return;
	switch (c->op) {
	case KRT_OP_IPC_MEM_GET:
		memory_exported(e, c);
		break;
	case KRT_OP_IPC_EVENT_GET:
		event_exported(e, c);
		break;
	case KRT_OP_EVENT_DESTROY:
		event_destroyed(e, c);
		break;
	case KRT_OP_STREAM_DESTROY:
		stream_destroyed(e, c);
		break;
	case KRT_OP_CTX_DESTROY:
	case KRT_OP_PRIMARY_RESET:
		context_destroyed(e, c);
		break;
	case KRT_OP_EVENT_RECORD:
		ev = krt_event_get(&e->obj, c->event, false);
		if (ev && ev->imported)
			signal_by(e, c);
		break;
	case KRT_OP_WRITE_VALUE:
	case KRT_OP_BATCH_MEM_OP:
	case KRT_OP_EXT_SEM_SIGNAL:
		flag_by(e, c);
		signal_by(e, c);
		break;
	case KRT_OP_GFX_UNMAP:
	case KRT_OP_GRAPH_LAUNCH:
	case KRT_OP_NOTE_ORDER_RELEASE:
		if (c->stream != UINT64_MAX) /* the host's */
			signal_by(e, c);
		break;
	default:
		break;
	}
}

void krt_unfinished_finish(struct krt_engine *e, bool whole)
{
	if (!whole || !e->exit_ticket) /* a wait may be missing; it did not end by itself */
		return;
	for (struct krt_to_host *t = e->to_host; t; t = t->hh.next)
		if (!over(e, t->op))
			tell_copy(e, t);
	krt_unfinished_free(e, NULL);
}

void krt_unfinished_end(struct krt_engine *e)
{
	struct krt_to_host *t, *tmp;

	HASH_ITER (hh, e->to_host, t, tmp)
		copy_drop(e, t);
	e->judge = false;
	if (e->may_know)
		krt_snapshot_unref(e->order, e->may_know);
	krt_unfinished_free(e, NULL);
	krt_heap_free(&e->heap, e->export, e->exports_cap * sizeof(*e->export));
}
