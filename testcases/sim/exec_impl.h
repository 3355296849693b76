/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the PTX interpreter.
 *
 * Each PTX instruction becomes one or a few decoded operations; an operation is
 * a function pointer with its operands as slots of the register frame (>= 0) or
 * of the function's constants (< 0).  A register slot holds its value extended
 * to 64 bits by the type that wrote it; readers narrow to their own type.
 *
 * Threads run one after the other until they wait, end, or used up their slice;
 * see exec_sched.c for who runs when.
 */
#ifndef SIM_EXEC_IMPL_H
#define SIM_EXEC_IMPL_H

#include "exec.h"
#include <stdlib.h>
#include <string.h>

struct thread;
struct block;
struct dop;
struct efunc;

/* What an operation tells the loop that runs it. */
enum step {
	STEP_NEXT = 0,     /* go on at thread.pc */
	STEP_YIELD,        /* go on, but let others first */
	STEP_WAIT,         /* thread.state says what for; pc is past the instruction */
	STEP_EXIT,         /* the thread ended */
	STEP_FAULT,        /* launch.fault is set */
};

typedef enum step (*op_fn)(struct thread *t, const struct dop *d);

/* Where an address comes from. */
enum base {
	BASE_VALUE,        /* slot a */
	BASE_FRAME,        /* the frame's variables */
	BASE_PARAM,        /* the launch's parameter block */
	BASE_SHARED,       /* shared variable number aux_index */
};

struct dop {
	op_fn fn;
	int32_t pred;              /* slot of the guard; -1: none */
	bool pred_not;
	uint8_t base;              /* enum base */
	uint8_t space;             /* enum ptx_space, base form */
	uint8_t size;              /* bytes of one element */
	uint8_t n;                 /* elements */
	uint8_t type;              /* enum ptx_type */
	uint8_t flags;             /* per operation */
	uint8_t sub;               /* per operation */
	int32_t dst, dst2;
	int32_t a, b, c, e;
	uint32_t index;            /* shared variable, jump target, ... */
	int64_t imm;
	const void *aux;           /* slots of vectors, call descriptions, jump tables */
	const struct ptx_inst *in;
};

enum thread_state { T_READY, T_BARRIER, T_WARP, T_SOFT, T_EXITED };

struct frame {
	struct frame *up;
	const struct efunc *f;
	const struct call *call;   /* what made it; NULL: the entry */
	uint32_t ret_pc;
	uint8_t *base;             /* its variables on the thread's stack */
	uint8_t *sp_before;
	uint64_t regs[];
};

struct thread {
	uint64_t *regs;
	const uint64_t *consts;
	const struct dop *code;
	uint32_t pc;
	uint8_t state;             /* enum thread_state */
	uint8_t lane;
	bool cc;                   /* condition code: carry */
	uint8_t bar;               /* T_BARRIER: which */
	uint16_t patience;         /* T_SOFT */
	uint32_t mask;             /* T_WARP: members */
	const struct dop *wait;    /* T_WARP, T_SOFT, T_BARRIER with a result */
	uint8_t *base;             /* variables of the current frame */
	uint8_t *sp, *stack, *stack_end;
	struct frame *frame;
	struct block *block;
	uint32_t depth;
	uint32_t tid[3];
	uint32_t index;            /* within the block */
};

struct barrier {
	uint32_t arrived;
	uint32_t expected;         /* 0: all live threads */
	uint32_t count;            /* barrier.red.popc */
	bool all, any;
};

struct block {
	struct exec_launch *launch;
	uint32_t ctaid[3];
	uint32_t nthreads, live, cursor;
	uint64_t index;            /* linear */
	bool ran;                  /* some thread ran since the cursor was 0 */
	bool waited;               /* every thread waits; looked at before the deadlock verdict */
	uint32_t start;            /* seeded: where a sweep starts */
	uint32_t warp_waits, bar_waits, soft_waits; /* threads in these states */
	uint8_t *shared;
	uint8_t *stacks;
	struct barrier bars[16];
	struct block *next_free;
	struct thread threads[];
};

struct exec_launch {
	struct exec_module *em;
	struct exec_func *f;
	struct exec_config cfg;
	struct exec_hooks hooks;
	uint8_t *params;
	size_t params_size;
	size_t shared_size;        /* static and dynamic */
	size_t stack_size;         /* per thread */
	uint32_t nthreads;         /* per block */
	uint64_t nblocks, next_block;
	struct block **active;
	uint32_t nactive, cap_active, turn;
	uint32_t slice;            /* what is left of the turn's */
	struct block *free_blocks;
	struct frame **free_frames; /* per efunc: chained by up */
	uint64_t executed;
	uint64_t slice_end; /* executed at the end of the slice that runs, if it is used up */
	const uint32_t *slice_left;
	uint64_t rng;
	uint32_t *workspace;       /* grid-wide barrier of a cooperative launch */
	enum exec_state state;
	struct exec_fault fault;
};

/* ---- loaded program ---- */

struct call_arg {
	bool reg;                  /* value in a slot of the caller, not in its frame */
	int32_t slot;
	uint32_t offset;           /* in the caller's frame */
	uint64_t size;
};

struct call {
	const struct efunc *callee; /* NULL: indirect, slot a */
	uint8_t builtin;           /* enum builtin */
	uint32_t nargs, nrets;
	struct call_arg *args, *rets;
};

enum builtin { BUILTIN_NONE, BUILTIN_VPRINTF, BUILTIN_MALLOC, BUILTIN_FREE, BUILTIN_ASSERTFAIL,
	       BUILTIN_SET_CONDITIONAL };

/* One function with a body. */
struct efunc {
	const struct ptx_func *p;
	struct exec_module *em;
	uint32_t index;
	bool needs_stack;
	bool indirect;             /* makes indirect calls */
	struct dop *code;
	uint32_t ncode;
	uint64_t *consts;
	uint32_t nconsts;
	uint32_t nslots;
	uint32_t *slot_of;         /* register -> slot */
	uint32_t frame_size, frame_align;
	uint32_t *param_off, *ret_off,
		*var_off;	   /* offsets in the frame, parallel to the function's lists */
	uint32_t *calls;           /* efuncs that it names */
	uint32_t ncalls;
	uint32_t *shared_used;     /* shared variables that it names */
	uint32_t nshared_used;
	void **owned;              /* to free */
	uint32_t nowned;
	/* entries only, laid out on demand */
	bool laid_out;
	uint32_t *shared_off;      /* per shared variable of the program */
	uint32_t shared_static, dynamic_off;
	size_t local;
	bool uses_stack;
};

struct exec_func {
	struct exec_module *em;
	struct efunc *e;
};

struct exec_var {
	const struct ptx_var *v;
	uint64_t addr;
};

struct exec_module {
	struct ptx_module **mods;
	unsigned nmods;
	struct exec_mem mem;
	bool check_only;
	struct efunc *funcs;
	uint32_t nfuncs;
	struct exec_func *entries;
	uint32_t nentries;
	struct exec_var *globals;  /* with memory */
	uint32_t nglobals;
	const struct ptx_var **shared; /* every shared variable, module and function scope */
	uint32_t nshared, cap_shared;
	size_t const_bytes;
};

/* ---- decoder ---- */

struct decoder {
	struct exec_module *em;
	struct efunc *e;
	const struct ptx_func *f;
	const struct ptx_inst *in;
	struct dop *code;
	uint32_t ncode, cap_code;
	uint64_t *consts;
	uint32_t nconsts, cap_consts;
	uint32_t nslots;
	uint32_t scratch, scratch_end; /* slots free for the current instruction */
	char *err;
	size_t errlen;
	bool failed;
};

typedef bool (*decode_fn)(struct decoder *d, const struct ptx_inst *in);
#define NO_SLOT INT32_MIN

/* Says what is wrong with the current instruction; returns false. */
bool d_fail(struct decoder *d, const char *why);
bool d_fail_name(struct decoder *d, const char *why, const char *name);
struct dop *d_emit(struct decoder *d,
		   op_fn fn); /* guard and line filled in; never NULL (see failed) */
int32_t d_const(struct decoder *d, uint64_t bits);
int32_t d_scratch(struct decoder *d);
/* Operand i as a source of this type (may emit moves of special registers); fails if it is none. */
int32_t d_src(struct decoder *d, const struct ptx_inst *in, unsigned i, enum ptx_type type);
int32_t d_value(struct decoder *d, const struct ptx_operand *o, enum ptx_type type);
/* Operand i as a destination register, a scratch slot for "_". */
int32_t d_dst(struct decoder *d, const struct ptx_inst *in, unsigned i);
int32_t d_reg(struct decoder *d, const struct ptx_operand *o);
int32_t d_reg128(struct decoder *d, const struct ptx_operand *o); /* of two slots */
/* A predicate source; *negate says whether "!" stood before it. */
int32_t d_pred(struct decoder *d, const struct ptx_operand *o, bool *negate);
/* Operand i as an address into op (base, a, imm, index, space). */
bool d_addr(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, struct dop *op);
void *d_own(struct decoder *d,
	    size_t size); /* zeroed memory that lives with the function; NULL: failed */
uint32_t d_shared(struct decoder *d, const struct ptx_var *v);
bool d_need(struct decoder *d, const struct ptx_inst *in, unsigned min,
	    unsigned max); /* operand count */
struct efunc *exec_find_efunc(struct exec_module *em, const struct ptx_func *f);
const struct ptx_var *exec_find_var(struct exec_module *em, const struct ptx_var *v);
uint64_t exec_var_addr(struct exec_module *em, const struct ptx_var *v);
bool exec_decode(struct exec_module *em, struct efunc *e, char *err, size_t errlen);

#define DECODERS                                                                                   \
	X(ADD)                                                                                     \
	X(MUL) X(MAD) X(ALU) X(DIV) X(MINMAX) X(DP) X(FMA) X(FUN) X(TESTP) X(SET) X(SETP) X(SELP)  \
		X(SLCT) X(LOP3) X(SHF) X(PRMT) X(MOV) X(SHFL) X(LD) X(ST) X(NOP) X(POLICY)         \
			X(ISSPACEP) X(CVTA) X(CVT) X(CP_ASYNC) X(BRA) X(BRX) X(CALL) X(RET)        \
				X(EXIT) X(TRAP) X(YIELD) X(BAR) X(BAR_WARP) X(ATOM) X(VOTE)        \
					X(MATCH) X(ACTIVEMASK) X(REDUX) X(ELECT) X(ALLOCA)         \
						X(STACKSAVE) X(STACKRESTORE)
#define X(NAME) bool decode_##NAME(struct decoder *d, const struct ptx_inst *in);
DECODERS
#undef X

/* ---- running ---- */

static inline uint64_t val(const struct thread *t, int32_t slot)
{
	return slot >= 0 ? t->regs[slot] : t->consts[~slot];
}

static inline bool guard_ok(const struct thread *t, const struct dop *d)
{
	return d->pred < 0 || ((t->regs[d->pred] & 1) != 0) != d->pred_not;
}

enum step exec_raise(struct thread *t, const struct dop *d, enum exec_fault_kind kind,
		     uint64_t addr, size_t size, unsigned access);
/* The address that d names, in the terms of its space. */
uint64_t exec_address(const struct thread *t, const struct dop *d);
/* Host memory for an access, or NULL after a fault. */
void *exec_access(struct thread *t, const struct dop *d, enum ptx_space space, uint64_t addr,
		  size_t size, unsigned access);
enum step exec_ret(struct thread *t);
enum step exec_builtin(struct thread *t, const struct dop *d, const struct call *c);
struct frame *exec_push(struct thread *t, const struct efunc *f);
/* Work on a warp or block after a thread started to wait or ended. */
void exec_warp_check(struct block *b, uint32_t warp);
void exec_bar_check(struct block *b, unsigned bar);
void exec_soft_resolve(struct block *b, uint32_t warp);
uint64_t exec_sreg(struct thread *t, uint32_t sreg, unsigned sel);
bool exec_layout(struct efunc *e);

/* Half-precision and bfloat16, round to nearest even. */
float exec_half_float(uint16_t h);
uint16_t exec_float_half(double d);
float exec_bf16_float(uint16_t h);
uint16_t exec_float_bf16(float f);

static inline float bits_float(uint64_t v)
{
	uint32_t b = (uint32_t)v;
	float f;

	memcpy(&f, &b, sizeof(f));
	return f;
}

static inline uint64_t float_bits(float f)
{
	uint32_t b;

	memcpy(&b, &f, sizeof(b));
	return f != f ? 0x7fffffffu : b;
}

static inline double bits_double(uint64_t v)
{
	double d;

	memcpy(&d, &v, sizeof(d));
	return d;
}

static inline uint64_t double_bits(double d)
{
	uint64_t b;

	memcpy(&b, &d, sizeof(b));
	return b;
}

#endif
