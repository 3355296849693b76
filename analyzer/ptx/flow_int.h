/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the access analysis: the flat program (flow.c, flow_prov.c), its
 * values (flow_ssa.c), and what is evaluated at a launch (flow_eval.c).
 *
 * A kernel and all that it calls become one flat program of basic blocks; a
 * call of a function is a copy of its body, with registers of its own.  What
 * recursion or the limits do not allow to copy is kept once, detached: its
 * instructions count for the roles, their addresses are not understood.
 *
 * Memory comes from two arenas; running out of one leaves by longjmp.
 */
#ifndef KRT_PTX_FLOW_INT_H
#define KRT_PTX_FLOW_INT_H

#include "arena.h"
#include "flow.h"
#include <setjmp.h>

#define NONE UINT32_MAX
/*
 * So many of a kernel's accesses have ranges: about as many as a launch has time for.
 * What is said of the others is whole; of far more it is said of all.
 */
#define FLOW_ACCS     512u
#define FLOW_MAX_ACCS (4 * FLOW_ACCS)

struct vec {
	void *p;
	uint32_t n, cap;
};

/* ---- flat program ---- */

/* A piece of a .param variable, or all of it (size 0): stands for a register. */
struct piece {
	const struct ptx_var *var;
	uint64_t off;
	uint32_t size;
	uint32_t reg;      /* relative to the instance */
	uint32_t next;     /* of the same variable */
	bool mixed;        /* size 0: pieces overlap, nothing is known of any */
};

struct pieces {
	struct vec list;   /* struct piece */
	uint32_t *head;    /* per parameter, result and body variable */
	uint32_t nregs;    /* of the function and its pieces */
};

struct instance {
	const struct ptx_func *f;
	struct pieces *pc;
	uint32_t base;     /* first register */
	struct instance *up;
	uint32_t depth;
	bool detached;
	uint32_t after;    /* block where a return leads; NONE: the end */
	uint32_t entry;
};

enum fop_kind {
	FOP_INST,
	FOP_COPY,          /* dst = src */
	FOP_OPAQUE,        /* dst is something made of src (NONE: of anything) */
};

struct fop {
	const struct ptx_inst *in;
	struct instance *inst;
	uint32_t dst, src;
	uint32_t block;
	uint8_t kind;
};

struct fblock {
	uint32_t first, n;
	uint32_t nsucc;
	uint32_t *succ;
	uint32_t cond;     /* register; NONE.  Then succ[0] if it holds and succ[1] if not; with
			      one successor: there if not, and the thread ends if it holds */
	bool cond_not;
	bool trap;         /* where it ends without a successor, the kernel fails */
};

/* ---- where an address may come from ---- */

enum base_kind {
	BASE_NONE,         /* shared, local, heap: known to be no one else's */
	BASE_UNKNOWN,
	BASE_SLOT,         /* a: parameter, b: offset or KRT_FLOW_ANY */
	BASE_PARAM,        /* the address of a parameter, likewise */
	BASE_GLOBAL,       /* a: index of globals */
	BASE_LOADED,       /* a: the base it was loaded through; b: index of sites + 1, 0: none */
	BASE_FURTHER,      /* a: the base that a pointer to where it lay was loaded through */
};

struct base {
	uint8_t kind;
	uint32_t a, b;
};

/* A load of pointers: instruction, and which of the words that it loads. */
struct site {
	uint32_t fop;
	uint8_t word, words;
};

struct set {
	uint32_t n;
	bool param;        /* a BASE_PARAM is among them */
	uint16_t *id;      /* ascending indices of bases */
};

struct global {
	const struct ptx_var *var;
	uint8_t role, through, rest;
};

/* One access of global memory in the code. */
struct acc {
	uint32_t fop;
	const struct ptx_operand *addr;
	uint8_t kind;
	bool exact;        /* `width` bytes are accessed whenever the instruction runs */
	bool none_if;      /* `size` is a predicate: nothing is accessed if it holds */
	const struct ptx_operand *size; /* at most so many are; NULL: it does not say */
	uint32_t width;    /* 0: not known */
	uint32_t set;
};

struct prog; /* flow_eval.c: what is left for the launches */

struct flow {
	jmp_buf out;
	struct ptx_arena tmp;
	struct ptx_module *m;
	const struct ptx_func *entry;
	struct krt_kernel_flow *k;

	struct vec fops, blocks, instances, detached;
	struct vec
		doing; /* of fops: instructions that have to do with memory or with other threads */
	uint32_t nregs;
	struct vec accs;   /* struct acc; behind FLOW_ACCS of those that say the same one or a few */
	uint32_t naccs;    /* all of them */
	struct vec bases, sets, globals, sites;
	uint32_t *set_hash, nset_hash;
	uint32_t memo_a[4096], memo_b[4096], memo_r[4096];
	uint32_t *prov;    /* per register: a set */
	bool *asked;       /* per register: its set was used in this round */
	bool escaped_asked, again; /* a set grew that was used before */
	uint8_t *load_role; /* per base that was loaded: done behind it */
	uint32_t escaped;  /* set of what was stored to memory */
	uint32_t flags;
	uint8_t any;
	bool broken;       /* some instruction may have written any register */
	uint32_t work;     /* steps that the recursive walks have left */
};

struct krt_kernel_flow {
	struct ptx_arena keep;
	struct krt_flow_info info;
	struct prog *prog; /* NULL: no ranges */
};

void *flow_alloc(struct flow *fl, size_t size); /* zeroed; until the analysis ends */
void *flow_keep(struct flow *fl, size_t size);  /* zeroed; as long as the result */
void *flow_push(struct flow *fl, struct vec *v, size_t elem); /* a zeroed new element */
#define VEC(V, TYPE) ((TYPE *)(V).p)

/* flow_prov.c */
void flow_provenance(struct flow *fl);
void flow_roles(struct flow *fl);
uint32_t flow_set_union(struct flow *fl, uint32_t a, uint32_t b);

/* flow.c */
/* The piece of a .param variable; NONE: nothing exact.  *all: its whole-variable register. */
uint32_t flow_piece(const struct instance *i, const struct ptx_var *v, uint64_t off, uint32_t size,
		    uint32_t *all);
/* Is it one of the kernel's own parameters? */
static inline bool flow_is_entry_param(const struct flow *fl, const struct ptx_var *v)
{
	return v->func == fl->entry && v->index < fl->entry->nparams &&
	       fl->entry->params[v->index] == v;
}

/* Does it name a parameter, the kernel's or a call's? */
static inline bool flow_param_space(const struct ptx_inst *in)
{
	return ptx_space_base(ptx_inst_space(in)) == PTX_SPACE_PARAM;
}

/* flow_ssa.c, flow_eval.c */
void flow_ranges(struct flow *fl);

#endif
