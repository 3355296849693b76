/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the order that a finding lacks mend it?  The records of its process are judged
 * again as if the program had made that order: is the finding gone, which others go with
 * it, does a new one come, would the program wait for itself?
 *
 * At last all of these orders at once: what is left then?
 *
 * The work is bounded: errors first, then warnings, so many of them, so many records.
 * An interrupt ends it; what is known by then stands.
 */
#ifndef KRT_VERIFY_H
#define KRT_VERIFY_H

#include "engine.h"

#define KRT_VERIFY_FINDINGS 32
#define KRT_VERIFY_RECORDS  8000000u /* fed again, in all; the first finding is tried anyhow */

/* Who has the records. */
struct krt_verify {
	void *user;
	/* The engine that judged the process, finished. */
	struct krt_engine *(*engine)(void *user, unsigned process);
	/*
	 * Another one, fed with the same records and finished; NULL and *why: that cannot
	 * be.  It asks krt_verify_stopped() now and then, and gives up.
	 */
	struct krt_engine *(*again)(void *user, unsigned process, const struct krt_change *c,
				    unsigned n, const char **why);
	uint64_t (*records)(void *user, unsigned process);
	/* Gives a finding of another engine the names that reports have. */
	void (*name)(void *user, unsigned process, struct krt_finding *f, struct krt_arena *a);
};

/* Sorted findings of the report get edge.verified, why and also. */
void krt_verify_report(struct krt_report *r, const struct krt_verify *v);
/* No finding is tried: why. */
void krt_verify_none(struct krt_report *r, const char *why);
/* Was it interrupted? */
bool krt_verify_stopped(void);

#endif
