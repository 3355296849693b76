/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder in a shared library of its own, and comparisons with libgcc's. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>

#define CHECK_MAX 64

/* Both unwinders from here on, this library's frames left out. */
struct check_stacks {
	unsigned n, ref_n;
	uint64_t pc[CHECK_MAX], ref[CHECK_MAX];
};
void check_take(struct check_stacks *s);

/* Compare them; 0: equal, else says so on stderr under the given name and returns 1. */
int check_equal(const char *what);
/* The frames of ours must be the first ones of the reference, at least least of them. */
/* Only ours. */
unsigned check_ours(struct check_stacks *s);
int check_prefix(const char *what, unsigned least);

extern unsigned check_done, check_failed;

#endif
