/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a session folder, live or finished, or what `krtsan record` left: finds the
 * processes, merges the lanes of each by ticket, joins split records, checks everything (a trace is
 * untrusted input).  Knows files, not meanings.
 *
 * At the first damage a process's records end: what was handed out until then
 * is complete in ticket order, so no order is missing in it.
 */
#ifndef KRT_READER_H
#define KRT_READER_H

#include "../interposer/record.h"
#include <stdbool.h>
#include <stddef.h>

struct krt_reader;      /* a session folder */
struct krt_proc_reader; /* one process in it */

/*
 * consume: a live session.  The processes are told who reads, and what was read
 * is punched out.  Without it the folder is a finished trace: nothing is
 * written, every process is dead.  Errors: NULL and a message `area: what: why`.
 */
struct krt_reader *krt_reader_open(const char *dir, bool consume, char *err, size_t errlen);
/* Looks for new processes; returns how many are known. */
int krt_reader_scan(struct krt_reader *r);
struct krt_proc_reader *krt_reader_process(struct krt_reader *r, int index);
/* No room on its disk for one more process? */
bool krt_reader_full(const struct krt_reader *r);
void krt_reader_close(struct krt_reader *r);

/* PID.STARTNS, as its files are named. */
const char *krt_proc_name(const struct krt_proc_reader *p);
/* A copy without the slots, as new as the last krt_proc_next; strings are terminated.  All zero:
 * not readable. */
const struct krt_proc *krt_proc_header(const struct krt_proc_reader *p);
/* Is the process gone (exited, killed, or the trace is an old one) and everything read? */
bool krt_proc_dead(const struct krt_proc_reader *p);
/* It began CUDA and was gone (as far as can be told) before it had written anything: no room even
 * for its header, most likely.  Live folders only; the header has its pid and no more. */
bool krt_proc_unborn(const struct krt_proc_reader *p);
/* What is wrong with its files, `trace: what: why`; NULL: nothing. */
const char *krt_proc_error(const struct krt_proc_reader *p);
/* Whole records its writers had to drop so far. */
uint64_t krt_proc_dropped(const struct krt_proc_reader *p);
/* Records handed out and bytes read so far; most bytes that were waiting to be read. */
void krt_proc_volume(const struct krt_proc_reader *p, uint64_t *records, uint64_t *bytes,
		     uint64_t *peak);
/* Live reader: from now on the writers are on their own (their next wait ends at once). */
void krt_proc_leave(struct krt_proc_reader *p);
/*
 * Next record in merge order.  Returns 1 with *rec valid until the next call,
 * 0 when there is none yet (or none any more, if dead), negative errno when
 * the trace is damaged (what was read before it stands).
 */
int krt_proc_next(struct krt_proc_reader *p, const struct krt_rec **rec, size_t *len,
		  unsigned *lane);

#endif
