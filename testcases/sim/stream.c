/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, events, host functions and stream memory operations.
 *
 * A destroyed stream stays in its context's list until its work is done: the
 * legacy stream and context-wide waits still see it.  An event holds the
 * operation of its latest record; a wait binds to that operation at the call.
 * Host functions run on one thread of ours, in the order in which they become
 * due; the device goes on when one takes long.
 */
#include "sim.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t next_stream;

/* ---- streams ---- */

struct strm *sim_stream_new(struct ctx *c, unsigned flags, int prio)
{
	struct strm *s = sim_alloc(sizeof *s), **p;

	if (!s)
		return NULL;
	s->ctx = c;
	s->id = ++next_stream;
	s->flags = flags;
	s->priority = prio;
	s->blocking = !(flags & CU_STREAM_NON_BLOCKING);
	for (p = &c->streams; *p; p = &(*p)->next)
		;
	*p = s;
	sim_handle_add(s, SIM_STREAM);
	return s;
}

void sim_streams_reap(struct ctx *c)
{
	struct strm **p = &c->streams, *s;

	while ((s = *p)) {
		if (s->dead && !sim_tail(s)) {
			*p = s->next;
			sim_free(s->cap_dep);
			sim_free(s->cap_edge);
			sim_free(s);
		} else {
			p = &s->next;
		}
	}
}

struct strm *sim_thread_stream(struct ctx *c)
{
	static __thread uint64_t me;
	static uint64_t threads;

	if (!me)
		me = ++threads;
	for (struct strm *s = c->streams; s; s = s->next)
		if (s->per_thread && s->thread == me && !s->dead)
			return s;
	struct strm *s = sim_stream_new(c, 0, 0);

	if (s) {
		s->per_thread = true;
		s->thread = me;
		sim_handle_del(s);
	}
	return s;
}

static CUresult resolve(CUstream h, bool pt, struct strm **out, bool look)
{
	struct strm *s = (struct strm *)h;
	struct ctx *c;
	CUresult r;

	if (!h || h == CU_STREAM_LEGACY || h == CU_STREAM_PER_THREAD) {
		r = sim_get_ctx(&c);
		if (r != CUDA_SUCCESS)
			return r;
		if (h == CU_STREAM_PER_THREAD || (!h && pt))
			s = sim_thread_stream(c);
		else
			s = c->legacy;
		*out = s;
		if (s && s->legacy)
			return cap_legacy(c, look);
		return s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!sim_handle_is(s, SIM_STREAM))
		return CUDA_ERROR_INVALID_HANDLE;
	*out = s;
	return s->ctx->error;
}

CUresult sim_get_stream(CUstream h, bool pt, struct strm **out)
{
	CUresult r = resolve(h, pt, out, false);

	return r == CUDA_SUCCESS && cap_invalid(*out) ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : r;
}

CUresult sim_get_stream_any(CUstream h, bool pt, struct strm **out)
{
	return resolve(h, pt, out, true);
}

static CUresult get_even_broken(CUstream h, bool pt, struct strm **out)
{
	return resolve(h, pt, out, false);
}

#define GET_STREAM_BY(get, h, pt, st)                                                              \
	struct strm *st = NULL;                                                                    \
	do {                                                                                       \
		CUresult get_ = get(h, pt, &st);                                                   \
		if (get_ != CUDA_SUCCESS)                                                          \
			LEAVE(get_);                                                               \
	} while (0)
#define GET_STREAM(h, pt, st)	  GET_STREAM_BY(sim_get_stream, h, pt, st)
#define GET_STREAM_ANY(h, pt, st) GET_STREAM_BY(sim_get_stream_any, h, pt, st)

static CUresult stream_create(CUstream *out, unsigned flags, int prio)
{
	struct ctx *c;
	struct strm *s;
	CUresult r;

	ENTER();
	r = sim_get_ctx(&c);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!out || flags & ~1u)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	s = sim_stream_new(c, flags, prio > 0 ? 0 : prio < -5 ? -5 : prio);
	if (!s)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	*out = (CUstream)s;
	LEAVE(CUDA_SUCCESS);
}
ONE(cuStreamCreate, (CUstream * s, unsigned flags), stream_create(s, flags, 0))
ONE(cuStreamCreateWithPriority, (CUstream * s, unsigned flags, int prio),
    stream_create(s, flags, prio))

static CUresult stream_destroy(CUstream h)
{
	struct strm *s = (struct strm *)h;

	ENTER();
	if (!sim_handle_is(s, SIM_STREAM))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (s->cap)
		cap_stream_gone(s);
	sim_handle_del(s);
	s->dead = true;
	sim_streams_reap(s->ctx);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuStreamDestroy, (CUstream s), stream_destroy(s))
ONE(cuStreamDestroy_v2, (CUstream s), stream_destroy(s))

static CUresult stream_sync(bool pt, CUstream h)
{
	struct ctx *c;

	ENTER();
	GET_STREAM_BY(get_even_broken, h, pt, st);
	if (st->cap) { /* a broken one answers the same */
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	c = st->ctx;
	UNSAFE(c);
	if (sim_dropped())
		LEAVE(CUDA_SUCCESS);
	if (st->legacy)
		sim_wait_legacy(c);
	else
		sim_wait_stream(st);
	LEAVE(c->error);
}
BOTH(cuStreamSynchronize, _ptsz, (CUstream s), stream_sync(pt, s))

static CUresult stream_query(bool pt, CUstream h)
{
	struct ctx *c;
	struct op *t;
	bool done;

	ENTER_QUIET();
	GET_STREAM_BY(get_even_broken, h, pt, st);
	if (st->cap) { /* a broken one answers the same */
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	c = st->ctx;
	UNSAFE(c);
	t = sim_tail(st); /* of the legacy stream no more: that was not measured */
	if (!t)
		LEAVE(c->error);
	op_get(t);
	sim_query_pending(t);
	done = t->done;
	op_put(t);
	LEAVE(c->error ? c->error : done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}
BOTH(cuStreamQuery, _ptsz, (CUstream s), stream_query(pt, s))

static CUresult stream_info(bool pt, CUstream h, void *out, int what)
{
	ENTER_QUIET();
	GET_STREAM_ANY(h, pt, st);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (st->cap && (what == 0 || what == 2)) { /* as measured: the capture is broken */
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	switch (what) {
	case 0:
		*(unsigned *)out = st->flags;
		break;
	case 1:
		*(int *)out = st->priority;
		break;
	case 2:
		*(unsigned long long *)out = st->id;
		break;
	case 3:
		*(CUcontext *)out = (CUcontext)st->ctx;
		break;
	case 4:
		*(CUdevice *)out = st->ctx->dev;
		break;
	}
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamGetFlags, _ptsz, (CUstream s, unsigned *v), stream_info(pt, s, v, 0))
BOTH(cuStreamGetPriority, _ptsz, (CUstream s, int *v), stream_info(pt, s, v, 1))
BOTH(cuStreamGetId, _ptsz, (CUstream s, unsigned long long *v), stream_info(pt, s, v, 2))
BOTH(cuStreamGetCtx, _ptsz, (CUstream s, CUcontext *v), stream_info(pt, s, v, 3))
BOTH(cuStreamGetDevice, _ptsz, (CUstream s, CUdevice *v), stream_info(pt, s, v, 4))
BOTH(cuStreamGetCtx_v2, _ptsz, (CUstream s, CUcontext *v, CUgreenCtx *g),
     ((g ? (void)(*g = NULL) : (void)0), stream_info(pt, s, v, 3)))

static CUresult stream_attr(bool pt, CUstream h, int id, void *v, bool set)
{
	ENTER();
	GET_STREAM_ANY(h, pt, st);
	if (!v)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
		if (set)
			st->priority = *(int *)v;
		else
			*(int *)v = st->priority;
	} else if (!set) {
		memset(v, 0, sizeof(CUstreamAttrValue));
	}
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamSetAttribute, _ptsz, (CUstream s, CUstreamAttrID id, const CUstreamAttrValue *v),
     stream_attr(pt, s, (int)id, (void *)v, true))
BOTH(cuStreamGetAttribute, _ptsz, (CUstream s, CUstreamAttrID id, CUstreamAttrValue *v),
     stream_attr(pt, s, (int)id, v, false))
static CUresult stream_copy_attr(bool pt, CUstream d, CUstream s)
{
	ENTER();
	GET_STREAM(d, pt, a);
	GET_STREAM(s, pt, b);
	a->priority = b->priority;
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamCopyAttributes, _ptsz, (CUstream d, CUstream s), stream_copy_attr(pt, d, s))

/* ---- events ---- */

static void ev_free(struct ev *e)
{
	if (--e->refs)
		return;
	op_put(e->rec);
	sim_free(e->cap_dep);
	sim_free(e->cap_edge);
	sim_free(e);
}

API(cuEventCreate, (CUevent * out, unsigned flags))
{
	struct ctx *c;
	struct ev *e;
	CUresult r;

	ENTER();
	r = sim_get_ctx(&c);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	if (!out || flags & ~7u ||
	    (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)))
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	e = sim_alloc(sizeof *e);
	if (!e)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	e->ctx = c;
	e->flags = flags;
	e->refs = 1;
	e->next = c->events;
	c->events = e;
	sim_handle_add(e, SIM_EVENT);
	*out = (CUevent)e;
	LEAVE(CUDA_SUCCESS);
}

static void ev_gone(struct ev *e)
{
	for (struct ev **p = &e->ctx->events; *p; p = &(*p)->next)
		if (*p == e) {
			*p = e->next;
			break;
		}
	sim_handle_del(e);
	ev_free(e);
}

void events_ctx_gone(struct ctx *c)
{
	while (c->events)
		ev_gone(c->events);
}

static CUresult event_destroy(CUevent h)
{
	ENTER();
	if (!sim_handle_is(h, SIM_EVENT))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (((struct ev *)h)->refs > 1)
		((struct ev *)h)->refs--; /* opened through an IPC handle as well */
	else
		ev_gone((struct ev *)h);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuEventDestroy, (CUevent e), event_destroy(e))
ONE(cuEventDestroy_v2, (CUevent e), event_destroy(e))

static struct op *mark(struct ctx *c, enum op_kind k)
{
	return op_new(c, k, "", 0);
}

static void set_record(struct ev *e, struct op *op)
{
	op_get(op);
	op_put(e->rec);
	e->rec = op;
	e->captured = false;
}

void sim_event_record(struct ev *e, struct op *op)
{
	set_record(e, op);
}

static CUresult record(bool pt, CUevent h, CUstream s, unsigned flags)
{
	struct ev *e = (struct ev *)h;
	struct op *op;
	CUresult r;
	bool done;

	ENTER();
	GET_STREAM(s, pt, st);
	if (!sim_handle_is(e, SIM_EVENT))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (flags & ~1u)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (e->ctx != st->ctx)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	r = cap_record(e, st, flags, &done);
	if (done)
		LEAVE(r);
	if (sim_dropped())
		LEAVE(CUDA_SUCCESS);
	op = mark(st->ctx, OP_RECORD);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	op->cost = 0;
	set_record(e, op);
	op_submit(op, st);
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuEventRecord, _ptsz, (CUevent e, CUstream s), record(pt, e, s, 0))
BOTH(cuEventRecordWithFlags, _ptsz, (CUevent e, CUstream s, unsigned flags),
     record(pt, e, s, flags))

static CUresult wait_event(bool pt, CUstream s, CUevent h, unsigned flags)
{
	struct ev *e = (struct ev *)h;
	struct op *op;
	CUresult r;
	bool done;

	ENTER();
	GET_STREAM(s, pt, st);
	if (!sim_handle_is(e, SIM_EVENT))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (flags & ~1u)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	r = cap_wait(e, st, flags, &done);
	if (done)
		LEAVE(r);
	if (sim_dropped())
		LEAVE(CUDA_SUCCESS);
	if (!e->rec) /* nothing happens: no operation of the stream that others would wait for */
		LEAVE(CUDA_SUCCESS);
	op = mark(st->ctx, OP_WAIT);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	op->cost = 0;
	op_after(op, e->rec);
	op_submit(op, st);
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuStreamWaitEvent, _ptsz, (CUstream s, CUevent e, unsigned flags), wait_event(pt, s, e, flags))

API(cuEventQuery, (CUevent h))
{
	struct ev *e = (struct ev *)h;
	struct ctx *c;
	struct op *t;
	CUresult r;
	bool done;

	ENTER_QUIET();
	if (!sim_handle_is(e, SIM_EVENT))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	r = cap_event(e);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	UNSAFE(e->ctx);
	c = e->ctx;
	if (c->error)
		LEAVE(c->error);
	t = e->rec;
	if (!t || t->done)
		LEAVE(CUDA_SUCCESS);
	op_get(t);
	sim_query_pending(t);
	done = t->done;
	op_put(t);
	LEAVE(c->error ? c->error : done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

API(cuEventSynchronize, (CUevent h))
{
	struct ev *e = (struct ev *)h;
	struct ctx *c;
	CUresult r;

	ENTER();
	if (!sim_handle_is(e, SIM_EVENT))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	r = cap_event(e);
	if (r != CUDA_SUCCESS)
		LEAVE(r);
	UNSAFE(e->ctx);
	c = e->ctx;
	if (c->error)
		LEAVE(c->error);
	if (!sim_dropped())
		sim_wait_op(e->rec);
	LEAVE(c->error);
}

static CUresult elapsed(float *ms, CUevent a, CUevent b)
{
	struct ev *x = (struct ev *)a, *y = (struct ev *)b;

	ENTER_QUIET();
	if (!sim_handle_is(x, SIM_EVENT) || !sim_handle_is(y, SIM_EVENT))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!ms)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (!x->rec || !y->rec || (x->flags | y->flags) & CU_EVENT_DISABLE_TIMING)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (x->ctx->error)
		LEAVE(x->ctx->error);
	if (!x->rec->done || !y->rec->done) {
		sim_query_pending(x->rec->done ? y->rec : x->rec);
		LEAVE(CUDA_ERROR_NOT_READY);
	}
	*ms = (float)((double)((int64_t)(y->rec->vend - x->rec->vend)) / 1e6);
	LEAVE(CUDA_SUCCESS);
}
ONE(cuEventElapsedTime, (float *ms, CUevent a, CUevent b), elapsed(ms, a, b))
ONE(cuEventElapsedTime_v2, (float *ms, CUevent a, CUevent b), elapsed(ms, a, b))

/* Whole contexts: a record after everything, a wait before everything later. */
API(cuCtxRecordEvent, (CUcontext hc, CUevent h))
{
	struct ctx *c = hc ? (struct ctx *)hc : sim_current();
	struct ev *e = (struct ev *)h;
	struct op *op;
	CUresult r;

	ENTER();
	if (!c || !sim_handle_is(c, SIM_CTX))
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	if (!sim_handle_is(e, SIM_EVENT) || e->ctx != c)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	r = c->error ? c->error : cap_check(c);
	if (r != CUDA_SUCCESS || sim_dropped())
		LEAVE(r);
	op = mark(c, OP_RECORD);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	op->cost = 0;
	for (struct strm *s = c->streams; s; s = s->next)
		op_after(op, sim_tail(s));
	set_record(e, op);
	op_submit_bare(op);
	LEAVE(CUDA_SUCCESS);
}

API(cuCtxWaitEvent, (CUcontext hc, CUevent h))
{
	struct ctx *c = hc ? (struct ctx *)hc : sim_current();
	struct ev *e = (struct ev *)h;
	struct op *op;
	CUresult r;

	ENTER();
	if (!c || !sim_handle_is(c, SIM_CTX))
		LEAVE(CUDA_ERROR_INVALID_CONTEXT);
	if (!sim_handle_is(e, SIM_EVENT))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	r = c->error ? c->error : cap_check(c);
	if (r != CUDA_SUCCESS || sim_dropped())
		LEAVE(r);
	op = mark(c, OP_WAIT);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	op->cost = 0;
	op_after(op, e->rec);
	op_after(op, c->barrier);
	op_get(op);
	op_put(c->barrier);
	c->barrier = op;
	op_submit_bare(op);
	LEAVE(CUDA_SUCCESS);
}

/* ---- IPC events, within the process ---- */

struct ipc {
	uint64_t magic, ev;
	int pid;
};
#define IPC_EVENT 0x6576656e74697063ull

API(cuIpcGetEventHandle, (CUipcEventHandle * out, CUevent h))
{
	struct ipc x = {.magic = IPC_EVENT, .ev = (uint64_t)h, .pid = getpid()};

	ENTER();
	if (!sim_handle_is(h, SIM_EVENT) || !(((struct ev *)h)->flags & CU_EVENT_INTERPROCESS))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (!out)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	memset(out, 0, sizeof *out);
	memcpy(out, &x, sizeof x);
	LEAVE(CUDA_SUCCESS);
}

API(cuIpcOpenEventHandle, (CUevent * out, CUipcEventHandle h))
{
	struct ipc x;

	ENTER();
	memcpy(&x, &h, sizeof x);
	if (!out || x.magic != IPC_EVENT)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (x.pid != getpid())
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	if (!sim_handle_is((void *)x.ev, SIM_EVENT))
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	/* In one process the opened event is the event itself. */
	((struct ev *)x.ev)->refs++;
	*out = (CUevent)x.ev;
	LEAVE(CUDA_SUCCESS);
}

/* ---- host functions ---- */

struct host {
	CUhostFn fn;
	CUstreamCallback cb;
	CUstream handle;
	void *user;
	struct op *next;
	bool started, done;
};

static pthread_cond_t host_cv = PTHREAD_COND_INITIALIZER; /* there is one to run */
static pthread_cond_t host_done_cv = PTHREAD_COND_INITIALIZER;
static struct op *host_q;
static bool host_thread;

static void *host_main(void *arg)
{
	(void)arg;
	sim_in_hostfn(true);
	pthread_mutex_lock(&sim_mutex);
	sim_own_thread();
	for (;;) {
		struct op *op = host_q;
		struct host *h;
		CUresult status;

		if (!op) {
			pthread_cond_wait(&host_cv, &sim_mutex);
			continue;
		}
		h = op->data;
		host_q = h->next;
		status = op->ctx ? op->ctx->error : CUDA_SUCCESS;
		pthread_mutex_unlock(&sim_mutex);
		if (h->cb)
			h->cb(h->handle, status, h->user);
		else
			h->fn(h->user);
		pthread_mutex_lock(&sim_mutex);
		h->done = true;
		pthread_cond_signal(&host_done_cv);
		sim_world_changed(op);
		op_put(op);
	}
	return NULL;
}

static bool host_give(struct op *op)
{
	struct host *h = op->data;
	struct op **p = &host_q;

	if (!host_thread) {
		if (sim_start_thread(host_main, NULL))
			return false;
		host_thread = true;
	}
	while (*p)
		p = &((struct host *)(*p)->data)->next;
	*p = op;
	op_get(op);
	h->started = true;
	pthread_cond_signal(&host_cv);
	return true;
}

static enum step host_step(struct op *op)
{
	struct host *h = op->data;

	if (!h->started && !host_give(op))
		return STEP_AGAIN;
	/* Short ones are over before anything else happens; for long ones the device goes on. */
	return h->done || sim_wait_host(&host_done_cv, &h->done, 50) ? STEP_DONE : STEP_WAIT;
}

void sim_host_call(CUhostFn fn, void *user)
{
	struct op *op;

	if (host_node_op(NULL, fn, user, &op) != CUDA_SUCCESS)
		return;
	/* It is nobody's operation: the thread that runs it drops the last reference. */
	host_give(op);
	op_put(op);
}

CUresult host_node_op(struct ctx *c, CUhostFn fn, void *user, struct op **out)
{
	struct op *op;
	struct host *h;

	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(c, OP_HOSTFN, "", sizeof *h);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h = op->data;
	h->fn = fn;
	h->user = user;
	op->step = host_step;
	*out = op;
	return CUDA_SUCCESS;
}

void host_node_params(const struct op *op, CUhostFn *fn, void **user)
{
	const struct host *h = op->data;

	*fn = h->fn;
	*user = h->user;
}

static CUresult host_func(bool pt, CUstream s, CUhostFn fn, CUstreamCallback cb, void *user,
			  unsigned flags)
{
	struct op *op;
	struct host *h;

	ENTER();
	GET_STREAM(s, pt, st);
	if ((!fn && !cb) || flags)
		LEAVE(CUDA_ERROR_INVALID_VALUE);
	if (cb && st->cap) {
		cap_invalidate(st);
		LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	op = op_new(st->ctx, OP_HOSTFN, "", sizeof *h);
	if (!op)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	h = op->data;
	h->fn = fn;
	h->cb = cb;
	h->handle = s;
	h->user = user;
	op->always = cb != NULL;
	op->step = host_step;
	op_submit(op, st);
	LEAVE(CUDA_SUCCESS);
}
BOTH(cuLaunchHostFunc, _ptsz, (CUstream s, CUhostFn fn, void *user),
     host_func(pt, s, fn, NULL, user, 0))
BOTH(cuStreamAddCallback, _ptsz, (CUstream s, CUstreamCallback cb, void *user, unsigned flags),
     host_func(pt, s, NULL, cb, user, flags))

/* ---- stream memory operations ---- */

struct memop {
	unsigned n, at;
	CUstreamBatchMemOpParams v[];
};

static bool memop_wide(const CUstreamBatchMemOpParams *p)
{
	return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
	       p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

static bool satisfied(uint64_t have, uint64_t want, unsigned flags, bool wide)
{
	switch (flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return wide ? (int64_t)(have - want) >= 0
			    : (int32_t)((uint32_t)have - (uint32_t)want) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return have == want;
	case CU_STREAM_WAIT_VALUE_AND:
		return (have & want) != 0;
	default:
		return wide ? ~(have | want) != 0 : (uint32_t) ~(have | want) != 0;
	}
}

static enum step memop_step(struct op *op)
{
	struct memop *m = op->data;

	for (; m->at < m->n; m->at++) {
		const CUstreamBatchMemOpParams *p = &m->v[m->at];
		bool wide = memop_wide(p);
		uint64_t addr = p->waitValue.address, have = 0;
		uint64_t val = wide ? p->waitValue.value64 : p->waitValue.value;
		int o = p->operation;
		bool write = o == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
			     o == CU_STREAM_MEM_OP_WRITE_VALUE_64;

		if (o == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES || o == CU_STREAM_MEM_OP_BARRIER)
			continue;
		if (!mem_may(op->ctx, addr, wide ? 8 : 4, write)) {
			sim_ctx_fail(op->ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
			return STEP_DONE;
		}
		if (write) {
			if (!mem_write(addr, &val, wide ? 8 : 4)) {
				sim_ctx_fail(op->ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
				return STEP_DONE;
			}
			continue;
		}
		if (!mem_read(&have, addr, wide ? 8 : 4)) {
			sim_ctx_fail(op->ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
			return STEP_DONE;
		}
		if (!satisfied(have, val, p->waitValue.flags, wide))
			return STEP_WAIT;
	}
	return STEP_DONE;
}

CUresult memop_node_op(struct ctx *c, unsigned n, const CUstreamBatchMemOpParams *p,
		       unsigned flags, struct op **out)
{
	struct memop *m;
	struct op *op;
	bool wait = false;

	if (!n || n > 256 || !p || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		unsigned size = memop_wide(&p[i]) ? 8 : 4;
		struct alloc *a;

		if (p[i].operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES ||
		    p[i].operation == CU_STREAM_MEM_OP_BARRIER)
			continue;
		if (p[i].operation < 1 || p[i].operation > 5)
			return CUDA_ERROR_INVALID_VALUE;
		wait |= p[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
			p[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
		a = mem_find(p[i].waitValue.address);
		if (!a || a->kind == MEM_MANAGED || p[i].waitValue.address % size ||
		    p[i].waitValue.address + size > a->lo + a->size)
			return CUDA_ERROR_INVALID_VALUE;
	}
	op = op_new(c, wait ? OP_WAIT_VALUE : OP_WRITE_VALUE, "", sizeof *m + n * sizeof m->v[0]);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m = op->data;
	m->n = n;
	memcpy(m->v, p, n * sizeof *p);
	op->step = memop_step;
	*out = op;
	return CUDA_SUCCESS;
}

void memop_node_params(const struct op *op, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p)
{
	struct memop *m = op->data;

	*p = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){(CUcontext)op->ctx, m->n, m->v, 0};
}

/* Addresses and values may change, and what is waited for; not what each operation is. */
bool memop_node_update(const struct op *was, const struct op *now)
{
	const struct memop *a = was->data, *b = now->data;
	bool same = a->n == b->n;

	for (unsigned i = 0; i < a->n && same; i++)
		same = a->v[i].operation == b->v[i].operation;
	return same;
}

static CUresult mem_ops(bool pt, CUstream s, unsigned n, const CUstreamBatchMemOpParams *p,
			unsigned flags)
{
	struct op *op;
	CUresult r;

	ENTER();
	GET_STREAM(s, pt, st);
	r = memop_node_op(st->ctx, n, p, flags, &op);
	if (r == CUDA_SUCCESS)
		op_submit(op, st);
	LEAVE(r);
}

static CUresult mem_op(bool pt, CUstream s, int o, CUdeviceptr addr, uint64_t v, unsigned flags)
{
	CUstreamBatchMemOpParams p = {
		.waitValue = {.operation = o, .address = addr, .value64 = v, .flags = flags}};

	return mem_ops(pt, s, 1, &p, 0);
}
#define VALUE(name, type, o)                                                                       \
	BOTH(name, _ptsz, (CUstream s, CUdeviceptr a, type v, unsigned f),                         \
	     mem_op(pt, s, o, a, v, f))                                                            \
	BOTH(name##_v2, _ptsz, (CUstream s, CUdeviceptr a, type v, unsigned f),                    \
	     mem_op(pt, s, o, a, v, f))
VALUE(cuStreamWaitValue32, cuuint32_t, CU_STREAM_MEM_OP_WAIT_VALUE_32)
VALUE(cuStreamWaitValue64, cuuint64_t, CU_STREAM_MEM_OP_WAIT_VALUE_64)
VALUE(cuStreamWriteValue32, cuuint32_t, CU_STREAM_MEM_OP_WRITE_VALUE_32)
VALUE(cuStreamWriteValue64, cuuint64_t, CU_STREAM_MEM_OP_WRITE_VALUE_64)
BOTH(cuStreamBatchMemOp, _ptsz, (CUstream s, unsigned n, CUstreamBatchMemOpParams *p, unsigned f),
     mem_ops(pt, s, n, p, f))
BOTH(cuStreamBatchMemOp_v2, _ptsz,
     (CUstream s, unsigned n, CUstreamBatchMemOpParams *p, unsigned f), mem_ops(pt, s, n, p, f))

API(cuFlushGPUDirectRDMAWrites,
    (CUflushGPUDirectRDMAWritesTarget t, CUflushGPUDirectRDMAWritesScope s))
{
	ENTER();
	(void)t, (void)s;
	LEAVE(CUDA_SUCCESS);
}
