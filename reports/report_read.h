/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON report read back: the inverse of report_json.c.  What was read, written
 * again, gives the same bytes (of a report of this version).
 *
 * Keys of a newer minor version are passed over, keys that an older one lacks
 * are as null.  What cannot be told apart from nothing found (another schema
 * version, an unknown rule or word, a value of the wrong type) is an error: a
 * gate must not pass over it.  Input is untrusted.  Not locked.
 */
#ifndef KRT_REPORT_READ_H
#define KRT_REPORT_READ_H

#include "../rules/finding.h"

/* path "-": standard input.  NULL: `report: PATH:LINE:COLUMN: why` or `report: PATH: KEY: why` in
 * err. */
struct krt_report *krt_report_read(const char *path, char *err, size_t errlen);
/* The same; told hears how many bytes were read, again and again. */
struct krt_report *krt_report_read_told(const char *path, void (*told)(void *arg, uint64_t bytes),
					void *arg, char *err, size_t errlen);
/* The same from memory; name stands for the path in messages. */
struct krt_report *krt_report_parse(const char *text, size_t len, const char *name, char *err,
				    size_t errlen);

#endif
