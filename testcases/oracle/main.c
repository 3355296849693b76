/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine against the judge on random programs:
 *
 *   oracle [N [SEED [FEATURES]]]
 *
 * Each call has a stack of its own, so that every pair of operations is a
 * finding.  Each finding must be a pair of the judge's, with its rule and view,
 * in cells where it is one.  The other way round: each cell in which a pair
 * races must be told, unless the earlier access was overwritten in between (then
 * the overwriting one races with one of the two, and that must be told); each
 * free must be told once where something may still use the memory, each use
 * before an allocation or after a free always.
 *
 * What they do not agree on is made small and printed as a test.
 */
#include "program.h"
#include "testcases/unit/rec_build.h"

#define FINDINGS   4096
#define FAILED_MAX 5 /* then it stops */

struct told {
	int rule, cur, prev;
	uint8_t buffer, cells; /* from the first to the last: what lies between may be gaps */
	uint8_t ends;	       /* the first and the last */
	bool in_view[VIEWS];
};

struct trial {
	unsigned n;
	struct told told[FINDINGS];
	struct verdict verdict;
	char why[256];
	enum fault fault;
};

/* --- feeding --------------------------------------------------------------------- */

static uint64_t stream_of(const struct op *o)
{
	return stream_slot[o->stream].handle[o->ctx];
}

static uint64_t event_of(const struct op *o, unsigned event)
{
	unsigned ctx = event / EVENTS ? !o->ctx : o->ctx;

	return 0x2000 + ctx * 0x100 + event % EVENTS;
}

static uint64_t addr_of(const struct range *r)
{
	return buffer_slot[r->buffer].addr + r->from * CELL;
}

static void make(struct world *w, unsigned b, uint64_t s)
{
	uint64_t addr = buffer_slot[b].addr, size = CELLS * CELL;

	switch (buffer_slot[b].kind) {
	case DEVICE:
		alloc(w, addr, size);
		break;
	case POOL:
		alloc_async(w, addr, size, s);
		break;
	case PINNED:
		alloc_pinned(w, addr, size);
		break;
	case MANAGED:
		alloc_managed(w, addr, size);
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
		if (buffer_slot[b].kind != POOL) {
			w->stack =
				OPS + 1 + b; /* where it is from is a part of what a finding is */
			make(w, b, 0);
		}
	for (unsigned t = THREADS; t-- > 0;)
		thread(w, 1 + t, 1 + t);
}

static void feed_copy(struct world *w, const struct op *o, uint64_t s)
{
	static const enum krt_api_id api[] = {
#define X(name) KRT_API_##name,
		COPIES(X)
#undef X
	};
	const struct range *r = o->range;

	call_begin(w, api[copy_form(o)], A(addr_of(r)), A(addr_of(r + 1)), A(r->n * CELL), A(s));
	call_end(w, 0);
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
	uint64_t s = stream_of(o), ev = event_of(o, o->event);
	int answer = o->ready ? 0 : 600;

	switch (o->what) {
	case OP_SET:
		set(w, addr_of(r), r->n * CELL, s);
		break;
	case OP_SET_SYNC:
		if (o->stream == THREAD_SLOT)
			call(w, cuMemsetD8_v2_ptds, A(addr_of(r)), A(0), A(r->n * CELL));
		else
			call(w, cuMemsetD8_v2, A(addr_of(r)), A(0), A(r->n * CELL));
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
		record(w, ev, s);
		break;
	case OP_WAIT:
		wait_event(w, s, ev);
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
			    A(event_of(o, o->event2)));
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
		make(w, r->buffer, s);
		break;
	case OP_FREE:
		if (buffer_slot[r->buffer].kind == PINNED)
			call(w, cuMemFreeHost, A(buffer_slot[r->buffer].addr));
		else
			call(w, cuMemFree_v2, A(buffer_slot[r->buffer].addr));
		break;
	case OP_FREE_ASYNC:
		call(w, cuMemFreeAsync, A(buffer_slot[r->buffer].addr), A(s));
		break;
	case NR_OPERATIONS:
		break;
	}
}

/* --- what the engine tells ---------------------------------------------------------- */

static bool is_race(int rule)
{
	return rule == KRT_RULE_RACE_RAW || rule == KRT_RULE_RACE_WAR || rule == KRT_RULE_RACE_WAW;
}

static bool is_host(int rule)
{
	return rule == KRT_RULE_HOST_READ_RACE || rule == KRT_RULE_HOST_WRITE_RACE;
}

static bool is_free(int rule)
{
	return rule == KRT_RULE_FREE_IN_USE || rule == KRT_RULE_HOST_FREE_IN_USE;
}

/* The rules that the judge knows. */
static bool is_judged(int rule)
{
	return is_race(rule) || is_host(rule) || is_free(rule) || rule == KRT_RULE_UAF_STREAM ||
	       rule == KRT_RULE_UBA_STREAM;
}

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
	if (is_race(x->rule) || is_host(x->rule)) {
		uint64_t base = buffer_slot[x->buffer % BUFFERS].addr,
			 from = f->current.range_base - base, end = from + f->current.range_len;

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
	if (f->confidence != KRT_CERTAIN)
		snprintf(t->why, sizeof(t->why), "not certain: %s", f->message);
}

static void ask_engine(struct trial *t, const struct program *p)
{
	static struct world w;
	struct krt_report *r;

	open_slots(&w);
	for (unsigned i = 0; i < p->n; i++) {
		const struct op *o = &p->op[i];
		uint64_t pc = 0x1000 + i * 16;

		if (p->left_out[i])
			continue;
		stack(&w, i + 1, 1, &pc);
		w.stack = i + 1;
		w.ctx = 0xc0 + o->ctx;
		w.lane = 1 + o->thread;
		feed(&w, o);
	}
	r = world_report(&w);
	t->n = 0;
	for (size_t i = 0; i < r->nfindings && t->n < FINDINGS; i++)
		if (is_judged((int)r->finding[i].rule))
			take(t, &r->finding[i]);
	krt_report_destroy(r);
	krt_engine_destroy(w.e);
}

/* --- comparison ---------------------------------------------------------------------- */

/* Kernels that meet in one buffer in several ways are told once. */
static bool same_rule(const struct program *p, int a, int b, int cur, int prev)
{
	return a == b || (is_race(a) && is_race(b) && p->op[cur].what == OP_KERNEL &&
			  p->op[prev].what == OP_KERNEL);
}

static bool complain(struct trial *t, const char *who, int rule, int cur, int prev,
		     const char *what)
{
	snprintf(t->why, sizeof(t->why), "%s: %s of %d with %d %s", who, krt_rules[rule].id, cur,
		 prev, what);
	return false;
}

/* A finding must be true. */
static bool is_true(struct trial *t, const struct program *p, const struct told *x)
{
	uint8_t cells[VIEWS] = {0};
	bool in_view[VIEWS] = {0};

	for (unsigned i = 0; i < t->verdict.n; i++) {
		const struct pair *q = &t->verdict.pair[i];

		if (q->cur != x->cur || q->prev != x->prev || q->buffer != x->buffer ||
		    !same_rule(p, q->rule, x->rule, q->cur, q->prev))
			continue;
		for (int v = 0; v < VIEWS; v++) {
			cells[v] |= q->cells[v];
			in_view[v] |= q->in_view[v];
		}
	}
	if (!in_view[DOC])
		return complain(t, "engine alone", x->rule, x->cur, x->prev, "");
	if (in_view[OBS] != x->in_view[OBS])
		return complain(t, "engine", x->rule, x->cur, x->prev, "in the wrong view");
	if (x->ends & ~cells[DOC])
		return complain(t, "engine", x->rule, x->cur, x->prev,
				"in bytes that are in order");
	return true;
}

/* A free is told of the last use on each stream. */
static bool same_stream(const struct op *a, const struct op *b)
{
	unsigned s = stream_of_op(a);

	return s == stream_of_op(b) && a->ctx == b->ctx &&
	       (stream_slot[s].kind != PER_THREAD || a->thread == b->thread);
}

/* A pair must be told, or another that says the same. */
static bool is_told(struct trial *t, const struct program *p, const struct pair *q, int v)
{
	uint8_t cells = 0;
	bool told = false;

	for (unsigned i = 0; i < t->n; i++) {
		const struct told *x = &t->told[i];

		if (x->cur != q->cur || x->buffer != q->buffer || !x->in_view[v] ||
		    !same_rule(p, q->rule, x->rule, q->cur, x->prev))
			continue;
		cells |= x->cells;
		told |= x->prev == q->prev || (is_free(q->rule) && x->prev > q->prev &&
					       same_stream(&p->op[x->prev], &p->op[q->prev]));
	}
	if (is_free(q->rule))
		told |= !q->need[v];
	if (is_race(q->rule) || is_host(q->rule))
		told = !(q->need[v] & ~cells);
	return told || complain(t, v == DOC ? "judge alone" : "judge alone (observed)", q->rule,
				q->cur, q->prev, "");
}

static bool agree(struct trial *t, const struct program *p)
{
	t->why[0] = 0;
	judge(p, &t->verdict, t->fault);
	ask_engine(t, p);
	if (t->why[0])
		return false;
	for (unsigned i = 0; i < t->n; i++)
		if (!is_true(t, p, &t->told[i]))
			return false;
	for (unsigned i = 0; i < t->verdict.n; i++)
		for (int v = 0; v < VIEWS; v++)
			if (t->verdict.pair[i].in_view[v] && !is_told(t, p, &t->verdict.pair[i], v))
				return false;
	return true;
}

/* --- making it small ------------------------------------------------------------------ */

/* Is the changed program one that they do not agree on either?  Then it is the program now. */
static bool keep(struct trial *t, struct program *p, struct program *changed)
{
	program_check(changed);
	if (agree(t, changed))
		return false;
	*p = *changed;
	return true;
}

static bool without(struct trial *t, struct program *p, unsigned i)
{
	struct program q = *p;

	memmove(&q.op[i], &q.op[i + 1], (q.n - i - 1) * sizeof(*q.op));
	q.n--;
	return keep(t, p, &q);
}

static bool simpler(struct trial *t, struct program *p, unsigned i)
{
	struct program q = *p;
	bool any = false;

	for (unsigned k = q.op[i].what == OP_KERNEL ? q.op[i].nranges : 0;
	     k-- > 0 && q.op[i].nranges > 1; q = *p) {
		memmove(&q.op[i].range[k], &q.op[i].range[k + 1],
			(q.op[i].nranges - k - 1) * sizeof(struct range));
		q.op[i].nranges--;
		any |= keep(t, p, &q);
	}
	for (unsigned k = 0; k < q.op[i].nranges; k++) {
		for (q = *p; q.op[i].range[k].n > 1; q = *p) {
			q.op[i].range[k].n--;
			if (q.op[i].what != OP_KERNEL && q.op[i].nranges > 1)
				q.op[i].range[k ^ 1].n = q.op[i].range[k].n;
			if (!keep(t, p, &q))
				break;
			any = true;
		}
		q = *p;
	}
	if (q.op[i].ctx || q.op[i].thread) {
		q.op[i].ctx = q.op[i].thread = 0;
		any |= keep(t, p, &q);
	}
	return any;
}

static void shrink(struct trial *t, struct program *p)
{
	bool again = true;

	while (again) {
		again = false;
		for (unsigned i = p->n; i-- > 0;)
			again |= without(t, p, i);
		for (unsigned i = 0; i < p->n; i++)
			again |= simpler(t, p, i);
	}
	agree(t, p);
}

#define FAULT_PROGRAMS 3000 /* in which each must be seen */

/* Is every wrong judge found out? */
static bool faults_are_seen(struct trial *t)
{
	static const char *const name[] = {
#define X(text) #text,
		FAULTS(X)
#undef X
	};
	bool all = true;

	for (unsigned f = FAULT_NONE + 1; f < NR_FAULTS; f++) {
		bool seen = false;

		t->fault = f;
		for (uint64_t seed = 1; !seen && seed <= FAULT_PROGRAMS; seed++) {
			struct program p;

			program_random(&p, seed, F_ALL);
			seen = !agree(t, &p);
		}
		if (!seen)
			printf("not ok: a judge without %s agrees with the engine\n", name[f]);
		all &= seen;
	}
	t->fault = FAULT_NONE;
	return all;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
	unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	unsigned long passed = 0, failed = 0, pairs = 0;
	unsigned features = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : F_ALL;
	static struct trial t;

	failed += !faults_are_seen(&t);
	for (unsigned long i = 0; i < n && failed < FAILED_MAX; i++) {
		struct program p;

		program_random(&p, seed + i, features);
		if (agree(&t, &p)) {
			pairs += t.verdict.n;
			passed++;
			continue;
		}
		failed++;
		shrink(&t, &p);
		printf("not ok program %lu: %s\n", seed + i, t.why);
		program_print(&p, stdout);
	}
	printf("%lu pairs that are not in order\n%lu passed, %lu failed\n", pairs, passed, failed);
	return failed || !pairs;
}
