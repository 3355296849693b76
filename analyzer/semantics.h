/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of synchronisation semantics (semantics.def) and its look-up.
 * Constant data; no locking, no allocation.
 *
 * A row answers three questions, each by documentation and by observation:
 *   order   how the call takes its place among device work
 *   read    when a copy reads its source, relative to earlier work of its stream
 *   edge    what the host knows to be complete once the call has returned SUCCESS
 * The documented answer is never stronger than the observed one (tested).
 */
#ifndef KRT_SEMANTICS_H
#define KRT_SEMANTICS_H

#include "order.h"

enum krt_sem_order {
	KRT_ORDER_NONE,     /* not a stream operation */
	KRT_ORDER_FIFO,     /* in stream order (default-stream rule included) */
	KRT_ORDER_CONTEXT,  /* after, or before, all streams of a context */
	KRT_ORDER_CONTEXTS, /* peer copies: in stream order, and after all earlier and before all
	                       later work of the current, the source and the destination context */
};

enum krt_sem_read {
	KRT_READ_NEVER,	   /* the call has no source */
	KRT_READ_IN_ORDER, /* after earlier work of its stream */
	KRT_READ_AT_CALL,  /* by the call itself: earlier work of the stream may still be writing it
			    */
	KRT_READ_ANY_TIME, /* any time from the call to completion */
};

/*
 * Edges are sets: each names all that it implies, so that stronger means superset.
 * EARLIER, OP: of the stream that the call enqueued on.  STREAM: the stream in the
 * arguments.  BLOCKING: the legacy stream and every blocking stream of its context.
 * CONTEXT: the context in the arguments or the current one.  DEVICE: its device,
 * every context of it.  ALL: everything.  EVENT: the record bound at the call.
 */
enum krt_edge {
	KRT_EDGE_NONE = 0,
	KRT_EDGE_SRC = 1 << 0,     /* the source bytes have been read */
	KRT_EDGE_EARLIER = 1 << 1, /* what the stream held before the operation */
	KRT_EDGE_OP = 1 << 2 | KRT_EDGE_SRC | KRT_EDGE_EARLIER,
	KRT_EDGE_STREAM = 1 << 3 | KRT_EDGE_OP,
	KRT_EDGE_BLOCKING = 1 << 4 | KRT_EDGE_STREAM,
	KRT_EDGE_CONTEXT = 1 << 5 | KRT_EDGE_BLOCKING,
	KRT_EDGE_DEVICE = 1 << 6 | KRT_EDGE_CONTEXT,
	KRT_EDGE_EVENT = 1 << 7,
	KRT_EDGE_ALL = 1 << 8 | KRT_EDGE_DEVICE | KRT_EDGE_EVENT,
};

/* Does edge e imply edge f? */
#define KRT_EDGE_HAS(e, f) (((unsigned)(e) & (unsigned)(f)) == (unsigned)(f))

enum krt_sem_id {
	KRT_SEM_NONE, /* no row: the effect depends on more than the operation */
#define KRT_SEM(ID, ...) KRT_SEM_##ID,
#include "semantics.def"
#undef KRT_SEM
	KRT_NR_SEMS
};

struct krt_sem {
	const char *id, *calls, *when;
	enum krt_sem_order order[KRT_VIEWS];
	enum krt_sem_read read[KRT_VIEWS];
	unsigned edge[KRT_VIEWS]; /* enum krt_edge */
	const char *source[KRT_VIEWS];
};

/* The table as it comes with krtsan, KRT_NR_SEMS rows; the first is that of KRT_SEM_NONE. */
extern const struct krt_sem krt_sem_table[];

/* Row of an id; KRT_SEM_NONE and ids out of range give the row without any order. */
const struct krt_sem *krt_semantics(const struct krt_sem *table, enum krt_sem_id id);

/* In which views (mask KRT_IN_*) the row's edge implies e. */
unsigned krt_sem_views(const struct krt_sem *table, enum krt_sem_id id, enum krt_edge e);

/* How much a reading of the source says of its order, the least first. */
int krt_sem_read_rank(enum krt_sem_read read);

/* What kind of memory one side of a copy is, as the copy sees it. */
enum krt_sem_mem {
	KRT_SEM_MEM_PAGEABLE, /* host memory that CUDA does not know; also any unknown address */
	KRT_SEM_MEM_PINNED,   /* cuMemHostAlloc, cuMemAllocHost, registered */
	KRT_SEM_MEM_MANAGED,
	KRT_SEM_MEM_DEVICE,   /* also pools, VMM, arrays, imported */
	KRT_NR_SEM_MEMS
};

/* A pageable source up to this many bytes is staged without waiting for the stream. */
#define KRT_SEM_STAGED_MAX (2u << 20)

/*
 * The row of a copy, not of a batch (BATCH_*).  peer: cuMemcpyPeer and
 * cuMemcpy3DPeer (the Async forms are ordinary copies), near where all contexts
 * are of one device.  memops: SYNC_MEMOPS
 * is set on the context or on either pointer (synchronous forms only).
 */
enum krt_sem_peer { KRT_SEM_NO_PEER, KRT_SEM_PEER, KRT_SEM_PEER_NEAR };
enum krt_sem_id krt_sem_copy(bool async, enum krt_sem_peer peer, enum krt_sem_mem dst, enum krt_sem_mem src,
			     uint64_t bytes, bool memops);
enum krt_sem_id krt_sem_set(bool async, enum krt_sem_mem dst, bool memops);
/* CUmemcpySrcAccessOrder: 1 STREAM, 2 DURING_API_CALL, 3 ANY; others count as STREAM. */
enum krt_sem_id krt_sem_batch(unsigned src_access_order);

/*
 * The row of an operation of api.h whose semantics depend on nothing else;
 * KRT_SEM_NONE for copies, sets, batches, cuMemFree, stream sync (legacy or
 * not) and for operations that order nothing and are no stream operation.
 */
enum krt_sem_id krt_sem_of_op(unsigned op);

#endif
