/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the PTX parser: its state and what its files offer each other.
 *
 * Errors leave by longjmp to the entry function: everything that was allocated
 * belongs to the module's arena or to the parser's scratch buffers, both freed
 * there.  Recursion (scopes, expressions, nested operands) is bounded by MAX_DEPTH.
 */
#ifndef KRT_PTX_PARSE_H
#define KRT_PTX_PARSE_H

#include "lex.h"
#include "module.h"
#include <setjmp.h>

#define MAX_DEPTH    64
#define MAX_REGS     (1u << 20)
#define MAX_OPERANDS 1024u
#define MAX_PARAMS   4096u
#define MAX_DIMS     8u
#define MAX_VAR_SIZE (UINT64_C(1) << 40)
#define MAX_MNEMONIC 512u
#define MAX_INIT     (UINT64_C(1) << 30)

enum sym_kind { SYM_VAR, SYM_FUNC, SYM_REG, SYM_REGS, SYM_LABEL, SYM_TABLE };

struct ptx_symbol {
	struct ptx_symbol *outer;  /* the same name's meaning further out */
	struct ptx_symbol *sibling; /* declared before it in the same scope */
	struct ptx_name *name;
	uint8_t kind;
	uint8_t vec;
	uint32_t depth;
	uint32_t index;            /* register, label, table */
	uint32_t count;            /* SYM_REGS */
	union {
		struct ptx_var *var;
		struct ptx_func *func;
	};
};

/* A label or table that is named before it is defined. */
struct pending {
	struct ptx_name *name;
	uint32_t *where;
	uint32_t line;
	uint8_t kind;              /* SYM_LABEL or SYM_TABLE */
};

struct vec {                       /* scratch array, malloc'd */
	char *data;
	size_t n, cap, elem;
	bool lent; /* data is the arena's, for good */
};

/* What quick.c has seen: a mnemonic, and what registers of a range start with. */
struct quick_op {
	const struct ptx_mnemonic *mn; /* NULL: not one for it */
	struct ptx_name *name;
	size_t len;
	uint64_t first, last;
};
struct quick_prefix {
	const struct ptx_name *name;
	uint64_t key;
};

struct parser {
	struct ptx_module *m;
	struct ptx_lex lx;
	struct ptx_tok tok;
	struct ptx_error *err;
	jmp_buf *jmp;
	/* function under way */
	struct ptx_func *f;
	struct ptx_symbol *scope[MAX_DEPTH + 1];   /* newest symbol of each open scope */
	size_t pending_at[MAX_DEPTH + 1];          /* where each scope's pending ones start */
	uint32_t depth;
	bool digit_names; /* a single register's name ends in digits: may hide one of a range */
	struct vec insts, regtypes, regdecls, vars, labels, tables, pendings, ops, bytes, relocs,
		params;
	struct quick_op quick_ops[256];
	struct quick_prefix quick_prefixes[16];
};

/* parser.c: errors, memory, names, scopes, tokens */
_Noreturn void pp_fail_at(struct parser *p, uint32_t line, const char *what, const char *name,
			  size_t len);
_Noreturn void pp_fail(struct parser *p, const char *what);
_Noreturn void pp_fail_memory(struct parser *p);
void *pp_alloc(struct parser *p, size_t size);
/* Room for so many elements of an empty array, where it will stay. */
void pp_vec_lend(struct parser *p, struct vec *v, size_t elem, size_t n);
void pp_vec_grow(struct parser *p, struct vec *v, size_t elem);
/* A new element, as the memory was. */
static inline void *pp_vec_room(struct parser *p, struct vec *v, size_t elem)
{
	v->elem = elem;
	if (v->n == v->cap)
		pp_vec_grow(p, v, elem);
	return v->data + v->n++ * elem;
}
void *pp_vec_push(struct parser *p, struct vec *v, size_t elem); /* zeroed */
void *pp_vec_take(struct parser *p, struct vec *v, size_t from, uint32_t *count);
struct ptx_name *pp_find_name(const struct ptx_module *m, const char *s, size_t len);
struct ptx_name *pp_intern(struct parser *p, const char *s, size_t len);
struct ptx_symbol *pp_declare(struct parser *p, struct ptx_name *name, enum sym_kind kind);
void pp_scope_open(struct parser *p);
void pp_scope_forget(struct parser *p);
void pp_scope_close(struct parser *p);
void pp_next(struct parser *p);
bool pp_is_punct(const struct parser *p, char c);
bool pp_is_word(const struct parser *p, enum ptx_tok_kind kind, const char *s);
bool pp_is_dot(const struct parser *p, const char *s);
bool pp_accept(struct parser *p, char c);
bool pp_accept_dot(struct parser *p, const char *s);
void pp_expect(struct parser *p, char c);
struct ptx_name *pp_ident(struct parser *p, const char *what);

/* expr.c: constant expressions */
struct value {
	enum { V_INT, V_UINT, V_F32, V_F64 } kind;
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
};

double pp_value_double(struct value v);
bool pp_is_real(struct value v);
struct value pp_expr(struct parser *p, unsigned depth);
int64_t pp_int_expr(struct parser *p);
uint64_t pp_uint_expr(struct parser *p, uint64_t max, const char *what);
uint64_t pp_range_count(struct parser *p, uint64_t max);

/* decl.c: variables, initial values, registers */
struct dims {
	uint64_t dim[MAX_DIMS];
	unsigned n;
};

struct found_reg {
	uint32_t index;
	uint8_t vec;
};

void pp_attributes(struct parser *p, struct ptx_var *v);
uint32_t pp_alignment(struct parser *p);
void pp_var_head(struct parser *p, struct ptx_var *v);
void pp_var_dims(struct parser *p, struct ptx_var *v, struct dims *d);
void pp_variables(struct parser *p, enum ptx_space space, enum ptx_linkage linkage);
uint32_t pp_add_register(struct parser *p, struct ptx_name *name, enum ptx_type type, unsigned vec);
void pp_registers(struct parser *p);
bool pp_find_reg(struct parser *p, const char *s, size_t len, struct found_reg *out);

/* inst.c: instructions */
void pp_pend(struct parser *p, struct ptx_name *name, enum sym_kind kind, uint32_t *where,
	     uint32_t line);
struct ptx_mnemonic *pp_mnemonic(struct parser *p, struct ptx_name *name);
void pp_instruction(struct parser *p);

/* quick.c: labels and instructions of the usual form */
/* As many as follow each other, the first token of a statement current; false: none. */
bool pp_quick(struct parser *p);

#endif
