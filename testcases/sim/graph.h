/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of capture and graphs of the simulated driver.
 *
 *   graph.c    graphs and nodes: construction, queries, parameters, clones
 *   capture.c  stream capture: what becomes a node, what it depends on, what it forbids
 *   gexec.c    executables: instantiation, updates, launches
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
	struct graph *sub; /* GRAPH */
	CUgraphChildGraphNodeOwnership own;
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
bool graph_holds(const struct graph *g, bool (*what)(const struct node *)); /* nested ones too */

/* A copy of a template that can be queued. */
struct op *op_copy(const struct op *t);

#pragma GCC visibility pop
#endif
