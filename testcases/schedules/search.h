/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every schedule of a program on the simulated driver: which operation runs next wherever
 * one could, or else the program goes on.  A state that was seen before (how far the
 * program is, what is done, all memory) has the same future and is left.
 *
 * A program tells where its host functions run, as a recorded one would: there, and only there,
 * they do.
 */
#ifndef KRT_SCHEDULES_SEARCH_H
#define KRT_SCHEDULES_SEARCH_H

#include "execute.h"

#define SCHEDULE_OPS 8
#define STEPS	     24

/* Operations in the order in which they were done; those of the CPU too. */
struct schedule {
	unsigned n;
	uint8_t op[STEPS];
	struct seen seen;
};

struct found {
	enum did did;
	uint8_t at;    /* the operation, unless it did */
	bool too_many; /* schedules: not all were tried */
	unsigned runs, schedules;
	bool differ; /* what is seen in the end: by the two of these */
	struct schedule one, other;
	/* [a][b]: a was done, and b, which comes before it, was not; the call of a was over */
	bool passed[SCHEDULE_OPS][SCHEDULE_OPS], called[SCHEDULE_OPS][SCHEDULE_OPS];
};

void search(const struct program *p, enum view view, struct found *f);

#endif
