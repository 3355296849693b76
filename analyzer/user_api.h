/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which API the user's code speaks where a finding's operations are, as the named
 * stacks tell; with that, the words of its fix.
 */
#ifndef KRT_USER_API_H
#define KRT_USER_API_H

#include "../rules/finding.h"

/* What else is known of the process, for stacks that do not tell. */
struct krt_user_process {
	bool runtime; /* the CUDA runtime is in it, in a library of its own or not */
	bool torch;   /* PyTorch is */
};

enum krt_user_api krt_user_api_of(const struct krt_finding *f, const struct krt_user_process *p);
/* Sets edge.api and has the fix worded in it. */
void krt_user_fix(struct krt_finding *f, const struct krt_user_process *p, struct krt_arena *a);

#endif
