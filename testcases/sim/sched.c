/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of the simulated device: what each waits for, and who runs next.
 *
 * Order.  An operation holds references to the operations that it must wait
 * for, and runs when all are done.  op_submit() adds what a stream demands: the
 * stream's previous operation; for the legacy stream the last operation of every
 * blocking stream of its context; for a blocking stream the last operation of
 * the legacy stream.  Event waits add the operation of the record that is
 * current at the call.  There is no other order.
 *
 * Laziness.  An operation runs only when something asks for it: a call that
 * waits, a query that is repeated, a full queue, or a program that has made no
 * call for a while.  What a call waits for is run together with what it depends
 * on; before an operation runs, later and unordered operations that may touch
 * the same bytes run first (sim_seed=0 switches that off).  So an edge that is
 * missing shows as a wrong value, whatever the machine's load.
 *
 * Determinism.  Choices are made from the seed and the operations' sequence
 * numbers alone, at points that the program's calls define.
 *
 * One worker thread executes; it holds sim_mutex while it does, and offers it to
 * callers between turns.
 *
 * Or the program itself says who runs next (schedule.h): then operations run whole, in the
 * thread that asked, and the worker rests.
 */
#include "sim.h"
#include "activity.h"
#include "schedule.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t sim_mutex = PTHREAD_MUTEX_INITIALIZER;
unsigned sim_pending;

#define RIVALS_MAX 256u	 /* of one stream, looked at for one operation */
#define NEEDS_MAX  4096u /* operations looked at to find what a rival waits for */
#define MANY 100000u /* operations that the worker's stack can still follow */

static pthread_cond_t work_cv = PTHREAD_COND_INITIALIZER; /* the worker has something to do */
static pthread_cond_t done_cv = PTHREAD_COND_INITIALIZER; /* an operation has finished */

static struct op *head, *tail; /* unfinished operations, oldest first */
static struct strm *busy;      /* streams with unfinished operations, latest submission last */
static struct strm *busy_last;
static struct strm bare; /* operations without a stream; no order among them */
static uint64_t seq;
static _Atomic uint64_t now_ns; /* host clock */
static uint64_t world =
	1; /* changes whenever an operation has finished or memory may have changed */
static uint64_t visit;
static unsigned needs_budget;
static bool any_blocked;
static uint64_t calls;	    /* that do something */
static unsigned streak;	    /* queries in a row that found work unfinished */
static atomic_uint callers; /* threads that want the lock */
static pid_t own_tid[2];    /* worker, host functions */

/* A caller that waits for operations, or (turns >= 0) has asked for turns towards one. */
struct waiter {
	struct waiter *next;
	struct op **ops;
	unsigned n;
	int turns;
	bool told;
};
static struct waiter *waiters;

/* ---- lock ---- */

static void take_lock(void)
{
	atomic_fetch_add(&callers, 1);
	pthread_mutex_lock(&sim_mutex);
	atomic_fetch_sub(&callers, 1);
}

void sim_offer(void)
{
	if (!atomic_load(&callers))
		return;
	pthread_mutex_unlock(&sim_mutex);
	for (int i = 0; i < 100 && atomic_load(&callers); i++)
		sched_yield();
	pthread_mutex_lock(&sim_mutex);
}

/* ---- operations ---- */

struct op *op_new(struct ctx *ctx, enum op_kind kind, const char *name, size_t data)
{
	struct op *op = sim_alloc(sizeof *op + data + 16);

	if (!op)
		return NULL;
	op->kind = kind;
	op->name = name;
	op->ctx = ctx;
	op->refs = 1;
	op->dep = op->dep0;
	op->cdep = OP_DEPS;
	op->rng = op->rng0;
	op->crng = OP_RNGS;
	op->data = (void *)(((uintptr_t)(op + 1) + 15) & ~(uintptr_t)15);
	op->size = data;
	op->cost = sim_opt.op_ns;
	op->call = sim_call();
	return op;
}

void op_get(struct op *op)
{
	if (op)
		op->refs++;
}

static void drop_deps(struct op *op)
{
	for (unsigned i = 0; i < op->ndep; i++)
		op_put(op->dep[i]);
	op->ndep = 0;
}

void op_put(struct op *op)
{
	if (!op || --op->refs)
		return;
	drop_deps(op);
	if (op->fini)
		op->fini(op);
	if (op->dep != op->dep0)
		sim_free(op->dep);
	if (op->rng != op->rng0)
		sim_free(op->rng);
	sim_free(op);
}

void op_after(struct op *op, struct op *dep)
{
	if (!dep || dep == op)
		return;
	/* Finished ones give no order, but their end counts for the virtual clock. */
	if (dep->done) {
		if (op->vsubmit < dep->vend)
			op->vsubmit = dep->vend;
		return;
	}
	for (unsigned i = 0; i < op->ndep; i++)
		if (op->dep[i] == dep)
			return;
	if (op->ndep == op->cdep) {
		struct op **d = sim_alloc(op->cdep * 4 * sizeof *d);

		if (!d)
			abort();
		memcpy(d, op->dep, op->ndep * sizeof *d);
		if (op->dep != op->dep0)
			sim_free(op->dep);
		op->dep = d;
		op->cdep *= 4;
	}
	op_get(dep);
	op->dep[op->ndep++] = dep;
}

void op_range(struct op *op, uint64_t addr, uint64_t len, bool write)
{
	if (!len)
		return;
	if (!(addr >> 63))
		addr = mem_canon(addr);
	if (op->nrng == op->crng) {
		struct rng *r = sim_alloc(op->crng * 4 * sizeof *r);

		if (!r)
			return;
		memcpy(r, op->rng, op->nrng * sizeof *r);
		if (op->rng != op->rng0)
			sim_free(op->rng);
		op->rng = r;
		op->crng *= 4;
	}
	op->rng[op->nrng++] = (struct rng){addr, addr + len, write};
}

struct op *sim_tail(struct strm *st)
{
	if (st->tail && st->tail->done) {
		op_put(st->tail);
		st->tail = NULL;
	}
	return st->tail;
}

bool op_reaches(struct op *from, struct op *to)
{
	struct op **stack;
	unsigned n = 0;
	bool found = false;

	if (!from || from->done)
		return false;
	/* Every unfinished operation is pushed once at most. */
	stack = sim_alloc((sim_pending + 1) * sizeof *stack);
	if (!stack)
		return false;
	visit++;
	from->visit = visit;
	stack[n++] = from;
	while (n && !found) {
		struct op *o = stack[--n];

		found = o == to;
		for (unsigned i = 0; i < o->ndep; i++) {
			struct op *d = o->dep[i];

			if (d->done || d->visit == visit)
				continue;
			d->visit = visit;
			stack[n++] = d;
		}
	}
	sim_free(stack);
	return found;
}

static struct strm *home(const struct op *op)
{
	return op->st ? op->st : op->lane ? op->lane : &bare;
}

static void busy_remove(struct strm *s)
{
	if (s->busy_prev)
		s->busy_prev->busy_next = s->busy_next;
	else
		busy = s->busy_next;
	if (s->busy_next)
		s->busy_next->busy_prev = s->busy_prev;
	else
		busy_last = s->busy_prev;
}

static void stream_add(struct op *op)
{
	struct strm *s = home(op);

	if (s->last) {
		busy_remove(s);
		s->last->snext = op;
	} else {
		s->first = op;
		s->lo = UINT64_MAX;
		s->hi = 0;
	}
	op->sprev = s->last;
	s->last = op;
	s->busy_prev = busy_last;
	s->busy_next = NULL;
	if (busy_last)
		busy_last->busy_next = s;
	else
		busy = s;
	busy_last = s;
	for (unsigned i = 0; i < op->nrng; i++) {
		if (op->rng[i].lo < s->lo)
			s->lo = op->rng[i].lo;
		if (op->rng[i].hi > s->hi)
			s->hi = op->rng[i].hi;
	}
}

static void stream_del(struct op *op)
{
	struct strm *s = home(op);

	if (op->sprev)
		op->sprev->snext = op->snext;
	else
		s->first = op->snext;
	if (op->snext)
		op->snext->sprev = op->sprev;
	else
		s->last = op->sprev;
	if (!s->first)
		busy_remove(s);
}

void op_submit_bare(struct op *op)
{
	op->seq = ++seq;
	if (op->vsubmit < now_ns)
		op->vsubmit = now_ns;
	op->queued = true;
	op->prev = tail;
	op->next = NULL;
	if (tail)
		tail->next = op;
	else
		head = op;
	tail = op;
	stream_add(op);
	sim_pending++;
	if (sim_pending == 1)
		pthread_cond_signal(&work_cv);
}

/* The host clock is at least at t. */
static void advance(uint64_t t)
{
	if (now_ns < t)
		now_ns = t;
}

void op_submit(struct op *op, struct strm *st)
{
	struct ctx *c = st->ctx;

	op->st = st;
	if (st->cap && cap_take(op, st))
		return;
	op_after(op, sim_tail(st));
	if (op->vsubmit < st->vend)
		op->vsubmit = st->vend;
	if (st->legacy) {
		for (struct strm *b = c->streams; b; b = b->next)
			if (b->blocking && b != st)
				op_after(op, sim_tail(b));
	} else if (st->blocking && c->legacy) {
		op_after(op, sim_tail(c->legacy));
	}
	if (c->barrier && c->barrier->done) {
		op_put(c->barrier);
		c->barrier = NULL;
	}
	op_after(op, c->barrier);
	op_put(st->tail);
	st->tail = op; /* the caller's reference */
	op_submit_bare(op);
}

/* ---- execution ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = sim_opt.seed * 0x9e3779b97f4a7c15ull ^ a * 0xbf58476d1ce4e5b9ull ^
		     b * 0x94d049bb133111ebull;

	x ^= x >> 31;
	x *= 0x7fb5d329728ea185ull;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44dull;
	return x ^ x >> 33;
}

static const char *kind_name(unsigned k)
{
	static const char *const n[] = {
		[OP_KERNEL] = "kernel",
		[OP_COPY] = "copy",
		[OP_SET] = "set",
		[OP_RECORD] = "record",
		[OP_WAIT] = "wait",
		[OP_HOSTFN] = "hostfn",
		[OP_WRITE_VALUE] = "write-value",
		[OP_WAIT_VALUE] = "wait-value",
		[OP_SEM_SIGNAL] = "signal",
		[OP_SEM_WAIT] = "wait-signal",
		[OP_ALLOC] = "alloc",
		[OP_FREE] = "free",
		[OP_MARK] = "mark",
		[OP_GRAPH] = "graph",
	};
	return n[k];
}

static bool all_done(const struct waiter *w)
{
	for (unsigned i = 0; i < w->n; i++)
		if (!w->ops[i]->done)
			return false;
	return true;
}

/* A waiter that has what it wanted stays listed until its thread has woken up. */
static bool unserved(const struct waiter *w)
{
	return w->turns && !all_done(w);
}

/* Wakes those that have what they waited for, and nobody in vain. */
static void tell(void)
{
	bool any = false;

	for (struct waiter *w = waiters; w; w = w->next)
		if (!w->told && !unserved(w))
			any = w->told = true;
	if (any)
		pthread_cond_broadcast(&done_cv);
}

/* ---- activity ---- */

static void (*on_done)(const struct sim_activity *);
static void (*on_call)(uint32_t correlation);
static uint32_t calls_made;
static __thread uint32_t call_now;

SIM_EXPORT void sim_activity_open(void (*done)(const struct sim_activity *),
		       void (*call)(uint32_t correlation))
{
	pthread_mutex_lock(&sim_mutex);
	on_done = done;
	on_call = call;
	pthread_mutex_unlock(&sim_mutex);
}

uint32_t sim_call(void)
{
	return call_now;
}

static void tell_activity(const struct op *op)
{
	static const uint8_t kind[] = {[OP_KERNEL] = SIM_ACT_KERNEL,
				       [OP_COPY] = SIM_ACT_COPY,
				       [OP_SET] = SIM_ACT_SET};
	struct sim_activity a;

	if (!on_done || op->kind > OP_SET || (op->ctx && op->ctx->error))
		return;
	a = (struct sim_activity){.kind = kind[op->kind],
				  .correlation = op->call,
				  .device = op->ctx ? (uint32_t)op->ctx->dev : 0,
				  .stream = op->st ? op->st->id : 0,
				  .start_ns = op->vstart,
				  .end_ns = op->vend};
	on_done(&a);
}

static void complete(struct op *op)
{
	struct strm *st = op->st;
	struct ctx *c = op->ctx;

	op->done = true;
	if (op->prev)
		op->prev->next = op->next;
	else
		head = op->next;
	if (op->next)
		op->next->prev = op->prev;
	else
		tail = op->prev;
	stream_del(op);
	sim_pending--;
	if (op->vend < op->vstart)
		op->vend = op->vstart + op->cost;
	if (sim_opt.service_ns && op->kind <= OP_SET)
		op->vend = op->vstart + sim_opt.service_ns;
	if (st && st->vend < op->vend)
		st->vend = op->vend;
	tell_activity(op);
	if (sim_opt.trace)
		sim_say("%llu %s %s stream %llu [%llu, %llu]%s", (unsigned long long)op->seq,
			kind_name(op->kind), op->name ? op->name : "",
			st ? (unsigned long long)st->id : 0ull, (unsigned long long)op->vstart,
			(unsigned long long)op->vend, c && c->error ? " dropped" : "");
	drop_deps(op);
	world++;
	/* A stream holds its last operation; those before are held by what follows them. */
	if (!st) {
		op_put(op);
	} else if (st->tail == op) {
		st->tail = NULL;
		op_put(op);
	}
	if (st && st->dead)
		sim_streams_reap(st->ctx);
	tell();
}

/* One turn of an operation that may run. */
static void turn(struct op *op)
{
	enum step r = STEP_DONE;

	op_get(op);
	if (!op->started) {
		op->started = true;
		op->vstart = op->vsubmit;
		for (unsigned i = 0; i < op->ndep; i++)
			if (op->vstart < op->dep[i]->vend)
				op->vstart = op->dep[i]->vend;
	}
	if (op->step && (op->always || !op->ctx || !op->ctx->error))
		r = op->step(op);
	if (r == STEP_DONE)
		complete(op);
	else if (r == STEP_AGAIN)
		op->yielded = true;
	else if (r == STEP_WAIT)
		op->blocked = any_blocked = true;
	op_put(op);
}

/* ---- schedules that the program chooses ---- */

static sim_choice *choose;

SIM_EXPORT void sim_schedule_by(sim_choice *c)
{
	pthread_mutex_lock(&sim_mutex);
	choose = c;
	pthread_mutex_unlock(&sim_mutex);
}

static bool may_run(const struct op *op)
{
	for (unsigned i = 0; i < op->ndep; i++)
		if (!op->dep[i]->done)
			return false;
	return !op->blocked;
}

static bool is_mark(const struct op *op)
{
	return op->kind == OP_RECORD || op->kind == OP_WAIT || op->kind == OP_MARK;
}

/* To its end, unless it waits. */
static void run_whole(struct op *op)
{
	op_get(op);
	do
		turn(op);
	while (!op->done && op->yielded && may_run(op));
	for (struct op *o = head; any_blocked && op->done && o; o = o->next)
		o->blocked = false;
	op_put(op);
}

/* False: the program goes on.  must: it waits, something has to run. */
static bool run_chosen(bool must)
{
	struct sim_ready ready[SIM_READY_MAX] = {0};
	struct op *ops[SIM_READY_MAX];
	unsigned n = 0;
	int at;

	for (struct op *o = head; o && n < SIM_READY_MAX; o = o->next)
		if (may_run(o)) {
			ops[n] = o;
			ready[n++] = (struct sim_ready){o->call, is_mark(o)};
		}
	at = choose(ready, n, must);
	if (at < 0 || (unsigned)at >= n)
		return false;
	run_whole(ops[at]);
	return true;
}

SIM_EXPORT void sim_schedule(void)
{
	pthread_mutex_lock(&sim_mutex);
	while (choose && run_chosen(false))
		;
	pthread_mutex_unlock(&sim_mutex);
}

static bool overlap(const struct op *x, const struct op *y)
{
	for (unsigned i = 0; i < x->nrng; i++)
		for (unsigned j = 0; j < y->nrng; j++)
			if ((x->rng[i].write || y->rng[j].write) && x->rng[i].lo < y->rng[j].hi &&
			    y->rng[j].lo < x->rng[i].hi)
				return true;
	return false;
}

/*
 * Does y wait for something that is being picked for?  Answers are kept for one
 * stamp.  Who waits for very much is taken for one that does.
 */
static bool needs_path(struct op *y, uint64_t stamp)
{
	bool r = y->onpath;

	if (y->visit == stamp)
		return y->needs;
	if (!needs_budget)
		return true;
	needs_budget--;
	for (unsigned i = 0; i < y->ndep && !r; i++)
		r = !y->dep[i]->done && needs_path(y->dep[i], stamp);
	y->visit = stamp;
	y->needs = r;
	return r;
}

static bool in_box(const struct op *x, const struct strm *s)
{
	for (unsigned i = 0; i < x->nrng; i++)
		if (x->rng[i].lo < s->hi && s->lo < x->rng[i].hi)
			return true;
	return false;
}

static struct op *pick(struct op *x, uint64_t search);

/*
 * The adversary: an operation that was submitted after x, is not ordered after
 * it and may touch the same bytes goes first.  Seeds above 1 also let others go
 * first, now and then.  Of each stream or lane the latest ones are looked at.
 * search: what is to run for the rival; 0: the rival itself.
 */
static struct op *pick_rival(struct op *x, uint64_t search)
{
	bool newest = sim_opt.seed == 1 || mix(x->seq, 2) & 1;
	uint64_t stamp = ++visit;
	struct op *r = NULL, *c;

	needs_budget = NEEDS_MAX;
	for (struct strm *s = newest ? busy_last : busy; s && !r;
	     s = newest ? s->busy_prev : s->busy_next) {
		unsigned left = RIVALS_MAX;
		bool near;

		if ((s == home(x) && s != &bare) || s->last->seq < x->seq)
			continue;
		near = in_box(x, s);
		if (!near && (sim_opt.seed == 1 || mix(x->seq, s->last->seq) & 3))
			continue;
		for (c = s->last; c && c->seq > x->seq && !r && left; c = c->sprev, left--) {
			if (!c->onpath && (!near || overlap(x, c)) && !needs_path(c, stamp))
				if (!(r = search ? pick(c, search) : c))
					stamp = ++visit; /* others looked meanwhile */
			if (!near)
				break;
		}
	}
	return r;
}

/*
 * The operation to give a turn so that x gets nearer to its end, or NULL.
 * search: stamp of this search, in which nothing is looked at twice in vain.
 */
static struct op *pick(struct op *x, uint64_t search)
{
	struct op *r = NULL;
	bool waiting = false;
	unsigned n = x->ndep, at = 0;

	if (x->onpath || x->stuck == search)
		return NULL;
	x->onpath = true;
	if (n > 1 && sim_opt.seed > 1)
		at = mix(x->seq, 1) % n;
	for (unsigned k = 0; k < n && !r; k++) {
		struct op *d = x->dep[(at + k) % n];

		if (d->done)
			continue;
		waiting = true;
		r = pick(d, search);
	}
	if (!r && !waiting) {
		if (!x->started && sim_opt.seed)
			r = pick_rival(x, search);
		if (!r && !x->yielded && !x->blocked)
			r = x;
	}
	x->onpath = false;
	if (!r)
		x->stuck = search;
	return r;
}

static uint64_t searches;

/*
 * The same search, kept from one turn to the next: from what is waited for down
 * to what runs, each operation waiting for the next, or giving way to it.  What
 * is done is taken off the end.  So a turn in a long chain costs no walk along it.
 */
static struct op **way;
static unsigned nway, way_cap;

static void way_pop(void)
{
	way[--nway]->onpath = false;
	op_put(way[nway]);
}

static void way_drop(void)
{
	while (nway)
		way_pop();
}

static bool way_push(struct op *op)
{
	if (nway == way_cap) {
		unsigned n = way_cap ? way_cap * 2 : 256;
		struct op **p = sim_grow(way, way_cap * sizeof *p, n * sizeof *p);

		if (!p)
			return false;
		way = p;
		way_cap = n;
	}
	op_get(op);
	op->onpath = true;
	way[nway++] = op;
	return true;
}

/* The unfinished operation that x waits for and that is looked at first, or NULL. */
static struct op *first_dep(const struct op *x)
{
	unsigned n = x->ndep, at = n > 1 && sim_opt.seed > 1 ? mix(x->seq, 1) % n : 0;

	for (unsigned k = 0; k < n; k++)
		if (!x->dep[(at + k) % n]->done)
			return x->dep[(at + k) % n];
	return NULL;
}

/* NULL: the way is blocked somewhere; pick() finds another, if there is one. */
static struct op *follow(struct op *root)
{
	if (nway && way[0] != root)
		way_drop();
	while (nway && way[nway - 1]->done)
		way_pop();
	if (!nway && !way_push(root))
		return NULL;
	for (;;) {
		struct op *x = way[nway - 1], *next = first_dep(x);

		if (!next) {
			if (x->yielded || x->blocked)
				break;
			if (!x->started && sim_opt.seed)
				next = pick_rival(x, 0);
			if (!next)
				return x;
		}
		if (next->onpath || !way_push(next))
			break;
	}
	way_drop();
	return NULL;
}

/* Anything that can move, in an order of the seed's. */
static struct op *pick_any(void)
{
	bool oldest = sim_opt.seed == 0 || (sim_opt.seed > 1 && mix(head ? head->seq : 0, 3) & 1);
	struct op *c = NULL;

	way_drop();
	searches++;
	for (struct op *o = oldest ? head : tail; o && !c; o = oldest ? o->next : o->prev)
		c = pick(o, searches);
	return c;
}

static bool anyone_waits(void)
{
	for (struct waiter *w = waiters; w; w = w->next)
		if (unserved(w))
			return true;
	return false;
}

/* The next turn towards what somebody waits for. */
static struct op *pick_waited(struct waiter **by)
{
	struct op *c;

	searches++;
	for (struct waiter *w = waiters; w; w = w->next) {
		unsigned at;

		if (!unserved(w))
			continue;
		*by = w;
		if (sim_opt.seed == 0) {
			for (struct op *o = head; o; o = o->next)
				if ((c = pick(o, searches)))
					return c;
			continue;
		}
		at = sim_opt.seed == 1 ? w->n - 1 : mix(w->ops[0]->seq, 4) % w->n;
		for (unsigned i = 0; i < w->n; i++) {
			struct op *o = w->ops[(at + w->n - i) % w->n];

			if (!o->done && ((c = follow(o)) || (c = pick(o, searches))))
				return c;
		}
	}
	*by = NULL;
	return NULL;
}

static void timed_wait(pthread_cond_t *cv, uint64_t ns)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += (long)(ns % 1000000000u);
	ts.tv_sec += (time_t)(ns / 1000000000u) + ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	pthread_cond_timedwait(cv, &sim_mutex, &ts);
}

bool sim_wait_host(pthread_cond_t *cv, const bool *flag, unsigned ms)
{
	for (unsigned i = 0; i < ms && !*flag; i++)
		timed_wait(cv, 1000000);
	return *flag;
}

static void new_round(void)
{
	for (struct op *o = head; o; o = o->next)
		o->yielded = o->blocked = false;
}

/* ---- idleness ---- */

static uint64_t clock_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Are all threads of the program asleep?  Waiting for a CPU is not asleep. */
static bool all_asleep(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	bool asleep = true;

	if (!d)
		return true;
	while (asleep && (e = readdir(d))) {
		char path[64], buf[128], *p;
		int fd, tid = atoi(e->d_name);
		ssize_t n;

		if (tid <= 0 || tid == own_tid[0] || tid == own_tid[1])
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, buf, sizeof buf - 1);
		close(fd);
		if (n <= 0)
			continue;
		buf[n] = 0;
		p = strrchr(buf, ')');
		if (p && p[1] == ' ' && p[2] != 'S' && p[2] != 'Z' && p[2] != 'X')
			asleep = false;
	}
	closedir(d);
	return asleep;
}

/*
 * Has the program made no call for idle_ms, in time that it slept or computed?
 * Time in which it wanted a CPU and got none does not count, so that a loaded
 * machine changes nothing.
 */
static bool program_idle(void)
{
	static uint64_t at_call = (uint64_t)-1, cpu0, slept, last;
	uint64_t now = clock_of(CLOCK_MONOTONIC), cpu;

	cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - clock_of(CLOCK_THREAD_CPUTIME_ID);
	if (at_call != calls) {
		at_call = calls;
		cpu0 = cpu;
		slept = 0;
		last = now;
		return false;
	}
	if (all_asleep())
		slept += now - last < 10000000 ? now - last : 10000000;
	last = now;
	return slept + (cpu - cpu0) >= (uint64_t)sim_opt.idle_ms * 1000000u;
}

/* ---- the worker ---- */

static void *worker(void *arg)
{
	unsigned vain = 0;
	bool drain = false, waited;
	uint64_t drain_calls = 0, last_world;
	struct waiter *by;
	struct op *c;

	(void)arg;
	pthread_mutex_lock(&sim_mutex);
	own_tid[0] = (pid_t)syscall(SYS_gettid);
	for (;;) {
		sim_offer();
		if (drain && drain_calls != calls)
			drain = false;
		waited = anyone_waits();
		if (!waited && !drain) {
			vain = 0;
			if (!sim_pending || choose) {
				pthread_cond_wait(&work_cv, &sim_mutex);
			} else {
				timed_wait(&work_cv, 4000000);
				if (!anyone_waits() && sim_pending && program_idle()) {
					drain = true;
					drain_calls = calls;
				}
			}
			continue;
		}
		if (drain && !waited && !sim_pending) {
			drain = false;
			continue;
		}
		by = NULL;
		c = waited ? pick_waited(&by) : NULL;
		if (!c) {
			/* A turn that was asked for and cannot be given. */
			for (struct waiter *w = waiters; w; w = w->next)
				if (w->turns > 0)
					w->turns = 0;
			tell();
			c = pick_any();
		}
		if (c) {
			last_world = world;
			turn(c);
			if (by && by->turns > 0 && --by->turns == 0)
				tell();
			if (world != last_world) {
				vain = 0;
				for (struct op *o = head; any_blocked && o; o = o->next)
					o->blocked = false;
				any_blocked = false;
			}
			continue;
		}
		/* Every operation spins or waits: for the program, most likely. */
		new_round();
		if (++vain > 1)
			timed_wait(&work_cv, vain < 20 ? 50000 : 1000000);
	}
	return NULL;
}

int sim_start_thread(void *(*fn)(void *), void *arg)
{
	pthread_attr_t at;
	pthread_t t;
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&at);
	pthread_attr_setdetachstate(&at, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&at, 128u << 20);
	r = pthread_create(&t, &at, fn, arg);
	if (r) {
		pthread_attr_setstacksize(&at, 8u << 20);
		r = pthread_create(&t, &at, fn, arg);
	}
	pthread_attr_destroy(&at);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

int sim_sched_start(void)
{
	return sim_start_thread(worker, NULL);
}

void sim_own_thread(void)
{
	own_tid[1] = (pid_t)syscall(SYS_gettid);
}

/* ---- waiting ---- */

static void wait_in(struct waiter *w)
{
	struct waiter **p;

	if (choose) {
		while (w->turns < 0 && !all_done(w))
			if (!run_chosen(true))
				timed_wait(&done_cv, 1000000);
		return;
	}
	w->next = NULL;
	for (p = &waiters; *p; p = &(*p)->next)
		;
	*p = w;
	pthread_cond_signal(&work_cv);
	while (unserved(w))
		pthread_cond_wait(&done_cv, &sim_mutex);
	for (p = &waiters; *p != w; p = &(*p)->next)
		;
	*p = w->next;
}

void sim_wait_ops(struct op **ops, unsigned n)
{
	struct waiter w = {.ops = ops, .n = n, .turns = -1};

	if (!n)
		return;
	for (unsigned i = 0; i < n; i++)
		op_get(ops[i]);
	if (!all_done(&w))
		wait_in(&w);
	for (unsigned i = 0; i < n; i++) {
		advance(ops[i]->vend);
		op_put(ops[i]);
	}
}

void sim_wait_op(struct op *op)
{
	if (op)
		sim_wait_ops(&op, 1);
}

void sim_wait_stream(struct strm *st)
{
	sim_wait_op(sim_tail(st));
	advance(st->vend);
}

/* Last operations of the streams that match; the caller frees the list. */
static void wait_matching(struct ctx *c, bool blocking_only)
{
	struct op **list = NULL;
	unsigned n = 0, cap = 0;

	for (struct strm *s = c->streams; s; s = s->next) {
		struct op *t = sim_tail(s);

		if (!t || (blocking_only && !s->blocking && !s->legacy))
			continue;
		if (n == cap) {
			cap = cap ? cap * 2 : 64;
			list = sim_grow(list, n * sizeof *list, cap * sizeof *list);
			if (!list)
				abort();
		}
		list[n++] = t;
	}
	sim_wait_ops(list, n);
	sim_free(list);
	/* it may have been destroyed meanwhile */
	for (struct ctx *x = sim_ctxs; x; x = x->next)
		for (struct strm *s = x == c ? x->streams : NULL; s; s = s->next)
			if (!blocking_only || s->blocking || s->legacy)
				advance(s->vend);
}

void sim_wait_legacy(struct ctx *c)
{
	if (sim_opt.documented)
		sim_wait_op(sim_tail(c->legacy));
	else
		wait_matching(c, true);
}

/* What an operation submitted now would wait for. */
void sim_wait_before(struct strm *st)
{
	struct op *list[2];
	unsigned n = 0;

	if (st->legacy) {
		wait_matching(st->ctx, true);
		return;
	}
	if (sim_tail(st))
		list[n++] = st->tail;
	if (st->blocking && sim_tail(st->ctx->legacy))
		list[n++] = st->ctx->legacy->tail;
	sim_wait_ops(list, n);
}

void sim_wait_ctx(struct ctx *c)
{
	wait_matching(c, false);
}

void sim_query_pending(struct op *op)
{
	struct waiter w = {.ops = &op, .n = 1};

	if (++streak < 2)
		return;
	w.turns = streak < 1000 ? (int)streak - 1 : 1000;
	op_get(op);
	if (!op->done)
		wait_in(&w);
	op_put(op);
}

bool sim_written(uint64_t addr, uint64_t len)
{
	addr = mem_canon(addr);
	for (struct op *o = head; o; o = o->next)
		for (unsigned i = 0; i < o->nrng; i++)
			if (o->rng[i].write && o->rng[i].lo < addr + len && addr < o->rng[i].hi)
				return true;
	return false;
}

uint64_t sim_now(void)
{
	return now_ns;
}

/*
 * For a preload library that times the calls; see interposer/resolve.c.  The
 * machine's clock with KRTSAN_SIM_REAL_TIME: what the library itself costs.
 */
SIM_EXPORT uint64_t sim_clock_ns(void);
uint64_t sim_clock_ns(void)
{
	static _Atomic int real; /* 1: no, 2: yes */
	struct timespec t;

	if (!real)
		real = getenv("KRTSAN_SIM_REAL_TIME") ? 2 : 1;
	if (real == 1)
		return now_ns;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- entering ---- */

void sim_world_changed(struct op *op)
{
	world++;
	if (op)
		op->blocked = false;
	pthread_cond_signal(&work_cv);
}

void sim_call_begins(bool counts)
{
	take_lock();
	if (counts) {
		now_ns += sim_opt.submit_ns;
		call_now = ++calls_made;
		if (on_call)
			on_call(call_now);
		calls++;
		streak = 0;
	}
	/*
	 * A full queue: the call gives the device a few turns.  Where none can be
	 * had (all wait for the program) the queue grows; the program must go on.
	 */
	if (sim_pending > sim_opt.max_pending) {
		struct op *mid = head;
		struct waiter w = {.ops = &mid, .n = 1, .turns = (int)sim_opt.max_pending};

		for (unsigned i = 0; i < sim_opt.max_pending / 2; i++)
			mid = mid->next;
		op_get(mid);
		if (sim_pending > MANY)
			w.turns = -1;
		wait_in(&w);
		op_put(mid);
	}
}

void sim_leave(void)
{
	pthread_mutex_unlock(&sim_mutex);
}
