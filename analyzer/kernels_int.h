/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the kernels file: kernels_text.c reads it,
 * kernels_name.c holds names against patterns, kernels.c keeps and evaluates.
 *
 * A line is a list of statements whose expressions are short programs for a
 * stack machine; a block's body follows its statement, up to `end`.  Limits are
 * checked by the parser, so that the evaluator needs none but the one on steps.
 * What a name settles (captures) is worked out once per kernel, in an instance.
 */
#ifndef KRT_KERNELS_INT_H
#define KRT_KERNELS_INT_H

#include "kernels.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define KRT_K_ITEMS    64	  /* of one expression */
#define KRT_K_DEPTH    32	  /* nested parentheses */
#define KRT_K_ACCESSES 64	  /* of one line */
#define KRT_K_STMTS    256	  /* of one line */
#define KRT_K_BLOCKS   8	  /* nested blocks */
#define KRT_K_VARS     16	  /* of one line */
#define KRT_K_CAPTURES 12	  /* of one pattern */
#define KRT_K_TYPES    16	  /* of a captured list, of a functor's arguments */
#define KRT_K_ARG      4095u	  /* parameters are at most 32,764 bytes */
#define KRT_K_OFF      32767u
#define KRT_K_BYTES    (16u << 20) /* of a file */

/* A number; where only its limits are known they differ. */
struct krt_k_val {
	uint64_t lo, hi;
};

enum krt_k_op {
	KRT_K_VALUE,	/* value */
	KRT_K_SOME,	/* an element of unknown type */
	KRT_K_VAR,	/* arg */
	KRT_K_ARGN,	/* parameter arg as a number */
	KRT_K_WORD,	/* width bytes at off of parameter arg */
	KRT_K_AT,	/* the same, the offset is popped */
	KRT_K_PSIZE,	/* bytes of parameter arg */
	KRT_K_DIM,	/* width: 0..2 grid, 3..5 block */
	KRT_K_NUMBER,	/* capture arg as a number */
	KRT_K_SIZEOF,	/* capture arg as a type; of a list: type number off */
	KRT_K_RESULT,	/* capture arg as a functor: bytes it returns */
	KRT_K_ARITY,
	KRT_K_ARGUMENT, /* bytes of the argument whose number is popped */
	KRT_K_TABLE,	/* entry of table arg, its index is popped */
	/* two are popped */
	KRT_K_ADD,
	KRT_K_SUB,
	KRT_K_MUL,
	KRT_K_DIV,
	KRT_K_MOD,
	KRT_K_MIN,
	KRT_K_MAX,
	KRT_K_EQ,
	KRT_K_NE,
	KRT_K_LT,
	KRT_K_LE,
	KRT_K_GT,
	KRT_K_GE,
};

struct krt_k_item {
	uint8_t op, width;
	uint16_t arg;
	uint32_t off;
	uint64_t value;
};

struct krt_k_prog {
	unsigned n; /* 0: not given */
	struct krt_k_item *item;
};

enum krt_k_stmt_kind {
	KRT_K_ACCESS,
	KRT_K_FOR,  /* var from e[A] up to below e[B] */
	KRT_K_IF,   /* e[A]; an ELSE may follow its body */
	KRT_K_ELSE,
	KRT_K_LET,  /* var is e[A] */
	KRT_K_REQUIRE, /* e[A] is not 0 */
};

enum {
	KRT_K_A,      /* range: from, or what the kind says */
	KRT_K_B,      /* range: to */
	KRT_K_C,      /* within: from */
	KRT_K_D,      /* within: to */
	KRT_K_PTR,    /* offset of the pointer in its parameter */
	KRT_K_TIMES,  /* what all counts of each make together */
	KRT_K_EACH,   /* the first each: var from, to, count, stride */
	KRT_K_EACH2 = KRT_K_EACH + 4,
	KRT_K_PROGS = KRT_K_EACH2 + 4
};

struct krt_k_stmt {
	uint8_t kind, role;
	bool may, inside, ranged, within;
	uint8_t each; /* how many */
	uint16_t arg, var, end;
	struct krt_k_prog e[KRT_K_PROGS];
};

/* `names SET: WORD...` and `table NAME: N, ...` */
struct krt_k_set {
	struct krt_k_set *next;
	char *name;
	unsigned n;
	char **word;
};

struct krt_k_table {
	struct krt_k_table *next;
	char *name;
	unsigned n;
	uint64_t *value;
};

/* `size "TYPE": N` */
struct krt_k_size {
	struct krt_k_size *next;
	char *type;
	uint64_t bytes;
};

struct krt_k_pattern {
	char *text;
	bool readable; /* matches the demangled name */
	unsigned n;    /* captures */
	struct {
		char *name;
		bool list;
	} capture[KRT_K_CAPTURES];
};

struct krt_k_text {
	const char *p;
	size_t len;
};

struct krt_k_functor {
	struct krt_k_functor *next;
	struct krt_k_pattern pattern;
	struct krt_k_prog result; /* n 0: not known */
	unsigned n;
	struct krt_k_prog arg[KRT_K_TYPES];
	int list; /* the arguments are those of this capture; -1: they are arg[] */
	const struct krt_k_source *source;
};

/* What is known of a captured text. */
struct krt_k_capture {
	bool number_known, size_known, functor_known;
	uint64_t number;
	unsigned n; /* sizes of a list, arguments of a functor */
	struct krt_k_val size[KRT_K_TYPES];
	bool known[KRT_K_TYPES];
	struct krt_k_val result;
	bool result_known;
};

/* One file. */
struct krt_k_source {
	struct krt_k_source *next;
	char *name;
	bool shipped;
	struct krt_k_set *sets;
	struct krt_k_table *tables;
	unsigned ntables;
};

struct krt_k_line;

/* A line, or what it is for one kernel. */
struct krt_kernels_line {
	struct krt_k_line *line;
	struct krt_k_capture *capture; /* of its pattern, NULL: it has none */
};

struct krt_k_line {
	struct krt_k_line *next;
	struct krt_kernels_line plain; /* for lines without captures */
	const struct krt_k_source *source;
	unsigned number;
	bool found, synchronises, atomic_ok, ignore, vague;
	uint64_t nuseless;   /* launches of which it says nothing */
	const char *useless; /* why, at the first */
	struct krt_k_pattern pattern;
	int nlayout; /* -1: any */
	bool layout_more;
	struct krt_k_prog *layout; /* n 0: any size */
	unsigned n;
	struct krt_k_stmt *stmt;
};

struct krt_k_found {
	char *key;
	size_t keylen;
	struct krt_kernels_line *instance; /* NULL: no line */
	bool own;			   /* instance is freed with it */
	UT_hash_handle hh;
};

struct krt_kernels_file {
	struct krt_k_source *sources, **sources_end;
	struct krt_k_line *first, **end;
	struct krt_k_size *sizes, **sizes_end;
	struct krt_k_functor *functors, **functors_end;
	struct krt_k_found *found;
};

/* --- kernels_name.c --- */

/*
 * Holds a name against a pattern; out: the captured texts, pattern->n of them.
 * Time is bounded by the product of the lengths.
 */
bool krt_k_match(const struct krt_k_pattern *p, const struct krt_k_source *src, const char *name,
		 size_t len, struct krt_k_text *out);
/* * and ? alone. */
bool krt_k_glob(const char *pattern, const char *name, size_t len);
/* Finds the captures of a pattern's text; NULL or what is wrong with it. */
const char *krt_k_captures(struct krt_k_pattern *p, const struct krt_k_source *src);
/* Bytes of a type, 0: not known. */
uint64_t krt_k_size_of(const struct krt_kernels_file *f, struct krt_k_text type);
void krt_k_learn(const struct krt_kernels_file *f, struct krt_k_text text, bool list,
		 struct krt_k_capture *out);

/* --- kernels.c --- */

struct krt_k_context {
	const struct krt_k_source *source;
	const struct krt_k_capture *capture;
	const struct krt_kernels_launch *launch; /* NULL: only what a name settles */
	struct krt_k_val var[KRT_K_VARS];
	uint64_t steps;
};

/* NULL or why not. */
const char *krt_k_compute(const struct krt_k_prog *p, struct krt_k_context *c,
			  struct krt_k_val *out);

/* --- kernels_text.c --- */

void krt_k_free_line(struct krt_k_line *l);
void krt_k_free_functor(struct krt_k_functor *f);
void krt_k_free_source(struct krt_k_source *s);

#endif
