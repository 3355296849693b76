/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX front end: text in, a small IR out.
 *
 * One parser for the analysis of what kernels access and for the simulated
 * driver's interpreter.  It knows the syntax of PTX ISA 9.0; what an
 * instruction means is its users' business, as far as the opcode table
 * (op.def) does not say it.
 *
 * Invariants: no CUDA, no stdio, no globals that change.  A module owns all it
 * hands out (one arena); nothing points into the text that was parsed, unless
 * the module was opened lazily.  Text is untrusted: any input gives a module or
 * an error with line and reason, in time and memory linear in its length.
 * An instruction that the table does not know is kept (PTX_OP_UNKNOWN, with its
 * text and what of its operands could be read): it "may do anything".
 * A module may be read by several threads at once, except where ptx_func_parse()
 * still has work to do.
 */
#ifndef KRT_PTX_H
#define KRT_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- modifiers: ".u32", ".global", ".v4", ".lo", ... ; types and spaces are modifiers too ---- */

enum ptx_type {
	PTX_NONE,
#define PTX_TYPE(ID, TEXT, BITS, KIND) PTX_##ID,
#include "mod.def"
	PTX_TYPE_COUNT
};

enum ptx_kind {
	PTX_KIND_BITS,     /* .b8 .. .b128 */
	PTX_KIND_UNSIGNED,
	PTX_KIND_SIGNED,
	PTX_KIND_FLOAT,
	PTX_KIND_PACKED,   /* .f16x2 and relatives */
	PTX_KIND_PRED,
	PTX_KIND_OPAQUE,   /* .texref .samplerref .surfref */
};

enum ptx_space {
	PTX_SPACE_NONE,    /* generic, where an instruction takes an address */
#define PTX_SPACE(ID, TEXT) PTX_SPACE_##ID,
#include "mod.def"
	PTX_SPACE_COUNT
};

enum ptx_mod {
	PTX_M_NONE,
#define PTX_TYPE(ID, TEXT, BITS, KIND) PTX_M_##ID,
#define PTX_SPACE(ID, TEXT) PTX_M_SPACE_##ID,
#define PTX_MOD(ID, TEXT) PTX_M_##ID,
#include "mod.def"
	PTX_M_COUNT        /* ids from here on: modifiers the table does not know */
};

enum ptx_op {
	PTX_OP_UNKNOWN,
#define PTX_OP(ID, TEXT, DST, MEM, EXEC) PTX_OP_##ID,
#include "op.def"
	PTX_OP_COUNT
};

/* What an instruction does through its address operands (op.def). */
enum ptx_mem {
	PTX_MEM_NONE,
	PTX_MEM_READ,      /* reads what the address operand names */
	PTX_MEM_WRITE,
	PTX_MEM_ATOMIC,    /* reads and writes, atomically */
	PTX_MEM_COPY,      /* writes through the first address operand, reads through the second */
	PTX_MEM_COPY_RED,  /* the same, but updates the first atomically */
	PTX_MEM_PREFETCH,  /* names memory, transfers nothing */
	PTX_MEM_SYNC,      /* barriers in shared memory and their like */
	PTX_MEM_TENSOR_MAP,/* changes a tensor map */
	PTX_MEM_CALL,      /* whatever the callee does */
	PTX_MEM_ANY,       /* not known */
};

enum ptx_sreg {
	PTX_SREG_OTHER,    /* not in the table; its name is the operand's text */
#define PTX_SREG(ID, TEXT, TYPE, DIMS) PTX_SREG_##ID,
#include "sreg.def"
	PTX_SREG_COUNT
};

unsigned ptx_type_bits(enum ptx_type t);
static inline unsigned ptx_type_size(enum ptx_type t)
{
	return (ptx_type_bits(t) + 7) / 8;
}
enum ptx_kind ptx_type_kind(enum ptx_type t);
const char *ptx_type_text(enum ptx_type t);     /* "u32"; without the dot */
const char *ptx_space_text(enum ptx_space s);
const char *ptx_op_text(enum ptx_op op);
unsigned ptx_op_dsts(enum ptx_op op);           /* how many leading operands are written */
enum ptx_mem ptx_op_mem(enum ptx_op op);
const char *ptx_sreg_text(enum ptx_sreg s);
/* PTX_SPACE_SHARED for .shared::cta and .shared::cluster, PTX_SPACE_PARAM for .param::entry ...;
 * else s. */
enum ptx_space ptx_space_base(enum ptx_space s);

/* ---- IR ---- */

struct ptx_module;
struct ptx_func;
struct ptx_var;

enum ptx_linkage {
	PTX_LINK_LOCAL,
	PTX_LINK_EXTERN,
	PTX_LINK_VISIBLE,
	PTX_LINK_WEAK,
	PTX_LINK_COMMON,
};

enum ptx_operand_kind {
	PTX_O_NONE,
	PTX_O_SINK,  /* _ */
	PTX_O_REG,   /* reg; flags, sel */
	PTX_O_SREG,  /* reg is an enum ptx_sreg; sel 0..3 for .x .y .z .w */
	PTX_O_INT,   /* imm, PTX_OF_UNSIGNED */
	PTX_O_F32,   /* imm: the 32 bits (0f...) */
	PTX_O_F64,   /* imm: the 64 bits (0d... and decimal floats) */
	PTX_O_VAR,   /* the address of var, plus imm */
	PTX_O_FUNC,  /* func */
	PTX_O_LABEL, /* reg indexes ptx_func.labels */
	PTX_O_TABLE, /* reg indexes ptx_func.tables (branch targets, call targets, prototypes) */
	PTX_O_ADDR,  /* [elem[0] + imm], further comma-separated operands of the brackets in
			elem[1..n-1] */
	PTX_O_VEC,   /* {elem[0], ...}, n elements */
	PTX_O_LIST,  /* (elem[0], ...): arguments and results of a call */
	PTX_O_PAIR,  /* elem[0]|elem[1] */
	PTX_O_TEXT,  /* not understood (only in PTX_OP_UNKNOWN); text */
};

#define PTX_OF_NOT       0x01 /* !p */
#define PTX_OF_NEG       0x02 /* -r */
#define PTX_OF_UNSIGNED  0x04 /* U suffix, or a value above INT64_MAX */
#define PTX_OF_SCALED    0x08 /* symbol[index]: elem[1] is an index in elements */

/* Selectors: lanes of a vector register or special register, bytes and halves of video
 * instructions. */
enum ptx_sel {
	PTX_SEL_NONE = 0,
	PTX_SEL_X, PTX_SEL_Y, PTX_SEL_Z, PTX_SEL_W,
	PTX_SEL_B0, PTX_SEL_B1, PTX_SEL_B2, PTX_SEL_B3, PTX_SEL_H0, PTX_SEL_H1, PTX_SEL_OTHER,
};

struct ptx_operand {
	uint8_t kind;              /* enum ptx_operand_kind */
	uint8_t flags : 4;         /* PTX_OF_* */
	uint8_t sel : 4;           /* enum ptx_sel */
	uint16_t n;                /* elements */
	uint32_t reg;
	int64_t imm;
	union {
		const struct ptx_operand *elem;
		const struct ptx_var *var;
		const struct ptx_func *func;
		const char *text;
	};
};

#define PTX_NO_REG UINT32_MAX
#define PTX_MAX_TYPES 4
#define PTX_MAX_SPACES 3

/* An opcode with its modifiers; most of a module's instructions share a few dozen. */
struct ptx_mnemonic {
	uint16_t op;               /* enum ptx_op */
	uint16_t nmods;
	uint8_t types[PTX_MAX_TYPES];   /* in order of appearance; PTX_NONE ends */
	uint8_t ntypes;
	uint8_t spaces[PTX_MAX_SPACES]; /* in order of appearance */
	uint8_t nspaces;
	uint8_t vec;               /* 2, 4, 8 for .v2 .v4 .v8; else 1 */
	bool odd;                  /* carries a modifier that the table does not know */
	const uint16_t *mods; /* every modifier after the opcode in order, types and spaces too */
	const char *text; /* as it is written; the whole statement if PTX_OP_UNKNOWN */
};

/* There are many of them: what is in the mnemonic stays there, but for what all ask. */
struct ptx_inst {
	const struct ptx_mnemonic *mn;
	const struct ptx_operand *ops;
	uint32_t pred;             /* guard register, or PTX_NO_REG */
	uint32_t line;
	uint16_t op;               /* enum ptx_op */
	uint16_t nops;
	uint8_t vec;
	bool pred_not;
	bool odd;
};

/*
 * A call has exactly four operands, PTX_O_NONE where missing: results (LIST),
 * callee (FUNC, or REG when indirect), arguments (LIST), and for indirect calls
 * the prototype or target list (TABLE) or a FUNC that serves as prototype.
 */

/* One piece of an initialiser that is an address. */
struct ptx_reloc {
	uint64_t offset;           /* where in the variable */
	uint8_t size;              /* bytes to store there */
	uint8_t shift;             /* of the address: 0xFF00(sym) stores byte 1, shift 8 */
	bool generic;              /* generic(sym): the address in the generic space */
	const char *name;
	const struct ptx_var
		*var; /* one of the two, resolved within the module; NULL both: unresolved */
	const struct ptx_func *func;
	int64_t addend;
};

struct ptx_var {
	const char *name;
	const struct ptx_module *module;
	const struct ptx_func *func;     /* where it was declared; NULL: module */
	uint8_t space;             /* enum ptx_space; PTX_SPACE_REG for the old .reg parameters */
	uint8_t type;
	uint8_t vec;               /* 1, 2, 4 */
	uint8_t linkage;
	bool array;
	bool unsized;              /* extern array without a length: size is 0 */
	bool managed;              /* .attribute(.managed) */
	bool is_ptr;               /* .ptr was given */
	uint8_t ptr_space;         /* what it points to: PTX_SPACE_NONE generic */
	uint32_t ptr_align;        /* 0: not given */
	uint32_t align;            /* bytes; natural unless .align was given */
	uint64_t size;             /* bytes */
	uint64_t offset;           /* parameters: within the parameter block */
	uint32_t reg;              /* space REG: the register */
	uint32_t index;            /* of ptx_module_var() or ptx_func.vars or its parameter list */
	uint32_t line;
	uint64_t init_len;         /* initialised bytes, from the start; the rest is zero */
	const uint8_t *init;
	uint32_t nrelocs;
	const struct ptx_reloc *relocs;
};

/* Registers are numbered densely within their function. */
struct ptx_regs {
	const char *name;          /* "%r" with count > 1 stands for %r0, %r1, ... */
	uint32_t first, count;
	uint8_t type;
	uint8_t vec;               /* vector registers take vec numbers each */
	bool range;
};

struct ptx_label {
	const char *name;
	uint32_t inst;             /* index of the next instruction; may equal ninsts */
	uint32_t line;
};

enum ptx_table_kind { PTX_TABLE_BRANCH, PTX_TABLE_CALL, PTX_TABLE_PROTOTYPE };

struct ptx_table {
	const char *name;
	uint8_t kind;
	uint32_t line;
	uint32_t n;
	const uint32_t *labels;                 /* BRANCH: indices of ptx_func.labels */
	const struct ptx_func *const *funcs;    /* CALL */
	uint32_t nrets, nparams;                /* PROTOTYPE */
	struct ptx_var *const *rets;
	struct ptx_var *const *params;
};

struct ptx_func {
	const char *name;
	const struct ptx_module *module;
	bool entry;
	bool body; /* defined here (its body may still be unparsed, see ptx_func_parse) */
	bool parsed;
	bool noreturn;
	uint8_t linkage;
	uint32_t line;
	uint32_t index;
	const struct ptx_func *alias;    /* .alias: stands for this one */

	uint32_t nparams, nrets;
	/* offsets as the driver lays them out, but for what is aligned to more than 16 */
	struct ptx_var *const *params;
	struct ptx_var *const *rets;
	uint64_t param_bytes;            /* size of the parameter block */

	uint32_t maxnreg, minnctapersm;  /* 0: not given */
	uint32_t maxntid[3], reqntid[3]; /* 0: not given; else missing ones are 1 */
	uint32_t reqcluster[3], maxclusterrank;
	bool explicitcluster;

	/* body */
	uint32_t nregs, nregdecls;
	const uint8_t *reg_types;        /* enum ptx_type per register */
	const struct ptx_regs *regdecls;
	uint32_t nvars;
	struct ptx_var *const *vars;     /* .local .shared .param .const .global inside the body */
	uint32_t nlabels, ntables;
	const struct ptx_label *labels;
	const struct ptx_table *tables;
	uint32_t ninsts;
	const struct ptx_inst *insts;
};

struct ptx_error {
	uint32_t line;             /* 1-based; 0: no place in the text */
	char what[160];            /* why, one line */
};

/*
 * Parses a module (trailing NULs and NULs that stand for newlines are allowed).
 * NULL and *err on failure (err may be NULL).  The text may be freed afterwards.
 */
struct ptx_module *ptx_parse(const char *text, size_t len, struct ptx_error *err);
/*
 * The same, but bodies are parsed on demand; text must live as long as the
 * module.  ptx_func_parse() returns 0, or -1 with *err (the function then
 * stays unparsed); it is idempotent.
 */
struct ptx_module *ptx_parse_lazy(const char *text, size_t len, struct ptx_error *err);
int ptx_func_parse(struct ptx_module *m, struct ptx_func *f, struct ptx_error *err);
void ptx_free(struct ptx_module *m);

/* Does this look like PTX text (".version" after blanks, comments and NULs)? */
bool ptx_is_text(const void *data, size_t len);

unsigned ptx_version(const struct ptx_module *m);       /* major * 10 + minor */
const char *ptx_target(const struct ptx_module *m);     /* "sm_90a", the first of the list */
unsigned ptx_target_sm(const struct ptx_module *m);     /* 90 */
unsigned ptx_address_size(const struct ptx_module *m);  /* 32 or 64 */
size_t ptx_memory(const struct ptx_module *m);          /* bytes the module holds */

uint32_t ptx_module_funcs(const struct ptx_module *m);
struct ptx_func *ptx_module_func(const struct ptx_module *m, uint32_t i);
struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name);
uint32_t ptx_module_vars(const struct ptx_module *m);   /* variables of module scope */
struct ptx_var *ptx_module_var(const struct ptx_module *m, uint32_t i);
struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name);

/* The text of a modifier id, those beyond PTX_M_COUNT included. */
const char *ptx_mod_text(const struct ptx_module *m, unsigned id);
bool ptx_inst_has(const struct ptx_inst *in, enum ptx_mod mod);
static inline enum ptx_type ptx_inst_type(const struct ptx_inst *in)
{
	return (enum ptx_type)in->mn->types[0];
}
static inline enum ptx_space ptx_inst_space(const struct ptx_inst *in)
{
	return in->mn->nspaces ? (enum ptx_space)in->mn->spaces[0] : PTX_SPACE_NONE;
}

/* To a float of 1 + ebits + mbits bits, at most 16, to nearest even: 5, 10 is f16, 8, 7 bf16; NaN
 * is 0x7fff. */
uint16_t ptx_narrow_float(double d, unsigned ebits, unsigned mbits);

/* Writes the name of register reg ("%r12"); returns the length that was needed. */
size_t ptx_reg_name(const struct ptx_func *f, uint32_t reg, char *buf, size_t len);

#endif
