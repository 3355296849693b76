/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of live processes, kept in the order in which engines were fed so that they
 * can be fed again.  What is more than a block of a process lies in one unlinked file
 * of TMPDIR or /tmp.  All or nothing: beyond the bound, or when the disk is full, all
 * of it is let go.
 *
 * Not locked: one thread drives a session.
 */
#ifndef KRT_SPOOL_H
#define KRT_SPOOL_H

#include "../interposer/record.h"
#include <stdbool.h>
#include <stddef.h>

struct krt_spool;

/* bound: bytes of all processes together.  NULL: no memory. */
struct krt_spool *krt_spool_new(uint64_t bound);
void krt_spool_free(struct krt_spool *s);
void krt_spool_add(struct krt_spool *s, unsigned process, const struct krt_rec *rec, size_t len,
		   unsigned lane);
/* NULL: everything that was added is there; else why not. */
const char *krt_spool_gone(const struct krt_spool *s);
/*
 * From the first record of a process on.  next: 1, *rec valid until the next call;
 * 0 after the last; negative: it cannot be read.
 */
void krt_spool_rewind(struct krt_spool *s, unsigned process);
int krt_spool_next(struct krt_spool *s, const struct krt_rec **rec, size_t *len, unsigned *lane);

#endif
