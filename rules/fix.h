/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding's fix in the user's own API: lines to paste (edge.code) and the sentence.
 */
#ifndef KRT_FIX_H
#define KRT_FIX_H

#include "finding.h"

/*
 * Where the two calls of an edge, and the end of the buffer, are in the user's source:
 * "model.cc:211", or NULL.
 */
struct krt_fix_places {
	const char *record, *wait, *freed;
	bool python; /* it is Python source */
};

/*
 * Fills edge.code and words f->fix in edge.api, which is set.  Without memory they stay
 * as they are.
 */
void krt_fix_words(struct krt_finding *f, const struct krt_fix_places *p, struct krt_arena *a);
/* The sentence of an edge, in the driver's words.  False: the table leaves it to the rule. */
bool krt_fix_sentence(const struct krt_missing *m, const char *from, const char *to, char *buf,
		      size_t len);

#endif
