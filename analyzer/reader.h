/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a session folder, live or finished: finds the processes, merges the
 * lanes of each by ticket, joins split records, checks everything (a trace is
 * untrusted input).  Knows files, not meanings.
 */
#ifndef KRT_READER_H
#define KRT_READER_H

#include "../interposer/record.h"
#include <stdbool.h>
#include <stddef.h>

struct krt_reader;      /* a session folder */
struct krt_proc_reader; /* one process in it */

/* consume: punch out what was read (live runs).  Errors: NULL and a message `area: what: why` in err. */
struct krt_reader *krt_reader_open(const char *dir, bool consume, char *err, size_t errlen);
/* Looks for new processes; returns how many are known. */
int krt_reader_scan(struct krt_reader *r);
struct krt_proc_reader *krt_reader_process(struct krt_reader *r, int index);
void krt_reader_close(struct krt_reader *r);

const struct krt_proc *krt_proc_header(const struct krt_proc_reader *p);
/* Is the process gone (exited, killed, or the trace is an old one)? */
bool krt_proc_dead(const struct krt_proc_reader *p);
/*
 * Next record in merge order.  Returns 1 with *rec valid until the next call,
 * 0 when there is none yet (or none any more, if dead), negative errno when
 * the trace is damaged (what was read before it stands).
 */
int krt_proc_next(struct krt_proc_reader *p, const struct krt_rec **rec, size_t *len, unsigned *lane);

#endif
