/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened when, as reports draw it: the operations of one process on
 * their lanes, and the order that the program made between them.  Part of the
 * report (struct krt_process), kept only when one of its formats asks; plain
 * data in the report's arena.  No locking.
 *
 * Sequence numbers are those of findings (#N), times nanoseconds since the
 * process attached.  When a device worked on an operation is known where
 * it was measured, and not guessed elsewhere: drawn there is order alone.
 */
#ifndef KRT_TIMELINE_H
#define KRT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#define KRT_TIMELINE_LANES(X)                                                                      \
	X(HOST, "host") /* a thread */                                                             \
	X(STREAM, "stream")
enum krt_timeline_lane_kind {
#define X(name, text) KRT_LANE_##name,
	KRT_TIMELINE_LANES(X)
#undef X
		KRT_NR_LANE_KINDS
};

#define KRT_TIMELINE_KINDS(X)                                                                      \
	X(OTHER, "other")                                                                          \
	X(KERNEL, "kernel")                                                                        \
	X(COPY, "copy")                                                                            \
	X(SET, "set")                                                                              \
	X(GRAPH, "graph") /* a launch of one */                                                    \
	X(HOST_FUNCTION, "host-function")                                                          \
	X(RECORD, "record")                                                                        \
	X(WAIT, "wait") /* of a stream */                                                          \
	X(SYNC, "sync") /* of the host */                                                          \
	X(ALLOC, "alloc")                                                                          \
	X(FREE, "free")                                                                            \
	X(HOST, "host") /* the CPU's own access */
enum krt_timeline_kind {
#define X(name, text) KRT_TL_##name,
	KRT_TIMELINE_KINDS(X)
#undef X
		KRT_NR_TIMELINE_KINDS
};

/* What made the order. */
#define KRT_TIMELINE_EDGES(X)                                                                      \
	X(EVENT, "event")                                                                          \
	X(SYNC, "sync")		/* the host waited for a stream or more */                         \
	X(LEGACY, "legacy")	/* the legacy stream's barrier */                                  \
	X(VALUE, "value")	/* a value in memory, a semaphore */                               \
	X(CALLBACK, "callback") /* a host function began */                                        \
	X(GRAPH, "graph")	/* an executable graph runs once at a time */                      \
	X(CONTEXT,                                                                                 \
	  "context") /* of a call about all streams of a context; the host waits for nothing */    \
	X(DECLARED, "declared") /* krtsan_order_release and _acquire */
enum krt_timeline_edge_kind {
#define X(name, text) KRT_TLE_##name,
	KRT_TIMELINE_EDGES(X)
#undef X
		KRT_NR_TIMELINE_EDGES
};

enum krt_timeline_flags {
	KRT_TLF_CAPTURED = 1 << 0,     /* into a graph: it did not run */
	KRT_TLF_BLOCKS = 1 << 1,       /* the call returned when the operation was complete */
	KRT_TLF_BLOCKS_FOUND = 1 << 2, /* so drivers do; it is not documented */
	KRT_TLF_MORE = 1 << 3,	       /* the call before it, on one more stream */
	KRT_TLF_FAILED = 1 << 4,
	KRT_TLF_STAGED =
		1 << 5, /* it returned when all that comes before the operation was complete */
};

#define KRT_TL_NONE UINT32_MAX /* no lane, no name */

struct krt_timeline_lane {
	enum krt_timeline_lane_kind kind;
	const char *name; /* as findings name it */
	uint32_t device;  /* streams */
	uint32_t context; /* streams: number in the process */
	uint64_t handle;  /* streams: names need not differ */
};

struct krt_timeline_op {
	uint64_t sequence;
	uint64_t bytes;	   /* copied, set or allocated; 0: not told */
	uint64_t start_ns; /* of the call; KRT_UNKNOWN: calls were recorded without times */
	uint64_t device_start_ns, device_ns; /* KRT_UNKNOWN: not measured */
	uint32_t took_ns;
	uint32_t thread, stream;     /* lanes; stream KRT_TL_NONE: the host alone */
	uint32_t api, kernel, range; /* names; kernel, range: KRT_TL_NONE */
	uint8_t kind, flags;
};

/* What `from` did is complete before `to` begins.  Places in struct krt_timeline.op. */
struct krt_timeline_edge {
	uint32_t from, to;
	uint8_t kind;
	uint8_t observed; /* drivers do so; it is not documented */
};

struct krt_timeline {
	uint64_t offset_ns; /* from the first process's attach to this one's */
	uint64_t left_out;  /* operations beyond the bound */
	uint64_t edges_left_out;
	uint32_t nlanes, nnames, nops, nedges;
	struct krt_timeline_lane *lane;
	const char **name;
	struct krt_timeline_op *op; /* by sequence */
	struct krt_timeline_edge *edge;
};

const char *krt_timeline_kind_text(unsigned kind);
const char *krt_timeline_edge_text(unsigned kind);
const char *krt_timeline_lane_text(unsigned kind);
/* The operation's place; KRT_TL_NONE: it was not kept. */
uint32_t krt_timeline_find(const struct krt_timeline *t, uint64_t sequence);

#endif
