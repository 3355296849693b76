/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives an analysis: finds the processes of a session folder, gives each an
 * engine, feeds it, and makes one report of all.  Live runs and traces go
 * through the same code.
 */
#ifndef KRT_SESSION_H
#define KRT_SESSION_H

#include "../interposer/options.h"
#include "../rules/finding.h"

struct krt_session;

/* live: the processes still run (or may); their buffers are consumed.  NULL and a message in err on
 * failure. */
struct krt_session *krt_session_open(const char *dir, bool live, const struct krt_options *o,
				     char *err, size_t errlen);
/* Engines tell it of kernels; before the first step. */
struct krt_kernel_watch;
void krt_session_watch(struct krt_session *s, const struct krt_kernel_watch *w);
/* krt_session_report tells how many records it has read again, to try fixes, as it goes. */
void krt_session_tell(struct krt_session *s, void (*tell)(void *arg, uint64_t again), void *arg);
/* Feeds what is there, about `budget` records at most.  Returns how many: 0, nothing to do at
 * present. */
size_t krt_session_step(struct krt_session *s, size_t budget);
/* Processes that may still write. */
unsigned krt_session_alive(const struct krt_session *s);
/* The executable of the first process found, NULL: there is none yet.  Feeds a little. */
const char *krt_session_program(struct krt_session *s);
/* Processes seen. */
unsigned krt_session_processes(const struct krt_session *s);
/* Records fed and bytes read so far; bytes of all, once a finished trace was stepped through for the first time. */
void krt_session_volume(const struct krt_session *s, uint64_t *records, uint64_t *bytes,
			uint64_t *total);
/* No more feeding: unread records do not count; what still writes is left to itself.  why: for the
 * report, or NULL. */
void krt_session_stop(struct krt_session *s, const char *why);
/* Judges the ends and makes the report, findings with names and fingerprints.  NULL: no memory. */
struct krt_report *krt_session_report(struct krt_session *s);
/* Did records get lost because the disk of the session folder was full?  While the folder is there.
 */
bool krt_session_full(const struct krt_session *s);
/* Number n of the messages about damaged files, NULL after the last. */
const char *krt_session_problem(const struct krt_session *s, unsigned n);
void krt_session_close(struct krt_session *s);

/* Options that differ from their defaults, in the syntax of KRTSAN_OPTIONS; malloc'd, NULL: no
 * memory. */
char *krt_options_text(const struct krt_options *o);

#endif
