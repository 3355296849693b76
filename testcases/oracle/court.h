/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the judge, shared by its files (judge.c has the streams, events
 * and races; others have an area each) and by nothing else.  No engine here.
 */
#ifndef KRT_ORACLE_COURT_H
#define KRT_ORACLE_COURT_H

#include "graph.h"
#include "hostfn.h"
#include "program.h"
#include "rules/finding.h"

#define NODES	       (OPS * 7 + 1)
#define WORDS	       ((NODES + 63) / 64)
#define LOST	       8
#define STREAM_NUMBERS (CONTEXTS * STREAMS * THREADS + OPS)
#define IN_DOC	       1u /* holds in the observed view too */
#define IN_OBS	       2u

struct node {
	uint64_t before[VIEWS][WORDS];
	bool on_stream, note; /* note: a record or wait, no work */
	int ctx, stream;      /* stream: its number, counted over their lives */
	int op; /* of whose call it is */
	int form;	      /* launches: of what the executable does, counted; 0: none */
	enum stream_kind kind;
};

/* Bytes that an operation touches, and when. */
struct access {
	int op, node; /* the node at which it is over */
	int item;     /* of a batch */
	uint8_t buffer;
	cells_t cells;
	bool write;
	bool kernel;
	cells_t past; /* that another has been given since */
	cells_t told; /* of the past: those that a later one has met */
};

/* What is known of an executable beside its nodes. */
struct court_exec {
	int form;     /* what it does now, counted */
	unsigned off; /* nodes that are disabled */
	int last;	     /* node of its latest launch, -1: none */
	bool told;	     /* of its inside */
	int changed[GNODES]; /* since its inside was looked at; -1: any node */
	unsigned nchanged;
};

struct court {
	const struct program *p;
	struct verdict *v;
	enum fault fault;
	int n;
	struct node node[NODES];
	int op, began; /* in hand; the first one whose call had not returned when its began */
	int mine; /* what the call in hand knows of host */
	int host_was[OPS];
	int host;				/* what the CPU has done and waited for */
	int stream[CONTEXTS][STREAMS][THREADS]; /* number of what is in the slot */
	int nstreams;
	int record[CONTEXTS * EVENTS]; /* node, -1: none */
	unsigned naccesses;
	struct access access[OPS * RANGES * 4];	 /* launches have more of them than calls */
	unsigned first[BUFFERS];		 /* access of the present life of a buffer */
	int alloc[BUFFERS];			 /* node of a stream-ordered allocation, -1: none */
	int alloc_op[BUFFERS], free_op[BUFFERS]; /* -1: none */
	int nreleases[EVENTS]; /* of each token, and what they are: it keeps them all */
	int release[EVENTS][OPS];
	int nfloors;
	struct floor {
		int ctx, node;
		unsigned views;
	} floor[OPS * CONTEXTS * 2]; /* what all later work of a context comes after */
	int owner[BUFFERS];	     /* context that it was allocated in */
	struct graphs graphs;	     /* as they are after the operation in hand */
	struct court_exec exec[EXEC_SLOTS];
	bool registered[BUFFERS]; /* pageable memory that is */
	bool memops[BUFFERS], ctx_memops[CONTEXTS];
	bool of_pool[BUFFERS];
	unsigned may[BUFFERS], pool_may, peers[CONTEXTS]; /* bits of devices */
	/* unfinished.c; by number of a stream */
	struct to_host {
		int op, node; /* its last copy to the host, -1: none */
		int torn;     /* the end of the stream, -1: not yet */
	} to_host[STREAM_NUMBERS];
	/* blocks.c */
	unsigned nblocks;
	struct block {
		uint8_t buffer, pool;
		unsigned from, end;
		int outer;
		bool live;
	} block[OPS];
	/* value.c; by number of a stream, or by operation */
	bool external[STREAM_NUMBERS]; /* behind what something unseen was behind */
	bool waits[STREAM_NUMBERS];    /* for a value that was not seen to be written */
	int op_stream[OPS];	       /* -1: the CPU */
	bool op_external[OPS], record_external[CONTEXTS * EVENTS], free_external[BUFFERS];
	unsigned nwaiting, nwritten;
	struct waiting {
		uint8_t flag, condition, value;
		int stream, node;
		bool over;
	} waiting[2 * OPS];
	struct release_of {
		uint8_t flag, value;
		bool ordered;
		int node;
		bool external;
	} written[2 * OPS];
	unsigned mapped[BUFFERS]; /* first access through the present mapping */
	struct record_of {
		int op, stream; /* -1: none, of the whole context */
		bool bound;
		/* those that nothing had bound to; work: there was some that it alone covered */
		struct lost {
			int op, node;
			bool work;
		} lost[LOST];
		unsigned nlost;
		int failed, failed_on; /* record or wait (op, and its stream), -1: none */
		bool failed_record;
	} records[CONTEXTS * EVENTS];
	int forms;
	struct court_function {
		int begin, end; /* nodes */
	} function[FUNCTIONS];
	int within; /* end of the host function that runs, -1: none */
};

/* --- nodes and edges -------------------------------------------------------------- */

int new_node(struct court *c);
void edge(struct court *c, int from, int to, unsigned views); /* from -1: none */
bool before(const struct court *c, int a, int b, enum view v);
int stream_number(const struct court *c, const struct op *o, unsigned s);
/* All that the next operation of the stream comes after. */
void in_order(struct court *c, const struct op *o, unsigned s, int to, unsigned views);
void all_later(struct court *c, int ctx, int node, unsigned views);
/* All work of a context so far is before a node. */
void all_earlier(struct court *c, int ctx, int to, unsigned views);
/* An operation on the stream. */
int enqueue(struct court *c, const struct op *o, unsigned s);
/* The CPU goes on; from, unless -1, is what it has waited for. */
void host_after(struct court *c, int from, unsigned views);
/* The CPU has waited for all work of a stream (-1: any) and context (-1: any). */
void host_after_all(struct court *c, int ctx, int stream, bool blocking, unsigned views);
void host_after_context(struct court *c, int ctx);
int *event_of(struct court *c, const struct op *o, unsigned event);

/* --- accesses ----------------------------------------------------------------------- */

struct pair *pair_of(struct court *c, int rule, int cur, int prev, uint8_t buffer);
/*
 * Cells of an earlier access that another one has touched before the one in hand, a
 * write, or any of an earlier write where the one in hand is a write too.  It
 * conflicts with both, and is not in order with one of them: that is told.  mapping: of
 * accesses through the same mapping alone.
 */
cells_t hidden(const struct court *c, unsigned a, int cur, int item, bool write, bool mapping);
/* An access in hand against all earlier ones of this life of its buffer. */
void meet(struct court *c, int op, int item, int node, uint8_t buffer, cells_t cells, bool write,
	  bool host);
/* Is it used, at a node, before its allocation? */
void before_allocation(struct court *c, int op, int node, uint8_t buffer);
/* A range is touched from one node to another. */
void use_from(struct court *c, int op, int item, int node, int end, const struct range *r);
void use(struct court *c, int op, int node, const struct range *r);
void host_access(struct court *c, int op, const struct range *r);
/* --- memory.c: kinds of memory, and who may use it ------------------------------------- */

/* As calls see it now. */
enum memory kind_of(const struct court *c, unsigned b);
/* The slot under which the same memory goes. */
unsigned home_of(unsigned b);
/* Does every synchronous operation on the buffer wait? */
bool sync_memops(const struct court *c, const struct op *o, unsigned b);
/* A kernel touches it: has its device a right to? */
void check_right(struct court *c, int op, unsigned b);
void check_bounds(struct court *c, int op);
void born(struct court *c, int op, unsigned b);
void memory_op(struct court *c, int op);

/* --- blocks.c: suballocators ------------------------------------------------------------- */

void blocks_gone(struct court *c, unsigned buffer);
void block_op(struct court *c, int op);

/* --- value.c: waits for values ------------------------------------------------------------- */

bool behind_unseen(const struct court *c, int stream);
/* Are an earlier operation and the present one, at the node, not held against each other? */
bool kept_apart(const struct court *c, int op, int cur, int node, bool host);
void host_knows_unseen(struct court *c);
void stream_is_done(struct court *c, int stream); /* the CPU has waited for all of it */
void value_op(struct court *c, int op);

/* --- unfinished.c: copies to the host that nothing waits for ------------------------------- */

void copied_to_host(struct court *c, int op, int node);
void word_leaves(struct court *c, int node); /* of all that comes before the node */
void stream_ends(struct court *c, int op, int stream);
void process_ends(struct court *c);

/* --- events.c: what is told of events ---------------------------------------------------- */

void event_recorded(struct court *c, int op, int ev, int node, int stream);
/* Something binds to the present record; stream -1: the host. */
void event_bound(struct court *c, int op, int ev, int stream, bool ok);
void event_failed(struct court *c, int op, int ev, int stream, bool record);
void event_new(struct court *c, int ev);

/* The end of a buffer's life, at a node. */
void end_of(struct court *c, int op, int node, uint8_t b);

/* --- areas of their own ---------------------------------------------------------------- */

void judge_graph(struct court *c, int op); /* judge_graph.c; the graphs have changed already */
void judge_function(struct court *c, int op); /* hostfn.c */
/*
 * Is an access after the end of the function that runs, or something later on its stream
 * or of its executable?
 */
bool after_function(const struct court *c, const struct access *a, enum view v);

#endif
