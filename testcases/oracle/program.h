/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs of the driver API, and what an obviously right judge says of
 * them.  Plain data, no engine: feed.c alone knows that.
 *
 * A program is a list of operations on fixed slots: contexts, streams, events
 * and buffers, each buffer of CELLS cells.  An operation that makes no sense
 * where it stands (a free of what is not there) is left out by everybody, so
 * that any operation can be taken out of a program.
 */
#ifndef KRT_ORACLE_PROGRAM_H
#define KRT_ORACLE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifndef KRT_ORACLE_RECORDED
#define CELLS	  8
#ifndef CELL
#define CELL	  (512u << 10) /* bytes: five of them are a large copy */
#endif
#define OPS	  40
#define RANGES	  4
#define THREADS	  2
#define EVENTS	  3 /* of each context */
#define STREAMS	  6
#define BUFFERS	  13
#define GRAPH_SLOTS 2
#define EXEC_SLOTS  2
#define GNODES	    12 /* of a graph, with those of its children */
#define PAIRS_MAX 4096
#define SLOT	  const
typedef uint8_t cells_t; /* one bit a cell */
#else /* Programs that were recorded (testcases/drop): cells of any size, slots as they come. */
#define CELLS	  64
#define OPS	  400
#define RANGES	  16
#define THREADS	  8
#define EVENTS	  100
#define STREAMS	  64
#define BUFFERS	  100
#define GRAPH_SLOTS 16
#define EXEC_SLOTS  16
#define GNODES	    32
#define PAIRS_MAX 16384
#define SLOT
typedef uint64_t cells_t;
#endif
#define CONTEXTS 2 /* each of a device of its own */

enum stream_kind { LEGACY, BLOCKING, NON_BLOCKING, PER_THREAD };
struct stream_slot {
	enum stream_kind kind;
	const char *name;
	uint64_t handle[CONTEXTS];
};
/* The thread is that of the call. */
#define LEGACY_SLOT 4
#define THREAD_SLOT 5
#define MAP1_SLOT   9 /* mapped twice */
#define ARRAY_ROW   2 /* cells */
#define HOST_POOL   2 /* number of the suballocator of host memory */
extern SLOT struct stream_slot stream_slot[STREAMS];

enum memory { DEVICE, POOL, PINNED, MANAGED, PAGEABLE, MAPPED, ARRAY };
struct buffer_slot {
	enum memory kind;
	const char *name;
	uint64_t addr;
	unsigned same; /* number of the slot that maps the same memory, + 1; 0: none */
};
extern SLOT struct buffer_slot buffer_slot[BUFFERS];

enum view { DOC, OBS, VIEWS };

/* clang-format off */
#define OPERATIONS(X)                                                                    \
	X(SET) X(SET_SYNC) X(COPY) X(COPY_SYNC) X(KERNEL)                                \
	X(RECORD) X(WAIT) X(EVENT_NEW) X(EVENT_SYNC) X(EVENT_QUERY) X(EVENT_ELAPSED)     \
	X(CTX_RECORD) X(CTX_WAIT) X(COPY_PEER) X(SET_ROWS) X(MODULE_LOAD) X(BATCH) X(RELEASE) X(ACQUIRE)                 \
	X(STREAM_NEW) X(STREAM_SYNC) X(STREAM_QUERY) X(CTX_SYNC)                         \
	X(HOST_READ) X(HOST_WRITE)                                                       \
	X(ALLOC) X(FREE) X(FREE_ASYNC)                                                   \
	X(CAPTURE_BEGIN) X(CAPTURE_END) X(GRAPH_NEW) X(NODE_ADD) X(NODE_CHILD)           \
	X(NODE_PARAMS) X(INSTANTIATE) X(EXEC_PARAMS) X(EXEC_UPDATE) X(EXEC_ENABLE)       \
	X(EXEC_DESTROY) X(GRAPH_LAUNCH)                                                  \
	X(HOSTFN) X(HOSTFN_RUN)                                                          \
	X(COPY_ROWS) X(COPY_ROWS_SYNC) X(REGISTER) X(UNREGISTER) X(HEAP_FREE)            \
	X(MAP_ACCESS) X(POOL_ACCESS) X(PEER_ACCESS) X(MEMOPS) X(CTX_MEMOPS)        \
	X(BLOCK_ALLOC) X(BLOCK_FREE) X(BLOCK_USE) X(BLOCK_RESIZE) X(POOL_DESTROY)        \
	X(VALUE_WRITE) X(VALUE_WAIT) X(POOL_REUSE)
/* clang-format on */
/* clang-format off */
#define COPIES(X)                                                                        \
	X(cuMemcpyDtoD_v2) X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuMemcpy)             \
	X(cuMemcpyDtoDAsync_v2) X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoHAsync_v2) X(cuMemcpyAsync)  \
	X(cuMemcpyDtoD_v2_ptds) X(cuMemcpyHtoD_v2_ptds) X(cuMemcpyDtoH_v2_ptds) X(cuMemcpy_ptds)
/* clang-format on */
enum operation {
#define X(name) OP_##name,
	OPERATIONS(X)
#undef X
		NR_OPERATIONS
};

struct range {
	uint8_t buffer, from, n; /* cells */
	bool write;
#ifdef KRT_ORACLE_RECORDED
	cells_t cells;	/* instead of from and n */
	uint64_t bytes; /* of these cells, as far as it touches them */
#endif
};
/* Rows with gaps: every second cell. */
#define ROW_STEP 2

struct op {
	enum operation what;
	uint8_t ctx, thread, stream, event, event2;
	uint8_t order; /* a batch: when its sources are read, 1 in order, 2 by the call, 3 any time
			*/
	bool ready;    /* what a query answers; what is set on or off */
	bool refused;  /* the call fails */
	uint8_t value; /* in memory */
	uint8_t form;  /* of several calls that do the same */
	/* copies of rows: how many, of n cells each, and how they lie in destination and source */
	uint8_t rows, slices, pitch, pitch2, height;
	uint8_t early; /* so many calls of other threads had not returned when it began */
	uint8_t graph, exec, node; /* graph2: of a child */
	uint8_t graph2;
	uint16_t deps;	 /* nodes that a new one comes after, by place */
	uint8_t nranges; /* a copy: destination, source; a batch: two of them */
	struct range range[RANGES];
};
/* All but what and the ranges: how programs are written as text. */
/* clang-format off */
#define OP_FIELDS(X)                                                                     \
	X(ctx) X(thread) X(stream) X(event) X(event2) X(order) X(ready)                  \
	X(graph) X(graph2) X(exec) X(node) X(deps) X(early)                                \
	X(refused) X(value) X(form) X(rows) X(slices) X(pitch) X(pitch2) X(height)
/* clang-format on */

/* clang-format off */
#define FEATURES(X)                                                                      \
	X(FREES)                                                                         \
	X(LEGACY)       /* and blocking streams */                                       \
	X(POOLS)                                                                         \
	X(THREADS)      /* and per-thread streams */                                     \
	X(CONTEXTS)                                                                      \
	X(HOST)         /* pageable and pinned memory, and the CPU */                    \
	X(MANAGED)                                                                       \
	X(KERNELS)                                                                       \
	X(SYNC)         /* synchronous copies and sets */                                \
	X(OBJECTS)      /* streams and events end and begin */                           \
	X(NARROW)       /* one cell each: every byte is compared */                      \
	X(CONTEXT_WIDE) /* what whole contexts and devices wait for */                   \
	X(ROWS)                                                                          \
	X(BATCHES)                                                                       \
	X(NOTES)        /* order that the program tells of */                            \
	X(GRAPHS)       /* captured, launched */                                         \
	X(GRAPHS_BUILT) /* node by node */                                               \
	X(GRAPHS_CHANGED)                                                                \
	X(REGISTERED)   /* host memory that is registered and not, and given back */     \
	X(MAPPED)       /* twice */                                                      \
	X(ARRAYS)                                                                        \
	X(PITCH)        /* copies of rows and slices */                                  \
	X(MEMOPS)       /* copies and sets that wait, by an attribute */                 \
	X(RIGHTS)       /* of devices change */                                          \
	X(BOUNDS)       /* copies and sets beyond the end */                             \
	X(FAILED)       /* records and waits */                                          \
	X(BLOCKS)       /* of suballocators */                                           \
	X(VALUES)       /* streams that wait for them */                                 \
	X(OVERLAPS)     /* of calls of several threads */                                \
	X(FUNCTIONS)
/* clang-format on */
enum feature_bit {
#define X(name) F_BIT_##name,
	FEATURES(X)
#undef X
		NR_FEATURES
};
enum feature {
#define X(name) F_##name = 1 << F_BIT_##name,
	FEATURES(X)
#undef X
		F_ALL = (1 << NR_FEATURES) - 1
};

struct program {
	unsigned features;
	unsigned n;
	struct op op[OPS];
	bool left_out[OPS]; /* set by program_check() */
};

/* The stream of an operation: of synchronous ones the default one. */
unsigned stream_of_op(const struct op *o);
cells_t cells_of(const struct op *o, const struct range *r);
uint64_t bytes_of(const struct op *o, const struct range *r);
/* Does it reach past the end of its buffer? */
#ifndef KRT_ORACLE_RECORDED
bool is_beyond(const struct op *o, const struct range *r);
#else
static inline bool is_beyond(const struct op *o, const struct range *r)
{
	(void)o, (void)r;
	return false;
}
#endif
/* Number of the device that a context is of. */
unsigned device_of(unsigned ctx);
void program_random(struct program *p, uint64_t seed, unsigned features);
/* Which name of the driver's a copy goes by: a number in the list. */
unsigned copy_form(const struct op *o);
/* Which operations make sense; to be called after every change. */
void program_check(struct program *p);
/* The first operation whose call had not returned when that of i began; i: it was alone. */
unsigned program_began(const struct program *p, unsigned i);
/* Did b begin after a?  As their numbers tell. */
bool program_later(const struct program *p, int a, int b);
/* As a test for testcases/unit/test_engine.c. */
void program_print(const struct program *p, FILE *out);
/* As text: a line an operation, # comments. */
void op_write(const struct op *o, FILE *out);
void program_write(const struct program *p, FILE *out);
/* False: why tells what is wrong with it. */
bool program_read(struct program *p, FILE *in, char *why, size_t len);

/* --- the judge ------------------------------------------------------------------- */

/* Two operations that meet. */
struct pair {
	int rule; /* enum krt_rule_id */
	int cur, prev;
	uint8_t buffer;
	cells_t cells[VIEWS]; /* in which they are not ordered */
	cells_t need[VIEWS];  /* of those: where nothing that came between may hide it */
	bool in_view[VIEWS];
	uint64_t later[(OPS + 63) / 64]; /* operations that come after prev on their streams */
	bool optional; /* true, but need not be told */
};
struct verdict {
	unsigned n;
	struct pair pair[PAIRS_MAX];
};
/* What a wrong judge would forget: each must be seen to disagree with the engine. */
/* clang-format off */
#define FAULTS(X)                                                                        \
	X(NONE) X(FIFO) X(LEGACY) X(CALL) X(WAIT) X(RECORD) X(SYNC) X(OBSERVED)          \
	X(AT_CALL) X(LIFE) X(STAGED) X(GRAPH_EDGE) X(RELAUNCH) X(STALE) X(HOSTFN) X(OVERLAP) \
	X(MEMOPS) X(ALIAS) X(PITCH) X(OVERWRITTEN) X(OWNER) X(UNSEEN) X(VALUE) X(UNFINISHED)  \
	X(REGISTERED) X(PEERS) X(BOUNDS) X(FAILED)
/* clang-format on */
enum fault {
#define X(name) FAULT_##name,
	FAULTS(X)
#undef X
		NR_FAULTS
};
void judge(const struct program *p, struct verdict *v, enum fault fault);

#endif
