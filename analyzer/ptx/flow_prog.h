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
	/* In pieces only: */
	P_COUNT,   /* as P_TRIP; nothing unless it is one number */
	P_NOW,     /* a + b * iteration of loop imm, c: count */
	P_LAST,    /* a + b * c, c: count: a variable of a loop that has ended */
	P_ONLY,    /* a; nothing at all unless b holds (imm: does not hold) */
	P_EITHER,  /* a or b, where they are the same or the other is nothing at all */
};

struct pins {
	uint8_t op, nop, w, cmp;
	bool sign;
	bool moves;        /* the value goes along with a pointer that moves: flow_move.c */
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
	bool loose;        /* what it leaves out is not the data's choice, and not followed */
	uint32_t site;     /* krt_flow_range.site */
	uint32_t nslots, nglobals, nconds;
	uint32_t *slots, *globals; /* what the address may come from */
	struct pcond *conds;       /* all hold when it runs */
	struct pmust *must;
};

#define FLOW_WORK 500000u /* prog.work at first: enough for the first launches of any kernel */

#define MAX_TERMS 10

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
static inline bool aval_equal(const struct aval *a, const struct aval *b)
{
	if (a->st || b->st || a->c != b->c || a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (a->t[i].coef != b->t[i].coef || a->t[i].atom != b->t[i].atom)
			return false;
	return true;
}

/* ---- pieces of a launch (flow_piece.c) ---- */

#define MAX_DIGITS 24
#define MAX_LIVE   8 /* loops around an access */
#define MAX_GROUP  64

struct xloop {
	uint32_t loop, count; /* count: slot */
	bool pass;            /* the access is behind the loop's test */
};

struct xacc {
	uint32_t addr, pred;  /* slots; pred NO_SLOT: none */
	uint32_t size;        /* slot: bytes, or that there are none (none_if); NO_SLOT */
	bool none_if;
	uint32_t first, n;    /* of prog.accs */
};

/* The accesses of a block, and what must be so for it to run. */
struct xgroup {
	uint32_t nconds, nloops, naccs, nrun;
	uint32_t indexed;     /* dimensions of which S_INDEX alone is used; its variable is tid's */
	struct pcond *conds;
	struct xloop *loops;
	struct xacc *accs;
	uint32_t *run;        /* the instructions that it takes, in order */
};

struct prog {
	uint32_t nins, naccs, nloops, natoms; /* natoms: room */
	struct pins *ins;
	struct pacc *accs;
	struct aval *val;  /* per instruction */
	uint64_t *atom;    /* n per atom: tid, ctaid, two a loop, then made on the way */
	uint32_t ngroups;
	struct xgroup *groups;
	struct prog *exact; /* the instructions of the groups; its first atoms are digits */
	uint32_t work;	    /* instructions of these that its launches may still take */
	/* Of one evaluation, for flow_move.c: a value that moves met a limit; bytes before and
	 * behind where pointers that move lead to. */
	bool far;
	uint64_t below, above;
	/* Per access, for one evaluation. */
	struct krt_flow_range *res;
	uint8_t *where;
	bool *skip, *settled;
	uint32_t *lead; /* the first of an access in a group; NONE: in none */
};

/* Some values of a variable (thread, block, iteration): those before, and coef * [0, n]. */
struct digit {
	uint8_t var;
	int64_t coef;
	uint64_t n;
};

/* Threads and iterations: every combination of the digits' values. */
struct part {
	int64_t lo[6 + MAX_LIVE];
	uint32_t open;        /* loops of which all iterations are in it */
	uint32_t ndigits;
	struct digit d[MAX_DIGITS];
	uint64_t left;        /* accesses that are not settled yet */
};

/* Where to cut a piece, so that more is known of its parts. */
struct wish {
	enum { WISH_NONE, WISH_CUT, WISH_DIGITS } kind;
	uint32_t digit;
	uint64_t at;          /* CUT: the first of the second part; DIGITS: how many of the first */
};

#define MAX_DEFS 24

/* What an atom was made of: mult * atom = form. */
struct def {
	uint32_t atom;
	int64_t mult;
	struct aval form;
};

struct ev {
	struct prog *p;
	const struct krt_flow_launch *l;
	uint32_t natoms, ndefs;
	struct def defs[MAX_DEFS];
	struct part *piece;  /* NULL: all of the launch at once */
	const struct xgroup *group;
	bool never;           /* no thread of the piece gets there */
	struct wish wish;
};

/* flow_eval.c */
struct aval flow_val_node(struct ev *e, const struct pins *p);
struct aval flow_val_sum(struct ev *e, const struct aval *a, const struct aval *b);
struct aval flow_val_scaled(struct ev *e, const struct aval *a, int64_t k);
struct aval flow_val_signed(struct ev *e, const struct aval *a, unsigned w);
struct aval flow_val_count(struct ev *e, const struct pins *p);
bool flow_val_hull(const struct ev *e, const struct aval *v, int64_t *lo, int64_t *hi);

/* A value that goes along with a pointer: did it come near a limit? */
void flow_val_moves(struct ev *e, const struct pins *p, const struct aval *v);

/* flow_piece.c */
struct aval flow_piece_var(struct ev *e, unsigned var);
/* Wishes that v be below `at` or not below it; that floor(v / d) be one number. */
void flow_wish_below(struct ev *e, const struct aval *v, int64_t at);
void flow_wish_quotient(struct ev *e, const struct aval *v, int64_t d);

/* Bytes [at, at + len), and the same again for every combination of coef * [0, n]. */
#define MAX_DIMS 8
struct box {
	int64_t at;
	uint64_t len;
	uint32_t ndims;
	struct {
		uint64_t coef, n;
	} dim[MAX_DIMS];
	uint32_t acc;         /* of prog.accs */
};

#define MAX_BOXES 96
struct boxes {
	uint32_t n;
	struct box b[MAX_BOXES];
};

/*
 * The bytes of the accesses for which skip is not set.  All bytes of a box are
 * touched; settled[first]: all bytes of that access are in boxes.
 */
void flow_pieces(struct prog *p, const struct krt_flow_launch *l, const bool *skip, bool *settled,
		 struct boxes *out);
/* Bytes from a box's first to its last. */
uint64_t flow_box_reach(const struct box *b);
/* Joins boxes from `from` on where they lie together. */
void flow_join_boxes(struct boxes *b, uint32_t from);

#endif
