/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's inside, shared by its files and by nothing else:
 *   engine.c  records in, report out, dispatch by operation
 *   sync.c    contexts, streams, events, waits, value waits, notes on order
 *   touch.c   which bytes an operation touches, and what it meets there
 *   copy.c    copies, sets and batches
 *   invoke.c  kernel launches
 *   kernel.c  what a kernel accesses, by all that is known of it
 *   life.c    allocations and frees of every kind
 *   pool.c    suballocators' blocks, and what happens when they are handed out again
 *   graph_image.c  graph records decoded
 *   graph.c   graphs and their executables: made, updated, launched
 *   footprint.c    what an executable touches, and the index from memory to executables
 *   graph_order.c  the inside of a graph: nodes that conflict with no path between them
 *   capture.c      which streams capture; captures that break, and why
 *   capture_storm.c  graphs made again and again
 *   graph_input.c  inputs that a replay did not get
 *   rights.c  who may use what: contexts, devices, refused calls
 *   unfinished.c   copies that nothing waited for, exports to other processes
 *   library.c    calls of cuBLAS, NCCL, ... and the launches inside them
 *   library_ranges.c  which bytes such a call reads and writes
 *   shadow.c     pointers in device memory, as small copies put them there
 *   variable.c   module variables as memory
 *   descriptor.c tensor maps, textures and surfaces
 *   loaded.c  which images a module, library or kernel came from
 *   judge.c   pairs to findings
 *   change.c  orders that are judged as if they were there
 *   site.c    call sites; waits that never met a record
 *   loop.c    loops of a thread
 *   hot.c     rules about what is done again and again in a loop
 *   pace.c    device times; stretches in which submission sets the pace
 *   timeline.c    what reports draw: calls on their lanes, and the order between them
 *
 * A call is handled to its end before the next one; pairs that it finds are
 * gathered (struct krt_pair) and become findings when it is done.
 */
#ifndef KRT_ENGINE_INT_H
#define KRT_ENGINE_INT_H

#include "decode.h"
#include "engine.h"
#include "graph.h"
#include "heap.h"
#include "loop.h"
#include "memory.h"
#include "objects.h"
#include "order.h"
#include "pattern.h"
#include "semantics.h"
#include "../rules/timeline.h"
#include "../rules/words.h"

#define KRT_ARCH_DEVICES 64

struct krt_flow_global; /* ptx/flow.h */

/* A declared access that waits for its launch. */
struct krt_declared {
	uint64_t stream; /* the handle: 0 depends on the launch's context */
	uint64_t addr, len;
	uint32_t flags;
};

/* hot.c: what a thread did last */
struct krt_lane_hot {
	uint64_t fetched, fetched_seq; /* bytes of the last copy to the host, nothing enqueued since */
	struct krt_hot *pageable;      /* that copy, where it waits because its memory is pageable */
	struct krt_hot *synced;	       /* the last sync, nothing enqueued since */
	uint64_t polling, polling_work; /* a query that found work unfinished, and when */
	struct krt_stamp work_stamp;	/* its newest work */
	struct krt_hot_kernel *kernel;	/* launched last */
	uint32_t kernel_id;
	uint16_t fetched_api;
};

struct krt_lane {
	uint64_t thread; /* serial */
	uint64_t ctx;	 /* the last current context that a call named, 0: none */
	uint64_t inside; /* token of the host function that runs, 0: none */
	uint32_t range;	 /* string id of the innermost NVTX range, 0: none */
	unsigned capture_mode; /* of the thread, as it set it: CUstreamCaptureMode */
	struct krt_declared *declared;
	uint32_t ndeclared, declared_cap;
	struct krt_path path;
	struct krt_lane_hot hot;
	struct krt_lane_pace *pace; /* NULL: no device times */
	struct krt_library_lane *library; /* library.c; NULL: it called none */
	uint32_t timeline; /* its lane there, + 1; 0: none yet */
	int tid;
	char name[16]; /* of the thread; perhaps without a zero */
};

/* A hazard of the call in hand, or of one pair of operations. */
struct krt_pair {
	enum krt_rule_id rule;
	enum krt_confidence confidence;
	enum krt_finding_view view;
	struct krt_op_info *cur, *prev; /* counted; prev NULL: none */
	const char *cur_what, *prev_what;
	uint8_t cur_know, prev_know;
	uint8_t cur_sure, prev_sure; /* enum krt_sureness */
	uint16_t cur_item, prev_item; /* which copies of a batch */
	const struct krt_mem *mem; /* NULL: none; alive until the pairs are flushed */
	struct krt_block *owner;   /* counted; former owner of the bytes, NULL: none */
	uint64_t from, end;	   /* addresses shared; equal: not known */
	bool same_op;
	bool gaps; /* a side has gaps: some bytes within are shared */
	/* which node of a launch it is; NULL: that side is no launch of a graph */
	const struct krt_footprint *cur_fp, *prev_fp;
	uint32_t cur_node, prev_node;
	uint32_t next; /* of the same earlier operation, 0: none */
};

struct krt_found {
	uint64_t key;
	struct krt_finding f; /* strings of its own on the heap */
	struct krt_change missing;
	uint32_t alloc_stack, freed_stack;
	UT_hash_handle hh;
};

/* A flag word in memory, stream write and wait value; or a timeline semaphore. */
#define KRT_RELEASES 16
struct krt_flag {
	uint64_t key;
	struct {
		uint64_t value;
		struct krt_origin origin;
		struct krt_snapshot *snap;
		krt_domain domain;
		bool external; /* behind something unseen itself */
	} release[KRT_RELEASES];
	unsigned count; /* ever; the last KRT_RELEASES are kept */
	UT_hash_handle hh;
};
struct krt_value_wait {
	uint64_t key, value;
	struct krt_origin origin;
	unsigned condition, bytes;
	struct krt_stream_info *stream; /* counted */
};
#define KRT_VALUE_WAITS 1024
#define KRT_FLAGS_MAX	4096 /* beyond, waits are taken as met by something unseen */

#define KRT_TOKEN_RELEASES 4 /* that the timeline shows */
struct krt_token {
	uint64_t key;
	struct krt_snapshot *snap; /* NULL: not known yet */
	/* notes: the last releases, one of a stream (the host: 0), the newest first */
	struct {
		krt_domain domain;
		uint64_t seq;
	} release[KRT_TOKEN_RELEASES];
	struct krt_stamp stamp;	   /* host functions: the operation, */
	bool entered, left;	   /* and how far it has come */
	UT_hash_handle hh;
};
#define KRT_TOKENS_MAX 65536

/* Parameter blocks that repeat. */
struct krt_shared {
	uint32_t id, kernel, len;
	uint8_t *bytes;
	UT_hash_handle hh;
};

/* kernel.c: what PTX says of kernels, the latest used first. */
struct krt_insights {
	struct krt_insight *by_text, *newest, *oldest;
	size_t bytes; /* of those that are there */
	struct krt_flow_range *range, *moved; /* of the launch in hand */
	uint32_t n, cap, moved_cap;
	uint8_t *params; /* of the launch in hand, as its PTX lays them out */
	uint32_t params_cap;
};

/* site.c */
struct krt_wait_site {
	uint64_t key;
	uint64_t total, unrecorded;
	uint16_t api;
	uint32_t stack;
	uint64_t seq;
	char *stream, *event;
	struct krt_origin made; /* of an event without a name */
	UT_hash_handle hh;
};
#define KRT_WAIT_SITES_MAX 4096

/* shadow.c */
struct krt_shadows {
	struct krt_shadow_piece *oldest, *newest; /* NULL: nothing is known of any memory */
	size_t bytes;
	/* where in the call's runs of pointers copy `item` begins */
	uint64_t seq;
	uint32_t item, at;
};

struct krt_engine {
	struct krt_engine_config cfg;
	const struct krt_sem *semantics;
	struct krt_heap heap;
	struct krt_order_mem order_mem;
	struct krt_order *order;
	struct krt_objects obj;
	struct krt_memory mem;
	struct krt_patterns patterns;
	struct krt_coverage cov;
	uint64_t records, bytes, malformed;
	bool initialised, finished, exiting,
		used; /* exiting: the call at hand began after exit handlers did */
	uint64_t exit_ticket;
	int driver_version;

	struct krt_acting *acting; /* change.c; NULL: no changes */
	struct krt_lane *lane;
	uint32_t lanes;
	const struct krt_call *call; /* in hand */
	uint64_t last_ctx;	     /* the last context that any call named */
	bool judge;		     /* its accesses are judged and remembered */

	struct krt_wait_memory host_waits;
	struct krt_graphs graphs;

	unsigned captures;		    /* ever */
	struct krt_capture_info *capturing; /* those that have not ended */
	struct krt_flag *flags;
	uint32_t nflags, ntokens, nhostfns;
	struct krt_value_wait *value_wait;
	uint32_t value_waits, value_waits_cap;
	struct krt_token *tokens, *hostfns;
	struct krt_snapshot *signalled; /* what external semaphores have been told is over */
	struct krt_shared *shared;

	struct krt_pair *pair; /* [0] is not used */
	uint32_t pairs, pairs_cap;
	uint64_t round;
	struct krt_found *found;
	uint64_t possible_kept, possible_total;

	/* unfinished.c */
	struct krt_snapshot *may_know; /* what word of may have reached the CPU unseen; NULL: nothing */
	struct krt_to_host *to_host;
	uint32_t to_host_sweep;
	struct krt_export *export;
	uint32_t nexports, exports_cap;

	/* rights.c */
	struct krt_owned *owned;
	struct krt_driver_pool *driver_pools;
	uint64_t pools_may;	       /* devices that some pool not seen at birth was opened to */
	struct krt_op_info *bad_image; /* the first load that no later one made good */
	int bad_result;

	struct krt_library_plan *fft_plans; /* library.c */

	struct krt_loaded *loaded; /* loaded.c */
	struct krt_func_origin *origins;
	struct krt_link *links, *linked; /* states by handle; images that a linker made by id */
	uint32_t loads;
	uint32_t nvariables; /* variable.c: of all loads; where the next one without an address goes */
	uint64_t variable_next;
	struct krt_insights insights; /* kernel.c */
	struct krt_tensor_map *tensor_maps, *tensor_newest, *tensor_oldest; /* descriptor.c */
	struct krt_texture *textures;
	uint16_t arch[KRT_ARCH_DEVICES]; /* by device: 90 for compute capability 9.0; 0: not told */

	struct krt_fresh *fresh; /* graph_input.c */
	unsigned fresh_next;
	struct krt_storm_site *storm_sites;
	struct krt_storm_exec *storm_execs;
	uint64_t storm_launches;

	struct krt_shadows shadows;
	struct krt_wait_site *wait_sites;
	struct krt_site *sites, *site; /* site, place: of the call in hand, NULL: none */
	struct krt_place *places, *place;
	uint64_t look;
	struct krt_hot_kernel *hot_kernels;
	struct krt_made *made;
	uint64_t work, host_waits_done; /* work that comes again; waits of the host, by any thread */
	uint64_t graphs_unwaited, graph_waits; /* graph launches since whose predecessor nobody had
						  waited; host_waits_done at the last */
	struct krt_stamp enqueued, work_stamp; /* newest operation, newest of those counted in work */
	bool settled;	/* the wait in hand: the newest work was done before it */
	uint64_t lucky; /* queries that succeeded at once and told the host something */
	uint32_t hot_count, waiting_lane; /* the lane that waited, + 1; UINT32_MAX: several */
	bool times;			/* calls carry times */
	bool timing;			/* device times come */
	uint32_t pace_lanes;

	struct krt_timeline_store *timeline; /* NULL: nobody wants one */

	uint64_t sweeps; /* counts them */
	uint64_t since_sweep,
		sweep_after; /* accesses remembered since the last sweep, and the limit */
};

/* --- engine.c ---------------------------------------------------------------- */

/* Streams of the call in hand.  NULL: no memory. */
struct krt_context_info *krt_call_context(struct krt_engine *e, const struct krt_call *c);
struct krt_stream_info *krt_call_stream(struct krt_engine *e, const struct krt_call *c,
					uint64_t handle);
struct krt_lane *krt_call_lane_new(struct krt_engine *e, unsigned lane);
static inline struct krt_lane *krt_call_lane(struct krt_engine *e, unsigned lane)
{
	return lane < e->lanes ? &e->lane[lane] : krt_call_lane_new(e, lane);
}
void krt_reason(struct krt_engine *e, enum krt_reason why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* --- sync.c ------------------------------------------------------------------ */

/* An operation on a stream: made, ordered after what it must follow. NULL: no memory. */
struct krt_op_info *krt_enqueue(struct krt_engine *e, const struct krt_call *c,
				struct krt_stream_info *s, enum krt_op_class class);
/* Does the stream capture?  Then the call is counted and has no effect. */
bool krt_capturing(struct krt_engine *e, struct krt_stream_info *s);
/*
 * The host edge of a call that has returned.  s: its stream, op: what it
 * enqueued, before: what the stream held before that (NULL where there is no
 * such thing); ctx: the context whose streams, or whose device, a larger edge
 * is about.  Did it add an order that was not there?
 */
bool krt_host_edge(struct krt_engine *e, const struct krt_call *c, enum krt_sem_id sem,
		   struct krt_stream_info *s, const struct krt_op_info *op,
		   const struct krt_snapshot *before, struct krt_context_info *ctx);
/*
 * The CPU acts in the call in hand: is prev ordered with it because a host
 * function does so?  What the function's stream held is done, and what waits for
 * the function has not begun.
 */
bool krt_host_function_orders(struct krt_engine *e, enum krt_view v,
			      const struct krt_op_info *prev);
void krt_sync_op(struct krt_engine *e, const struct krt_call *c);
/* Adds what now knows to *kept; takes now over (NULL: no memory). */
void krt_keep_joined(struct krt_engine *e, struct krt_snapshot **kept, struct krt_snapshot *now);
/* The stream has signalled external semaphores. */
void krt_semaphore_release(struct krt_engine *e, const struct krt_stream_info *s);
/* A launch attribute that records an event before the kernel has completed. */
void krt_record_event(struct krt_engine *e, const struct krt_call *c, uint64_t event,
		      struct krt_stream_info *s, struct krt_snapshot *snap);
/* A kernel is given the address of a flag word: it may spin on it. */
bool krt_flag_known(struct krt_engine *e, uint64_t addr);
void krt_flag_touch(struct krt_engine *e, struct krt_stream_info *s, uint64_t addr);
/* "event "x"", "event 0x.." into buf. */
const char *krt_event_text(const struct krt_event_info *ev, char *buf, size_t len);
/* The words have text for an event, which tells one without a name by its address. */
void krt_event_mention(const struct krt_event_info *ev, const char *text, struct krt_facts *f);
void krt_mention_made(struct krt_facts *f, const struct krt_origin *made, const char *text);
/* The words have the number of a call that is neither operation. */
void krt_mention_call(struct krt_facts *f, const struct krt_origin *o);
void krt_sync_free(struct krt_engine *e);

/* --- touch.c ----------------------------------------------------------------- */

/* Rows of a strided access; a plain range is one row. */
struct krt_shape {
	uint64_t addr, width, rows, pitch, slices, slice_pitch;
	struct krt_mem *array; /* addr is an offset in it; NULL: an address */
	bool host;	       /* in a host role: an unknown address is pageable memory */
};

struct krt_touch {
	struct krt_op_info *op;
	struct krt_stream_info *stream; /* NULL: the host */
	unsigned kind;			/* enum krt_access_kind */
	enum krt_knowledge know;
	uint16_t item;
	enum krt_sem_read read[KRT_VIEWS]; /* a source that is not read in stream order */
	enum krt_sureness sure;
	uint16_t pattern; /* gaps between the bytes, in keys */
	bool held;	  /* a kernel's: the pointer lies inside a larger parameter */
	bool forget;			   /* judged, but not remembered: consumed by the call */
	bool passing;		    /* of a batch: remembered all the same until the call is done */
	const struct krt_mem *only; /* what lies outside is left alone (it is out of bounds) */
};

/* Rows and slices without gaps become one. */
void krt_shape_join(struct krt_shape *s);
void krt_touch_shape(struct krt_engine *e, const struct krt_touch *t, const struct krt_shape *s);
/* The call is done: forgets what was passing of its operation in the shape. */
void krt_touch_passed(struct krt_engine *e, struct krt_op_info *op, const struct krt_shape *s);
/* An access of a kernel as krt_kernel_accesses() tells it. */
struct krt_kernel_access;
void krt_touch_kernel(struct krt_engine *e, struct krt_op_info *op,
		      const struct krt_kernel_access *a);
/* op was allowed to begin before prev, the kernel before it on its stream, had ended. */
bool krt_beside(const struct krt_op_info *op, const struct krt_op_info *prev);
/* What remains of a confidence where kernels may wait for each other through memory. */
enum krt_confidence krt_sync_confidence(const struct krt_op_info *a, const struct krt_op_info *b,
					enum krt_confidence c);
#define KRT_FLAG_BYTES 128 /* a copy or set of no more may tell a waiting kernel to go on */
/* Of a use of memory against its end; held: the pointer lies inside a larger parameter. */
enum krt_confidence krt_life_confidence(enum krt_sureness sure, bool held);
/* The CPU reads or writes [addr, addr+len). */
void krt_touch_host(struct krt_engine *e, const struct krt_call *c, uint64_t addr, uint64_t len,
		    bool write);
/*
 * The same of several ranges: the CPU's operation (NULL: it is not judged), and each of
 * them; only: the operation that it is held against, 0: all.
 */
struct krt_op_info *krt_host_op(struct krt_engine *e, const struct krt_call *c);
void krt_host_range(struct krt_engine *e, struct krt_op_info *op, uint64_t only, uint64_t addr,
		    uint64_t len, bool write);
/* Something on s writes what the CPU may poll: whatever came before may be known to it from now on. */
void krt_host_signal(struct krt_engine *e, const struct krt_stream_info *s);
/* Could the program have learned so that prev is over, before an access that was seen, not noted? */
bool krt_host_may_know(const struct krt_engine *e, const struct krt_op_info *access,
		       const struct krt_op_info *prev);
/* In which views nothing orders prev before the operation of stream s (NULL: the host). */
bool krt_unordered(struct krt_engine *e, const struct krt_op_info *prev,
		   const struct krt_stream_info *s, enum krt_finding_view *view);
/* The same for a source that the call reads by itself, or at any time from the call on. */
bool krt_unordered_read(struct krt_engine *e, const struct krt_touch *t,
			const struct krt_op_info *prev, enum krt_finding_view *view);
/*
 * The memory that addr lies in, NULL: in none that is known.  *to: where that
 * piece of [addr, end) ends.
 */
struct krt_mem *krt_piece_at(struct krt_engine *e, uint64_t addr, uint64_t end, uint64_t *to);
/* "read", "write", "use": of an enum krt_access_kind. */
const char *krt_what_of(unsigned kind);
/* Everything that may still use mem, at its free by op (stream NULL: by the host). */
void krt_touch_free(struct krt_engine *e, struct krt_op_info *op, struct krt_stream_info *s,
		    struct krt_mem *mem, enum krt_rule_id rule);
/* A stream-ordered free meets its allocation. */
void krt_touch_alloc(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem);
/* Pageable memory is registered from now on: what was done with it goes on in mem. */
void krt_touch_registered(struct krt_engine *e, struct krt_mem *mem);
/* A range of host memory ends. */
void krt_touch_heap_end(struct krt_engine *e, const struct krt_call *c, uint64_t addr,
			uint64_t len);
enum krt_sem_mem krt_shape_memory(struct krt_engine *e, const struct krt_shape *s);
/* Forgets what can meet nothing any more. */
void krt_sweep(struct krt_engine *e);

/* --- pool.c ------------------------------------------------------------------ */

void krt_pool_op(struct krt_engine *e, const struct krt_call *c);
/* An operation on bytes that had another owner before. */
struct krt_reuse {
	struct krt_op_info *op;
	struct krt_stream_info *stream; /* NULL: the host */
	unsigned kind;			/* enum krt_access_kind */
	enum krt_knowledge know;
	enum krt_sureness sure;
	uint16_t pattern;
	const struct krt_touch *touch; /* NULL: in order of its stream, or the host */
};
/* It meets what former owners did in [from, end), keys of mem's space. */
void krt_reuse_touch(struct krt_engine *e, const struct krt_reuse *r, struct krt_mem *mem,
		     uint64_t from, uint64_t end);
/* The same of a kernel that is given a->addr. */
void krt_reuse_pointer(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
		       const struct krt_kernel_access *a);
/* For a sweep of a `past`: is the access over?  Else its owner's block is kept. */
bool krt_past_settled(void *user, const struct krt_access *a);
/* After all of them. */
void krt_pool_sweep(struct krt_engine *e);

/* --- copy.c, invoke.c, life.c --------------------------------------------------- */

void krt_copy_op(struct krt_engine *e, const struct krt_call *c);
/* Both sides of a copy node (CUDA_MEMCPY3D).  False: it is too short, or reaches beyond 2^64. */
bool krt_copy_node(struct krt_engine *e, const struct krt_call *c, const struct krt_bytes *params,
		   struct krt_shape *dst, struct krt_shape *src);
void krt_launch_op(struct krt_engine *e, const struct krt_call *c);
void krt_launch_note(struct krt_engine *e, const struct krt_call *c);
/* Id of the kernel that a launch names, 0: not known. */
uint32_t krt_launch_kernel(struct krt_engine *e, const struct krt_call *c);
void krt_params_record(struct krt_engine *e, const struct krt_rec_params *r, size_t len);
void krt_launch_free(struct krt_engine *e);
void krt_life_op(struct krt_engine *e, const struct krt_call *c);
/* Bytes of one channel of an array's element, 0: the layout is not known. */
unsigned krt_channel_bytes(unsigned format);

/* --- kernel.c ------------------------------------------------------------------ */

/* A parameter of more bytes may be a list of addresses, of which a launch fills in some. */
#define KRT_LIST_FROM 1024
/* One of more bytes that holds other words too has room for what nobody wrote. */
#define KRT_MIXED_FROM 128
struct krt_kernel_access {
	/*
	 * Rows of len bytes, pitch apart; in a row, pieces of width bytes, stride apart
	 * from its beginning (equal, or 0: no gaps).  len 0: a pointer, sure FROM there.
	 */
	uint64_t addr, len;
	uint64_t rows, pitch; /* rows 0 or 1: one */
	uint64_t stride, width;
	struct krt_mem *mem; /* a module's variable or an array: addr is an offset in it; NULL: an address */
	uint64_t from, end;  /* only bytes that lie in here too; of a pointer its byte */
	uint64_t base;	     /* the pointer it was reached from; 0: none */
	unsigned kind;	     /* enum krt_access_kind; UNKNOWN with the scan's knowledge, or beside len 0 */
	enum krt_knowledge know;
	enum krt_sureness sure;
	uint32_t param, offset; /* the word that held base: which parameter, where in it */
	uint32_t within; /* bytes of the parameter that holds the pointer, 0: not from parameters */
	bool pure;	 /* whose words are all addresses of memory, or 0 */
	bool loaded;	 /* the pointer lies in memory, that is: there now */
};
typedef void krt_kernel_fn(void *user, const struct krt_kernel_access *a);
struct krt_kernel_params {
	uint32_t kernel;
	const uint8_t *bytes;
	uint32_t len;
	bool known;
	uint32_t grid[3], block[3], shared; /* shared: dynamic, bytes */
};
/* The parameters that a launch was given. */
struct krt_kernel_params krt_launch_params(struct krt_engine *e, const struct krt_call *c);
/* Who asks what a launch or a kernel node accesses, and more of the answer. */
struct krt_kernel_ask {
	const struct krt_call *call;	/* in hand */
	struct krt_stream_info *stream; /* launched on, or captured from; NULL: a node that was added */
	struct krt_context_info *ctx;	/* NULL: not known */
	bool use_up;			/* what was declared counts for this launch alone */
	bool (*is_memory)(void *user, uint64_t addr); /* does it lead to memory, alive or freed? */
	krt_kernel_fn *fn;
	void *user;
	/* out */
	uint32_t flags; /* KRT_FLOW_* of ptx/flow.h; 0 without PTX */
	bool text;	/* there is PTX */
	bool opaque;	/* of whose parameters, or pointers in memory, something was not told */
	bool vague;	/* of some access not which bytes: a role alone, limits, a scan */
	bool wild;	/* it may write where nothing told of it */
	bool writes;	/* more than a flag, as far as was told */
	bool waits;	/* it only waits for a value in memory, which something unseen may write */
};
/*
 * Calls ask->fn for every access, by the first tier that tells; a better tier's
 * gaps are filled by those below.  Ranges are cut to the block or allocation that
 * their pointer leads to, where that is alive or was freed.
 */
enum krt_tier krt_kernel_accesses(struct krt_engine *e, const struct krt_kernel_params *p,
				  struct krt_kernel_ask *ask);
/* Hears of every launch and kernel node: what it accesses, and then that this was all. */
struct krt_kernel_watch {
	void *user;
	void (*access)(void *user, struct krt_engine *e, const struct krt_kernel_access *a);
	void (*told)(void *user, struct krt_engine *e, const struct krt_kernel_params *p,
		     const struct krt_kernel_ask *ask, enum krt_tier tier);
};
/* The kernels file, and the pointers among its parameters, alone. */
bool krt_kernel_from_file(struct krt_engine *e, const struct krt_kernel_params *p,
			  krt_kernel_fn *fn, void *user);
void krt_kernel_scan(struct krt_engine *e, const struct krt_kernel_params *p,
		     bool (*is_memory)(void *user, uint64_t addr), krt_kernel_fn *fn, void *user);
/*
 * What the kernel's PTX says, kept until the next question; NULL: nothing.  *why
 * (may be NULL): an enum krt_image_result, or KRT_NR_IMAGE_RESULTS where a text is
 * there that was not understood.
 */
struct krt_kernel_flow *krt_kernel_flow(struct krt_engine *e, struct krt_kernel_info *k,
					uint32_t device, int *why);
/* Which parameters the mangled name tells of (struct krt_name_param, nparams), or NULL. */
const struct krt_name_param *krt_kernel_names(struct krt_engine *e, struct krt_kernel_info *k);
void krt_kernels_gone(struct krt_engine *e);
/* What the thread has declared for the stream; drop: it is used up.  False: nothing. */
bool krt_launch_declared(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
			 bool drop, krt_kernel_fn *fn, void *user);
/* One call for each way in which [addr, addr+len) is touched; flags: KRTSAN_*. */
void krt_kernel_by_flags(uint64_t addr, uint64_t len, unsigned flags, enum krt_knowledge know,
			 krt_kernel_fn *fn, void *user);

/* --- graph.c, graph_node.c, footprint.c ------------------------------------------ */

void krt_graph_op(struct krt_engine *e, const struct krt_call *c);
/* The call in hand was captured on s and became a node. */
void krt_graph_captured(struct krt_engine *e, struct krt_stream_info *s);
/* An operation (stream NULL: the host) touches keys of mem's space: it meets launches. */
struct krt_graph_touch {
	struct krt_op_info *op;
	struct krt_stream_info *stream;
	struct krt_mem *mem;
	unsigned kind; /* enum krt_access_kind */
	enum krt_knowledge know;
	enum krt_sureness sure;
	const struct krt_pattern *pattern; /* of keys: gaps in what it touches; NULL: none */
	const struct krt_touch *touch; /* NULL: ordered as its stream is */
	bool forget;
};
void krt_graph_meet(struct krt_engine *e, const struct krt_graph_touch *t, uint64_t from,
		    uint64_t end);
/* The CPU reads or writes; only: the launch that it is told of, 0: any. */
void krt_graph_meet_host(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
			 uint64_t from, uint64_t end, bool write, uint64_t only);
/* Memory ends (heap: a range of the program's heap), judged against launches before it does. */
void krt_graph_free(struct krt_engine *e, struct krt_op_info *op, struct krt_stream_info *s,
		    struct krt_mem *mem, enum krt_rule_id rule);
void krt_graph_heap_end(struct krt_engine *e, const struct krt_call *c, struct krt_op_info *op,
			uint64_t addr, uint64_t len);
/* What launches in flight may still do to the bytes of an owner: addresses in it. */
typedef void krt_graph_flight_fn(void *user, struct krt_op_info *op, struct krt_how how,
				 enum krt_knowledge know, const struct krt_pattern *gaps,
				 uint64_t from, uint64_t end);
void krt_graph_flights(struct krt_engine *e, const struct krt_owner *o, krt_graph_flight_fn *fn,
		       void *user);
/* All of a registered range ends as memory of the heap; the driver does not know. */
void krt_graph_heap_gone(struct krt_engine *e, const struct krt_call *c, struct krt_op_info *op,
			 struct krt_mem *mem);
/* A pool handed out a block; its `capture` is set. */
void krt_graph_block_made(struct krt_engine *e, struct krt_block *b);
/* Memory was mapped. */
void krt_graph_mapped(struct krt_engine *e, struct krt_mem *mem);
void krt_graph_sweep(struct krt_engine *e);
void krt_graph_init(struct krt_engine *e);
void krt_graph_finish(struct krt_engine *e);
void krt_graph_free_all(struct krt_engine *e);
/* Launches in flight beside the end of memory that is no allocation's. */
void krt_graph_free_unknown(struct krt_engine *e, struct krt_op_info *op, struct krt_stream_info *s,
			    struct krt_mem *mem);
/* A launch that uses memory which another one had left behind, and which is freed since. */
void krt_footprint_left(struct krt_engine *e, struct krt_footprint *f, struct krt_op_info *op);
/* Memory that a launch has left behind ends: addr is in no allocation. */
void krt_graph_memory_ends(struct krt_engine *e, const struct krt_call *c, struct krt_op_info *op,
			   struct krt_stream_info *s, uint64_t addr);

/* --- capture.c ----------------------------------------------------------------- */

/* Any call of the driver, before it is dispatched: who captures now, and what broke a capture. */
void krt_capture_call(struct krt_engine *e, const struct krt_call *c);
/* Did the call fail with one of CUDA's capture errors? */
bool krt_capture_error(struct krt_engine *e, const struct krt_call *c);
void krt_capture_free(struct krt_engine *e);
/* --- rights.c ---------------------------------------------------------------- */

void krt_rights_op(struct krt_engine *e, const struct krt_call *c);
/* A kernel touches, or holds a pointer to, [from, end) of mem: may its device do so? */
void krt_rights_kernel(struct krt_engine *e, const struct krt_op_info *op, const struct krt_mem *m,
		       uint64_t from, uint64_t end, const char *what, enum krt_knowledge know,
		       enum krt_confidence confidence);
/* Does a kernel node name memory that its device has no right to? */
bool krt_rights_lacking(struct krt_engine *e, const struct krt_gnode *d, const struct krt_gset *s);
/* The launch of a graph with such a node. */
void krt_rights_graph(struct krt_engine *e, const struct krt_op_info *op,
		      const struct krt_footprint *f, const uint8_t *off);
/* A call that failed.  True: a finding says why. */
bool krt_rights_refused(struct krt_engine *e, const struct krt_call *c);
/* Code was loaded or launched in the context: an image that failed before was a probe. */
void krt_rights_served(struct krt_engine *e, const struct krt_context_info *ctx);
void krt_rights_finish(struct krt_engine *e);
void krt_rights_free(struct krt_engine *e);

/* --- capture_storm.c ------------------------------------------------------------ */

/* Any call of the driver: instantiations, updates and launches are counted by call site. */
void krt_storm_call(struct krt_engine *e, const struct krt_call *c);
void krt_storm_finish(struct krt_engine *e);
void krt_storm_free(struct krt_engine *e);

/* --- graph_order.c ------------------------------------------------------------- */

struct krt_graph_image;
struct krt_gset;
/*
 * Are there nodes that conflict with no path between them, or that leave the
 * lifetime of the graph's own memory?  set: what each touches now; disabled: a
 * byte a node, NULL: none is.
 * node: the one that changed, KRT_GNODE_NONE: any may have.  made: the executable.
 * possible: what is only possible is told too.  True: something surer was found.
 */
bool krt_graph_order(struct krt_engine *e, const struct krt_origin *made,
		     const struct krt_graph_image *g, struct krt_gset *const *set,
		     const uint8_t *disabled, uint32_t node, bool possible);

/* --- unfinished.c ------------------------------------------------------------ */

/* Any call, before it is dispatched. */
void krt_unfinished_op(struct krt_engine *e, const struct krt_call *c);
/* op copies to host memory, [addr, addr + len) where that is one range. */
void krt_unfinished_copy(struct krt_engine *e, struct krt_op_info *op, uint64_t addr, uint64_t len);
/* An operation of the stream that may tell the host of what came before it. */
void krt_unfinished_signal(struct krt_engine *e, const struct krt_stream_info *s);
/* Memory is about to be freed, before what the free itself waits for. */
void krt_unfinished_free(struct krt_engine *e, const struct krt_mem *m);
/* whole: every record is there. */
void krt_unfinished_finish(struct krt_engine *e, bool whole);
void krt_unfinished_end(struct krt_engine *e);

/* --- graph_input.c -------------------------------------------------------------- */

struct krt_exec;
/* An operation touches bytes of mem; kind UNKNOWN: a kernel that is given the address. */
void krt_input_touch(struct krt_engine *e, struct krt_op_info *op, struct krt_mem *mem,
		     uint64_t addr, uint64_t len, unsigned kind, enum krt_sureness sure);
void krt_input_launch(struct krt_engine *e, struct krt_exec *x, struct krt_op_info *op);
/* The executable is destroyed, or all is over: what its launches went without. */
void krt_input_end(struct krt_engine *e, struct krt_exec *x);
void krt_input_free(struct krt_engine *e, struct krt_exec *x);
void krt_inputs_free(struct krt_engine *e);

/* --- change.c ---------------------------------------------------------------- */

/* A call begins; an operation is about to be enqueued on the stream; it was (as op). */
void krt_change_before_call(struct krt_engine *e, const struct krt_call *c);
void krt_change_before(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s);
void krt_change_behind(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s,
		       struct krt_stamp op);
/* The wait of a stream, enqueued by call seq, is met by what call c releases behind snap. */
void krt_change_released(struct krt_engine *e, const struct krt_call *c,
			 const struct krt_stream_info *waiting, uint64_t seq,
			 const struct krt_snapshot *snap);
void krt_change_end(struct krt_engine *e); /* the process ends */
/* Did the site make this node? */
bool krt_change_makes_node(const struct krt_call_site *s, const struct krt_origin *made);
/* Change number n leads back in some graph: it was left out there. */
void krt_change_cycle(struct krt_engine *e, unsigned n);
void krt_change_free(struct krt_engine *e);

/* --- judge.c ----------------------------------------------------------------- */

/* Adds to the pair of the same rule, earlier operation and allocation, or begins one. */
void krt_pair_add(struct krt_engine *e, const struct krt_pair *p);
/* Is there a pair with this earlier operation in this allocation already? */
bool krt_pair_known(const struct krt_engine *e, const struct krt_op_info *prev,
		    const struct krt_mem *mem);
/* [from, end) of an allocation as a finding's buffer; strings are borrowed. */
void krt_buffer_of(const struct krt_engine *e, const struct krt_mem *m, uint64_t from, uint64_t end,
		   struct krt_buffer *b);
/* Where knowledge of an access comes from, as the report says it. */
/* The gathered pairs become findings. */
void krt_pairs_flush(struct krt_engine *e);
/* An operation known by its call alone as a side of such a finding; stream: room for its name. */
void krt_side_plain(struct krt_side *side, struct krt_operation *out, const struct krt_op_info *op,
		    const char *what, char *stream, size_t len);
/* A finding without a pair of operations; facts complete but for names. */
void krt_find(struct krt_engine *e, const struct krt_facts *facts, const struct krt_finding *shape,
	      uint32_t alloc_stack);
/* Where knowledge of an access comes from, as the report says it. */
const char *krt_know_text(unsigned know);
/* How an access of the host itself is known. */
enum krt_knowledge krt_host_know(const struct krt_op_info *op);
/* FILE:LINE of the kernels file that declares what a launch of k does; NULL: none does. */
#define KRT_PLACE 320
const char *krt_declared_at(const struct krt_kernel_info *k, unsigned know, char buf[KRT_PLACE]);
/* A call's name; of a note what it means. */
const char *krt_api_text(unsigned api);
/* The same for memory whose end is part of it. */
void krt_find_life(struct krt_engine *e, const struct krt_facts *facts,
		   const struct krt_finding *shape, uint32_t alloc_stack, uint32_t freed_stack);
int krt_judge_report(const struct krt_engine *e, struct krt_report *r);
void krt_judge_free(struct krt_engine *e);

/* --- site.c ------------------------------------------------------------------ */

/* A key for the call site, 0 when there is no stack. */
uint64_t krt_call_site(const struct krt_engine *e, uint32_t stack);
/*
 * Is it a CUDA library (cuBLAS, ...; not the runtime) that calls?  Its calls are not
 * for the program to change.
 */
bool krt_library_site(const struct krt_engine *e, uint32_t stack);
/*
 * Called by the driver, and it is not seen when: by a host node, which comes after
 * what it depends on, or by the destructor of a user object, which comes after the
 * launches of the graph that held it.  Host functions of streams are seen.
 */
bool krt_unseen_call(struct krt_engine *e, const struct krt_call *c);
/* A wait or sync of an event met (or not) a record. */
void krt_site_wait(struct krt_engine *e, const struct krt_call *c, const struct krt_event_info *ev,
		   bool recorded, const char *stream);
void krt_wait_sites_finish(struct krt_engine *e);
void krt_wait_sites_free(struct krt_engine *e);

/* --- hot.c ------------------------------------------------------------------- */

/* A call before it is dispatched: its site, its thread's loops. */
void krt_hot_pass(struct krt_engine *e, const struct krt_call *c);
/* Device work was enqueued here; addr: on the device, of a copy from or to the host; else 0. */
void krt_site_work(struct krt_engine *e, const struct krt_call *c, uint64_t addr);
/* It was a kernel; args: a hash of its parameters. */
void krt_hot_launch(struct krt_engine *e, const struct krt_call *c, uint32_t kernel, uint64_t args);
/* Its launch was captured instead. */
void krt_hot_captured(struct krt_engine *e, const struct krt_call *c);
/* The newest work of the thread, or, where it has none, of all. */
struct krt_stamp krt_hot_newest(struct krt_engine *e, const struct krt_call *c);
/* It was a copy or set. */
struct krt_copied {
	const struct krt_stream_info *stream;
	enum krt_sem_mem dst, src; /* as it saw them */
	uint64_t bytes;
	enum krt_sem_id sem; /* the row of what it orders */
	bool waited;	     /* for the newest work before it */
};
void krt_hot_copy(struct krt_engine *e, const struct krt_call *c, const struct krt_copied *k);
/*
 * The host waited here for the event, the stream or (both NULL) the context;
 * added: that gave an order which was not there.
 */
void krt_hot_sync(struct krt_engine *e, const struct krt_call *c, const struct krt_stream_info *s,
		  const struct krt_event_info *ev, bool added);
/* A stream was made to wait for the event here. */
void krt_hot_wait(struct krt_engine *e, const struct krt_call *c, const struct krt_stream_info *s,
		  const struct krt_event_info *ev, bool added);
/* A query of the object found work unfinished. */
void krt_hot_unfinished(struct krt_engine *e, const struct krt_call *c, uint64_t object);
/* A query succeeded, and told the host something (added): does that end a polling loop? */
bool krt_hot_polled(struct krt_engine *e, const struct krt_call *c, uint64_t object, bool added);
/* An object (handle or address, told apart by sort) was made or is gone. */
enum krt_made_sort { KRT_MADE_MEMORY, KRT_MADE_STREAM, KRT_MADE_EVENT, KRT_MADE_MODULE };
void krt_hot_made(struct krt_engine *e, const struct krt_call *c, enum krt_made_sort sort,
		  uint64_t object, uint64_t bytes);
void krt_hot_gone(struct krt_engine *e, const struct krt_call *c, enum krt_made_sort sort,
		  uint64_t object);
void krt_hot_finish(struct krt_engine *e);
void krt_hot_free(struct krt_engine *e);

/* --- loaded.c ---------------------------------------------------------------- */

/* A module or library: the images that it was loaded from. */
struct krt_loaded {
	uint64_t handle;
	uint32_t serial;   /* of the load, from 1: a recycled handle has another */
	uint32_t n;
	uint32_t *image;   /* ids of IMAGE records; what the linker was given comes last */
	unsigned missing;  /* bit set of enum krt_image_missing: images that were not told */
	bool library;	   /* its variables are one for each context */
	bool merged;	   /* a linker made it of several files */
	struct krt_origin made;
	struct krt_variable *variables; /* variable.c */
	UT_hash_handle hh;
};
/* A function's kernel, a kernel's library; the library of a module that the driver made for it. */
struct krt_func_origin {
	uint64_t handle, from;
	UT_hash_handle hh;
};
/* A linker's state, and what it was given; later an image that it made (key: its id). */
struct krt_link {
	uint64_t key;
	uint32_t n, cap;
	uint32_t *image;
	uint64_t out, size; /* of the state: where the cubin lies until the state ends */
	UT_hash_handle hh;
};
#define KRT_LOADED_MAX	(1u << 18) /* of each: beyond, images stay unknown */

void krt_loaded_op(struct krt_engine *e, const struct krt_call *c);
/* What the kernel's module was loaded from, as of now; NULL: not known. */
struct krt_loaded *krt_loaded_of(const struct krt_engine *e, const struct krt_kernel_info *k);
/* The load of a module, or of the library that it belongs to. */
struct krt_loaded *krt_loaded_at(const struct krt_engine *e, uint64_t handle);
/*
 * The PTX text that the kernel was made from, for a launch on a device; an enum
 * krt_image_result.  It stays until the next question, the answer until the
 * module's handle has another krt_loaded.serial.
 */
int krt_kernel_text(struct krt_engine *e, const struct krt_kernel_info *k, uint32_t device,
		    struct krt_image_text *out);
/*
 * Of a kernel whose parameters the trace does not lay out, as soon as a launch was
 * given them as one block: the layout, from its module's images.
 */
void krt_kernel_layout(struct krt_engine *e, struct krt_kernel_info *k,
		       const struct krt_kernel_params *p, uint32_t device);
void krt_loaded_free(struct krt_engine *e);

/* --- library.c --------------------------------------------------------------- */

/*
 * What the call of a modelled library that the thread is in (cuBLAS, NCCL, ...)
 * reads and writes, fn for each.  False: it is in none, or its arguments were not
 * understood.  What else a launch inside is given is workspace.
 */
bool krt_library_accesses(struct krt_engine *e, const struct krt_call *c, krt_kernel_fn *fn,
			  void *user);
/* "in cublasSgemm_v2" of a launch inside one, else NULL: a constant. */
const char *krt_library_inside(struct krt_engine *e, const struct krt_call *c);
/* A record of such a call. */
void krt_library_op(struct krt_engine *e, const struct krt_call *c);
/* The lane is another thread's from here on. */
void krt_library_thread(struct krt_lane *lane);
void krt_library_free(struct krt_engine *e);

/* --- shadow.c ---------------------------------------------------------------- */

/*
 * The 8-byte words that device memory at addr holds, as far as a small copy from
 * the host told and nothing may have changed them since; at most n.  A word that
 * looked like no device address is 0.  Returns how many.  addr is a multiple of 8.
 */
size_t krt_shadow_read(struct krt_engine *e, uint64_t addr, uint64_t *words, size_t n);
/* Something writes, or may write, keys [from, end) of mem's space. */
void krt_shadow_clear(struct krt_engine *e, struct krt_mem *mem, uint64_t from, uint64_t end);
/* The same by addresses; by shape; of all of the block or allocation that addr leads to. */
void krt_shadow_changed(struct krt_engine *e, uint64_t addr, uint64_t len);
void krt_shadow_written(struct krt_engine *e, const struct krt_shape *s);
void krt_shadow_reached(struct krt_engine *e, uint64_t addr);
/* Any memory may have been written. */
void krt_shadow_forget(struct krt_engine *e);
/* The graph was launched; f NULL: what it touches is not known. */
void krt_shadow_launched(struct krt_engine *e, const struct krt_footprint *f);
/* Copy `item` of the call was made, and dst has been cleared. */
void krt_shadow_copied(struct krt_engine *e, const struct krt_call *c, const struct krt_shape *dst,
		       const struct krt_shape *src, uint32_t item);
/* Is something known in, or right beside, what the shape covers?  Then it is told when that was set to zero. */
bool krt_shadow_near(struct krt_engine *e, const struct krt_shape *s);
void krt_shadow_zeroed(struct krt_engine *e, const struct krt_shape *s);
void krt_shadow_space_ends(struct krt_engine *e, struct krt_space *space);

/* --- variable.c -------------------------------------------------------------- */

/*
 * A variable of the module that the kernel is from, as memory of its own whether
 * or not the program ever asked for its address.  ctx: where it runs, NULL: the context
 * of the call in hand.  NULL: not to be told, or no memory.
 */
struct krt_mem *krt_variable(struct krt_engine *e, const struct krt_kernel_info *k,
			     struct krt_context_info *ctx, const struct krt_flow_global *g);
/*
 * Of a kernel that is known by its machine code alone: the code of a module is given
 * the addresses of all of its variables.  fn for those that something else touches.
 */
typedef void krt_variable_fn(void *user, struct krt_mem *mem);
void krt_variables_of(struct krt_engine *e, const struct krt_kernel_info *k,
		      struct krt_context_info *ctx, krt_variable_fn *fn, void *user);
/* The program is told an address. */
void krt_variable_told(struct krt_engine *e, const struct krt_call *c);
/* A load is over; what is judged about the end of its memory comes before. */
void krt_variables_drop(struct krt_engine *e, struct krt_loaded *l);
#define KRT_VARIABLES_MAX 65536 /* beyond, and with longer names, they are not told */
#define KRT_VARIABLE_NAME 4096

/* --- descriptor.c ------------------------------------------------------------- */

#define KRT_TENSOR_MAP_BYTES 128
#define KRT_TENSOR_MAPS_MAX  8192
#define KRT_TEXTURES_MAX     65536 /* beyond, they are not told */

void krt_descriptor_op(struct krt_engine *e, const struct krt_call *c);
void krt_descriptors_free(struct krt_engine *e);
/*
 * What a tensor map leads to, known by its content: address, shape, base and
 * sureness are filled in.  False: such a one was not made before our eyes.
 */
bool krt_tensor_map(struct krt_engine *e, const void *map, struct krt_kernel_access *shape);
/* Those in a parameter, at any place; `as` is completed, offset too. */
void krt_tensor_maps_in(struct krt_engine *e, const void *param, uint32_t len,
			const struct krt_kernel_access *as, krt_kernel_fn *fn, void *user);
/*
 * What a texture or surface object of a context (NULL: that of the call in hand)
 * leads to: `as` completed, once for each piece of memory.  False: nothing that is
 * known and still there.
 */
bool krt_texture(struct krt_engine *e, struct krt_context_info *ctx, uint64_t object, bool surface,
		 const struct krt_kernel_access *as, krt_kernel_fn *fn, void *user);

/* --- pace.c ------------------------------------------------------------------ */

/* Work was enqueued without waiting for anything. */
void krt_pace_work(struct krt_engine *e, const struct krt_call *c, bool kernel);
/* A stretch ends here: at a copy with a host side, or (wait) where the host waited. */
void krt_pace_end(struct krt_engine *e, const struct krt_call *c, bool wait);
void krt_device_times(struct krt_engine *e, const struct krt_rec_device_time *r, size_t len);
/*
 * Service and queueing of all that was enqueued before the waits of a site, where
 * known.  Returns how long the device had nothing to do after them, or KRT_UNKNOWN.
 */
uint64_t krt_pace_cost(const struct krt_engine *e, const struct krt_site *s, struct krt_cost *cost);
void krt_pace_finish(struct krt_engine *e);
void krt_pace_free(struct krt_engine *e);

/* --- timeline.c -------------------------------------------------------------- */

/* All of these do nothing where no timeline is kept. */
bool krt_timeline_init(struct krt_engine *e);
/* The call in hand does something on the stream, in its order. */
void krt_timeline_on(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s);
/* It was made on the stream, and orders nothing. */
void krt_timeline_idle(struct krt_engine *e, const struct krt_call *c, struct krt_stream_info *s);
/* What the call `from` did is complete before `to` begins, in some views; c: the call in hand. */
void krt_timeline_edge(struct krt_engine *e, const struct krt_call *c,
		       enum krt_timeline_edge_kind kind, uint64_t from, uint64_t to, unsigned views);
/* What krt_host_edge() does, by the same row of semantics. */
void krt_timeline_host(struct krt_engine *e, const struct krt_call *c, enum krt_sem_id sem,
		       const struct krt_stream_info *s, const struct krt_context_info *ctx);
/* The call in hand comes after all that the context's streams hold; or (after) what they
 * do later comes after `from`. */
void krt_timeline_context(struct krt_engine *e, const struct krt_call *c,
			  const struct krt_context_info *ctx, bool after, uint64_t from,
			  unsigned views);
/* The call in hand is over. */
void krt_timeline_call(struct krt_engine *e, const struct krt_call *c);
void krt_timeline_device(struct krt_engine *e, const struct krt_device_time *d);
/* *result stays as it is where none was kept. */
int krt_timeline_report(const struct krt_engine *e, struct krt_arena *a,
			struct krt_timeline **result);
void krt_timeline_free(struct krt_engine *e);

#endif
