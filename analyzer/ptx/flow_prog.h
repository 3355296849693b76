/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a kernel for its launches: a straight program over abstract
 * values, and the accesses that use its results.  Made by flow_compile.c, run by
 * flow_eval.c.
 */
#ifndef KRT_PTX_FLOW_PROG_H
#define KRT_PTX_FLOW_PROG_H

#include "flow_ssa.h"

#define NO_SLOT NONE

enum pop {
	P_TOP,
	P_NODE,    /* the node's own operation on slots a, b, c */
	P_JOIN,    /* a or b; where it is a, c is 0; where it is b, d is (NO_SLOT: not known) */
	P_TRIP,    /* how often a test is passed: of a (start), b (step), c (distance), d (bound) */
	P_MIN2,    /* the smaller of two counts */
	P_IV,      /* a + b * iteration, c: count; imm: 2 * loop + (the test was passed) */
	P_BOUND,   /* a, an induction variable from e by b, bounded by its own test (c, d);
		      imm and f: the variable and its start as they are written */
	P_ALONG,   /* a, or b + (c / f) * (d - e): moves along with another induction variable,
		      d (of cmp bits), which is slot imm when nothing is known of it */
	P_LEAN,    /* a, where b cmp c is known of something that it may be made of */
	P_CLAMP,   /* a, of which (a + imm) cmp b is known */
};

struct pins {
	uint8_t op, nop, w, cmp;
	bool sign;
	uint32_t a, b, c, d, e, f;
	int64_t imm;
};

struct pguard {
	uint32_t x, y;     /* slots */
	uint8_t cmp, w;
	bool sign;
};

struct ploop {
	uint32_t loop;
	uint32_t iv, test, init, step, delta, bound, trip; /* slots; delta NO_SLOT: 0 */
	uint8_t cmp, w;
	bool sign, pass;
};

/* When every byte may be proven to be touched. */
struct pmust {
	uint32_t addr;
	uint32_t nguards, nloops;
	struct pguard *guards;
	struct ploop *loops;
};

struct pcond {
	uint32_t slot;
	bool neg;
};

struct pacc {
	uint32_t addr;     /* slot; NO_SLOT: not understood */
	uint32_t width;
	uint8_t kind;
	uint32_t nslots, nglobals, nconds;
	uint32_t *slots, *globals; /* what the address may come from */
	struct pcond *conds;       /* all hold when it runs */
	struct pmust *must;
};

#define MAX_TERMS 7

struct term {
	int64_t coef;
	uint32_t atom;
};

enum { V_OK, V_TOP, V_BOTTOM };

/* c + sum of coef * atom, each atom anything in [0, its n]; modulo 2^width of its reader. */
struct aval {
	int64_t c;
	uint8_t st, n;
	struct term t[MAX_TERMS];
};

struct prog {
	uint32_t nins, naccs, nloops, natoms; /* natoms: room */
	struct pins *ins;
	struct pacc *accs;
	struct aval *val;  /* per instruction */
	uint64_t *atom;    /* n per atom: tid, ctaid, two a loop, then made on the way */
};

#endif
