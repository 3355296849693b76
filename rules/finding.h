/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The finding model: what rules produce and reports render.  Plain data, owned
 * by the report (struct krt_report); strings live in its arena.  No locking.
 */
#ifndef KRT_FINDING_H
#define KRT_FINDING_H

#include "../interposer/account.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum krt_level { KRT_LEVEL_NOTE, KRT_LEVEL_WARNING, KRT_LEVEL_ERROR };
enum krt_confidence { KRT_POSSIBLE, KRT_LIKELY, KRT_CERTAIN };
enum krt_finding_view { KRT_BOTH_VIEWS, KRT_DOCUMENTED_ONLY };

/* What told of a launch what it reads and writes, the best that did; how text explains the word. */
#define KRT_TIERS(X)                                                                               \
	X(ANNOTATION, "annotation", "declared by the program")                                     \
	X(KERNELS_FILE, "kernels-file", "declared in a kernels file")                              \
	X(LIBRARY, "library-model", "from the arguments of the library's call")                    \
	X(RANGE, "ptx-range", "computed from its PTX") /* of every pointer that it uses its bytes */ \
	X(ROLE, "ptx-role", "its PTX tells what for, not which bytes") /* of some */                \
	X(NAME, "name-const", "const in its name")                                                  \
	X(SCAN, "scan", "a pointer to it is among the parameters")
enum krt_tier {
#define X(name, text, gloss) KRT_TIER_##name,
	KRT_TIERS(X)
#undef X
	KRT_NR_TIERS
};
const char *krt_tier_text(enum krt_tier t);
/* The explanation of a tier's word; NULL: it is none. */
const char *krt_tier_gloss(const char *word);

enum krt_rule_id {
#define KRT_RULE(NAME, id, level, title) KRT_RULE_##NAME,
#include "rules.def"
#undef KRT_RULE
	KRT_NR_RULES
};

struct krt_rule {
	const char *id, *title;
	enum krt_level level;
	const char *explain;	/* embedded text of rules/explain/<id>.txt */
	const char *bad, *good; /* example of testcases/explain/<id>.c, with the hazard and mended */
};
extern const struct krt_rule krt_rules[KRT_NR_RULES];
const struct krt_rule *krt_rule_by_id(const char *id);

/* A resolved call stack frame; names are NULL where unknown, line 0. */
struct krt_frame {
	uint64_t pc;
	const char *module;   /* path */
	uint64_t offset;      /* in the module's file */
	const char *function;
	const char *file;
	unsigned line;
	bool internal;        /* cudart, libcuda, krtsan: folded, never a call site */
	bool python;	      /* of a Python function; pc is 0 */
};
struct krt_stack { unsigned depth; struct krt_frame *frame; };

/* One side of a finding. */
struct krt_operation {
	const char *what;        /* "read", "write", "free", "sync", ... */
	const char *api;         /* "cuMemcpyHtoDAsync", "kernel saxpy", "host read" */
	const char *kernel;      /* or NULL */
	const char *stream;      /* display name: "stream 3 (0x55..)", "legacy stream", "host" */
	const char *nvtx;        /* innermost NVTX range of the calling thread, or NULL */
	uint64_t sequence;       /* ticket of the call; #N in text */
	uint64_t range_base, range_len; /* bytes touched (hull), 0/0 unknown */
	const char *knowledge; /* where range and role come from: "api" or a tier's word */
	const char *declared_at; /* FILE:LINE of a kernels file, or NULL */
	uint32_t stack_id;
	struct krt_stack stack;
};

struct krt_buffer {
	const char *kind; /* device, managed, pinned, registered, pageable, pool, array, unknown */
	const char *name;        /* krtsan_name() or NULL */
	uint64_t base, size;     /* of the allocation */
	uint64_t offset, len;    /* the shared bytes, from base */
	bool open;		 /* it is not known where they end */
	bool gaps;		 /* they lie within, with gaps */
	const char *allocated_by;/* api, or NULL */
	uint64_t allocated_seq;
	struct krt_stack allocated_at;
	const char *freed_by;    /* or NULL */
	uint64_t freed_seq;
	struct krt_stack freed_at;
};

/*
 * What a loop's work costs: figures that are never mixed.  KRT_UNKNOWN where
 * nothing tells; times 0: the finding is not about cost.
 */
#define KRT_UNKNOWN UINT64_MAX
struct krt_cost {
	uint64_t times, rounds;	/* of the call; of its loop */
	uint64_t submit_ns;	/* inside the calls that enqueue work */
	uint64_t blocked_ns;	/* inside the calls that wait */
	uint64_t service_ns;	/* the device at work */
	uint64_t queue_ns;	/* work enqueued, not yet begun */
};

/* The API that a program speaks, as its stacks tell. */
#define KRT_USER_APIS(X)                                                                           \
	X(DRIVER, "driver")                                                                        \
	X(RUNTIME, "runtime")                                                                      \
	X(TORCH, "torch")
enum krt_user_api {
#define X(name, text) KRT_USER_##name,
	KRT_USER_APIS(X)
#undef X
	KRT_NR_USER_APIS
};
const char *krt_user_api_text(enum krt_user_api a);

/* What came of judging the trace again with an edge in force. */
#define KRT_VERIFIED(X)                                                                            \
	X(NOT_TRIED, "not-tried")                                                                  \
	X(REMOVES, "removes") /* the finding is gone */                                            \
	X(KEEPS, "keeps")                                                                          \
	X(CYCLE, "cycle") /* the wait would come before what is waited for */
enum krt_verified {
#define X(name, text) KRT_VERIFIED_##name,
	KRT_VERIFIED(X)
#undef X
	KRT_NR_VERIFIED
};
const char *krt_verified_text(enum krt_verified v);

/* Where the order that is missing has to be made; rules/fix.def has the words. */
#define KRT_EDGE_KINDS(X)                                                                          \
	X(NONE)	      /* no order would help */                                                    \
	X(WAIT)	      /* a stream waits */                                                         \
	X(HOST)	      /* the host waits */                                                         \
	X(EVENT)      /* it waits for a stream that only its own thread can name; never a finding's */    \
	X(FREE)	      /* it waits, or frees in stream order */                                     \
	X(END)	      /* it waits before the end */                                                \
	X(REUSE)      /* a pool's block: a stream waits, or the pool is told */                    \
	X(REUSE_HOST) /* the host waits, or the pool is told */                                    \
	X(CAPTURED)   /* between captured calls */                                                 \
	X(NODES)      /* between nodes of a graph */                                               \
	X(BESIDE)     /* a kernel that may begin early waits for the one before it */              \
	X(EARLY)      /* the same between nodes of a graph */                                      \
	X(JOIN)	      /* a forked stream joins its capture before that ends */                    \
	X(MOVE)	      /* a free, behind the last use */
enum krt_edge_kind {
#define X(name) KRT_EDGE_##name##_KIND,
	KRT_EDGE_KINDS(X)
#undef X
	KRT_NR_EDGE_KINDS
};

/* The least order that is missing: an event recorded behind one operation, waited for before another. */
struct krt_missing {
	enum krt_edge_kind kind;
	bool host; /* it is the host that waits */
	bool each; /* it takes an event for each stream */
	uint64_t record_after, wait_before; /* sequence numbers; record_after 0: no edge */
	const char *record_stream, *wait_stream; /* display names; wait_stream NULL: the host */
	enum krt_user_api api;
	const char *code; /* what to add, in that API; NULL: not told */
	enum krt_verified verified;
	const char *why;      /* NOT_TRIED: why not; KEEPS: what is left; REMOVES: what it takes; or NULL */
	size_t nalso;
	const uint64_t *also; /* fingerprints of other findings that go with it */
};

/* Compared with a baseline. */
enum krt_baseline {
	KRT_BASELINE_NONE,
	KRT_BASELINE_NEW,
	KRT_BASELINE_KNOWN,
	KRT_NR_BASELINES
};
const char *krt_baseline_name(enum krt_baseline b); /* NULL for NONE */

/*
 * What a finding's words name and is neither of its operations: a call by its number
 * ("#27"), or a thing by its address ("event 0x55d0").  Places are known at the end only.
 */
#define KRT_MENTIONS 6
struct krt_mention {
	uint64_t sequence; /* of the call, or of the one that made the thing; 0: no more of them */
	uint32_t stack_id;
	const char *thing; /* NULL: the call itself */
	const char *api;   /* that made the thing */
	struct krt_stack stack;
};

struct krt_finding {
	enum krt_rule_id rule;
	enum krt_level level;
	enum krt_confidence confidence;
	enum krt_finding_view view;
	uint64_t key;		     /* tells it from the others of its process; for the analysis alone */
	unsigned process;	     /* the analysis's number of that */
	uint64_t fingerprint;        /* no addresses, pids, lines in it */
	uint64_t count;              /* pairs with the same rule, call stacks and buffer origin */
	int pid;
	const char *message, *fix;
	struct krt_operation current, previous; /* previous.api NULL: none */
	struct krt_buffer buffer;               /* kind NULL: none */
	const char *order_exists;    /* the nearest order that does exist, in words */
	const char *order_missing;   /* the edge that is missing, in words */
	struct krt_cost cost;
	struct krt_missing edge;
	struct krt_mention mention[KRT_MENTIONS]; /* for the analysis alone: the words have it */
	const char *suppressed_by;   /* FILE:LINE: the suppression, or NULL */
	const char *suppressed_why;  /* its reason, or NULL */
	enum krt_baseline baseline;
};

/* Why coverage is not complete; words are those of the JSON report. */
#define KRT_REASONS(X)                                                                    \
	X(NO_CUDA, "no CUDA call seen")                                                   \
	X(LATE, "CUDA was initialised before krtsan, or used but not through it")         \
	X(DROPPED, "records were dropped")                                                \
	X(CONSERVATIVE, "an entry point of unknown effect was called")                    \
	X(UNSUPPORTED, "an unsupported entry point was called")                           \
	X(GRAPH, "a graph could not be read")                                             \
	X(STICKY, "a sticky error ended the judgement of a context")                      \
	X(INTERNAL, "a failure of krtsan's own")                                          \
	X(LOST, "a process of the tree was lost")                                         \
	X(ROWS, "a strided access of too many rows was not compared")
enum krt_reason {
#define X(name, text) KRT_REASON_##name,
	KRT_REASONS(X)
#undef X
	KRT_NR_REASONS
};

/* What is counted of a run. */
#define KRT_COUNTERS(X)                                                                            \
	X(calls)                                                                                   \
	X(launches)                                                                                \
	X(copies)                                                                                  \
	X(sets)                                                                                    \
	X(allocations)                                                                             \
	X(frees)                                                                                   \
	X(events_recorded)                                                                         \
	X(waits)                                                                                   \
	X(syncs)                                                                                   \
	X(graph_launches)                                                                          \
	X(host_functions)                                                                          \
	X(captured_calls)                                                                          \
	X(failed_calls)                                                                            \
	X(dropped)                                                                                 \
	X(unwrapped)                                                                               \
	X(export_tables)                                                                           \
	X(ignored)                                                                                 \
	X(kernels_declared) /* launches: by a file or the program */                               \
	X(kernels_unknown)  /* neither, nor by PTX or a library's call */                          \
	X(kernels_certain)  /* it is known which bytes they may touch */

struct krt_coverage {
	uint32_t reasons;            /* bit mask of enum krt_reason */
	char detail[KRT_NR_REASONS][160]; /* which entry point, how many, ... */
#define X(field) uint64_t field;
	KRT_COUNTERS(X)
#undef X
	uint64_t launches_by[KRT_NR_TIERS];
	uint64_t device_times; /* operations of which the device's times are known */
	char timing[96];       /* whether they are recorded, or why not; "": not asked for */
	unsigned host_mode;    /* how the CPU's own accesses were found: KRT_HOST_api, ... of options.h */
	uint64_t host[KRT_NR_ACCOUNTS]; /* bytes that were watched for them, or why not; record.h */
	char python[96];       /* why stacks have no Python frames; "": they have, or there is no Python */
};

struct krt_process {
	int pid, ppid;
	const char *exe;
	int exit_code;      /* -1: still running or lost */
	bool used_cuda;
	struct krt_coverage coverage;
	uint64_t records, bytes, stalled_ns, peak_bytes;
	struct krt_timeline *timeline; /* timeline.h; NULL: none was kept */
};

/* Everything a writer needs. */
struct krt_report {
	const char *version;         /* of the krtsan that made it; NULL: this one */
	const char *options;         /* effective, as one line */
	const char *semantics;       /* the file that semantics= named, and what it was measured on; or NULL */
	int program_exit;            /* of the tree; -1 unknown */
	struct krt_coverage
		own; /* reasons that belong to no process: only reasons and detail are used */
	size_t nprocesses, nfindings, nsuppressed;
	struct krt_process *process;
	struct krt_finding *finding; /* errors first, then by sequence */
	struct krt_finding *suppressed; /* as finding; none of them is among those */
	uint64_t orders_tried;	     /* that findings lack; with all of them are left: */
	uint64_t left_with_orders;   /* errors and warnings; KRT_UNKNOWN, or orders_tried is 0 */
	uint64_t possible_total;     /* found, also those beyond possible_max */
	struct krt_arena *arena;
};

/*
 * Memory of a report: zeroed, freed all at once.  Each returns NULL when memory
 * is out (strdup and printf also for NULL text).
 */
struct krt_arena *krt_arena_new(void);
void krt_arena_destroy(struct krt_arena *a);
void *krt_arena_alloc(struct krt_arena *a, size_t size);
char *krt_arena_strdup(struct krt_arena *a, const char *s);
char *krt_arena_printf(struct krt_arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* An empty report with an arena.  add_*: a zeroed element, valid until the next add of its kind;
 * NULL: no memory. */
struct krt_report *krt_report_new(void);
void krt_report_destroy(struct krt_report *r);
struct krt_process *krt_report_add_process(struct krt_report *r);
struct krt_finding *krt_report_add_finding(struct krt_report *r);
struct krt_finding *krt_report_add_suppressed(struct krt_report *r);
/* Errors first, then by pid and sequence. */
void krt_report_sort(struct krt_report *r);
/* Sorts fingerprints and drops repeated ones; returns how many are left. */
size_t krt_fingerprints_sort(uint64_t *id, size_t n);
/* Is it among sorted ones? */
bool krt_fingerprints_have(const uint64_t *id, size_t n, uint64_t fingerprint);

void krt_coverage_reason(struct krt_coverage *c, enum krt_reason why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *krt_reason_text(enum krt_reason why);
const char *krt_level_name(enum krt_level l);
const char *krt_confidence_name(enum krt_confidence c);
const char *krt_view_name(enum krt_finding_view v);

enum krt_verdict { KRT_VERDICT_CLEAN, KRT_VERDICT_FINDINGS, KRT_VERDICT_INCONCLUSIVE };
enum krt_verdict krt_report_verdict(const struct krt_report *r);
bool krt_report_complete(const struct krt_report *r);
const char *krt_verdict_name(enum krt_verdict v);
/* The whole tree's coverage: counters added up, reasons joined. */
void krt_report_coverage(const struct krt_report *r, struct krt_coverage *sum);
size_t krt_report_count(const struct krt_report *r, enum krt_level level);

#endif
