/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suppressions: which findings a user knows of and does not want to hear of.
 *
 *   race:upload_weights                  a plain pattern: any function, file or module of the
 *                                        finding's stacks, its kernels, its buffer
 *   KRT-RACE-RAW:func=forward,buffer=kv_*
 *   stale-graph:kernel=^warmup$,reason="harmless, ISSUE-7",expires=2030-12-31
 *   *:module=libvendor.so                # of any rule
 *
 *   KRT-RACE-RAW:func=^step$,kernel=^twice$,other_func=^step$,other_api=cuMemset
 *                                        two operations
 *
 * One a line.  What stands before the colon is a rule's id (KRT- may be left
 * out), words of ids (`race` is every id with RACE in it), or *.  Patterns
 * fit anywhere in a name; ^ and $ tie them to its ends, * is any text.  All of
 * a line must fit, each pattern anywhere in the finding; in a line with a key other_* what
 * stands with func, file, module, kernel, stream, api and nvtx all fits one of the finding's
 * two operations, either, and other_func and the like the other one.  A pattern with `"`, or with a
 * comma before what looks like a key, goes in quotes, with \" and \\ in them.  A line suppresses up
 * to the day it expires on.
 *
 * Not locked: one thread's.
 */
#ifndef KRT_SUPPRESS_H
#define KRT_SUPPRESS_H

#include "../rules/finding.h"
#include <stdio.h>

struct krt_suppressions;

struct krt_suppressions *krt_suppressions_new(void);
void krt_suppressions_free(struct krt_suppressions *s);
/* A day as 20301231; 0 in place of one: none. */
int krt_today(void);
/*
 * Adds the lines of a file, or of a text that messages call name.  0, or -1 and
 * `suppressions: FILE:LINE: what: why` in err.
 */
int krt_suppressions_load(struct krt_suppressions *s, const char *path, int today, char *err,
			  size_t errlen);
int krt_suppressions_parse(struct krt_suppressions *s, const char *text, const char *name,
			   int today, char *err, size_t errlen);
/* Does a line fit it? */
bool krt_suppressions_fit(const struct krt_suppressions *s, const struct krt_finding *f);
/* Moves findings that a line fits to r->suppressed. */
void krt_suppressions_apply(struct krt_suppressions *s, struct krt_report *r);
/* Tells of lines that have expired, and of all how often they fitted where `all`. */
void krt_suppressions_tell(const struct krt_suppressions *s, bool all, FILE *out);
/*
 * The line for finding number i: no address or number in it, and fitting none of
 * those that are not chosen.  malloc'd; NULL: no memory.
 */
char *krt_suppression_of(const struct krt_report *r, const bool *chosen, size_t i);

#endif
