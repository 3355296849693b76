/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `krtsan record` leaves of a process: its records, as they were merged, in one
 * file of compressed frames (NAME.packed; interposer/TRACE.md has the format).
 *
 * A frame is whole by itself and is appended at once, so what a writer that was killed
 * leaves is a trace up to its last frame.  When a frame cannot be written the file is
 * cut back to the last whole one and nothing more is added.
 *
 * The reader trusts nothing: every length is checked before it is used.
 *
 * Not locked.
 */
#ifndef KRT_PACKED_H
#define KRT_PACKED_H

#include "../interposer/record.h"
#include <stdbool.h>
#include <stddef.h>

#define KRT_PACKED_SUFFIX ".packed"
#define KRT_PACKED_RECORD (256u * 1024 * 1024) /* of one record, at most */

struct krt_packer;
/* A new file NAME.packed in the folder.  NULL: errno. */
struct krt_packer *krt_packer_new(int dirfd, const char *name);
/* What the header of the process says now; the first thing in the file, and (end) the last. */
int krt_packer_process(struct krt_packer *p, const struct krt_proc *h, uint64_t dropped, bool end);
/* Negative errno, also after an earlier failure: the record is not in the file. */
int krt_packer_add(struct krt_packer *p, const struct krt_rec *rec, size_t len, unsigned lane);
/* What was added is on its way to the disk. */
int krt_packer_flush(struct krt_packer *p);
/* 0, or why nothing more is written; records that were to be added and are not in the file. */
int krt_packer_error(const struct krt_packer *p);
uint64_t krt_packer_lost(const struct krt_packer *p);
/* Bytes in the file; nanoseconds (of CLOCK_MONOTONIC) since when something waits, 0: nothing. */
uint64_t krt_packer_size(const struct krt_packer *p);
uint64_t krt_packer_since(const struct krt_packer *p);
void krt_packer_free(struct krt_packer *p);

struct krt_unpacker;
/* The file stays open, and is closed with it.  NULL: no memory. */
struct krt_unpacker *krt_unpacker_new(int fd);
/* The header: 1, or negative: see the error. */
int krt_unpacker_begin(struct krt_unpacker *u);
/* 1: *rec is whole, valid until the next call; 0: the end; negative: see the error. */
int krt_unpacker_next(struct krt_unpacker *u, const struct krt_rec **rec, size_t *len,
		      unsigned *lane);
/* The latest state of the process that was met; slots are not in it.  NULL: none yet. */
const struct krt_proc *krt_unpacker_process(const struct krt_unpacker *u);
uint64_t krt_unpacker_dropped(const struct krt_unpacker *u);
/* Unpacked bytes of all frames. */
uint64_t krt_unpacker_volume(const struct krt_unpacker *u);
/* What is wrong, `at byte N: what`; NULL: nothing. */
const char *krt_unpacker_error(const struct krt_unpacker *u);
void krt_unpacker_free(struct krt_unpacker *u);

#endif
