/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a long command is: one line on stderr that is rewritten in place and
 * erased at the end.  Only on a terminal; in a pipe or a file nothing is ever
 * written.  Whether a line appears depends on the amount of work alone, how
 * often it changes on the clock.  One thread; the struct is the caller's.
 */
#ifndef KRT_PROGRESS_H
#define KRT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define KRT_PROGRESS_LEAST                                                                         \
	(1u << 20) /* work below this many bytes is over before anybody reads                      \
		    */

struct krt_progress {
	const char *what;
	uint64_t total;
	int64_t began, next; /* milliseconds; no rewriting before next */
	bool on, shown;
};

/* what: `analyze`, and whose message it is; total: bytes of work. */
void krt_progress_begin(struct krt_progress *p, const char *what, uint64_t total);
/* done: bytes of work so far; count and noun: what a reader counts in (`records`). */
void krt_progress_at(struct krt_progress *p, uint64_t done, uint64_t count, const char *noun);
/* A step whose length is not known: `looking up symbols`. */
void krt_progress_step(struct krt_progress *p, const char *step);
/* Feeds a finished trace from end to end, and begins with what; NULL: without a word.  Hears from then
 * on what krt_session_report does: p must last as long as s, or end before it. */
struct krt_session;
void krt_progress_trace(struct krt_progress *p, const char *what, struct krt_session *s);
/* Erases the line.  Before anything else is written to stderr or stdout; may be called again. */
void krt_progress_end(struct krt_progress *p);

#endif
