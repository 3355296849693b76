/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels file (kernels=FILE, and those that come with krtsan): what kernels
 * read and write, declared by hand.
 *
 *	# comment, to the end of the line; a backslash at its end continues a line,
 *	# and so do a comma, a colon and an open brace
 *	kernel saxpy: arg 1 read [0, 4*arg0), arg 2 read [0, 4*arg0), arg 2 write [0, 4*arg0)
 *	kernel *histogram*: arg 0 read, arg 1 atomic [0, 1024)
 *	kernel "void reduce<$T, $N>(*" (8, 4): arg 0.0 write [0, sizeof($T)*$N*arg1)
 *	kernel poll_*: ignore
 *
 * NAME is the kernel's name as the driver tells it (mangled for C++), with * and ?
 * as wildcards.  In quotes it may hold spaces and colons; with a blank, ( or < among
 * them it is held against the readable (demangled) name, and then
 *   $X	    stands for one template argument or parameter: what is balanced up to the
 *	    next comma or closing bracket; the same $X twice: the same text; $_: any
 *   $X...  for a list of them, up to the closing bracket
 *   \*	    for a * itself: "$T const\*, " is a pointer to const and $T what it leads to
 *   @SET   for a whole identifier that is one of `names SET: WORD, ...` (* and ? too)
 * Behind NAME the sizes of the parameters may stand in parentheses, * for any and
 * ... for more: the line fits only kernels of this layout.  So it does only where
 * all that it asks of its captures is known.  The first line that fits a kernel
 * counts, and it is the whole truth: what it does not name is not accessed.
 *
 *	arg N ROLE [FROM, TO)	ROLE: read, write, read+write, atomic
 *	arg N ROLE		the same, from the pointer on; how far is not known
 *	arg N may ROLE [..)	nothing outside; inside, data decide: likely against what is sure, else possible
 *	arg N may ROLE		the same, up to the end of what the pointer leads to
 *	arg N ROLE [..) within [A, B)	   surely the first, surely nothing outside the second
 *	arg N ROLE [..) each d in A..B (COUNT by STRIDE)
 *		   the range COUNT times, STRIDE bytes apart, for each d: strided tensors;
 *		   a second each and, behind it, `times X`: X is how many that makes
 *	ignore		 no access at all, or no more
 *	sync-by-memory	 it orders itself with what runs beside it through memory; alone
 *			 on a line: what it accesses is for others to tell
 *	atomic-ok	 its atomics are meant to meet what others do: no finding on them
 *			 is more than possible
 *	for i in A..B { ... }	if X { ... } else { ... }	let v = X
 *	require X	 the line is of use only where X is not 0
 *
 * Parameter N, from 0, is the pointer; arg N.OFF is the pointer OFF bytes inside
 * parameter N, arg N.(EXPR) one at a computed place.  FROM and TO are bytes from there.
 * Expressions: integers (decimal, 0x hexadecimal), + - * / % ( ), == != < <= > >= (1
 * or 0), min(a, b), max(a, b), argN (parameter N as an unsigned integer), argN.OFF,
 * argN.OFF:WIDTH, argN.(EXPR):WIDTH (WIDTH bytes inside it: 1, 2, 4, or 8 when not
 * given), gridx gridy gridz blockx blocky blockz, variables, $X (a captured number),
 * sizeof($X) (bytes of a captured type), sizeof($X, K) (of the K-th of a list),
 * sizeof(argN), result($X), argument($X, K), arity($X) (bytes of what a captured
 * functor returns and takes, and how many it takes), NAME[K] (of a table), and ?, the
 * size of an element of any type: 1 to 16 bytes.  What follows from ? is known by its
 * limits only: a range is surely accessed as far as it surely goes.  Arithmetic is
 * unsigned with 64 bits; a result below 0 or beyond 64 bits, a division by 0 and what
 * is not known make the line useless for that launch.
 *
 *	size "TYPE", ...: BYTES
 *	names SET: WORD, ...
 *	table NAME: NUMBER, ...
 *	functor "NAME": BYTES (BYTES, ...)	what sort of functor returns and takes what:
 *	functor "NAME": BYTES ($X...)		the first that fits counts
 *
 * Used by one thread at a time; safe on any text.
 */
#ifndef KRT_KERNELS_H
#define KRT_KERNELS_H

#include "../interposer/record.h"
#include "access.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct krt_kernels_file;
struct krt_kernels_line;

/*
 * Reads a file; NULL and a message "FILE:LINE: what: why" (or "FILE: what: why")
 * in err.
 */
struct krt_kernels_file *krt_kernels_load(const char *path, char *err, size_t errlen);
/* The same from memory; name stands for the file in messages. */
struct krt_kernels_file *krt_kernels_parse(const char *name, const char *text, size_t len,
					   char *err, size_t errlen);
/*
 * Adds the files that come with krtsan behind *f (NULL: to nothing).  False: a
 * message in err.
 */
bool krt_kernels_ship(struct krt_kernels_file **f, char *err, size_t errlen);
void krt_kernels_free(struct krt_kernels_file *f);

/* Values as in krtsan.h; a role may be several of them. */
#define KRT_KERNELS_READ   1u
#define KRT_KERNELS_WRITE  2u
#define KRT_KERNELS_ATOMIC 4u

struct krt_kernels_access {
	/*
	 * Rows of len bytes, pitch apart; in a row, pieces of width bytes, stride apart
	 * (0: no gaps).  len 0: the extent is not known (FROM; addr is the pointer).
	 */
	uint64_t addr, len;
	uint64_t rows, pitch; /* rows 0 or 1: one */
	uint64_t stride, width;
	uint64_t base;	    /* the pointer it is reached from */
	unsigned role;	    /* of KRT_KERNELS_* */
	unsigned arg;	    /* which parameter */
	uint32_t offset;    /* of base in it */
	enum krt_sureness sure;
	bool loose; /* SOME: a limit and no more, which alone makes no finding */
};
typedef void krt_kernels_fn(void *user, const struct krt_kernels_access *a);

struct krt_kernels_launch {
	const struct krt_param *param; /* layout; nparams KRT_PARAMS_UNKNOWN: not known */
	uint32_t nparams;
	const void *params;            /* raw parameter buffer, laid out by param[].offset */
	size_t len;
	uint32_t grid[3], block[3];
};

enum krt_kernels_result {
	KRT_KERNELS_NO_LINE, /* nothing is said of this kernel */
	KRT_KERNELS_USELESS, /* there is a line, but not for these parameters: see krt_kernels_why()
			      */
	KRT_KERNELS_DECLARED,
	KRT_KERNELS_SILENT, /* there is a line, and it says nothing of accesses: other tiers do */
};

/*
 * The line of a kernel with these parameters (nparams KRT_PARAMS_UNKNOWN: not
 * known), NULL: none.  Depends on name and layout alone: may be kept.
 */
const struct krt_kernels_line *krt_kernels_find(struct krt_kernels_file *f, const char *name,
						const struct krt_param *param, uint32_t nparams);
/* It synchronises through memory with what runs beside it. */
bool krt_kernels_synchronises(const struct krt_kernels_line *line);
/*
 * It comes with krtsan and tells of some access only what it is for: where a kernel's
 * PTX is to be had, that knows better.
 */
bool krt_kernels_yields(const struct krt_kernels_line *line);
/* The file the line stands in, as messages call it. */
const char *krt_kernels_source(const struct krt_kernels_line *line);
/*
 * The next line behind `after` (NULL: from the first) that no find() came to; NULL:
 * no more.  Lines that come with krtsan are not meant.
 */
const struct krt_kernels_line *krt_kernels_unused(const struct krt_kernels_file *f,
						  const struct krt_kernels_line *after);
/*
 * The same of lines that eval() found USELESS: for how many launches, and why at the
 * first of them.
 */
const struct krt_kernels_line *krt_kernels_useless(const struct krt_kernels_file *f,
						   const struct krt_kernels_line *after,
						   uint64_t *launches, const char **why);
/*
 * What the line says of one launch: fn for each access, unless USELESS, then for
 * none.  A pointer of 0 and an empty range are no access.
 */
enum krt_kernels_result krt_kernels_eval(const struct krt_kernels_line *line,
					 const struct krt_kernels_launch *launch,
					 krt_kernels_fn *fn, void *user);
/* Both in one; f may be NULL. */
enum krt_kernels_result krt_kernels_match(struct krt_kernels_file *f, const char *name,
					  const struct krt_kernels_launch *launch,
					  krt_kernels_fn *fn, void *user);
/* Why eval() would say USELESS, in words (static text), NULL: it would not. */
const char *krt_kernels_why(const struct krt_kernels_line *line,
			    const struct krt_kernels_launch *launch);
/* Does the pattern, with * and ?, fit the whole name? */
bool krt_kernels_glob(const char *pattern, const char *name);
/* Where the line stands in the file. */
unsigned krt_kernels_number(const struct krt_kernels_line *line);

#endif
