/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process made: contexts, streams, events, threads, kernels, stacks,
 * modules, and the operations it enqueued.
 *
 * A handle leads to its present owner; an object lives on as long as operations
 * name it.  A handle made again is a new object with a number of its own, so a
 * recycled handle inherits nothing.  A handle never seen before is normal (made
 * before krtsan came, or by a library through a private table) and gets an
 * object on first sight.
 *
 * Owned by one engine; not locked.
 */
#ifndef KRT_OBJECTS_H
#define KRT_OBJECTS_H

#include "access.h"
#include "decode.h"
#include "heap.h"
#include "kernels.h"
#include "mix.h"
#include "order.h"

#define HASH_NONFATAL_OOM 1
/* keys are numbers, mostly of 8 bytes; the order of a table is that of its additions */
#define HASH_FUNCTION(key, len, hash) ((hash) = (unsigned)krt_mix_key(key, len))
/* uthash takes its memory from the heap in scope (parameter or local `heap`). */
#define uthash_malloc(size)    krt_heap_alloc(heap, size)
#define uthash_free(ptr, size) krt_heap_free(heap, ptr, size)
#include <uthash.h>

struct krt_context_info {
	uint64_t handle;
	krt_context id; /* in the ordering module */
	uint32_t device;
	uint64_t peers; /* devices (bits) whose memory it was given access to */
	uint32_t flags; /* cuCtxGetFlags */
	bool known;	/* a CONTEXT record or its creation was seen */
	bool primary, green;
	bool ended;
	bool sticky;	 /* a sticky error ended its judgement */
	unsigned number; /* for messages */
	struct krt_stream_info *legacy;
	UT_hash_handle hh;
};

/* Of contexts that have memory and handles in common: a number, never 0. */
static inline uint64_t krt_context_place(const struct krt_context_info *ctx)
{
	return ctx->primary || ctx->green ? 1ull << 32 | ctx->device : (uint64_t)ctx->id + 1;
}

/* A call, as findings tell of it: where a buffer came from, where it went. */
struct krt_origin {
	uint16_t api; /* 0 and seq 0: not seen */
	uint32_t stack;
	uint64_t seq;
};

static inline struct krt_origin krt_call_origin(const struct krt_call *c)
{
	return (struct krt_origin){.api = c->rec->api, .stack = c->rec->stack, .seq = c->rec->t0};
}

/* The last waits of a stream (or the host) for others: what messages tell of existing order. */
#define KRT_WAITS 8
struct krt_wait_memory {
	struct {
		krt_domain of;
		struct krt_origin wait, record;
	} last[KRT_WAITS]; /* newest first */
	unsigned count;
	struct krt_origin idle; /* the last for an event without a record; seq 0: none */
};

struct krt_stream_info {
	uint64_t handle;
	uint64_t thread; /* per-thread streams: serial + 1, else 0 */
	struct krt_context_info *ctx;
	enum krt_stream_kind kind;
	krt_domain domain;
	uint64_t born;	   /* ticket at the end of the call that made it, 0: not seen */
	unsigned number;   /* for messages */
	unsigned refs;	   /* table and operations */
	unsigned capture;  /* id of the capture it takes part in, 0: none */
	bool external;	   /* ordered by something unseen: its pairs are not judged */
	bool external_own; /* by a value wait of its own that nothing has satisfied */
	bool ended;
	bool green;
	char *name; /* krtsan_name() or NULL */
	bool namesake; /* another stream has that name too */
	struct krt_wait_memory waits;
	unsigned lane; /* of the thread that enqueued last */
	uint64_t call, call_before; /* the last two calls that named it */
	uint32_t timeline; /* its lane there, + 1; 0: none yet */
	uint64_t trigger_seq, trigger_epoch; /* the last kernel, where it lets the next one begin early */
};

#define KRT_LOST_MAX 4
struct krt_event_info {
	uint64_t handle;
	struct krt_snapshot *record; /* NULL: not recorded */
	struct krt_context_info *ctx; /* it was created in, NULL: not known */
	uint64_t exported, exported_ns; /* ticket of its export, 0: none; the time after it, 0: not known */
	uint32_t exported_stack;
	uint64_t record_seq;
	krt_domain record_domain;
	struct krt_origin made;	       /* seq 0: unseen */
	uint64_t born;		       /* ticket at the end of the call that made it, 0: not seen */
	struct krt_op_info *record_op; /* the record call, for messages */
	bool known;		       /* made before our eyes: unrecorded is a fact */
	bool imported;		       /* from another process: its record is not seen */
	bool bound;		       /* something waited for, queried or timed the record */
	bool external;		       /* the record carries order that is not seen */
	unsigned lane;		       /* of the thread that recorded it */
	unsigned capture;	       /* recorded in this capture */
	struct krt_op_info *captured_op; /* the record, when the last one was in a capture */
	bool captured_broken;		 /* and that capture broke */
	/* records that nothing had bound to, replaced by another stream's; the first ones */
	struct krt_lost {
		struct krt_op_info *op;
		struct krt_snapshot *covered;
	} lost[KRT_LOST_MAX];
	unsigned nlost;
	struct krt_op_info *failed; /* a record or wait that failed */
	bool failed_record;
	char *name;
	UT_hash_handle hh;
};

struct krt_kernel_info {
	uint32_t id;
	uint32_t nparams; /* KRT_PARAMS_UNKNOWN */
	uint32_t bytes;
	uint64_t func, module; /* handles; module 0: not told */
	struct krt_param *param;
	char *name;
	const struct krt_kernels_line *line; /* of the kernels file; looked up once */
	bool line_known;
	bool layout_known; /* it was looked for in images */
	/* kernel.c */
	struct krt_insight *insight; /* what its PTX says; NULL: nothing */
	uint32_t insight_of;	     /* the load that it was made from (krt_loaded.serial) */
	uint32_t insight_loads;	     /* loads there were when that was looked up */
	bool insight_known, names_known;
	int why; /* enum krt_image_result */
	struct krt_name_param *names; /* of nparams parameters; NULL: the name tells nothing */
	UT_hash_handle hh;
};

struct krt_stack_info {
	uint32_t id;
	uint16_t depth;
	uint32_t modules; /* how many were known when the stack was taken: later ones are not meant */
	uint16_t python;  /* Python frames */
	uint64_t *pc;
	struct krt_rec_pyframe *frame;
	uint64_t site; /* of hot.c, when site_known */
	bool site_known;
	bool driver_known, driver; /* it passes through the driver, below the call */
	UT_hash_handle hh;
};

/* A code object of Python. */
struct krt_code_info {
	uint32_t id;
	uint32_t first_line;
	uint32_t lines_len;
	uint8_t lines_kind; /* enum krt_code_lines */
	uint8_t *lines;
	char *file, *name; /* "": not known */
	UT_hash_handle hh;
};

struct krt_string_info {
	uint32_t id;
	char *text;
	UT_hash_handle hh;
};
#define KRT_STRINGS_MAX 8192

/* What the driver said of a handle, kept: the record may be read long before the handle is used. */
struct krt_described {
	uint64_t handle;
	uint64_t ctx;	 /* streams */
	uint32_t device; /* contexts */
	uint32_t flags;
	bool primary;
	UT_hash_handle hh;
};

struct krt_module_info {
	uint64_t base, end, bias;
	uint8_t role;
	char *path;
};

enum krt_op_class {
	KRT_OPC_OTHER,
	KRT_OPC_COPY,
	KRT_OPC_SET,
	KRT_OPC_KERNEL,
	KRT_OPC_HOST, /* the CPU itself */
	KRT_OPC_FREE,
	KRT_OPC_ALLOC,
	KRT_OPC_GRAPH, /* a launch of one */
};

/* One call that did something on a stream or from the host. */
struct krt_op_info {
	unsigned refs;
	uint16_t api;
	uint8_t class; /* enum krt_op_class */
	bool coop;
	bool external; /* behind something unseen, which what is called later may come before */
	bool told;     /* a finding names it */
	bool spins, ordered; /* a kernel that waits for a value in memory; that orders its accesses */
	bool locks;	     /* that waits for a lock: launches of it keep each other out */
	bool large;	     /* a copy or set of more than a flag, a kernel that writes more */
	uint64_t beside;     /* epoch of the kernel before it on its stream, which it does not wait for; 0 */
	uint64_t seq; /* ticket before the call: #N in messages */
	uint32_t stack;
	uint32_t kernel;		/* id, 0: none */
	uint32_t range;			/* string id of the NVTX range, 0: none */
	struct krt_stream_info *stream; /* NULL: the host */
	struct krt_stamp stamp;
	struct krt_context_info *ctx;
	const char *detail; /* a constant: "source order STREAM", "in cublasSgemm_v2", or NULL */
	bool loose;	    /* its source is read outside stream order */
	/* pairs found for one new operation: index of the first, valid for one round */
	uint64_t round;
	uint32_t first_pair;
};

struct krt_objects {
	struct krt_heap *heap;
	struct krt_order *order;
	struct krt_context_info *contexts; /* uthash by handle */
	struct krt_stream_entry *streams;  /* uthash by handle, context, thread */
	struct krt_event_info *events;
	struct krt_described *described_contexts, *described_streams;
	struct krt_kernel_info *kernels;
	struct krt_stack_info *stacks;
	struct krt_code_info *codes;
	struct krt_string_info *strings;
	struct krt_module_info *modules;
	uint32_t nmodules, modules_cap;
	struct krt_context_info *
		*all_contexts; /* every one ever, so that operations may point to them */
	uint32_t ncontexts, contexts_cap;
	unsigned streams_made, contexts_made;
};

struct krt_stream_entry {
	struct {
		uint64_t handle, ctx, thread;
	} key;
	struct krt_stream_info *stream;
	UT_hash_handle hh;
};

void krt_objects_init(struct krt_objects *o, struct krt_heap *heap, struct krt_order *order);
void krt_objects_free(struct krt_objects *o);

/* Handle 0 is a context of its own: "not known".  NULL: no memory. */
struct krt_context_info *krt_context_get(struct krt_objects *o, uint64_t handle);
struct krt_context_info *krt_context_make(struct krt_objects *o, uint64_t handle, uint32_t device);
void krt_context_end(struct krt_objects *o, struct krt_context_info *c);
/* Another handle for the same context (cuCtxFromGreenCtx). */
bool krt_context_alias(struct krt_objects *o, uint64_t handle, struct krt_context_info *c);

/* The stream a handle means in a call: 0, 1 and 2 included.  per_thread: 0 is the per-thread
 * stream. */
struct krt_stream_info *krt_stream_get(struct krt_objects *o, uint64_t handle,
				       struct krt_context_info *ctx, uint64_t thread,
				       bool per_thread);
/* A stream just created, or described by a STREAM record. */
struct krt_stream_info *krt_stream_make(struct krt_objects *o, uint64_t handle,
					struct krt_context_info *ctx, enum krt_stream_kind kind);
void krt_stream_end(struct krt_objects *o, uint64_t handle);
struct krt_stream_info *krt_stream_find(struct krt_objects *o, uint64_t handle);
void krt_stream_unref(struct krt_objects *o, struct krt_stream_info *s);
/* "stream 3 (0x55..)", "legacy stream", ... into buf. */
/* The new name of one, NULL: no memory for it. */
void krt_stream_name(struct krt_objects *o, struct krt_stream_info *s, char *name);
const char *krt_stream_text(const struct krt_stream_info *s, char *buf, size_t len);

struct krt_event_info *krt_event_get(struct krt_objects *o, uint64_t handle, bool make);
/* Its last record. */
struct krt_origin krt_event_record(const struct krt_event_info *ev);
struct krt_event_info *krt_event_make(struct krt_objects *o, uint64_t handle);
void krt_event_end(struct krt_objects *o, uint64_t handle);
/* Its present record counts as lost; those that snap covers (NULL: all) do not any more. */
void krt_event_lose(struct krt_event_info *ev);
void krt_event_found(struct krt_objects *o, struct krt_event_info *ev,
		     const struct krt_snapshot *snap);
/* Takes the reference to snap. */
void krt_event_set(struct krt_objects *o, struct krt_event_info *ev, struct krt_snapshot *snap,
		   struct krt_op_info *op);

struct krt_op_info *krt_op_new(struct krt_objects *o, const struct krt_call *c,
			       struct krt_stream_info *s, enum krt_op_class class);

void krt_context_describe(struct krt_objects *o, const struct krt_rec_context *r);
void krt_stream_describe(struct krt_objects *o, const struct krt_rec_stream *r);
void krt_kernel_record(struct krt_objects *o, const struct krt_rec_kernel *r, size_t len);
struct krt_kernel_info *krt_kernel_get(const struct krt_objects *o, uint32_t id);
void krt_stack_record(struct krt_objects *o, const struct krt_rec_stack *r, size_t len);
void krt_string_record(struct krt_objects *o, const struct krt_rec_string *r, size_t len);
/* NULL: none of this id. */
const char *krt_string_get(const struct krt_objects *o, uint32_t id);
struct krt_stack_info *krt_stack_get(const struct krt_objects *o, uint32_t id);
void krt_code_record(struct krt_objects *o, const struct krt_rec_code *r, size_t len);
const struct krt_code_info *krt_code_get(const struct krt_objects *o, uint32_t id);
void krt_module_record(struct krt_objects *o, const struct krt_rec_module *r, size_t len);
const struct krt_module_info *krt_module_at(const struct krt_objects *o, const struct krt_stack_info *s, uint64_t pc);

/* A wait (seq) of a stream or the host for the record made at (domain, seq). */
void krt_waits_note(struct krt_wait_memory *w, krt_domain of, struct krt_origin wait,
		    struct krt_origin record);

#endif
