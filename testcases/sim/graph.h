/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of capture and graphs of the simulated driver.
 *
 *   graph.c    graphs and nodes: construction, queries, parameters, clones
 *   capture.c  stream capture: what becomes a node, what it depends on, what it forbids
 *   gexec.c    executables: instantiation, updates, launches
 *   gobject.c  what graphs and executables hold: user objects, conditional handles, memory
 *
 * Not there, CUDA_ERROR_NOT_SUPPORTED: launches from the device, nodes that
 * kernels update, and executables with host, event, semaphore or memory nodes in
 * the body of a conditional node (which takes them, as on driver 580).  A kernel that sets a conditional handle calls
 * cudaGraphSetConditional, which a program of the driver API has only from the
 * device runtime library; where none does, the default value decides.  A launch
 * cannot be captured.
 *
 * A node's work is a template, an operation that never runs and never changes
 * once it is made: new parameters make a new template.  So executables, clones
 * and queued launches share templates by reference and keep what they have.
 * All under sim_lock.
 */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "sim.h"

#pragma GCC visibility push(hidden)

#define NODE_ATTRS 16 /* launch attributes that a kernel node keeps */

struct graph;
struct xgraph;

/*
 * Memory that belongs to a graph (mem.c): its address is fixed when the node is
 * made.  live: allocated by a launch and not freed, as far as calls have come.
 */
struct gmem {
	unsigned refs;
	uint64_t lo, size;
	uint64_t owner; /* id of the graph that allocates it */
	struct gblock *b;
	uint64_t freed;	 /* id of the node that frees it, in whichever graph */
	bool freed_here; /* in the owner */
	bool again;	 /* a later allocation of the owner has the address */
	bool live;
};

/* A conditional handle: its address is the handle. */
struct cond {
	unsigned refs;
	uint64_t graph;
	struct ctx *ctx;
	unsigned deflt, flags, value;
	bool used; /* a node has it */
};

struct uobj {
	unsigned refs;
	CUhostFn fn;
	void *ptr;
};

struct held {
	struct uobj *o;
	unsigned count;
};

/* What outlives a graph with its executables and their launches. */
struct hold {
	unsigned refs;
	struct held *o;
	struct gmem **mem;
	struct cond **cond;
	unsigned no, nmem, ncond, co, cmem, ccond;
};

struct dep {
	struct node *n;
	CUgraphEdgeData e;
};

struct node {
	struct graph *g;
	uint64_t id;	 /* of all nodes ever */
	uint64_t origin; /* id of the node that this one was copied from */
	unsigned type;	 /* CUgraphNodeType */
	unsigned index;	 /* in g->node */
	struct op *op;	 /* template; NULL: EMPTY, GRAPH, event nodes */
	struct ev *ev;	 /* event nodes */
	struct graph **sub; /* GRAPH: the embedded graph; CONDITIONAL: bodies */
	unsigned nsub;
	CUgraphChildGraphNodeOwnership own;
	struct gmem *mem; /* MEM_ALLOC, MEM_FREE */
	CUDA_MEM_ALLOC_NODE_PARAMS_v2 *alloc;
	struct cond *cond;
	CUgraphConditionalNodeType cond_type;
	CUlaunchAttributeValue *attr; /* KERNEL: by attribute, or NULL */
	struct dep *dep;	      /* in the order in which they were given */
	unsigned ndep, cdep;
	struct node **out; /* nodes that depend on it */
	unsigned nout, cout;
	uint64_t mark; /* searches */
};

struct graph {
	unsigned refs; /* handle, executables, captures */
	bool gone;     /* destroyed: has no nodes any more */
	uint64_t id;
	struct node *parent; /* node that embeds it */
	uint64_t origin;     /* id of the graph that it was cloned from */
	struct node **node;  /* in order of creation */
	unsigned n, cap;
	bool capturing;
	unsigned execs;	  /* executables that were made of it */
	struct hold *own; /* user objects, conditional handles */
};

struct graph *graph_new(void);
void graph_put(struct graph *g);
void graph_destroy(struct graph *g); /* its nodes go; drops the handle's reference */
struct graph *graph_clone(const struct graph *g);
uint64_t graph_mark(void); /* a fresh value for node.mark */

/* A node outside of any graph, to be filled; node_free() where it is not added. */
struct node *node_make(unsigned type);
void node_free(struct node *x);
bool node_add(struct graph *g, struct node *x, const struct dep *dep, unsigned n);
/* Checks handles, duplicates and edge data of what is to become a node's dependencies. */
CUresult deps_check(const struct graph *g, const CUgraphNode *d, const CUgraphEdgeData *e, size_t n);
/* Gives the node the work that the parameters describe; unchanged on failure. */
CUresult node_fill(struct node *x, const CUgraphNodeParams *p);
/* The same of a node that is to be added behind these, for kinds that a graph keeps track of. */
CUresult node_fill_new(struct node *x, struct graph *g, const struct dep *dep, unsigned n,
		       CUgraphNodeParams *p);
bool graph_holds(const struct graph *g, bool (*what)(const struct node *)); /* nested ones too */
bool node_once(const struct node *x); /* its graph can have one executable only */

/* A copy of a template that can be queued. */
struct op *op_copy(const struct op *t);

struct hold *hold_new(void);
void hold_put(struct hold *h);
bool hold_mem(struct hold *h, struct gmem *m);
bool hold_cond(struct hold *h, struct cond *c);
bool hold_object(struct hold *h, struct uobj *o, unsigned count);
bool hold_all(struct hold *h, const struct hold *of); /* what the other holds, too */
void cond_put(struct cond *c);

/* Memory of graphs (mem.c).  again: one whose address it may have. */
CUresult gmem_new(struct ctx *c, const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct gmem *again,
		  struct gmem **out);
bool gmem_fits(const struct gmem *m, size_t size); /* may an allocation of size be its `again`? */
void gmem_put(struct gmem *m);
struct gmem *gmem_at(uint64_t addr); /* the latest that starts there, or NULL */
struct op *gmem_op(struct ctx *c, const struct gmem *m, bool alloc);
void gmem_live(struct gmem *m, bool live);

#pragma GCC visibility pop
#endif
