/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two compilers share: flow_compile.c (a launch as a whole) and
 * flow_exact.c (pieces of it).
 */
#ifndef KRT_PTX_FLOW_COMP_H
#define KRT_PTX_FLOW_COMP_H

#include "flow_prog.h"

#define MAX_DEPTH 250u

struct memo {
	struct slot_of {
		uint32_t node, ctx, slot;
	} *at;
	uint32_t n, cap;
};

/* The test that ends a loop: continues while (iv + delta) cmp bound. */
struct test {
	uint32_t iv, node, delta, bound; /* nodes; delta NONE: 0 */
	uint8_t cmp, w;
	bool sign;
};

struct tests {
	uint32_t n;        /* usable ones */
	struct test t[2];
	bool only;         /* the loop has no other way out */
	uint32_t cond;     /* node; NONE */
	bool neg;
	uint32_t trip;     /* slot; NONE: not compiled */
	bool busy;
};

struct side {
	uint32_t block;
	bool neg, known;
};

struct sides {
	uint32_t n, room;
	struct side *e;
};

struct comp {
	struct flow *fl;
	struct graph *g;
	struct vec ins;
	struct memo memo;
	struct tests *tests;
	struct sides *control; /* per block */
	bool no_proofs;
	uint32_t top;      /* a slot with P_TOP */
	bool full;
	uint32_t work;
};

struct closure {
	uint32_t n;
	struct side e[64];
};

/* The slot of a node in a context; NONE in a new entry. */
uint32_t *flow_memo(struct flow *fl, struct memo *m, uint32_t node, uint32_t ctx);
/* All branches that a block depends on; false: too many, or one without a condition. */
bool flow_depends(struct comp *c, uint32_t block, struct closure *cl);
/* Is the block behind the test of a loop?  -1: neither before nor behind it. */
int flow_behind(const struct comp *c, uint32_t block, uint32_t l);

/* flow_exact.c */
struct exact;
struct exact *flow_exact_new(struct comp *c);
/* A group for the accesses of one block; their addr and pred are nodes. */
void flow_exact_group(struct exact *x, uint32_t block, const struct xacc *accs, uint32_t n);
void flow_exact_end(struct exact *x, struct prog *p);

/* flow_move.c: info.moves and info.fixed, by a program that is complete */
void flow_moves(struct flow *fl, struct prog *p);

/* flow_guard.c */
struct guards;
struct guards *flow_guards_new(struct comp *c); /* NULL: nothing is known */
/*
 * Is an access decided without data, and by something that the ranges do not follow?
 * pred (NONE) and addr are nodes.
 */
bool flow_unfollowed(const struct guards *s, uint32_t block, uint32_t pred, uint32_t addr);

#endif
