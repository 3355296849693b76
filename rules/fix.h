/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding's fix in the user's own API, from its resolved stacks.
 */
#ifndef KRT_FIX_H
#define KRT_FIX_H

#include "finding.h"

/* What else is known of the process. */
struct krt_fix_process {
	bool runtime; /* the CUDA runtime is in it, in a library of its own or not */
	bool torch;   /* PyTorch is */
};

/* Fills edge.api, edge.code and words f->fix in that API.  Without memory they stay as they are. */
void krt_fix_finding(struct krt_finding *f, const struct krt_fix_process *p, struct krt_arena *a);

#endif
