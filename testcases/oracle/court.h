/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the judge, shared by its files (judge.c has the streams, events
 * and races; others have an area each) and by nothing else.  No engine here.
 */
#ifndef KRT_ORACLE_COURT_H
#define KRT_ORACLE_COURT_H

#include "graph.h"
#include "program.h"
#include "rules/finding.h"

#define NODES  (OPS * 5 + 1)
#define WORDS  ((NODES + 63) / 64)
#define IN_DOC 1u /* holds in the observed view too */
#define IN_OBS 2u

struct node {
	uint64_t before[VIEWS][WORDS];
	bool on_stream;
	int ctx, stream; /* stream: its number, counted over their lives */
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
};

/* What is known of an executable beside its nodes. */
struct court_exec {
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
int *event_of(struct court *c, const struct op *o, unsigned event);

/* --- accesses ----------------------------------------------------------------------- */

struct pair *pair_of(struct court *c, int rule, int cur, int prev, uint8_t buffer);
/*
 * Cells of an earlier access that another one has touched before the one in hand, a
 * write, or any of an earlier write where the one in hand is a write too.  It
 * conflicts with both, and is not in order with one of them: that is told.
 */
cells_t hidden(const struct court *c, unsigned a, int cur, int item, bool write);
/* An access in hand against all earlier ones of this life of its buffer. */
void meet(struct court *c, int op, int item, int node, uint8_t buffer, cells_t cells, bool write,
	  bool host);
/* Is it used, at a node, before its allocation? */
void before_allocation(struct court *c, int op, int node, uint8_t buffer);
/* A range is touched from one node to another. */
void use_from(struct court *c, int op, int item, int node, int end, const struct range *r);
void use(struct court *c, int op, int node, const struct range *r);
void host_access(struct court *c, int op, const struct range *r);
/* The end of a buffer's life, at a node. */
void end_of(struct court *c, int op, int node, uint8_t b);

/* --- areas of their own ---------------------------------------------------------------- */

void judge_graph(struct court *c, int op); /* judge_graph.c; the graphs have changed already */

#endif
