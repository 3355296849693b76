/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The findings of a report as a set of fingerprints: what a baseline and a
 * comparison of two reports ask.  Suppressed findings are not in it.  Not locked.
 */
#ifndef KRT_BASELINE_H
#define KRT_BASELINE_H

#include "../rules/finding.h"

struct krt_idset {
	uint64_t *id; /* sorted, each once */
	size_t n;
};

/* -1: no memory. */
int krt_idset_of(struct krt_idset *k, const struct krt_finding *f, size_t n);
bool krt_idset_has(const struct krt_idset *k, uint64_t fingerprint);
void krt_idset_free(struct krt_idset *k);
/* Marks findings and suppressed ones as new or known; how many of the set are neither: *absent. -1:
 * no memory. */
int krt_idset_mark(const struct krt_idset *k, struct krt_report *r, size_t *absent);

#endif
