/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From facts to a rule's words: message, what order exists, which edge is
 * missing, what to add.  The engine gives the facts of one pair (or of one
 * operation) as plain data; each rule's file words them.  Pure functions.
 */
#ifndef KRT_WORDS_H
#define KRT_WORDS_H

#include "finding.h"

/* KRT-WRONG-DEVICE: what is wrong. */
enum krt_wrong {
	KRT_WRONG_NOT,
	/* a kernel and memory that its device has no access to */
	KRT_WRONG_PEER,	  /* plain memory of another device */
	KRT_WRONG_POOL,	  /* of another device's pool */
	KRT_WRONG_MAPPED, /* a mapping not opened to it */
	/* a call that the driver refused */
	KRT_WRONG_MEMORY, /* a copy or set of another context's memory */
	KRT_WRONG_FUNCTION,
	KRT_WRONG_EVENT,
	KRT_WRONG_IMAGE,
};

struct krt_side {
	const char *api;    /* "cuMemcpyHtoDAsync", "kernel saxpy", "the CPU" */
	const char *what;   /* "read", "write", "free", "use", ... */
	const char *stream; /* display name; "host" */
	const char *detail; /* "source order STREAM", "in cublasSgemm_v2", or NULL */
	uint64_t seq;	    /* 0: no such side */
	bool host;	    /* not on a stream */
	bool scan;	    /* known by a pointer among the parameters alone */
	bool word;	    /* by a word inside a larger parameter */
	bool some;	    /* a kernel that may touch the bytes, or some of them */
	bool from;	    /* of which is known where its bytes begin, not where they end */
	bool effect;	    /* the CPU, seen by what it left: some time before the call */
	bool loose;	    /* a copy whose source is read outside stream order */
	const char *node;   /* of a launch of a graph: "copy node (captured by ...)", or NULL */
};

enum krt_stale_why {
	KRT_STALE_FREED,     /* nobody has it now */
	KRT_STALE_RECYCLED,  /* somebody else has it now */
	KRT_STALE_REMAPPED,  /* other physical memory is mapped there */
	KRT_STALE_TEMPORARY, /* of a capture, and a block that outlives it has its bytes */
	KRT_STALE_FRAME,     /* of a function that has returned */
};

/* CAPTURE_ISOLATION: how a capture broke. */
enum krt_capture_why {
	KRT_CAPTURE_FOREIGN,	  /* a wait for an event from outside of it */
	KRT_CAPTURE_UNJOINED,	  /* a stream pulled into it was not joined */
	KRT_CAPTURE_MERGED,	  /* a wait for an event of another capture */
	KRT_CAPTURE_OWN_STREAM,	  /* a call that a capturing stream does not take */
	KRT_CAPTURE_FORBIDDEN,	  /* a call that the capture's mode forbids */
	KRT_CAPTURE_LEGACY,	  /* the legacy stream while a blocking stream captures */
	KRT_CAPTURE_EVENT,	  /* a captured event waited for or queried */
	KRT_CAPTURE_WRONG_THREAD, /* ended by another thread */
	KRT_CAPTURE_UNMATCHED,	  /* ended on another stream */
	KRT_CAPTURE_REFUSED,	  /* it could not begin */
	KRT_CAPTURE_LATER,	  /* what broke it was not recorded */
};
struct krt_capture_facts {
	enum krt_capture_why why;
	int result; /* CUresult of the call */
	const char *mode, *begin, *begin_stream; /* the capture; begin NULL: not seen */
	uint64_t begin_seq;
	const char *other_stream; /* MERGED: where the other one began */
	uint64_t other_seq;
	const char *last; /* UNJOINED: the stream's last node; LATER: the last call that failed */
	uint64_t last_seq;
	int last_result;
	unsigned more;	   /* UNJOINED: further streams */
	bool other_thread; /* than the one that began it made the call */
	bool before;	   /* FOREIGN: the record is older than the capture */
	bool ended;	   /* FOREIGN, EVENT: of a capture that is over; REFUSED: the legacy stream */
	const char *pool_stream; /* FOREIGN: the record's stream waited for another one instead */
	uint64_t pool_wait, pool_record;
};

/* Two nodes of one graph. */
struct krt_graph_facts {
	const char *cur, *prev; /* "kernel node scale (captured by cuLaunchKernel #42)" */
	const char *api;	/* the call that made the executable */
	uint64_t seq;
	bool captured; /* both by captured calls */
	bool maybe;    /* one is in the body of a conditional */
	bool early;    /* cur is behind a programmatic edge from prev, and does not wait */
};

/* PERF_CAPTURE_STORM: how successive graphs of one call site differ. */
struct krt_storm_facts {
	enum {
		KRT_STORM_SAME,
		KRT_STORM_VALUES,    /* in parameters that are no addresses */
		KRT_STORM_ADDRESSES,
		KRT_STORM_FEW_SHAPES, /* the same few shapes in turns */
		KRT_STORM_SHAPES,
		KRT_STORM_UNKNOWN, /* they could not be read */
	} kind;
	const char *differs; /* the first node that does */
	unsigned shapes;     /* how many were seen */
	bool update;	     /* cuGraphExecUpdate */
};

/* Loops: what is done there, and what for. */
struct krt_hot_facts {
	struct krt_cost cost;
	const char *target;	     /* waited for; NULL: not always the same */
	uint64_t fetched, fetched_seq; /* bytes of a copy to the host just before, 0: none */
	const char *fetched_api, *kernel; /* of that copy; launched before it, or NULL */
	uint64_t bytes_min, bytes_max;	  /* of allocations, copies */
	uint64_t gone_ns;		  /* inside the calls that free or destroy */
	uint64_t dry_ns;		  /* the device had nothing to do after the waits */
};

/* GRAPH_STALE_INPUT: what a replay went without. */
struct krt_input_facts {
	uint64_t replay, earlier, left_out; /* the first without, those with before it, those without */
	const char *other;		    /* an input that was written; NULL: not told */
	const char *fresh;		    /* data that nobody read; NULL: the above */
	uint64_t hits, launches;	    /* of fresh data: at how many */
};

struct krt_facts {
	enum krt_rule_id rule;
	enum krt_confidence confidence;
	enum krt_finding_view view;
	uint32_t part; /* tells apart what two operations do in memory without an allocation, or 0 */
	struct krt_side cur, prev;
	const char *buffer;   /* `device buffer "x" at 0x..`, or NULL */
	uint64_t offset, len; /* the shared bytes; len 0: not known */
	uint64_t size;	      /* of the buffer, 0: not known */
	bool gaps;	      /* some bytes within are shared, with gaps */
	bool same_op;	      /* both sides are copies of one batch */
	bool beside;	      /* kernels of one stream, launched to begin before the one before has ended */
	bool default_stream;  /* one side is the legacy stream, the other does not block */
	/* the nearest order that exists; 0: none such */
	uint64_t wait, record; /* cur's stream waited for prev's: at, for the record at */
	uint64_t back_wait;    /* prev's stream waited for cur's */
	uint64_t other_wait;   /* cur's stream waited for another one */
	const char *other;     /* that stream */
	uint64_t idle_wait;    /* cur's stream waited between them for an event without a record */
	struct krt_mention mention[KRT_MENTIONS];
	/* further facts of single rules */
	const char *event;
	uint64_t third_seq; /* EVENT_OVERWRITTEN: the record that replaced; COPY_BOUNDS: bytes past
			       the end */
	const char *third_stream;
	enum krt_wrong wrong;	/* WRONG_DEVICE */
	const char *thing, *owner, *user;
	int result;		/* of a call that failed */
	bool context_gone;	/* UNFINISHED: the stream went with its context */
	uint64_t end_seq;	/* UNFINISHED: of the end of the process */
	/* REUSE_RACE, and a use of a block that was given back */
	const char *pool, *former_pool;      /* names; NULL: none, and of the second where it is the same */
	const char *handed_by, *freed_by;    /* the hand-over, the return; NULL: none, not told */
	uint64_t handed_seq, freed_seq;
	const char *home; /* the stream that the former owner's block was for, or NULL */
	bool former;	  /* prev is of a former owner, not from before the first */
	bool stale;	  /* prev came when the block had been given back */
	bool destroyed;	  /* the former owner's pool ended */
	bool told;	  /* the pool was told that prev's stream uses the block */
	bool at_home;	  /* prev is on that stream */
	bool per_thread;  /* both are per-thread streams */
	const struct krt_capture_facts *capture; /* CAPTURE_ISOLATION */
	const struct krt_storm_facts *storm;	 /* times: graphs made, rounds: launches */
	const struct krt_input_facts *input;	 /* GRAPH_STALE_INPUT */
	const struct krt_graph_facts *graph;	 /* of nodes of one graph */
	uint64_t times, rounds; /* loops, EVENT_UNRECORDED */
	const struct krt_hot_facts *hot;
	/* GRAPH_STALE_*; freed_by and freed_seq as above */
	enum krt_stale_why ended;
	const char *node;      /* that names the memory */
	const char *new_owner; /* who has the bytes now, or NULL */
	bool block;	       /* a pool's block: returned, not freed */
	bool note;	       /* not launched again: a note, whatever the rule's level is */
};

struct krt_words {
	char message[640], fix[480], exists[480], missing[320];
};

void krt_rule_words(const struct krt_facts *f, struct krt_words *w);

/*
 * Which order would mend it, between which calls: kind, record_after, wait_before.  All
 * zero: none would.
 */
void krt_fix_edge(const struct krt_facts *f, struct krt_missing *m);

/* The words name one more call or thing; without a number or a stack none. */
void krt_words_mention(struct krt_facts *f, const struct krt_mention *m);

/* Shared wording. */
/* The fix of a pair of streams: the event that makes the missing edge. */
void krt_words_wait(const struct krt_facts *f, struct krt_words *w);
void krt_words_order(const struct krt_facts *f, struct krt_words *w);
void krt_words_bytes(const struct krt_facts *f, char *buf, size_t len);
/* "stream 3 (0x55d0)" is named so where its operation is described, and "stream 3" in sentences. */
const char *krt_words_stream(const char *text, char *buf, size_t len);
/* A size for readers: "4096 bytes" is 4 KiB, of what is no whole number the tenth. */
#define KRT_AMOUNT 32
const char *krt_words_amount(uint64_t bytes, char buf[KRT_AMOUNT]);
/* A time for readers: us, from 10 ms on ms. */
#define KRT_TIME 40
const char *krt_words_time(uint64_t ns, char buf[KRT_TIME]);
/* Is of the shared bytes only known where they begin? */
bool krt_words_open(const struct krt_facts *f);

/* One a file. */
typedef void krt_words_fn(const struct krt_facts *f, struct krt_words *w);
krt_words_fn krt_words_race, krt_words_host, krt_words_free, krt_words_lifetime, krt_words_event,
	krt_words_bounds, krt_words_coop, krt_words_hot, krt_words_capture;
krt_words_fn krt_words_device, krt_words_reuse, krt_words_stale, krt_words_overlap;
krt_words_fn krt_words_graph_nodes, krt_words_storm, krt_words_stale_input;
krt_words_fn krt_words_unfinished;

#endif
