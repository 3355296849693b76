/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the simulated CUDA driver (libcuda.so.1 for machines without a GPU).
 *
 *   sched.c   operations, what they wait for, who runs next, virtual clock
 *   mem.c     address spaces, allocations of every kind, pools, VMM, arrays
 *   ctx.c     start-up, options, devices, contexts, errors, look-up of entry points
 *   stream.c  streams, events, host functions, stream memory operations
 *   semaphore.c external semaphores
 *   copy.c    copies and sets
 *   module.c  PTX modules, functions, launches (interpreter: exec.c)
 *   graph.c   graphs: construction, queries, parameters; capture.c, gexec.c: see graph.h
 *   stubs.c   every other exported name
 *
 * One lock (sim_lock) guards everything.  An entry point takes it with ENTER()
 * and gives it back with LEAVE().  Operations are executed by one worker thread
 * of ours, which holds the lock while it executes and offers it to callers
 * between turns.  It shares no code with the analyzer's ordering module: an
 * operation holds references to the operations that it must wait for, and that
 * is all the order there is.
 */
#ifndef SIM_H
#define SIM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define CUABI_EXACT_NAMES
#include "cuabi.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIM_EXPORT   __attribute__((visibility("default")))
#define SIM_MAX_DEVS 8
#define SIM_SMS	     16

#pragma GCC visibility push(hidden)

struct op;
struct strm;
struct ctx;
struct ev;
struct pool;

/* ---- options (ctx.c) ---- */

struct sim_opts {
	bool documented; /* view */
	uint64_t seed;	 /* 0: in order of submission; else adversarial orders drawn from it */
	unsigned devices;
	bool trace;	       /* executed operations to stderr */
	unsigned idle_ms;      /* without calls for so long, queued work goes on */
	unsigned max_pending;  /* operations that may queue up before a call blocks */
	uint64_t submit_ns;    /* virtual cost of a call, queries excepted */
	uint64_t op_ns;	       /* virtual service time of an operation without size */
	uint64_t service_ns;   /* of any kernel, copy or set; 0: by what it does */
	uint64_t bytes_per_us; /* of a copy */
	unsigned drop;	       /* the wait, sync or record with this number is ignored; 0: none */
	int driver; /* version; what kernels' names and parameters are is told by newer ones alone */
};
extern struct sim_opts sim_opt;
/* A wait, sync or record is about to act: is it the one that is ignored? */
bool sim_dropped(void);

/* ---- memory for ourselves: never the program's heap ---- */

void *sim_alloc(size_t n); /* zeroed; NULL on failure */
void sim_free(void *p);
void *sim_grow(void *p, size_t old, size_t n);
/* Not libc's: a preload library that watches the program's munmap need not see ours. */
static inline int sim_munmap(void *p, size_t n)
{
	return (int)syscall(SYS_munmap, p, n);
}

/* ---- handles ---- */

enum sim_kind {
	SIM_CTX = 1,
	SIM_STREAM,
	SIM_EVENT,
	SIM_POOL,
	SIM_MODULE,
	SIM_FUNC,
	SIM_LIBRARY,
	SIM_KERNEL,
	SIM_LINK,
	SIM_ARRAY,
	SIM_MIPMAP,
	SIM_GRAPH,
	SIM_EXEC,
	SIM_NODE,
	SIM_PHYS,
	SIM_EXTMEM,
	SIM_COND,
	SIM_UOBJ,
	SIM_SEM,
};
void sim_handle_add(const void *p, enum sim_kind k);
void sim_handle_del(const void *p);
bool sim_handle_is(const void *p, enum sim_kind k);

/* ---- operations (sched.c) ---- */

enum op_kind {
	OP_KERNEL,
	OP_COPY,
	OP_SET,
	OP_RECORD,
	OP_WAIT,
	OP_HOSTFN,
	OP_WRITE_VALUE,
	OP_WAIT_VALUE,
	OP_SEM_SIGNAL,
	OP_SEM_WAIT,
	OP_ALLOC,
	OP_FREE,
	OP_MARK,
	OP_GRAPH,
};

enum step {
	STEP_DONE,
	STEP_AGAIN, /* did something, needs further turns */
	STEP_WAIT,  /* nothing to do until somebody else did something */
	STEP_DEPS,  /* goes on when what was added to its dependencies is done */
};

struct rng {
	uint64_t lo, hi;
	bool write;
};

#define OP_DEPS 6
#define OP_RNGS 4

struct op {
	struct op *next, *prev;	  /* pending list, by seq */
	struct op *snext, *sprev; /* the same of its stream */
	uint64_t seq;		  /* order of submission */
	unsigned refs;
	uint8_t kind;
	bool queued, started, done;
	bool onpath, yielded, blocked, needs; /* scheduler's marks */
	uint64_t visit, stuck;
	struct strm *st; /* NULL for nodes of a graph */
	struct strm *lane; /* of a node: where it queues, a part of its launch; or NULL */
	struct ctx *ctx;
	const char *name; /* for the trace; lives as long as the operation */
	struct op **dep, *dep0[OP_DEPS];
	unsigned ndep, cdep;
	struct rng *rng,
		rng0[OP_RNGS]; /* bytes it may touch: steers the adversary, orders nothing */
	unsigned nrng, crng;
	uint64_t vsubmit, vstart, vend, cost; /* virtual ns */
	uint32_t call;			      /* number of the call that made it */
	bool always;			      /* runs although its context is broken (callbacks) */
	enum step (*step)(struct op *);
	void (*fini)(struct op *);  /* frees what data refers to */
	void (*clone)(struct op *); /* data has been copied from another: own what it refers to */
	void *data;		    /* trailing bytes asked for at op_new */
	size_t size;		    /* of data */
	bool captured;		    /* a node's template: never runs */
};

/* NULL on failure.  The caller owns one reference. */
struct op *op_new(struct ctx *ctx, enum op_kind kind, const char *name, size_t data);
void op_get(struct op *op);
void op_put(struct op *op);
void op_after(struct op *op, struct op *dep); /* NULL and finished ones are fine */
void op_range(struct op *op, uint64_t addr, uint64_t len, bool write);
/*
 * Queues it on a stream: adds what the stream's rules ask for.  While the
 * stream captures, the operation becomes a node instead.  Takes over the
 * caller's reference.
 */
void op_submit(struct op *op, struct strm *st);
/* Queues it with the dependencies it has (graphs); st only for bookkeeping. */
void op_submit_bare(struct op *op);
/* Waits for it; drops the lock meanwhile. */
void sim_wait_ops(struct op **ops, unsigned n);
void sim_wait_op(struct op *op);
void sim_wait_stream(struct strm *st); /* its tail */
void sim_wait_legacy(struct ctx *c);   /* legacy stream as the view has it */
void sim_wait_before(struct strm *st); /* all that an operation submitted now would wait for */
bool sim_written(uint64_t addr, uint64_t len); /* by an unfinished operation */
void sim_wait_ctx(struct ctx *c);
/* A query that found the operation unfinished: repeated ones give the device turns. */
void sim_query_pending(struct op *op);
struct op *sim_tail(struct strm *st);		 /* last unfinished operation or NULL */
bool op_reaches(struct op *from, struct op *to); /* is `to` among what `from` waits for */

uint64_t sim_now(void); /* virtual host clock, ns */
int sim_sched_start(void);
int sim_start_thread(void *(*fn)(void *), void *arg); /* detached, no signals */
void sim_own_thread(void); /* the calling thread is the one of host functions */
void sim_offer(void);	   /* the worker, in a long turn: lets callers in */
bool sim_wait_host(pthread_cond_t *cv, const bool *flag, unsigned ms);
void sim_world_changed(struct op *op); /* op, which had to wait, may go on */
void sim_call_begins(bool counts);
uint32_t sim_call(void); /* number of the call that this thread is in */
extern unsigned sim_pending;

/* ---- the lock ---- */

extern pthread_mutex_t sim_mutex;
CUresult
sim_enter(bool counts); /* initialised, not forked, not in a host function; takes the lock */
void sim_leave(void);
#define ENTER()                                                                                    \
	do {                                                                                       \
		CUresult enter_ = sim_enter(true);                                                 \
		if (enter_ != CUDA_SUCCESS)                                                        \
			return enter_;                                                             \
	} while (0)
#define ENTER_QUIET()                                                                              \
	do {                                                                                       \
		CUresult enter_ = sim_enter(false);                                                \
		if (enter_ != CUDA_SUCCESS)                                                        \
			return enter_;                                                             \
	} while (0)
#define LEAVE(r)                                                                                   \
	do {                                                                                       \
		CUresult leave_ = (r);                                                             \
		sim_leave();                                                                       \
		return leave_;                                                                     \
	} while (0)

/* Both forms of an entry point: stream 0 is the legacy stream, or the thread's. */
#define API(name, params)                                                                          \
	SIM_EXPORT CUresult name params;                                                           \
	CUresult name params
#define BOTH(name, suffix, params, call)                                                           \
	SIM_EXPORT CUresult name params;                                                           \
	SIM_EXPORT CUresult name##suffix params;                                                   \
	CUresult name params                                                                       \
	{                                                                                          \
		const bool pt = false;                                                             \
		(void)pt;                                                                          \
		return call;                                                                       \
	}                                                                                          \
	CUresult name##suffix params                                                               \
	{                                                                                          \
		const bool pt = true;                                                              \
		(void)pt;                                                                          \
		return call;                                                                       \
	}
#define ONE(name, params, call)                                                                    \
	SIM_EXPORT CUresult name params;                                                           \
	CUresult name params                                                                       \
	{                                                                                          \
		return call;                                                                       \
	}

/* ---- contexts, streams, events ---- */

struct capture;
struct node;

struct strm {
	struct strm *next; /* of its context, destroyed ones until they have drained */
	struct ctx *ctx;
	uint64_t id;
	unsigned flags;
	int priority;
	bool blocking, legacy, per_thread, dead;
	uint64_t thread; /* owner of a per-thread stream */
	struct op *tail;
	uint64_t vend; /* when the last of its finished operations ended, virtual ns */
	struct op *first, *last;	    /* unfinished ones */
	struct strm *busy_next, *busy_prev; /* streams that have such */
	uint64_t lo, hi;		    /* all their bytes lie in here */
	struct capture *cap;		    /* this stream captures */
	struct node **cap_dep;		    /* what the next node depends on */
	CUgraphEdgeData *cap_edge;	    /* how */
	unsigned cap_n;
};

struct ctx {
	struct ctx *next;
	uint64_t id;
	int dev;
	unsigned flags;
	bool primary, dead;
	unsigned refs;	/* primary: retains */
	CUresult error; /* sticky */
	struct strm *streams;
	struct strm *legacy;
	struct ev *events;
	uint32_t peers;	    /* devices whose memory it may touch */
	struct op *barrier; /* cuCtxWaitEvent: later work of every stream starts after it */
};

struct ev {
	struct ev *next; /* of its context */
	struct ctx *ctx;
	unsigned flags;
	struct op *rec; /* operation of the latest record; NULL: never recorded */
	unsigned refs;
	bool captured; /* last recorded in the capture cap_id */
	uint64_t cap_id;
	struct node **cap_dep;
	CUgraphEdgeData *cap_edge;
	unsigned cap_n;
};

extern struct ctx *sim_ctxs;
extern struct ctx *sim_primary[SIM_MAX_DEVS];

struct ctx *sim_current(void); /* of this thread, or NULL */
/* The current context, usable: INVALID_CONTEXT, CONTEXT_IS_DESTROYED, its sticky error. */
CUresult sim_get_ctx(struct ctx **c);
/*
 * Resolves a stream handle, 0, 1, 2 included; checks its context's sticky error,
 * and that no capture is in the way.  _any: whatever captures, for queries.
 */
CUresult sim_get_stream(CUstream h, bool pt, struct strm **st);
CUresult sim_get_stream_any(CUstream h, bool pt, struct strm **st);
struct strm *sim_stream_new(struct ctx *c, unsigned flags, int prio);
struct strm *sim_thread_stream(struct ctx *c);
void sim_ctx_fail(struct ctx *c, CUresult why); /* makes it sticky */
void sim_streams_reap(struct ctx *c);		/* dead ones that have drained */
void events_ctx_gone(struct ctx *c);
void sim_in_hostfn(bool in); /* calls of this thread are refused */

/* ---- memory (mem.c) ---- */

enum mem_kind {
	MEM_NONE,
	MEM_DEVICE,
	MEM_MANAGED,
	MEM_HOST,
	MEM_REGISTERED,
	MEM_POOL,
	MEM_VMM,
	MEM_ARRAY,
	MEM_GLOBAL,
};

struct alloc {
	uint64_t lo, size;
	enum mem_kind kind;
	struct ctx *ctx;
	int dev;
	unsigned flags;
	uint64_t id;
	bool sync_memops, ipc;
	unsigned opens; /* IPC: how often it is open */
	struct pool *pool;
	struct phys *phys;	     /* VMM */
	uint64_t access_r, access_w; /* VMM: devices that may read, write */
	uint64_t phys_off;
	void *map; /* mapping to give back */
	size_t map_len;
	struct op *alloc_op; /* stream-ordered: its allocation */
	struct gmem *gm;     /* memory of a graph: the latest that has it */
};

/* The allocation that contains addr, or NULL. */
struct alloc *mem_find(uint64_t addr);
struct alloc *mem_new(enum mem_kind k, struct ctx *c, int dev, uint64_t addr, uint64_t size);
void mem_del(struct alloc *a);
extern uint64_t mem_generation; /* changes with every change of the table */
/* Device memory of a kind that is given back with mem_dev_free(). */
struct alloc *mem_dev_alloc(struct ctx *c, int dev, size_t size, size_t align, enum mem_kind k);
void mem_dev_free(struct alloc *a);
/* May a kernel of this context touch these bytes? */
bool mem_may(struct ctx *c, uint64_t addr, uint64_t size, bool write);
/* Is it memory that the device can name (device, pinned, managed, pool also after a free)? */
bool mem_is_dev(uint64_t addr);
bool mem_was_dev(uint64_t addr, size_t n); /* in the address space of device memory, live or not */
bool mem_in_pool(uint64_t addr, uint64_t size, int *dev);
void mem_ctx_gone(struct ctx *c);
void mem_init(void);
size_t mem_total(void);
uint64_t mem_canon(uint64_t addr); /* one name for aliased bytes */

/* Bytes in and out of any address of the process; false where nothing is mapped.  Never faults. */
bool mem_read(void *dst, uint64_t src, size_t n);
bool mem_write(uint64_t dst, const void *src, size_t n);
bool mem_move(uint64_t dst, uint64_t src, size_t n);

struct arr {
	struct alloc *mem;
	CUDA_ARRAY3D_DESCRIPTOR d;
	size_t elem, pitch, slice; /* bytes */
	bool owned;		   /* else a level or plane of another */
};

/* ---- the rest ---- */

CUresult sim_launch(bool pt, CUfunction f, const unsigned dims[7], CUstream s, void **params,
		    void **extra, const CUlaunchAttribute *attrs, unsigned nattrs, bool coop);
void module_ctx_gone(struct ctx *c);

/*
 * Graph nodes: templates of operations from parameters, and back; what an
 * executable's node may change into.
 */
CUresult kernel_node_op(const CUDA_KERNEL_NODE_PARAMS_v3 *p, struct op **out);
void kernel_node_params(const struct op *op, CUDA_KERNEL_NODE_PARAMS_v3 *p);
bool kernel_node_attr(struct op *op, int id, const CUlaunchAttributeValue *v);
void kernel_node_attr_get(const struct op *op, int id, CUlaunchAttributeValue *v);
CUresult copy_node_op(struct ctx *c, const CUDA_MEMCPY3D *p, struct op **out);
void copy_node_params(const struct op *op, CUDA_MEMCPY3D *p);
bool copy_node_update(const struct op *was, const struct op *now, bool single);
CUresult set_node_op(struct ctx *c, const CUDA_MEMSET_NODE_PARAMS_v2 *p, struct op **out);
void set_node_params(const struct op *op, CUDA_MEMSET_NODE_PARAMS_v2 *p);
bool set_node_update(const struct op *was, const struct op *now);
CUresult host_node_op(struct ctx *c, CUhostFn fn, void *user, struct op **out);
void host_node_params(const struct op *op, CUhostFn *fn, void **user);
CUresult memop_node_op(struct ctx *c, unsigned n, const CUstreamBatchMemOpParams *p,
		       unsigned flags, struct op **out);
void memop_node_params(const struct op *op, CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p);
bool memop_node_update(const struct op *was, const struct op *now);
CUresult sem_node_op(struct ctx *c, bool signal, unsigned n, const CUexternalSemaphore *sems,
		     const void *params, struct op **out);
void sem_node_params(const struct op *op, CUexternalSemaphore **sems, const void **params,
		     unsigned *n);

/* Runs fn on the thread of host functions, after those that are due there. */
void sim_host_call(CUhostFn fn, void *user);
void sim_set_cond(uint64_t handle, unsigned value); /* by a kernel */

/* capture (capture.c) */
bool cap_take(struct op *op,
	      struct strm *st); /* the stream captures: the operation became a node */
/* A kernel on a stream that captures: op_submit(), and what its attributes say. */
void cap_kernel(struct op *op, struct strm *st, const CUlaunchAttribute *at, unsigned n);
/* Allocation and free on a stream that captures. */
CUresult cap_alloc(struct strm *st, size_t size, int dev, CUdeviceptr *out);
CUresult cap_free(struct strm *st, CUdeviceptr d);
CUresult cap_record(struct ev *e, struct strm *st, unsigned flags, bool *done);
CUresult cap_wait(struct ev *e, struct strm *st, unsigned flags, bool *done);
CUresult cap_check(struct ctx *c);  /* a call that no capture may see */
#define UNSAFE(c)                                                                                  \
	do {                                                                                       \
		CUresult unsafe_ = cap_check(c);                                                   \
		if (unsafe_ != CUDA_SUCCESS)                                                       \
			LEAVE(unsafe_);                                                            \
	} while (0)
CUresult cap_legacy(struct ctx *c, bool look); /* the legacy stream is used, or asked about */
CUresult cap_event(const struct ev *e);	       /* the host asks for an event */
bool cap_invalid(const struct strm *st);
void cap_invalidate(struct strm *st);
void cap_stream_gone(struct strm *st);
void sim_event_record(struct ev *e, struct op *op); /* op is the event's record from now on */

void sim_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *sim_symbol(const char *base, int version, bool pt, int *status);

#pragma GCC visibility pop
#endif
