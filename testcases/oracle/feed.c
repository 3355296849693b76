/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as records of calls, fed to an engine, and what it finds of them. */
#include "feed.h"

/* --- feeding --------------------------------------------------------------------- */

uint64_t handle_of_stream(const struct op *o)
{
	return stream_slot[o->stream].handle[o->ctx];
}

uint64_t handle_of_event(const struct op *o, unsigned event)
{
	unsigned ctx = event / EVENTS ? !o->ctx : o->ctx;

	return 0x2000 + ctx * 0x100 + event % EVENTS;
}

uint64_t addr_of(const struct range *r)
{
	return buffer_slot[r->buffer].addr + r->from * CELL;
}

static void make(struct world *w, unsigned b, uint64_t s, unsigned form)
{
	uint64_t addr = buffer_slot[b].addr, size = CELLS * CELL;

	switch (buffer_slot[b].kind) {
	case DEVICE:
		alloc(w, addr, size);
		break;
	case POOL:
		if (form)
			alloc_from_pool(w, b, s);
		else
			alloc_async(w, addr, size, s);
		break;
	case PINNED:
		alloc_pinned(w, addr, size);
		break;
	case MANAGED:
		alloc_managed(w, addr, size);
		break;
	case MAPPED:
		map_memory(w, b);
		break;
	case ARRAY:
		make_array(w, b);
		break;
	case PAGEABLE:
		break;
	}
}

static void open_slots(struct world *w)
{
	static const struct krt_engine_config cfg = {.hot_min = 1000, .possible_max = 1000};

	world_open(w, &cfg);
	for (unsigned c = CONTEXTS; c-- > 0;) {
		context(w, 0xc0 + c, (int)c, true);
		for (unsigned s = 0; s < STREAMS; s++)
			if (stream_slot[s].kind == BLOCKING || stream_slot[s].kind == NON_BLOCKING)
				stream(w, stream_slot[s].handle[c],
				       stream_slot[s].kind == NON_BLOCKING);
		for (unsigned i = 0; i < EVENTS; i++)
			event(w, 0x2000 + c * 0x100 + i);
	}
	for (unsigned b = 0; b < BUFFERS; b++)
		if (buffer_slot[b].kind != POOL && buffer_slot[b].kind != MAPPED) {
			w->stack =
				OPS + 1 + b; /* where it is from is a part of what a finding is */
			make(w, b, 0, 0);
		}
	open_memory(w);
	for (unsigned t = THREADS + 1; t-- > 0;)
		thread(w, 1 + t, 1 + t);
}

enum krt_api_id copy_api(const struct op *o)
{
	static const enum krt_api_id api[] = {
#define X(name) KRT_API_##name,
		COPIES(X)
#undef X
	};

	return api[copy_form(o)];
}

static void feed_copy(struct world *w, const struct op *o, uint64_t s)
{
	const struct range *r = o->range;

	if (buffer_slot[r[0].buffer].kind == ARRAY || buffer_slot[r[1].buffer].kind == ARRAY) {
		feed_array_copy(w, o, s);
		return;
	}
	call_begin(w, copy_api(o), A(addr_of(r)), A(addr_of(r + 1)), A(r->n * CELL), A(s));
	call_end(w, o->refused ? REFUSED : 0);
}

static void feed_batch(struct world *w, const struct op *o, uint64_t s)
{
	uint64_t dst[RANGES], src[RANGES], size[RANGES], zero = 0;
	uint32_t attr[6] = {o->order}, n = o->nranges / 2;

	for (unsigned i = 0; i < n; i++) {
		dst[i] = addr_of(&o->range[2 * i]);
		src[i] = addr_of(&o->range[2 * i + 1]);
		size[i] = o->range[2 * i].n * CELL;
	}
	call_begin(w, KRT_API_cuMemcpyBatchAsync_v2, A(0), A(0), A(0), A(n), A(0), A(0), A(1),
		   A(s));
	call_blob(w, 0, KRT_BLOB_BYTES, dst, n * 8);
	call_blob(w, 1, KRT_BLOB_BYTES, src, n * 8);
	call_blob(w, 2, KRT_BLOB_BYTES, size, n * 8);
	call_blob(w, 4, KRT_BLOB_BYTES, attr, sizeof(attr));
	call_blob(w, 5, KRT_BLOB_BYTES, &zero, 8);
	call_end(w, 0);
}

static void feed(struct world *w, const struct op *o)
{
	const struct range *r = o->range;
	static uint64_t token[FUNCTIONS];
	uint64_t s = handle_of_stream(o), ev = handle_of_event(o, o->event);
	int answer = o->ready ? 0 : 600, result = o->refused ? REFUSED : 0;

	switch (o->what) {
	case OP_SET:
		call_failed(w, cuMemsetD8Async, result, A(addr_of(r)), A(0), A(r->n * CELL), A(s));
		break;
	case OP_SET_SYNC:
		if (o->stream == THREAD_SLOT)
			call_failed(w, cuMemsetD8_v2_ptds, result, A(addr_of(r)), A(0),
				    A(r->n * CELL));
		else
			call_failed(w, cuMemsetD8_v2, result, A(addr_of(r)), A(0), A(r->n * CELL));
		break;
	case OP_COPY:
	case OP_COPY_SYNC:
		feed_copy(w, o, s);
		break;
	case OP_KERNEL:
		for (unsigned i = 0; i < o->nranges; i++)
			access_note(w, s, addr_of(&r[i]), r[i].n * CELL, r[i].write ? 2 : 1);
		launch_of(w, KRT_API_cuLaunchKernel, s, 0, 0, NULL);
		break;
	case OP_CTX_RECORD:
		call(w, cuCtxRecordEvent, A(w->ctx), A(ev));
		break;
	case OP_CTX_WAIT:
		call(w, cuCtxWaitEvent, A(w->ctx), A(ev));
		break;
	case OP_BATCH:
		feed_batch(w, o, s);
		break;
	case OP_RELEASE:
		call(w, krtsan_impl_order_release, A(0x5000 + o->event % EVENTS),
		     A(o->ready ? s : UINT64_MAX));
		break;
	case OP_ACQUIRE:
		call(w, krtsan_impl_order_acquire, A(0x5000 + o->event % EVENTS),
		     A(o->ready ? s : UINT64_MAX));
		break;
	case OP_COPY_PEER:
		call(w, cuMemcpyPeer, A(addr_of(r)), A(0xc0 + o->event % CONTEXTS),
		     A(addr_of(r + 1)), A(0xc0 + o->event2 % CONTEXTS), A(r->n * CELL));
		break;
	case OP_SET_ROWS:
		call(w, cuMemsetD2D8Async, A(addr_of(r)), A(ROW_STEP * CELL), A(0), A(CELL),
		     A(r->n), A(s));
		break;
	case OP_MODULE_LOAD:
		call_begin(w, KRT_API_cuModuleLoadData, A(0), A(0));
		call_out(w, 0, 0x3000 + w->ticket);
		call_end(w, 0);
		break;
	case OP_RECORD:
		call_failed(w, cuEventRecord, result, A(ev), A(s));
		break;
	case OP_WAIT:
		call_failed(w, cuStreamWaitEvent, result, A(s), A(ev), A(0));
		break;
	case OP_EVENT_NEW:
		call(w, cuEventDestroy_v2, A(ev));
		event(w, ev);
		break;
	case OP_EVENT_SYNC:
		sync_event(w, ev);
		break;
	case OP_EVENT_QUERY:
		call_failed(w, cuEventQuery, answer, A(ev));
		break;
	case OP_EVENT_ELAPSED:
		call_failed(w, cuEventElapsedTime_v2, answer, A(0), A(ev),
			    A(handle_of_event(o, o->event2)));
		break;
	case OP_STREAM_NEW:
		if (stream_slot[o->stream].kind != BLOCKING &&
		    stream_slot[o->stream].kind != NON_BLOCKING)
			break;
		call(w, cuStreamDestroy_v2, A(s));
		stream(w, s, stream_slot[o->stream].kind == NON_BLOCKING);
		break;
	case OP_STREAM_SYNC:
		sync_stream(w, s);
		break;
	case OP_STREAM_QUERY:
		call_failed(w, cuStreamQuery, answer, A(s));
		break;
	case OP_CTX_SYNC:
		sync_ctx(w);
		break;
	case OP_HOST_READ:
		host_read(w, addr_of(r), r->n * CELL);
		break;
	case OP_HOST_WRITE:
		host_write(w, addr_of(r), r->n * CELL);
		break;
	case OP_ALLOC:
		make(w, r->buffer, s, o->form);
		break;
	case OP_FREE:
		if (buffer_slot[r->buffer].kind == PINNED)
			call(w, cuMemFreeHost, A(buffer_slot[r->buffer].addr));
		else if (buffer_slot[r->buffer].kind == MAPPED)
			call(w, cuMemUnmap, A(buffer_slot[r->buffer].addr), A(CELLS * CELL));
		else if (buffer_slot[r->buffer].kind == ARRAY)
			call(w, cuArrayDestroy, A(buffer_slot[r->buffer].addr));
		else
			call(w, cuMemFree_v2, A(buffer_slot[r->buffer].addr));
		break;
	case OP_FREE_ASYNC:
		call(w, cuMemFreeAsync, A(buffer_slot[r->buffer].addr), A(s));
		break;
	case OP_HOSTFN:
		token[o->node % FUNCTIONS] = w->ticket;
		call(w, cuLaunchHostFunc, A(s), A(0x77), A(0));
		break;
	case OP_HOSTFN_RUN: /* on a thread of the driver's */
		w->lane = 1 + THREADS;
		call(w, hostfn_enter, A(token[o->node % FUNCTIONS]));
		(r->write ? host_write : host_read)(w, addr_of(r), r->n * CELL);
		call(w, hostfn_exit, A(token[o->node % FUNCTIONS]));
		break;
	default: /* of other files */
		feed_memory(w, o, s);
		break;
	}
}

/* --- what the engine tells ---------------------------------------------------------- */

static uint8_t buffer_at(uint64_t addr)
{
	for (unsigned b = 0; b < BUFFERS; b++)
		if (addr - buffer_slot[b].addr < CELLS * CELL)
			return (uint8_t)b;
	return BUFFERS;
}

static void take(struct trial *t, const struct krt_finding *f)
{
	struct told *x = &t->told[t->n++];

	*x = (struct told){.rule = (int)f->rule,
			   .cur = (int)f->current.stack_id - 1,
			   .prev = (int)f->previous.stack_id - 1,
			   .buffer = buffer_at(f->buffer.base)};
	x->in_view[DOC] = true;
	x->in_view[OBS] = f->view == KRT_BOTH_VIEWS;
	if (is_race(x->rule) || is_host(x->rule) || is_of_graphs(x->rule) ||
	    x->rule == KRT_RULE_REUSE_RACE) {
		uint64_t base = buffer_slot[x->buffer % BUFFERS].addr,
			 from = f->current.range_base -
				(buffer_slot[x->buffer % BUFFERS].kind == ARRAY ? 0 : base),
			 end = from + f->current.range_len;

		if (x->buffer == BUFFERS || from % CELL || end % CELL || from >= end ||
		    end > CELLS * CELL) {
			snprintf(t->why, sizeof(t->why), "bytes that nobody touched: %s",
				 f->message);
			return;
		}
		from /= CELL, end /= CELL;
		x->cells = (uint8_t)((1u << end) - (1u << from));
		x->ends = (uint8_t)(1u << from | 1u << (end - 1));
	}
	if (!f->buffer.base || x->rule == KRT_RULE_UNFINISHED)
		x->buffer = BUFFERS;
	if (f->confidence != KRT_CERTAIN && x->rule != KRT_RULE_REUSE_RACE)
		snprintf(t->why, sizeof(t->why), "not certain: %s", f->message);
}

void ask_engine(struct trial *t, const struct program *p)
{
	static struct world w;
	static struct graphs was, is;
	uint64_t before[OPS];
	struct krt_report *r;

	open_slots(&w);
	graphs_begin(&is);
	for (unsigned i = 0; i < p->n; i++) {
		const struct op *o = &p->op[i];
		uint64_t pc = 0x1000 + i * 16;
		int capture;

		if (p->left_out[i])
			continue;
		stack(&w, i + 1, 1, &pc);
		w.stack = i + 1;
		w.ctx = 0xc0 + o->ctx;
		w.lane = 1 + o->thread;
		/* room for calls that begin before this one, and return later */
		before[i] = w.ticket;
		w.ticket += OPS;
		if (program_began(p, i) < i)
			w.began = before[program_began(p, i)] + i - program_began(p, i);
		was = is;
		graphs_step(&is, p, i);
		capture = graphs_capture(&was, o);
		if (capture >= 0 || is_graph_op(o))
			feed_graph(&w, p, i, &was, &is, capture);
		else
			feed(&w, o);
	}
	mark(&w, KRT_MARK_EXITING); /* an executable that is not launched again is none of ours */
	r = world_report(&w);
	t->n = 0;
	for (size_t i = 0; i < r->nfindings && t->n < FINDINGS; i++)
		/* a use of what came back to a pool is no more than possible */
		if (is_judged((int)r->finding[i].rule) && r->finding[i].confidence != KRT_POSSIBLE)
			take(t, &r->finding[i]);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

bool agree(struct trial *t, const struct program *p)
{
	t->why[0] = 0;
	judge(p, &t->verdict, t->fault);
	ask_engine(t, p);
	return !t->why[0] && same(t, p);
}
