/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the simulated driver and a program that tries schedules: who runs next.
 */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_READY_MAX 64

/* An operation whose dependencies are done. */
struct sim_ready {
	uint32_t call; /* that made it; activity.h tells their numbers */
	bool mark;     /* a point in a stream: touches nothing */
};

/*
 * Which of them runs; -1: none, the program goes on.  must: it waits, and one of them has to.
 * Under the driver's lock; makes no driver call.
 */
typedef int sim_choice(const struct sim_ready *ready, unsigned n, bool must);

/* From now on nothing runs but what is chosen; NULL: as ever. */
void sim_schedule_by(sim_choice *c);
/* A point at which operations may run, before what the program does next. */
void sim_schedule(void);

#endif
