/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the flat program as a graph of expressions over the launch
 * (static single assignment; equal expressions are one node), its control flow,
 * and the conditions under which a block runs.  Made by flow_ssa.c, compiled by
 * flow_eval.c.
 *
 * A node stands for one value in every run of its block.  A condition that holds
 * on an edge that dominates a block holds for the values that the block uses:
 * no path leads from the definition of a value to the block without the edge.
 */
#ifndef KRT_PTX_FLOW_SSA_H
#define KRT_PTX_FLOW_SSA_H

#include "flow_int.h"

enum nop {
	N_OPAQUE,  /* anything of w bits, zero- or sign-extended; pure: made of a, b, c alone */
	N_CONST,   /* imm */
	N_PARAM,   /* w bits of the parameter block at imm */
	N_PADDR,   /* the address of byte imm of the parameter block */
	N_SREG,    /* imm: enum sreg */
	N_VAR,     /* the address of global number imm */
	N_ADD, N_SUB, N_MUL, N_SHL, N_SHR, N_AND, N_OR, N_XOR, N_MIN, N_MAX, N_DIV, N_REM,
	N_HIGH,    /* a * b >> (32 + imm % 32); imm & N_HIGH_UNSIGNED: a is signed, b is not */
	N_EXT,     /* the low imm bits of a, extended */
	N_SEL,     /* a ? b : c */
	N_PHI,     /* joins; imm: index of graph.phis */
	N_IV,      /* a + b * iteration of loop imm */
	N_DECAY,   /* starts at a, goes towards zero */
	N_CMP,     /* a ? b; imm: enum ncmp, w: bits compared */
	N_PAND, N_POR, N_PNOT,
};
#define N_HIGH_UNSIGNED 32
enum ncmp { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE };
enum sreg {
	S_TID,
	S_CTAID = 3,
	S_NTID = 6,
	S_NCTAID = 9,
	S_LANE = 12,
	S_INDEX, /* ctaid * ntid + tid, of one dimension: flow_exact.c */
};

struct node {
	uint8_t op, w;
	bool sign;
	bool plain;    /* the same whatever path led to it */
	bool pure;
	uint32_t a, b, c;
	int64_t imm;
	uint32_t block;
	uint64_t vary; /* loops in which it may change from one iteration to the next */
	uint64_t deps; /* hashes of all nodes that it is made of */
};

struct phi {
	uint32_t block, reg, n;
	uint32_t *val; /* per predecessor */
};

/* A condition that holds, and those before it. */
struct ctx {
	uint32_t up, cond, depth;
	bool neg;
	uint64_t mask; /* hashes of the nodes that it says something of */
};
#define CTX_RAW	 0 /* nothing is known, and loops are taken as they are written */
#define CTX_ROOT 1

struct loop {
	uint32_t header, entry_pred, latch; /* NONE: several */
	uint32_t nlatch, exits;             /* edges */
	uint32_t exiting;                   /* the block of the only exit; NONE */
	uint32_t entry_ctx;
};

struct cfg {
	uint32_t n, nrpo;
	uint32_t *rpo, *order;              /* order: position in rpo, NONE: unreachable */
	uint32_t **pred, *npred;
	uint32_t *idom, *tin, *tout;        /* dominators */
	uint32_t *ipdom, *ptin, *ptout;     /* post-dominators; node n is the end */
	uint64_t *in_loop;
	struct vec loops;
	bool odd;                           /* a cycle that is no natural loop */
};

struct atom_cond { /* a ? b */
	uint32_t a, b;
	uint8_t cmp, w;
	bool sign;
};

struct graph {
	struct flow *fl;
	struct cfg cfg;
	struct vec nodes, phis, ctxs;
	uint32_t *cond;      /* per block: node; NONE */
	uint32_t *ctx;       /* per block */
	uint32_t *acc_node, *acc_pred; /* per access: address and guard, NONE */
	uint32_t *acc_size;            /* its size or what makes it none; NONE */
	uint32_t *hash, nhash, nhashed;
};

#define NODE(G, I) (&VEC((G)->nodes, struct node)[I])

void flow_cfg(struct flow *fl, struct cfg *c);
#define MANY (NONE - 1) /* writers of a register */
/*
 * Per instruction: is it needed for the first naccs accesses and the branches of the
 * first nblocks blocks?  *count: how many are.  writer: per register, the block of its only
 * write; NONE; MANY.
 */
const bool *flow_slice(struct flow *fl, const struct cfg *c, const uint32_t *writer, uint32_t naccs,
		       uint32_t nblocks, uint32_t *count);
bool flow_graph(struct flow *fl, struct graph *g); /* false: too odd for ranges */
uint32_t flow_node(struct graph *g, struct node n);
uint32_t flow_ctx(struct graph *g, uint32_t up, uint32_t cond, bool neg);
/* The conditions on the edge from one block to another. */
uint32_t flow_edge_ctx(struct graph *g, uint32_t from, uint32_t to);
/* Splits a condition into comparisons that all hold; false: there is more to it than that. */
bool flow_atoms(struct graph *g, uint32_t cond, bool neg, struct atom_cond *out, uint32_t *n,
		uint32_t max);
/* n = target + *rest (NONE: nothing); false: it is no such sum. */
bool flow_apart(struct graph *g, uint32_t n, uint32_t target, uint32_t *rest);
bool flow_dominates(const struct cfg *c, uint32_t a, uint32_t b);
bool flow_postdominates(const struct cfg *c, uint32_t a, uint32_t b);

#endif
