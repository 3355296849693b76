/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Happens-before among streams, events, captures and the host: vector clocks
 * with epochs, in two views at once.
 *
 * A *domain* is one stream (one life of one handle), or one of the engine's own
 * (a graph node, a batch).  An operation on a domain gets a *stamp*: the domain
 * and its 64-bit epoch.  A clock maps domains to the highest epoch known to be
 * complete.  The host has one clock for the whole process: what any thread has
 * waited for is ordered before every later call.
 *
 * The two views are the documented one (only what NVIDIA promises) and the
 * observed one (what drivers were measured to do); the documented order is a
 * subset of the observed.  Where a function takes no view it acts on both.
 *
 * Epochs are drawn from one counter of the whole order: they grow along every
 * domain, are never given twice and do not wrap.  A domain's id stays its own:
 * when an ended stream is settled its clock slot is recycled, its id is not,
 * and its stamps answer "complete" to every question.
 *
 * No byte ranges, no I/O, no CUDA, no globals, no stdio, no locking; memory
 * comes from an arena of its own, so that the same code can run inside the
 * watched program.  The caller serialises calls on one krt_order.
 *
 * Failure: functions that create return 0 (no domain) or NULL when memory is
 * out, and krt_order_failed() is true from then on; nothing is ever half done.
 */
#ifndef KRT_ORDER_H
#define KRT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum krt_view { KRT_VIEW_DOC = 0, KRT_VIEW_OBS = 1, KRT_VIEWS = 2 };
#define KRT_IN_DOC  (1u << KRT_VIEW_DOC)
#define KRT_IN_OBS  (1u << KRT_VIEW_OBS)
#define KRT_IN_BOTH (KRT_IN_DOC | KRT_IN_OBS)

typedef uint32_t krt_domain; /* 0: none */

struct krt_stamp {
	krt_domain domain;
	uint64_t epoch;
};

struct krt_order;
struct krt_snapshot; /* an immutable clock: what an event record captured */

/* Clock memory comes through these; NULL: malloc and free. */
struct krt_order_mem {
	void *(*alloc)(void *user, size_t size);
	void (*free)(void *user, void *ptr, size_t size);
	void *user;
};

struct krt_order *krt_order_new(const struct krt_order_mem *mem);
/* Snapshots must have been given back.  NULL is allowed. */
void krt_order_destroy(struct krt_order *o);
bool krt_order_failed(const struct krt_order *o);

/*
 * The call that the following functions act for began at ticket t0 and returned
 * at t1.  Calls come in order of t1.  With several threads a call may have begun
 * before a wait of another thread returned: it is not ordered after that wait,
 * and a synchronisation covers what was enqueued when it began, no more.  Looks
 * back KRT_ORDER_TIMES calls; what was in flight longer is taken as ordered.
 * t0 or t1 of 0: no such call, all is taken in the order that it comes.  Who
 * never calls this gets immediate knowledge; who does should from the start.
 */
#define KRT_ORDER_TIMES 1024
void krt_order_at(struct krt_order *o, uint64_t t0, uint64_t t1);

/*
 * Contexts and streams.  A context has one legacy stream (made on first use);
 * kind says how a stream takes part in the default-stream rule.
 */
enum krt_stream_kind {
	KRT_STREAM_LEGACY,       /* the context's legacy default stream */
	KRT_STREAM_BLOCKING,     /* created without NON_BLOCKING; per-thread streams */
	KRT_STREAM_NON_BLOCKING,
};
typedef uint32_t krt_context; /* 0: none */
krt_context krt_order_context(struct krt_order *o, uint32_t device);
/* A context's second LEGACY stream is its first.  0 also for a context that ended. */
krt_domain krt_order_stream(struct krt_order *o, krt_context ctx, enum krt_stream_kind kind);
/*
 * The handle is gone; queued work goes on and is still ordered.  Nothing more
 * begins or waits on it.  Once settled the id is retired and counts as complete.
 * A legacy stream ends with its context.
 */
void krt_order_stream_end(struct krt_order *o, krt_domain stream);
/* Ends the streams of the context as well. */
void krt_order_context_end(struct krt_order *o, krt_context ctx);

/*
 * One enqueued operation.  begin() makes the stream's clock what must be
 * complete before the operation starts (its own past, the host's knowledge, the
 * default-stream rule) and returns the operation's stamp.  Between begin() and
 * the next call that changes the stream, krt_order_before_stream() answers for
 * exactly this operation.  Stamp {0, 0}: no such stream, or out of memory.
 */
struct krt_stamp krt_order_begin(struct krt_order *o, krt_domain stream);

/* Is the operation at stamp complete before whatever begins next on stream (or has just begun)? */
bool krt_order_before_stream(const struct krt_order *o, enum krt_view v, struct krt_stamp s,
			     krt_domain stream);
/* Does the host know that the operation at stamp is complete? */
bool krt_order_before_host(const struct krt_order *o, enum krt_view v, struct krt_stamp s);
/*
 * Known complete by the host in the documented view, and with that by whatever
 * begins from now on, on every stream: may be forgotten.  (With krt_order_at(),
 * also by every call that may still be in flight.)
 */
bool krt_order_settled(const struct krt_order *o, struct krt_stamp s);

/* Event records: what stream has enqueued up to now.  Snapshots are reference counted. */
struct krt_snapshot *krt_order_record(struct krt_order *o, krt_domain stream);
struct krt_snapshot *krt_order_record_context(struct krt_order *o, krt_context ctx);
struct krt_snapshot *krt_order_record_host(struct krt_order *o);
struct krt_snapshot *krt_snapshot_ref(struct krt_snapshot *s);
void krt_snapshot_unref(struct krt_order *o, struct krt_snapshot *s);
/* Adds what b knows to a, giving a new snapshot (both stay owned by the caller). */
struct krt_snapshot *krt_snapshot_join(struct krt_order *o, const struct krt_snapshot *a,
				       const struct krt_snapshot *b);
/* Would a stream that waits for the snapshot now know the stamp? */
bool krt_snapshot_has(const struct krt_snapshot *s, enum krt_view v, struct krt_stamp stamp);
/* Has s all operations that other has, in the documented view? */
bool krt_snapshot_covers(const struct krt_snapshot *s, const struct krt_snapshot *other);
/* The stream and epoch the record was made at (domain 0 for a context or host record). */
struct krt_stamp krt_snapshot_stamp(const struct krt_snapshot *s);

/*
 * Edges.  views is a mask: in which views the edge exists.  Each returns true
 * when the edge added order in the documented view that was not there (or in
 * the observed one where the edge exists only there): false is a redundant wait.
 * (True also for a record whose stream did nothing but wait since, although all
 * it waited for may be known otherwise.)  An edge in the documented view is one
 * in the observed view too.
 */
bool krt_order_wait(struct krt_order *o, krt_domain stream, const struct krt_snapshot *s,
		    unsigned views);
bool krt_order_wait_context(struct krt_order *o, krt_context ctx, const struct krt_snapshot *s,
			    unsigned views);
bool krt_order_host_join(struct krt_order *o, const struct krt_snapshot *s, unsigned views);
bool krt_order_host_join_stream(struct krt_order *o, krt_domain stream, unsigned views);
/* All streams of the context, also ended ones whose work is pending. */
bool krt_order_host_join_context(struct krt_order *o, krt_context ctx, unsigned views);
bool krt_order_host_join_device(struct krt_order *o, uint32_t device, unsigned views);
/* One operation only, and what was ordered before it. */
bool krt_order_host_join_stamp(struct krt_order *o, struct krt_stamp s, unsigned views);

/*
 * Why not: the newest epoch of `of` that `stream` (0: the host) knows in the
 * view; 0 for none, UINT64_MAX when `of` is retired.
 */
uint64_t krt_order_known(const struct krt_order *o, enum krt_view v, krt_domain of,
			 krt_domain stream);
/* Did the latest call on `stream` come after s?  True when either is retired. */
bool krt_order_seen(const struct krt_order *o, enum krt_view v, struct krt_stamp s,
		    krt_domain stream);
/* Newest epoch of a domain, 0 when it has none or is retired. */
uint64_t krt_order_last(const struct krt_order *o, krt_domain d);

struct krt_order_stats {
	uint64_t domains_live, domains_ever; /* live: not retired */
	uint64_t slots;                      /* width of a clock: most domains at a time */
	uint64_t clock_bytes;                /* everything this order holds */
	uint64_t snapshots;                  /* not given back */
	uint64_t joins, fast_joins;          /* edges; those found known in O(1) */
};
void krt_order_get_stats(const struct krt_order *o, struct krt_order_stats *st);

#endif
