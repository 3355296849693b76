/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where reports go: the text report to log_path, the others to the report
 * options.  %p in a path is the pid and gives each process a report of its
 * own; without it one report covers the tree.
 */
#ifndef KRT_OUTPUT_H
#define KRT_OUTPUT_H

#include "../interposer/options.h"
#include "../rules/finding.h"

/* Are the formats and paths in the options good?  0, or -1 and a message. */
int krt_output_check(const struct krt_options *o, char *err, size_t errlen);
/*
 * Can the files of the options be written, as far as can be told without touching them?  Before a
 * long run, whose end is a bad time to learn of a mistyped folder.  0, or -1 and a message.
 */
int krt_output_probe(const struct krt_options *o, char *err, size_t errlen);
/*
 * Writes everything.  pid stands for a run without processes; suffix (or NULL)
 * is added to paths without %p.  Returns how many could not be written; each
 * was told on stderr.
 */
int krt_output(const struct krt_report *r, const struct krt_options *o, int pid,
	       const char *suffix);
/*
 * The same for a report that was read back: each item is FORMAT[:PATH], and no
 * path, as `-`, means standard output.
 */
int krt_output_check_list(const struct krt_option_list *to, char *err, size_t errlen);
int krt_output_list(const struct krt_report *r, const struct krt_options *o,
		    const struct krt_option_list *to);
/* Does one of the formats show a timeline? */
bool krt_output_timeline(const struct krt_options *o);
/* Does the report fail the run (fail_on)? */
bool krt_output_fails(const struct krt_report *r, const struct krt_options *o);
/*
 * The exit code of a whole run, the first that applies: the program's own
 * failure (code; -1 none to honour), a finding at or above fail_on, an
 * inconclusive verdict with require=complete, 0.
 */
int krt_output_exit_code(const struct krt_report *r, const struct krt_options *o, int program);

#endif
