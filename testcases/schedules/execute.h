/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs (testcases/oracle) on the simulated driver: each operation by its call,
 * and what the program sees in the end: the first word of every cell, and those that the
 * CPU has read on the way.
 */
#ifndef KRT_SCHEDULES_EXECUTE_H
#define KRT_SCHEDULES_EXECUTE_H

#include "testcases/oracle/program.h"

struct seen {
	uint32_t word[BUFFERS][CELLS];
	uint32_t read[OPS][CELLS];
};

enum did {
	DID,
	OTHERWISE, /* a query answers what this program did not get: not a schedule of it */
	REFUSED,   /* by the driver */
	UNKNOWN,   /* nobody has told how to do it here */
};

/* What can be executed: enum feature. */
extern const unsigned executable;

/* view: of the simulator.  Once in a process. */
void execute_open(enum view view);
/* The program that comes next; its operations may stay where they are till the end of it. */
void execute_program(const struct program *p);
/* Of a host function: the operation that it does, or that it is done by; -1: there is none. */
int execute_partner(unsigned index);
/* As it was at the start; nothing may be queued. */
void execute_reset(void);
enum did execute(const struct op *o, unsigned index, enum view view);
/* Waits for everything. */
void execute_end(void);
const struct seen *execute_seen(void);

#endif
