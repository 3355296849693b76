/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of semantics as text, with the driver that it was measured on
 * (krtsan doctor --probe --write=FILE, option semantics=FILE).
 *
 *	krtsan-semantics 1
 *	driver 13.0 580.159.04
 *	device NVIDIA H200
 *	# comment
 *	FREE_DEVICE edge=device order=none read=never
 *
 * One line for each row of semantics.def: the observed half; what is documented
 * stays as krtsan has it, and no row may say less.  A file for another table
 * (rows missing, or unknown ones) is refused.
 */
#ifndef KRT_SEMANTICS_FILE_H
#define KRT_SEMANTICS_FILE_H

#include "semantics.h"

#include <stdio.h>

#define KRT_SEMANTICS_BYTES (1u << 20) /* no file is longer */

/* Words for what a row says, as files of a table have them: "device", "earlier+src". */
#define KRT_SEM_TEXT 48
const char *krt_edge_text(unsigned edge, char text[KRT_SEM_TEXT]);
bool krt_edge_parse(const char *text, unsigned *edge);
/* NULL: there is no such value. */
const char *krt_sem_order_text(enum krt_sem_order order);
const char *krt_sem_read_text(enum krt_sem_read read);

struct krt_semantics_file {
	char driver[96], device[128];
	struct krt_sem row[KRT_NR_SEMS];
};

/* malloc'd.  NULL: why in err, with the path and the line. */
struct krt_semantics_file *krt_semantics_load(const char *path, char *err, size_t errlen);
struct krt_semantics_file *krt_semantics_parse(const char *path, const char *text, size_t len,
					       char *err, size_t errlen);
/* comment[row]: behind its line, or NULL.  0, or -1: not all was written. */
int krt_semantics_write(FILE *out, const char *driver, const char *device,
			const struct krt_sem *table, const char *const comment[KRT_NR_SEMS]);

#endif
