/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte ranges by address, which may overlap: those that meet a range are found in
 * steps that grow with their number and the logarithm of all.
 *
 * A search tree by beginning, balanced by chance (weights from the nodes'
 * addresses), each node with the greatest end below it.  The nodes lie in what they
 * are about; the caller locks.
 */
#ifndef KRT_SPAN_H
#define KRT_SPAN_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

struct krt_span {
	struct krt_span *left, *right;
	uint64_t lo, hi, max;
};

void krt_span_insert(struct krt_span **root, struct krt_span *s);
/* s must be in the tree. */
void krt_span_remove(struct krt_span **root, struct krt_span *s);
/* The next one behind `after` (NULL: the first) that has a byte of [lo, hi). */
struct krt_span *krt_span_next(struct krt_span *root, uint64_t lo, uint64_t hi,
			       const struct krt_span *after);

#pragma GCC visibility pop
#endif
