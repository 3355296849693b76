/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See convert.h.  Two passes: calls become operations that touch pieces of memory, each an
 * interval of one buffer; then the ends of all intervals of a buffer make its cells.
 *
 * Addresses of no allocation are the program's own memory: intervals that meet are one
 * buffer.  A buffer, stream or event that begins again gets a slot of its own.
 */
#include "convert.h"

#include "interposer/cuabi.h"
#include "testcases/oracle/hostfn.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 20000
#define CAPTURING  (UINT64_MAX - STREAMS) /* handle of a graph that a stream still captures */
#define OWN	   UINT8_MAX		  /* the program's own memory, until it has a slot */

SLOT struct stream_slot stream_slot[STREAMS];
SLOT struct buffer_slot buffer_slot[BUFFERS];

struct piece {
	unsigned op, range;
	uint8_t buffer;
	uint64_t lo, hi;
};

struct table {
	unsigned n;
	struct entry {
		uint64_t handle;
		unsigned ctx;
	} e[BUFFERS > STREAMS ? BUFFERS : STREAMS];
};

static struct {
	struct converted *c;
	const struct trace *t;
	struct piece piece[PIECES_MAX];
	unsigned pieces;
	uint64_t ctx[CONTEXTS];
	int device[CONTEXTS];
	unsigned contexts;
	uint64_t thread[KRT_LANES];
	uint64_t threads[THREADS];
	unsigned nthreads;
	uint64_t stream[STREAMS]; /* handle, of live ones; 0: none */
	unsigned stream_ctx[STREAMS], streams;
	uint64_t event[CONTEXTS][EVENTS];
	uint64_t token[EVENTS];
	unsigned tokens, numbers;
	uint64_t function[FUNCTIONS]; /* ticket of the call that enqueued it, 0: free */
	struct op *running;	      /* the host function that runs; NULL: none */
	unsigned running_on;	      /* lane */
	struct piece end[BUFFERS];    /* of memory of the heap */
	unsigned ends;
	uint64_t graph[GRAPH_SLOTS], exec[EXEC_SLOTS]; /* handles; 0: free */
	bool live[BUFFERS];
	uint64_t size[BUFFERS], handle[BUFFERS + 1]; /* of what is mapped there */
	unsigned buffers;
	uint64_t ended[KRT_LANES];
} w;

static void lacks(const char *what)
{
	if (!w.c->lacks[0])
		snprintf(w.c->lacks, sizeof(w.c->lacks), "%s", what);
}

/* --- things ----------------------------------------------------------------------------- */

/* Its device is told by a record of its own, before or after. */
static unsigned context_of(uint64_t handle)
{
	for (unsigned i = 0; i < w.contexts; i++)
		if (w.ctx[i] == handle)
			return i;
	if (w.contexts == CONTEXTS) {
		lacks("more contexts");
		return 0;
	}
	w.ctx[w.contexts] = handle;
	w.device[w.contexts] = -1;
	return w.contexts++;
}

static void context_record(const struct krt_rec_context *r)
{
	unsigned at = context_of(r->ctx);

	w.device[at] = r->device;
}

static unsigned thread_of(unsigned lane)
{
	uint64_t serial = w.thread[lane];

	for (unsigned i = 0; i < w.nthreads; i++)
		if (w.threads[i] == serial)
			return i;
	if (w.nthreads == THREADS) {
		lacks("more threads");
		return 0;
	}
	w.threads[w.nthreads] = serial;
	return w.nthreads++;
}

static unsigned new_slot_of_stream(uint64_t handle, unsigned ctx, bool blocking)
{
	unsigned s = w.streams == LEGACY_SLOT ? w.streams += 2 : w.streams;

	if (s == STREAMS) {
		lacks("more streams");
		return 0;
	}
	stream_slot[s] =
		(struct stream_slot){blocking ? BLOCKING : NON_BLOCKING, "", {handle, handle}};
	w.stream[s] = handle;
	w.stream_ctx[s] = ctx;
	w.streams++;
	return s;
}

/* Sets the operation's stream, and the context that it is of. */
static void on_stream(struct op *o, const struct krt_call *c, uint64_t h)
{
	if (h <= 2) {
		o->stream =
			h == 2 || (h == 0 && c->api->flags & KRT_F_PT) ? THREAD_SLOT : LEGACY_SLOT;
		return;
	}
	for (unsigned s = 0; s < STREAMS; s++)
		if (w.stream[s] == h) {
			o->stream = (uint8_t)s;
			o->ctx = (uint8_t)w.stream_ctx[s];
			return;
		}
	lacks("streams not seen at birth");
}

/* Of an event, seen from the operation's context. */
static uint8_t event_of(const struct op *o, uint64_t handle)
{
	for (unsigned x = 0; x < CONTEXTS; x++)
		for (unsigned i = 0; i < EVENTS; i++)
			if (w.event[x][i] == handle)
				return (uint8_t)((x == o->ctx ? 0 : EVENTS) + i);
	lacks("events not seen at birth");
	return 0;
}

static void new_event(unsigned ctx, uint64_t handle)
{
	for (unsigned i = 0; i < EVENTS; i++)
		if (!w.event[ctx][i]) {
			w.event[ctx][i] = handle;
			return;
		}
	lacks("more events");
}

static uint8_t token_of(uint64_t token)
{
	for (unsigned i = 0; i < w.tokens; i++)
		if (w.token[i] == token)
			return (uint8_t)i;
	if (w.tokens == EVENTS) {
		lacks("more tokens");
		return 0;
	}
	w.token[w.tokens] = token;
	return (uint8_t)w.tokens++;
}

/* --- memory ----------------------------------------------------------------------------- */

static void new_buffer(struct op *o, enum memory kind, uint64_t addr, uint64_t size)
{
	if (w.buffers == BUFFERS) {
		lacks("more buffers");
		return;
	}
	buffer_slot[w.buffers] = (struct buffer_slot){.kind = kind, .name = "", .addr = addr};
	w.size[w.buffers] = size;
	w.live[w.buffers] = true;
	o->what = OP_ALLOC;
	o->nranges = 1;
	o->range[0].buffer = (uint8_t)w.buffers++;
}

/* Live at the address, or the latest that was; OWN: none. */
static uint8_t buffer_at(uint64_t addr)
{
	uint8_t gone = OWN;

	for (unsigned b = w.buffers; b-- > 0;)
		if (addr - buffer_slot[b].addr < w.size[b]) {
			if (w.live[b])
				return (uint8_t)b;
			if (gone == OWN)
				gone = (uint8_t)b;
		}
	/* the heap may have it again */
	if (gone != OWN && buffer_slot[gone].kind == PINNED)
		return OWN;
	return gone;
}

static void end_buffer(struct op *o, enum operation what, uint64_t addr)
{
	uint8_t b = buffer_at(addr);

	if (b == OWN || !w.live[b] || buffer_slot[b].addr != addr) {
		lacks("frees of memory not seen at birth");
		return;
	}
	w.live[b] = false;
	o->what = what;
	o->nranges = 1;
	o->range[0].buffer = b;
}

static void piece(struct op *o, unsigned range, uint64_t lo, uint64_t len)
{
	uint8_t b = buffer_at(lo);

	if (!len)
		return;
	if (w.pieces == PIECES_MAX) {
		lacks("more pieces");
		return;
	}
	if (b != OWN && lo + len > buffer_slot[b].addr + w.size[b])
		lacks("ranges past their allocation");
	o->range[range].buffer = b;
	w.piece[w.pieces++] = (struct piece){(unsigned)(o - w.c->p.op), range, b, lo, lo + len};
}

static unsigned new_range(struct op *o, bool write)
{
	if (o->nranges == RANGES) {
		lacks("more ranges of a call");
		return 0;
	}
	o->range[o->nranges].write = write;
	return o->nranges++;
}

static void touch(struct op *o, bool write, uint64_t addr, uint64_t len)
{
	piece(o, new_range(o, write), addr, len);
}

static void touch_rows(struct op *o, bool write, uint64_t addr, uint64_t width, uint64_t pitch,
		       uint64_t rows)
{
	unsigned r = new_range(o, write);

	if (pitch <= width) {
		piece(o, r, addr, rows ? (rows - 1) * pitch + width : 0);
		return;
	}
	for (uint64_t i = 0; i < rows && !w.c->lacks[0]; i++)
		piece(o, r, addr + i * pitch, width);
}

/* --- graphs ----------------------------------------------------------------------------- */

static uint8_t slot_of(const uint64_t *list, unsigned n, uint64_t handle, const char *none)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == handle)
			return (uint8_t)i;
	lacks(none);
	return 0;
}

static uint8_t graph_of(uint64_t handle)
{
	return slot_of(w.graph, GRAPH_SLOTS, handle, "graphs not seen at birth");
}

static uint8_t exec_of(uint64_t handle)
{
	return slot_of(w.exec, EXEC_SLOTS, handle, "executables not seen at birth");
}

static uint8_t new_slot(uint64_t *list, unsigned n, uint64_t handle)
{
	uint8_t slot = slot_of(list, n, 0, "more graphs");

	list[slot] = handle;
	return slot;
}

static void capture_end(struct op *o, uint64_t graph)
{
	o->what = OP_CAPTURE_END;
	o->graph = slot_of(w.graph, GRAPH_SLOTS, CAPTURING + o->stream,
			   "captures not seen at their begin");
	w.graph[o->graph] = graph;
}

/* --- calls ------------------------------------------------------------------------------ */

static void copy_2d(struct op *o, const struct krt_call *c)
{
	CUDA_MEMCPY2D m;

	if (!krt_has(c, KRT_ROLE_IN_COPY2D) || c->copy.len < sizeof(m)) {
		lacks("old forms of 2D copies");
		return;
	}
	memcpy(&m, c->copy.data, sizeof(m));
	if (m.srcMemoryType == CU_MEMORYTYPE_ARRAY || m.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
		lacks("arrays");
		return;
	}
	touch_rows(o, true,
		   (m.dstMemoryType == CU_MEMORYTYPE_HOST ? (uint64_t)m.dstHost : m.dstDevice) +
			   m.dstY * m.dstPitch + m.dstXInBytes,
		   m.WidthInBytes, m.dstPitch, m.Height);
	touch_rows(o, false,
		   (m.srcMemoryType == CU_MEMORYTYPE_HOST ? (uint64_t)m.srcHost : m.srcDevice) +
			   m.srcY * m.srcPitch + m.srcXInBytes,
		   m.WidthInBytes, m.srcPitch, m.Height);
}

static void box(struct op *o, bool write, uint64_t addr, const CUDA_MEMCPY3D *m, uint64_t pitch,
		uint64_t height)
{
	unsigned r = new_range(o, write);

	for (uint64_t z = 0; z < m->Depth && !w.c->lacks[0]; z++)
		for (uint64_t y = 0; y < m->Height && !w.c->lacks[0]; y++)
			piece(o, r, addr + (z * height + y) * pitch, m->WidthInBytes);
}

static void copy_3d(struct op *o, const struct krt_call *c)
{
	CUDA_MEMCPY3D m;

	if (!krt_has(c, KRT_ROLE_IN_COPY3D) || c->copy.len < sizeof(m)) {
		lacks("old forms of 3D copies");
		return;
	}
	memcpy(&m, c->copy.data, sizeof(m));
	if (m.srcMemoryType == CU_MEMORYTYPE_ARRAY || m.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
		lacks("arrays");
		return;
	}
	box(o, true,
	    (m.dstMemoryType == CU_MEMORYTYPE_HOST ? (uint64_t)m.dstHost : m.dstDevice) +
		    (m.dstZ * m.dstHeight + m.dstY) * m.dstPitch + m.dstXInBytes,
	    &m, m.dstPitch, m.dstHeight);
	box(o, false,
	    (m.srcMemoryType == CU_MEMORYTYPE_HOST ? (uint64_t)m.srcHost : m.srcDevice) +
		    (m.srcZ * m.srcHeight + m.srcY) * m.srcPitch + m.srcXInBytes,
	    &m, m.srcPitch, m.srcHeight);
}

static void batch(struct op *o, const struct krt_call *c)
{
	uint32_t order;

	if (c->attrs.len != 24 || c->count > RANGES / 2) {
		lacks("larger batches");
		return;
	}
	memcpy(&order, c->attrs.data, sizeof(order));
	o->order = (uint8_t)order;
	for (uint64_t i = 0; i < c->count; i++) {
		touch(o, true, krt_u64_at(&c->dsts, i), krt_u64_at(&c->sizes, i));
		touch(o, false, krt_u64_at(&c->srcs, i), krt_u64_at(&c->sizes, i));
	}
}

/* What lies within both. */
static void cut_piece(struct op *o, unsigned r, const struct touched *x, uint64_t lo, uint64_t len)
{
	uint64_t hi = lo + len;

	if (x->end) {
		lo = lo > x->from ? lo : x->from;
		hi = hi < x->end ? hi : x->end;
	}
	if (lo < hi)
		piece(o, r, lo, hi - lo);
}

static void kernel_row(struct op *o, unsigned r, const struct touched *x, uint64_t lo)
{
	if (!x->stride || x->stride == x->width) {
		cut_piece(o, r, x, lo, x->len);
		return;
	}
	for (uint64_t at = 0; at < x->len && !w.c->lacks[0]; at += x->stride)
		cut_piece(o, r, x, lo + at, at + x->width <= x->len ? x->width : x->len - at);
}

static void kernel(struct op *o, uint64_t ticket)
{
	for (size_t i = 0; i < w.t->nwaits; i++)
		w.c->vague[w.c->p.n] |= w.t->waits[i] == ticket;
	for (size_t i = 0; i < w.t->ntouched; i++) {
		const struct touched *x = &w.t->touched[i];
		unsigned r;

		if (x->launch != ticket)
			continue;
		if (x->array)
			lacks("arrays");
		if (x->kind == KRT_ACC_ATOMIC) /* they do not meet each other */
			w.c->vague[w.c->p.n] = true;
		if (buffer_at(x->addr) == OWN) { /* a variable that nobody has asked for yet */
			w.c->vague[w.c->p.n] = true;
			continue;
		}
		r = new_range(o, x->kind == KRT_ACC_WRITE);
		for (uint64_t row = 0; row < x->rows && !w.c->lacks[0]; row++)
			kernel_row(o, r, x, x->addr + row * x->pitch);
	}
}

static void launch_ex(struct op *o, const struct krt_call *c)
{
	CUlaunchConfig cfg;

	if (c->launch.len != sizeof(cfg)) {
		lacks("launch attributes");
		return;
	}
	memcpy(&cfg, c->launch.data, sizeof(cfg));
	on_stream(o, c, (uint64_t)cfg.hStream);
}

static bool one_lane_before(const struct krt_call *c)
{
	for (unsigned l = 0; l < KRT_LANES; l++)
		if (l != c->lane && w.ended[l] > c->rec->t0)
			return false;
	w.ended[c->lane] = c->rec->t1;
	return true;
}

/* As what the judge knows it; NR_OPERATIONS: it does nothing. */
static void one_call(struct op *o, const struct krt_call *c)
{
	bool async = c->api->flags & KRT_F_ASYNC;

	switch (c->op) {
	case KRT_OP_SET:
		o->what = async ? OP_SET : OP_SET_SYNC;
		touch(o, true, c->dst, c->count * krt_elem_size(c->api));
		break;
	case KRT_OP_SET_2D:
		o->what = async ? OP_SET : OP_SET_SYNC;
		touch_rows(o, true, c->dst, c->width * krt_elem_size(c->api), c->pitch, c->height);
		break;
	case KRT_OP_COPY:
		o->what = async ? OP_COPY : OP_COPY_SYNC;
		touch(o, true, c->dst, c->bytes);
		touch(o, false, c->src, c->bytes);
		break;
	case KRT_OP_COPY_2D:
		o->what = async ? OP_COPY : OP_COPY_SYNC;
		copy_2d(o, c);
		break;
	case KRT_OP_COPY_3D:
		o->what = async ? OP_COPY : OP_COPY_SYNC;
		copy_3d(o, c);
		break;
	case KRT_OP_PREFETCH: /* in order, and touches nothing */
		o->what = OP_KERNEL;
		break;
	case KRT_OP_COPY_PEER:
		o->what = async ? OP_COPY : OP_COPY_PEER;
		touch(o, true, c->dst, c->bytes);
		touch(o, false, c->src, c->bytes);
		o->event = (uint8_t)context_of(c->dst_ctx);
		o->event2 = (uint8_t)context_of(c->src_ctx);
		break;
	case KRT_OP_COPY_BATCH:
		o->what = OP_BATCH;
		batch(o, c);
		break;
	case KRT_OP_LAUNCH_EX:
		launch_ex(o, c);
		/* fall through */
	case KRT_OP_LAUNCH:
		o->what = OP_KERNEL;
		kernel(o, c->rec->t0);
		break;
	case KRT_OP_EVENT_CREATE:
		new_event(o->ctx, c->out_handle);
		break;
	case KRT_OP_EVENT_DESTROY:
		o->what = OP_EVENT_NEW;
		o->event = event_of(o, c->event);
		w.event[o->event / EVENTS ? !o->ctx : o->ctx][o->event % EVENTS] = 0;
		break;
	case KRT_OP_EVENT_RECORD:
		o->what = OP_RECORD;
		o->event = event_of(o, c->event);
		break;
	case KRT_OP_STREAM_WAIT_EVENT:
		o->what = OP_WAIT;
		o->event = event_of(o, c->event);
		break;
	case KRT_OP_EVENT_SYNC:
		o->what = OP_EVENT_SYNC;
		o->event = event_of(o, c->event);
		break;
	case KRT_OP_EVENT_QUERY:
		o->what = OP_EVENT_QUERY;
		o->event = event_of(o, c->event);
		o->ready = c->ok;
		break;
	case KRT_OP_EVENT_ELAPSED:
		o->what = OP_EVENT_ELAPSED;
		o->event = event_of(o, c->event);
		o->event2 = event_of(o, c->event2);
		o->ready = c->ok;
		break;
	case KRT_OP_CTX_RECORD:
	case KRT_OP_CTX_WAIT:
		o->what = c->op == KRT_OP_CTX_RECORD ? OP_CTX_RECORD : OP_CTX_WAIT;
		if (c->ctx)
			o->ctx = (uint8_t)context_of(c->ctx);
		o->event = event_of(o, c->event);
		break;
	case KRT_OP_STREAM_CREATE:
		new_slot_of_stream(c->out_handle, o->ctx, !(c->flags & 1));
		break;
	case KRT_OP_STREAM_DESTROY:
		o->what = OP_STREAM_NEW;
		w.stream[o->stream] = 0;
		break;
	case KRT_OP_STREAM_SYNC:
		o->what = OP_STREAM_SYNC;
		break;
	case KRT_OP_STREAM_QUERY:
		o->what = OP_STREAM_QUERY;
		o->ready = c->ok;
		break;
	case KRT_OP_CTX_SYNC:
		o->what = OP_CTX_SYNC;
		if (c->ctx)
			o->ctx = (uint8_t)context_of(c->ctx);
		break;
	case KRT_OP_ALLOC:
	case KRT_OP_ALLOC_PITCH:
		new_buffer(o, DEVICE, c->out_addr,
			   c->op == KRT_OP_ALLOC ? c->bytes : c->out_size * c->height);
		break;
	case KRT_OP_ALLOC_MANAGED:
		new_buffer(o, MANAGED, c->out_addr, c->bytes);
		break;
	case KRT_OP_HOST_ALLOC:
		new_buffer(o, PINNED, c->out_addr, c->bytes);
		break;
	case KRT_OP_HOST_REGISTER:
		new_buffer(o, PINNED, c->addr, c->bytes);
		break;
	case KRT_OP_ALLOC_ASYNC:
		new_buffer(o, POOL, c->out_addr, c->bytes);
		break;
	case KRT_OP_VMM_MAP:
		for (unsigned b = 0; b < w.buffers; b++)
			if (w.handle[b] == c->handle)
				lacks("memory that is mapped again");
		w.handle[w.buffers] = c->handle;
		new_buffer(o, MAPPED, c->addr, c->bytes);
		break;
	case KRT_OP_VMM_UNMAP:
		end_buffer(o, OP_FREE, c->addr);
		break;
	case KRT_OP_MODULE_GLOBAL:
		if (!c->out_size)
			lacks("variables whose size nobody asked for");
		else if (buffer_at(c->out_addr) == OWN)
			new_buffer(o, DEVICE, c->out_addr, c->out_size);
		break;
	case KRT_OP_FREE:
	case KRT_OP_HOST_FREE:
	case KRT_OP_HOST_UNREGISTER:
		end_buffer(o, OP_FREE, c->addr);
		break;
	case KRT_OP_FREE_ASYNC:
		end_buffer(o, OP_FREE_ASYNC, c->addr);
		break;
	case KRT_OP_MODULE_LOAD:
	case KRT_OP_MODULE_UNLOAD: /* waits for the same; its variables are not judged */
	case KRT_OP_LIBRARY_UNLOAD:
		o->what = OP_MODULE_LOAD;
		break;
	case KRT_OP_NOTE_HOST_READ:
	case KRT_OP_NOTE_HOST_WRITE:
		o->what = c->op == KRT_OP_NOTE_HOST_READ ? OP_HOST_READ : OP_HOST_WRITE;
		touch(o, o->what == OP_HOST_WRITE, c->addr, c->bytes);
		break;
	case KRT_OP_NOTE_ORDER_RELEASE:
	case KRT_OP_NOTE_ORDER_ACQUIRE:
		o->what = c->op == KRT_OP_NOTE_ORDER_RELEASE ? OP_RELEASE : OP_ACQUIRE;
		o->event = token_of(c->token);
		o->ready = c->stream != UINT64_MAX;
		break;
	case KRT_OP_CAPTURE_BEGIN:
		o->what = OP_CAPTURE_BEGIN;
		o->graph = new_slot(w.graph, GRAPH_SLOTS, CAPTURING + o->stream);
		break;
	case KRT_OP_CAPTURE_END:
		capture_end(o, c->out_handle);
		break;
	case KRT_OP_HOST_FUNC:
		o->what = OP_HOSTFN;
		o->node = slot_of(w.function, FUNCTIONS, 0, "more host functions");
		w.function[o->node] = c->rec->t0;
		break;
	case KRT_OP_HOSTFN_ENTER:
		o->what = OP_HOSTFN_RUN;
		o->node = slot_of(w.function, FUNCTIONS, c->token, "functions of captures");
		w.function[o->node] = 0;
		w.running = o;
		w.running_on = c->lane;
		break;
	case KRT_OP_GRAPH_DESTROY:
		w.graph[graph_of(c->graph)] = 0;
		break;
	case KRT_OP_GRAPH_INSTANTIATE:
		o->what = OP_INSTANTIATE;
		o->graph = graph_of(c->graph);
		o->exec = new_slot(w.exec, EXEC_SLOTS, c->out_handle);
		break;
	case KRT_OP_GRAPH_EXEC_UPDATE:
		o->what = OP_EXEC_UPDATE;
		o->graph = graph_of(c->graph);
		o->exec = exec_of(c->exec);
		break;
	case KRT_OP_GRAPH_EXEC_DESTROY:
		o->what = OP_EXEC_DESTROY;
		o->exec = exec_of(c->exec);
		w.exec[o->exec] = 0;
		break;
	case KRT_OP_GRAPH_LAUNCH:
		o->what = OP_GRAPH_LAUNCH;
		o->exec = exec_of(c->exec);
		break;
	case KRT_OP_VMM_CREATE:
	case KRT_OP_VMM_RELEASE:
	case KRT_OP_VMM_RESERVE:
	case KRT_OP_VMM_ADDR_FREE:
	case KRT_OP_VMM_ACCESS:
	case KRT_OP_CAPTURE_MODE:
	case KRT_OP_POOL_CREATE:
	case KRT_OP_POOL_DESTROY:
	case KRT_OP_POOL_ACCESS:
	case KRT_OP_NONE:
	case KRT_OP_INIT:
	case KRT_OP_CTX_CURRENT:
	case KRT_OP_CTX_CREATE:
	case KRT_OP_PRIMARY_RETAIN:
	case KRT_OP_PRIMARY_RELEASE:
	case KRT_OP_PEER_ENABLE:
	case KRT_OP_HOST_DEVPTR:
	case KRT_OP_LIBRARY_LOAD:
	case KRT_OP_LIBRARY_MODULE:
	case KRT_OP_MODULE_FUNCTION:
	case KRT_OP_NOTE_NAME:
	case KRT_OP_NOTE_POOL_CREATE: /* whose block it was tells the kind of a race alone */
	case KRT_OP_NOTE_POOL_DESTROY:
	case KRT_OP_NOTE_BLOCK_ALLOC:
	case KRT_OP_NOTE_BLOCK_USE:
	case KRT_OP_NOTE_BLOCK_FREE:
	case KRT_OP_NOTE_ACCESS: /* told by the launch */
		break;
	case KRT_OP_HEAP_END: /* only memory that nobody touches has no end here */
		if (w.ends < BUFFERS)
			w.end[w.ends++] = (struct piece){.lo = c->addr, .hi = c->addr + c->bytes};
		break;
	default:
		lacks(krt_op_name(c->op));
	}
}

static bool drops(enum operation what, bool ready)
{
	switch (what) {
	case OP_WAIT:
	case OP_RECORD:
	case OP_CTX_RECORD:
	case OP_CTX_WAIT:
	case OP_EVENT_SYNC:
	case OP_STREAM_SYNC:
	case OP_CTX_SYNC:
		return true;
	case OP_EVENT_QUERY:
	case OP_STREAM_QUERY:
		return ready;
	default:
		return false;
	}
}

/* What a host function does is one operation. */
static void in_function(const struct krt_call *c)
{
	unsigned op = (unsigned)(w.running - w.c->p.op);

	switch (c->op) {
	case KRT_OP_HOSTFN_EXIT:
		w.running = NULL;
		return;
	case KRT_OP_NOTE_HOST_READ:
	case KRT_OP_NOTE_HOST_WRITE:
		touch(w.running, c->op == KRT_OP_NOTE_HOST_WRITE, c->addr, c->bytes);
		if (w.c->inners < OPS)
			w.c->inner[w.c->inners++] = (struct inner){c->rec->t0, op};
		return;
	case KRT_OP_NOTE_BLOCK_ALLOC:
	case KRT_OP_NOTE_BLOCK_USE:
	case KRT_OP_NOTE_BLOCK_FREE:
		return;
	default:
		lacks("calls in host functions");
	}
}

static void call_record(long number, const struct record *x)
{
	struct converted *c = w.c;
	struct krt_call call;
	struct op *o = &c->p.op[c->p.n];

	if (!krt_decode(x->rec, x->len, x->lane, &call)) {
		lacks("damaged records");
		return;
	}
	if (!(call.ok || call.not_ready) || call.op == KRT_OP_NONE ||
	    call.op == KRT_OP_LIBRARY_CALL)
		return;
	if (c->p.n == OPS) {
		lacks("more operations");
		return;
	}
	if (x->rec->flags & KRT_RF_IGNORE)
		lacks("ignored regions");
	if (w.running) {
		if (x->lane != w.running_on)
			lacks("calls that overlap");
		in_function(&call);
		return;
	}
	memset(o, 0, sizeof(*o));
	o->what = NR_OPERATIONS;
	o->thread = (uint8_t)thread_of(x->lane);
	o->ctx = call.rec->ctx ? (uint8_t)context_of(call.rec->ctx) : 0;
	if (krt_has(&call, KRT_ROLE_STREAM) && call.stream != UINT64_MAX)
		on_stream(o, &call, call.stream);
	else
		o->stream = call.api->flags & KRT_F_PT ? THREAD_SLOT : LEGACY_SLOT;
	one_call(o, &call);
	if (o->what == NR_OPERATIONS)
		return;
	if (o->what != OP_HOSTFN_RUN && !one_lane_before(&call))
		lacks("calls that overlap");
	c->record[c->p.n] = number;
	c->ticket[c->p.n] = call.rec->t0;
	/* of one that is captured the graph tells */
	c->drops[c->p.n] = drops(o->what, o->ready) && !call.capture;
	if (c->drops[c->p.n] && o->what != OP_EVENT_QUERY && o->what != OP_STREAM_QUERY)
		c->number[c->p.n] = ++w.numbers;
	c->p.n++;
}

/* --- cells ------------------------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* The program's own memory: what meets is one buffer. */
static void own_buffers(void)
{
	uint64_t end = 0;
	unsigned b = 0;

	qsort(w.piece, w.pieces, sizeof(*w.piece), by_start);
	for (unsigned i = 0; i < w.pieces; i++) {
		struct piece *x = &w.piece[i];

		if (x->buffer != OWN)
			continue;
		if (x->lo >= end) {
			if (w.buffers == BUFFERS) {
				lacks("more buffers");
				return;
			}
			b = w.buffers++;
			buffer_slot[b] =
				(struct buffer_slot){.kind = PAGEABLE, .name = "", .addr = x->lo};
			end = x->hi;
		}
		end = x->hi > end ? x->hi : end;
		w.size[b] = end - buffer_slot[b].addr;
		x->buffer = (uint8_t)b;
		w.c->p.op[x->op].range[x->range].buffer = (uint8_t)b;
	}
}

static void check_ends(void)
{
	for (unsigned i = 0; i < w.ends; i++)
		for (unsigned k = 0; k < w.pieces; k++)
			if (buffer_slot[w.piece[k].buffer].kind == PAGEABLE &&
			    w.piece[k].lo < w.end[i].hi && w.end[i].lo < w.piece[k].hi)
				lacks("ends of memory of the heap");
}

/*
 * The ends of all pieces cut a buffer into intervals. Those that the same ranges touch are
 * one cell: nothing tells them apart.
 */
#define BOUNDS 2048
static uint64_t bound[BUFFERS][BOUNDS], sign[BUFFERS][BOUNDS]; /* ascending; what touches it */
static uint8_t cell[BUFFERS][BOUNDS];
static unsigned bounds[BUFFERS];

static unsigned place_of(unsigned b, uint64_t at)
{
	unsigned lo = 0, hi = bounds[b];

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (bound[b][mid] < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void add_bound(unsigned b, uint64_t at)
{
	unsigned i = place_of(b, at);

	if (i < bounds[b] && bound[b][i] == at)
		return;
	if (bounds[b] == BOUNDS) {
		lacks("more cells");
		return;
	}
	memmove(&bound[b][i + 1], &bound[b][i], (bounds[b] - i) * sizeof(**bound));
	bound[b][i] = at;
	bounds[b]++;
}

static void sign_intervals(const struct piece *x)
{
	uint64_t h = (x->op * RANGES + x->range + 1) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull; /* a sum: their order is nothing */
	for (unsigned i = place_of(x->buffer, x->lo); bound[x->buffer][i] < x->hi; i++)
		sign[x->buffer][i] += h ^ h >> 32;
}

static void name_cells(unsigned b)
{
	uint64_t of[CELLS];
	unsigned n = 0;

	for (unsigned i = 0; i + 1 < bounds[b]; i++) {
		unsigned k = 0;

		while (k < n && of[k] != sign[b][i])
			k++;
		if (k == CELLS) {
			lacks("more cells");
			return;
		}
		if (k == n)
			of[n++] = sign[b][i];
		cell[b][i] = (uint8_t)k;
	}
}

/* ends: the first and the last alone. */
static cells_t cells_between(unsigned b, uint64_t lo, uint64_t hi, bool ends)
{
	unsigned first = place_of(b, lo), end = first;
	cells_t cells = 0;

	for (; end + 1 < bounds[b] && bound[b][end + 1] <= hi; end++)
		cells |= (cells_t)1 << cell[b][end];
	if (ends && cells)
		cells = (cells_t)1 << cell[b][first] | (cells_t)1 << cell[b][end - 1];
	return cells;
}

static void make_cells(void)
{
	memset(bounds, 0, sizeof(bounds));
	memset(sign, 0, sizeof(sign));
	for (unsigned i = 0; i < w.pieces; i++) {
		add_bound(w.piece[i].buffer, w.piece[i].lo);
		add_bound(w.piece[i].buffer, w.piece[i].hi);
	}
	for (unsigned i = 0; i < w.pieces && !w.c->lacks[0]; i++)
		sign_intervals(&w.piece[i]);
	for (unsigned b = 0; b < w.buffers && !w.c->lacks[0]; b++)
		name_cells(b);
	for (unsigned i = 0; i < w.pieces && !w.c->lacks[0]; i++) {
		const struct piece *x = &w.piece[i];
		struct range *r = &w.c->p.op[x->op].range[x->range];

		r->cells |= cells_between(x->buffer, x->lo, x->hi, false);
		r->bytes += x->hi - x->lo;
	}
}

/* What calls leave behind that return before it is done. */
static bool is_open(const struct program *p)
{
	bool said[2] = {0}, needed[2] = {0};

	for (unsigned i = 0; i < p->n; i++) {
		const struct op *o = &p->op[i];

		if (o->what == OP_EVENT_QUERY || o->what == OP_STREAM_QUERY)
			return false;
		said[0] |= o->what == OP_HOST_WRITE;
		said[1] |= o->what == OP_HOST_READ;
		for (unsigned k = 0; k < o->nranges; k++) {
			enum memory m = buffer_slot[o->range[k].buffer].kind;

			if (o->what == OP_COPY_SYNC || o->what == OP_HOST_READ ||
			    o->what == OP_HOST_WRITE || o->what == OP_ALLOC || o->what == OP_FREE)
				continue;
			needed[o->range[k].write] |= m != DEVICE && m != POOL;
		}
	}
	return said[0] >= needed[0] && said[1] >= needed[1];
}

static void check_graphs(const struct program *p)
{
	static struct graphs g;

	graphs_begin(&g);
	for (unsigned i = 0; i < p->n; i++) {
		const struct op *o = &p->op[i];

		if ((is_graph_op(o) || graphs_capture(&g, o) >= 0) && !graphs_allow(&g, o))
			lacks("captures and graphs of other kinds");
		graphs_step(&g, p, i);
	}
}

/* A launch has all that the nodes of some graph have. */
static void vague_launches(struct converted *c)
{
	static struct graphs g;
	bool any = false;

	graphs_begin(&g);
	for (unsigned i = 0; i < c->p.n; i++) {
		any |= c->vague[i] && graphs_capture(&g, &c->p.op[i]) >= 0;
		graphs_step(&g, &c->p, i);
	}
	for (unsigned i = 0; any && i < c->p.n; i++)
		c->vague[i] |= c->p.op[i].what == OP_GRAPH_LAUNCH;
}

void convert(struct converted *c, const struct trace *t)
{
	memset(c, 0, sizeof(*c));
	memset(&w, 0, sizeof(w));
	memset(stream_slot, 0, sizeof(stream_slot));
	w.c = c;
	w.t = t;
	if (t->awaits)
		lacks("kernels that wait for a value");
	stream_slot[LEGACY_SLOT].kind = LEGACY;
	stream_slot[THREAD_SLOT].kind = PER_THREAD;
	for (size_t i = 0; i < t->n && !c->lacks[0]; i++) {
		const struct record *x = &t->record[i];

		switch (x->rec->kind) {
		case KRT_REC_CALL:
			call_record((long)i, x);
			break;
		case KRT_REC_CONTEXT:
			context_record((const void *)x->rec);
			break;
		case KRT_REC_THREAD:
			w.thread[x->lane] = ((const struct krt_rec_thread *)x->rec)->serial;
			break;
		}
	}
	if (!c->lacks[0])
		own_buffers();
	if (!c->lacks[0])
		make_cells();
	c->open = is_open(&c->p);
	if (!c->lacks[0])
		check_ends();
	if (!c->lacks[0])
		check_graphs(&c->p);
	if (!c->lacks[0])
		vague_launches(c);
}

/* --- for the judge ---------------------------------------------------------------------- */

unsigned device_of(unsigned ctx)
{
	return (unsigned)w.device[ctx];
}

unsigned stream_of_op(const struct op *o)
{
	return o->stream;
}

cells_t cells_of(const struct op *o, const struct range *r)
{
	(void)o;
	return r->cells;
}

uint64_t bytes_of(const struct op *o, const struct range *r)
{
	(void)o;
	return r->bytes;
}

void leave_vague_out(struct verdict *v, const struct converted *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < v->n; i++)
		if (!c->vague[v->pair[i].cur] && !c->vague[v->pair[i].prev])
			v->pair[n++] = v->pair[i];
	v->n = n;
}

/* --- findings ---------------------------------------------------------------------------- */

static int op_of(const struct converted *c, uint64_t ticket)
{
	for (unsigned i = 0; i < c->p.n; i++)
		if (c->ticket[i] == ticket)
			return (int)i;
	for (unsigned i = 0; i < c->inners; i++)
		if (c->inner[i].ticket == ticket)
			return (int)c->inner[i].op;
	return -1;
}

static uint8_t buffer_of(const struct op *o, uint64_t addr)
{
	for (unsigned i = 0; i < o->nranges; i++) {
		uint8_t b = o->range[i].buffer;

		if (addr - buffer_slot[b].addr < w.size[b])
			return b;
	}
	return OWN;
}

/* What a launch touches is in its nodes. */
static uint8_t buffer_of_pair(const struct program *p, const struct told *x, uint64_t addr)
{
	uint8_t b = buffer_of(&p->op[x->cur], addr);

	if (b == OWN && p->op[x->cur].what == OP_GRAPH_LAUNCH)
		b = buffer_of(&p->op[x->prev], addr);
	for (unsigned i = w.buffers; b == OWN && p->op[x->cur].what == OP_GRAPH_LAUNCH && i-- > 0;)
		if (addr - buffer_slot[i].addr < w.size[i])
			b = (uint8_t)i;
	return b;
}

static bool touches(const struct op *o, uint8_t buffer)
{
	for (unsigned i = 0; i < o->nranges; i++)
		if (o->range[i].buffer == buffer && o->range[i].cells)
			return true;
	return false;
}

/* What a race over the bytes of a block of a pool is without pools. */
static int plain_rule(const struct verdict *v, int cur, int prev)
{
	for (unsigned i = 0; i < v->n; i++)
		if (v->pair[i].cur == cur && v->pair[i].prev == prev)
			return v->pair[i].rule;
	return KRT_RULE_RACE_WAW;
}

static cells_t ends_of(cells_t cells)
{
	return cells ? (cells & -cells) | (cells_t)1 << (63 - __builtin_clzll(cells)) : 0;
}

/* A block that is used again too early is told of with the last operation of the stream. */
static void add_earlier(struct trial *t, const struct program *p, const struct told *x)
{
	for (unsigned i = 0; i < t->verdict.n && t->n < FINDINGS; i++) {
		const struct pair *q = &t->verdict.pair[i];
		const struct op *a = &p->op[q->prev], *b = &p->op[x->prev];

		if (q->cur == x->cur && q->buffer == x->buffer && q->prev < x->prev &&
		    a->stream == b->stream && a->ctx == b->ctx && a->thread == b->thread)
			t->told[t->n++] =
				(struct told){.rule = q->rule,
					      .cur = q->cur,
					      .prev = q->prev,
					      .buffer = q->buffer,
					      .cells = q->cells[DOC],
					      .ends = ends_of(q->cells[DOC]),
					      .in_view = {q->in_view[DOC], q->in_view[OBS]}};
	}
}

static bool has_cells(int rule)
{
	return is_race(rule) || is_host(rule) || is_of_graphs(rule);
}

void take_findings(struct trial *t, const struct converted *c, const struct krt_report *r)
{
	t->n = 0;
	for (size_t i = 0; i < r->nfindings && t->n < FINDINGS; i++) {
		const struct krt_finding *f = &r->finding[i];
		struct told *x = &t->told[t->n];
		uint64_t lo = f->current.range_base, hi = lo + f->current.range_len, at;

		if (!is_judged((int)f->rule) || f->confidence != KRT_CERTAIN ||
		    (is_aside((int)f->rule) && f->rule != KRT_RULE_REUSE_RACE))
			continue;
		*x = (struct told){.rule = (int)f->rule,
				   .cur = op_of(c, f->current.sequence),
				   .prev = op_of(c, f->previous.sequence)};
		if (x->cur < 0 || x->prev < 0) {
			snprintf(t->why, sizeof(t->why), "of no operation: %s", f->message);
			return;
		}
		if (c->vague[x->cur] || c->vague[x->prev])
			continue;
		x->in_view[DOC] = true;
		x->in_view[OBS] = f->view == KRT_BOTH_VIEWS;
		if (x->rule == KRT_RULE_REUSE_RACE)
			x->rule = plain_rule(&t->verdict, x->cur, x->prev);
		at = has_cells(x->rule) ? lo : f->buffer.base;
		x->buffer = buffer_of_pair(&c->p, x, at);
		if (x->buffer == OWN) {
			snprintf(t->why, sizeof(t->why), "of memory that nobody touched: %s",
				 f->message);
			return;
		}
		if (has_cells(x->rule)) {
			x->cells = cells_between(x->buffer, lo, hi, false);
			if (!x->cells) {
				snprintf(t->why, sizeof(t->why), "bytes that nobody touched: %s",
					 f->message);
				return;
			}
			x->ends = cells_between(x->buffer, lo, hi, true);
		}
		/* of a kernel that only has a pointer into the memory the judge knows nothing */
		if (is_free(x->rule) && c->p.op[x->prev].what == OP_KERNEL &&
		    !touches(&c->p.op[x->prev], x->buffer))
			continue;
		t->n++;
		if (f->rule == KRT_RULE_REUSE_RACE)
			add_earlier(t, &c->p, x);
	}
}
