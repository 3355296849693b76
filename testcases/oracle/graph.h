/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs as a program makes them: what the driver would answer when it is asked for
 * them.  Captures, templates and executables are in slots; each operation of the
 * program changes them by graphs_step().  The judge and the feeding both look here:
 * what a graph holds is the program's meaning, not an opinion on it.
 */
#ifndef KRT_ORACLE_GRAPH_H
#define KRT_ORACLE_GRAPH_H

#include "program.h"

#define GDEPTH 2 /* of graphs in graphs */
#define LANES  (CONTEXTS * STREAMS * THREADS)

enum gnode_type { GN_KERNEL, GN_COPY, GN_SET, GN_CHILD };
struct gnode {
	enum gnode_type type;
	int op;			/* that gave it its parameters */
	int holder;		/* the child node that it lies in, -1: none */
	unsigned deps;		/* nodes beside it that come before it */
	unsigned handle, inner; /* inner: GN_CHILD: handle of the graph in it */
	int life[RANGES];	/* of the buffers of its ranges; -1: it was dead already */
};
struct graph {
	unsigned handle; /* 0: there is none */
	unsigned n;
	struct gnode node[GNODES]; /* what lies in a child comes after it */
};
struct exec {
	unsigned handle; /* 0: there is none */
	unsigned from;	 /* handle of the template that it was made from */
	unsigned off;	 /* nodes that are disabled */
	struct graph g;
};
/* A stream, or an event, in a capture. */
struct in_capture {
	int capture; /* slot of the graph, -1: none; events: ENDED */
	unsigned deps;
};
#define ENDED (-2)

struct graphs {
	unsigned handles; /* so many were given */
	int life[BUFFERS], lives;
	bool live[BUFFERS];
	struct graph graph[GRAPH_SLOTS], capture[GRAPH_SLOTS];
	int origin[GRAPH_SLOTS]; /* stream that a capture began on, -1: there is none */
	struct exec exec[EXEC_SLOTS];
	unsigned old_exec[EXEC_SLOTS]; /* handle that is free again, 0: none */
	struct in_capture stream[LANES], event[CONTEXTS * EVENTS];
};

void graphs_begin(struct graphs *g);
/* Does the operation make sense in the midst of captures and graphs? */
bool graphs_allow(const struct graphs *g, const struct op *o);
void graphs_step(struct graphs *g, const struct program *p, unsigned i);
/* The capture that an operation belongs to, -1: none. */
int graphs_capture(const struct graphs *g, const struct op *o);
unsigned lane_of(const struct op *o);
/* The node that new parameters are for, -1: none. */
int graphs_node(const struct graph *g, const struct op *o);
/* Streams that a capture has pulled in, the origin not among them. */
unsigned graphs_forked(const struct graphs *g, int capture, unsigned *lane);
bool is_graph_op(const struct op *o);
/* Does a come before b in the graph? */
bool graph_before(const struct graph *g, int a, int b);

#endif
