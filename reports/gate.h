/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user knows already: the options suppressions and baseline, read before
 * a run and applied to its report.  Not locked.
 */
#ifndef KRT_GATE_H
#define KRT_GATE_H

#include "../interposer/options.h"
#include "../rules/finding.h"

struct krt_gate;

/*
 * Reads the files.  A relative path of suppressions is looked up in the working
 * directory, then in the folder of the program (its path, or NULL).  NULL: a
 * message in err.
 */
struct krt_gate *krt_gate_open(const struct krt_options *o, const char *program, char *err,
			       size_t errlen);
/* Marks what is known, and moves what is suppressed out of the findings. */
void krt_gate_apply(struct krt_gate *g, struct krt_report *r);
/* On stderr: what of the files is out of date, and of the baseline what is gone. */
void krt_gate_tell(const struct krt_gate *g);
void krt_gate_close(struct krt_gate *g);

#endif
